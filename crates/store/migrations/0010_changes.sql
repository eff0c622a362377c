-- Where the level of a series changed, as detection has it by now; what of that people are told, and how often that was wrong.

-- What was measured, as the one who sent it hashes it: reports of the same binary differ by noise only.
alter table report add column binary_hash {text};

-- Projects that are there go on telling of alerts. The budget is how many false alarms a month are fine.
alter table project add column notifies {text} not null default 'alerts';
alter table project add column budget {int} not null default 2;


create table change (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    head_id {int} not null references head on delete cascade,
    testbed_id {int} not null references testbed on delete cascade,
    benchmark_id {int} not null references benchmark on delete cascade,
    variant_id {int} not null,
    measure_id {int} not null references measure on delete cascade,
    -- The first report of the new level, and the first and the last that it may be.
    report_id {int} not null references report on delete cascade,
    earliest_id {int} not null references report on delete cascade,
    latest_id {int} not null references report on delete cascade,
    old_level {real} not null,
    new_level {real} not null,
    -- The share of the old level; none if that is zero.
    effect {real},
    -- What to order by: how far the levels are apart as a share of the old one.
    size {real} not null,
    sigma {real} not null,
    confidence {real} not null,
    -- 1 if the new level is worse, -1 if it is better, 0 if the measure does not say.
    worse {int} not null,
    -- What seems to be behind it: code, host or noise.
    cause {text} not null,
    -- The newest report when it was found, and with which people were told of its event; those that were worth to be told
    -- after that have only the time.
    found_id {int} references report on delete set null,
    raised_id {int} references report on delete set null,
    raised {int},
    status {text} not null,
    note {text},
    -- When the first run of the new level began.
    start_time {int} not null,
    -- Since when detection does not see it any more.
    withdrawn {int},
    created {int} not null,
    modified {int} not null
) {strict};
create unique index change_uuid on change (uuid);
create index change_project_id_start_time on change (project_id, start_time);
create index change_project_id_size on change (project_id, size);
create index change_head_id_testbed_id on change (head_id, testbed_id);
create index change_testbed_id on change (testbed_id);
create index change_benchmark_id on change (benchmark_id);
create index change_measure_id on change (measure_id);
create index change_report_id on change (report_id);
create index change_earliest_id on change (earliest_id);
create index change_latest_id on change (latest_id);
create index change_found_id on change (found_id);
create index change_raised_id on change (raised_id);
create index change_raised on change (project_id, raised) where raised is not null;

-- How many reports there were when the series of a lane were looked at.
alter table lane add column analyzed {int} not null default 0;
create index lane_stale on lane (branch_id, testbed_id) where reports <> analyzed;
-- What shuffled values of a lane tell of its noise: how many they were, how many alarms they raised and with which margins
-- in all, and how many reports there were then.
alter table lane add column noise_values {int} not null default 0;
alter table lane add column noise_alarms {int} not null default 0;
alter table lane add column noise_margins {real} not null default 0;
alter table lane add column sampled {int} not null default 0;
