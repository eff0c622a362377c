-- Alerts belong to events. Before, an alert had an event only if the status of the event dismissed the alert.

-- Whether the status of the event dismissed the alert, so that reopening the event activates the alert again.
alter table alert add column dismissed_by_event {bool} not null default false;
update alert set dismissed_by_event = true where event_id is not null and status = 'dismissed';
drop index alert_event_id;
create index alert_event_id on alert (event_id, id) where event_id is not null;
create index event_head_id_status on event (head_id, status);

-- Series of an event that have alerts.
create table event_series (
    event_id {int} not null references event on delete cascade,
    testbed_id {int} not null references testbed on delete cascade,
    measure_id {int} not null references measure on delete cascade,
    benchmark_id {int} not null references benchmark on delete cascade,
    variant_id {int} not null,
    -- Number of alerts.
    alerts {int} not null,
    -- Version of the first alert, and the newest version whose value was compared with the limits.
    first_version {int} not null,
    last_version {int} not null,
    -- Whether the value of the newest version is outside the limits.
    outside {bool} not null,
    -- 1 if an alert is a regression, -1 if all alerts are improvements.
    worse {int} not null,
    -- Largest distance of an alert from its baseline, as a share of the baseline; from its limit if there is no baseline.
    size {real} not null,
    -- Highest value above an upper limit, and lowest value below a lower limit.
    highest {real},
    lowest {real},
    -- The same values at the time when a user marked the event as expected.
    expected_highest {real},
    expected_lowest {real},
    primary key (event_id, testbed_id, measure_id, benchmark_id, variant_id)
) {clustered};
create index event_series_testbed_id on event_series (testbed_id);
create index event_series_measure_id on event_series (measure_id);
create index event_series_benchmark_id on event_series (benchmark_id);

-- Existing active alerts belong to the newest open event with a change of their series.
update alert set event_id = (
    select event.id from change join event on event.id = change.event_id
    join threshold on threshold.testbed_id = change.testbed_id and threshold.measure_id = change.measure_id
    join report on report.id = alert.report_id
    where threshold.id = alert.threshold_id and change.head_id = alert.head_id
      and change.benchmark_id = alert.benchmark_id and change.variant_id = alert.variant_id
      and change.withdrawn is null and event.status = 'open' and event.first_version <= report.version_id
    order by event.first_version desc, event.id desc limit 1)
where status = 'active' and event_id is null;

-- The active alerts of all other series: one event for the series whose first active alert is of the same report.
create table first_alert (
    head_id {int} not null,
    threshold_id {int} not null,
    benchmark_id {int} not null,
    variant_id {int} not null,
    report_id {int} not null,
    alert_id {int} not null,
    primary key (head_id, threshold_id, benchmark_id, variant_id)
) {clustered};
insert into first_alert (head_id, threshold_id, benchmark_id, variant_id, report_id, alert_id)
select head_id, threshold_id, benchmark_id, variant_id, min(report_id), min(id)
from alert where status = 'active' and event_id is null
group by head_id, threshold_id, benchmark_id, variant_id;
create table opening_alert (report_id {int} primary key, alert_id {int} not null) {strict};
insert into opening_alert (report_id, alert_id) select report_id, min(alert_id) from first_alert group by report_id;
insert into event (uuid, project_id, head_id, first_version, last_version, cause, status, note, start_time, created, modified)
select alert.uuid, alert.project_id, alert.head_id, report.version_id, report.version_id, 'code', 'open', null,
       alert.start_time, alert.created, alert.created
from opening_alert join alert on alert.id = opening_alert.alert_id join report on report.id = alert.report_id;
update alert set event_id = (
    select event.id from first_alert
    join opening_alert on opening_alert.report_id = first_alert.report_id
    join alert as opening on opening.id = opening_alert.alert_id
    join event on event.uuid = opening.uuid
    where first_alert.head_id = alert.head_id and first_alert.threshold_id = alert.threshold_id
      and first_alert.benchmark_id = alert.benchmark_id and first_alert.variant_id = alert.variant_id)
where status = 'active' and event_id is null;
drop table opening_alert;
drop table first_alert;

insert into event_series (event_id, testbed_id, measure_id, benchmark_id, variant_id, alerts, first_version, last_version, outside,
    worse, size, highest, lowest, expected_highest, expected_lowest)
select alert.event_id, threshold.testbed_id, threshold.measure_id, alert.benchmark_id, alert.variant_id, count(*),
       min(report.version_id), max(report.version_id), max(case when alert.status = 'active' then 1 else 0 end) = 1, 1,
       max(coalesce(abs(alert.value - alert.baseline) / nullif(abs(alert.baseline), 0), 0)),
       max(case when alert.crossed = 'upper' then alert.value end),
       min(case when alert.crossed = 'lower' then alert.value end),
       max(case when alert.crossed = 'upper' then alert.value end),
       min(case when alert.crossed = 'lower' then alert.value end)
from alert join threshold on threshold.id = alert.threshold_id join report on report.id = alert.report_id
where alert.event_id is not null
group by alert.event_id, threshold.testbed_id, threshold.measure_id, alert.benchmark_id, alert.variant_id;
