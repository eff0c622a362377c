-- When a report raised alerts, if it did: that of a job exists long before it is judged.

alter table report add column alerted {int};
update report set alerted = (select max(alert.created) from alert where alert.report_id = report.id)
    where exists (select 1 from alert where alert.report_id = report.id);
create index report_alerted on report (project_id, alerted desc, id desc) where alerted is not null;
