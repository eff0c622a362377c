-- Whether a project is notified when most benchmarks move together, and what lanes count.

alter table project add column notifies_host {bool} not null default false;

-- The machine that a report was measured on, if that is known.
alter table report add column host {text};

-- A lane counts the reports that have results, without those of jobs that have none yet, and those that were deleted.

alter table lane add column deleted {int} not null default 0;
-- What was looked at stays looked at, though it is another number now.
update lane set analyzed = -1 where analyzed <> reports;
update lane set reports = (
    select count(*) from report join report_vector on report_vector.report_id = report.id
    where report.branch_id = lane.branch_id and report.testbed_id = lane.testbed_id);
update lane set analyzed = reports where analyzed >= 0;
