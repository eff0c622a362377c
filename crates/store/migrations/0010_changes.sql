-- Where the level of a series changed, as detection has it by now.

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

-- How many reports there were when the series of a lane were looked at.
alter table lane add column analyzed {int} not null default 0;
create index lane_stale on lane (branch_id, testbed_id) where reports <> analyzed;
