-- Reports, their metrics and the alerts they raise. ARCHITECTURE.md says why metrics are packed.

-- A benchmark run with parameters: one row for each set of them, written as JSON with the names in order.
create table variant (
    id {key},
    uuid {uuid} not null,
    benchmark_id {int} not null references benchmark on delete cascade,
    parameters {text} not null,
    created {int} not null
) {strict};
create unique index variant_uuid on variant (uuid);
create unique index variant_benchmark_id_parameters on variant (benchmark_id, parameters);

-- What is measured where: the number that stands for it in packed metrics. Without parameters the variant is 0. A series
-- has a report on its testbed, which keeps the testbed from being deleted alone.
create table series (
    -- One that is gone may be followed by another of the same number: nothing outside of metrics names it.
    id {number},
    testbed_id {int} not null references testbed on delete cascade,
    benchmark_id {int} not null references benchmark,
    variant_id {int} not null,
    measure_id {int} not null references measure,
    -- No report with a smaller key has it.
    since {int} not null
) {strict};
create unique index series_testbed_id_benchmark_id_variant_id_measure_id
    on series (testbed_id, benchmark_id, variant_id, measure_id);
create index series_benchmark_id on series (benchmark_id);
create index series_measure_id on series (measure_id);

create table report (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    account_id {int} references account on delete set null,
    branch_id {int} not null references branch,
    head_id {int} not null references head,
    version_id {int} not null references version,
    testbed_id {int} not null references testbed,
    spec_id {int} references spec on delete set null,
    adapter {text} not null,
    start_time {int} not null,
    end_time {int} not null,
    idempotency_key {uuid},
    -- Benchmarks and measures of each iteration, as JSON.
    counts {text} not null,
    iterations {int} not null,
    metrics {int} not null,
    created {int} not null
) {strict};
create unique index report_uuid on report (uuid);
create unique index report_project_id_idempotency_key on report (project_id, idempotency_key);
create index report_time on report (project_id, start_time, end_time, created, id);
create index report_key on report (project_id, id);
create index report_created on report (project_id, created);
create index report_lane on report (head_id, testbed_id, version_id, start_time, id);
create index report_version_id on report (version_id);
create index report_branch_id on report (branch_id);
create index report_testbed_id on report (testbed_id);
create index report_spec_id on report (spec_id);
create index report_account_id on report (account_id);

-- How many reports there are, so that a list need not count them.
create table lane (
    branch_id {int} not null references branch on delete cascade,
    testbed_id {int} not null references testbed on delete cascade,
    reports {int} not null,
    primary key (branch_id, testbed_id)
) {strict};
create index lane_testbed_id on lane (testbed_id);

-- The values of a report alone, by series and iteration: all that detection reads of earlier reports.
create table report_vector (
    report_id {int} primary key references report on delete cascade,
    series {blob} not null,
    vals {blob} not null
) {strict};

-- All about the metrics of 64 neighboring series in one report; `first` is the place of the first in the vector.
create table metric (
    bucket {int} not null,
    report_id {int} not null references report on delete cascade,
    first {int} not null,
    body {blob} not null,
    primary key (bucket, report_id)
) {clustered};
create index metric_report_id on metric (report_id);

create table alert (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    report_id {int} not null references report on delete cascade,
    head_id {int} not null references head,
    threshold_id {int} not null references threshold,
    model_id {int} not null references model,
    benchmark_id {int} not null references benchmark,
    variant_id {int} not null,
    -- The place of the metric in the vector of the report.
    place {int} not null,
    iteration {int} not null,
    value {real} not null,
    lower_value {real},
    upper_value {real},
    baseline {real},
    lower_limit {real},
    upper_limit {real},
    crossed {text} not null,
    status {text} not null,
    -- When the run of the report began.
    start_time {int} not null,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index alert_uuid on alert (uuid);
create index alert_modified on alert (project_id, status, modified desc, id);
create index alert_started on alert (project_id, status, start_time, id);
create index alert_report_id on alert (report_id, status);
create index alert_head_id on alert (head_id, status);
create index alert_threshold_id on alert (threshold_id, status);
create index alert_model_id on alert (model_id);
create index alert_benchmark_id on alert (benchmark_id);

-- How many metrics a threshold has judged, and how many alerts it has raised, by status.
create table threshold_count (
    threshold_id {int} primary key references threshold on delete cascade,
    judged {int} not null,
    active {int} not null,
    dismissed {int} not null,
    silenced {int} not null
) {strict};
