-- Events: changes of a head that may have begun with the same version and have the same cause. The status belongs to the event.
create table event (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    head_id {int} not null references head on delete cascade,
    -- Keys of the first and the last version with which all changes of the event may have begun.
    first_version {int} not null,
    last_version {int} not null,
    cause {text} not null,
    status {text} not null,
    note {text},
    -- Start time of the first run of the event.
    start_time {int} not null,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index event_uuid on event (uuid);
create index event_project_id_status on event (project_id, status, start_time);
create index event_head_id_last_version on event (head_id, last_version);

-- Changes of the status of an event, and the user, key or server that made them.
create table event_action (
    id {key},
    event_id {int} not null references event on delete cascade,
    status {text} not null,
    note {text},
    actor_kind {text} not null,
    actor_uuid {uuid},
    actor_name {text},
    created {int} not null
) {strict};
create index event_action_event_id on event_action (event_id);

-- Existing changes: one event for the changes that began with the same version and have the same cause, status and note.
insert into event (uuid, project_id, head_id, first_version, last_version, cause, status, note, start_time, created, modified)
select change.uuid, change.project_id, change.head_id, report.version_id, report.version_id, change.cause,
       change.status, change.note, change.start_time, change.created, change.modified
from change join report on report.id = change.report_id
where change.id in (
    select min(change.id) from change join report on report.id = change.report_id
    group by change.head_id, report.version_id, change.cause, change.status, change.note);

alter table change add column event_id {int} references event on delete cascade;
alter table change add column recovered {bool} not null default false;
update change set event_id = (
    select event.id from event join report on report.id = change.report_id
    where event.head_id = change.head_id and event.first_version = report.version_id and event.cause = change.cause
      and event.status = change.status and coalesce(event.note, '') = coalesce(change.note, ''));
create index change_event_id on change (event_id);
alter table change drop column status;
alter table change drop column note;
update event set status = 'open' where status in ('active', 'acknowledged');

-- The event whose status dismissed the alert.
alter table alert add column event_id {int} references event on delete set null;
create index alert_event_id on alert (event_id) where event_id is not null;
