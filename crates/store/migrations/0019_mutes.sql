-- Mutes: series that cause no notifications and no failing gates for a period.
create table mute (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    -- Names or patterns; null matches every name. At least one of them is not null.
    benchmark {text},
    branch {text},
    testbed {text},
    reason {text} not null,
    actor_kind {text} not null,
    actor_uuid {uuid},
    actor_name {text},
    created {int} not null,
    -- End of the period; null if a user has to delete the mute.
    expires {int}
) {strict};
create unique index mute_uuid on mute (uuid);
create index mute_project_id on mute (project_id, id);

-- The mute that was active when the alert was raised.
alter table alert add column mute_id {int} references mute on delete set null;
create index alert_mute_id on alert (mute_id) where mute_id is not null;
create index alert_muted on alert (threshold_id) where mute_id is not null;
