-- Bisections: the result of the last search for the commit that caused an event.
create table bisection (
    id {key},
    event_id {int} not null references event on delete cascade,
    -- Result of the search, as JSON.
    result {text} not null,
    actor_kind {text} not null,
    actor_uuid {uuid},
    actor_name {text},
    created {int} not null
) {strict};
create unique index bisection_event_id on bisection (event_id);
