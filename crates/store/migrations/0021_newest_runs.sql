-- Newest runs of branches, testbeds and measures: the indexes return them in order.
drop index report_branch_id;
create index report_branch_id on report (branch_id, start_time, id);
drop index report_testbed_id;
create index report_testbed_id on report (testbed_id, start_time, id);

-- Measures of a report. Metrics are packed, so that a statement cannot find the reports of a measure. Reports before this
-- migration have no rows.
create table measure_report (
    measure_id {int} not null references measure on delete cascade,
    -- Start time of the run, as in the report.
    start_time {int} not null,
    report_id {int} not null references report on delete cascade,
    primary key (measure_id, start_time, report_id)
) {clustered};
create index measure_report_report_id on measure_report (report_id);

-- Expired mutes.
create index mute_expires on mute (expires) where expires is not null;
