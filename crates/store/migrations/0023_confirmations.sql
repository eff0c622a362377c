-- Values of jobs that compare two images: pairs of both sides, measured in the same round.
create table pair_series (
    report_id {int} not null references report on delete cascade,
    benchmark_id {int} not null references benchmark on delete cascade,
    variant_id {int} not null,
    measure_id {int} not null references measure on delete cascade,
    -- Value of the base and value of the image of each pair, as 64-bit floating-point numbers in little-endian order.
    pairs {blob} not null,
    primary key (report_id, benchmark_id, variant_id, measure_id)
) {clustered};
create index pair_series_benchmark_id on pair_series (benchmark_id);
create index pair_series_measure_id on pair_series (measure_id);

-- Whether the server measures suspected changes again before it sends a notification: off, confirm or confirm_and_bisect.
alter table project add column confirm {text} not null default 'off';

-- Second measurement of the suspected changes of an event.
create table confirmation (
    id {key},
    event_id {int} not null references event on delete cascade,
    -- Report whose notification waits for the confirmation.
    report_id {int} not null references report on delete cascade,
    -- Job that compares the versions; null if there is none.
    job_id {int} references job on delete set null,
    -- suspected, confirming, confirmed or refuted.
    state {text} not null,
    -- Whether the notification waits: the job is not requested yet, or has not ended.
    pending {bool} not null,
    reason {text},
    base_version_id {int} references version on delete set null,
    head_version_id {int} references version on delete set null,
    -- Comparisons of the suspected series, as JSON.
    comparisons {text},
    -- Time when the event is notified without a confirmation.
    deadline {int} not null,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index confirmation_event_id on confirmation (event_id);
create index confirmation_report_id on confirmation (report_id);
create index confirmation_job_id on confirmation (job_id) where job_id is not null;
create index confirmation_base_version_id on confirmation (base_version_id) where base_version_id is not null;
create index confirmation_head_version_id on confirmation (head_version_id) where head_version_id is not null;
create index confirmation_pending on confirmation (id) where pending;
