-- Confirmations that failed with an error of the server: number of attempts, and time of the next one.
alter table confirmation add column attempts {int} not null default 0;
alter table confirmation add column next_attempt {int} not null default 0;
drop index confirmation_pending;
create index confirmation_pending on confirmation (next_attempt, id) where pending;

-- Searches for the commits of events, by jobs that the server requests.
create table bisection_search (
    id {key},
    event_id {int} not null references event on delete cascade,
    -- Report that shows how to measure the commits again; null if the search could not start.
    report_id {int} references report on delete cascade,
    -- Job that measures a commit; null if there is none.
    job_id {int} references job on delete set null,
    -- Commits of the search and their values, as JSON.
    progress {text} not null,
    -- Whether the search goes on.
    pending {bool} not null,
    -- Reason why the search ended without a result.
    reason {text},
    -- Time when the search ends without a result.
    deadline {int} not null,
    attempts {int} not null,
    next_attempt {int} not null,
    -- The user who started the search, or the server.
    actor_kind {text} not null,
    actor_uuid {uuid},
    actor_name {text},
    created {int} not null,
    modified {int} not null
) {strict};
create unique index bisection_search_event_id on bisection_search (event_id);
create index bisection_search_report_id on bisection_search (report_id) where report_id is not null;
create index bisection_search_job_id on bisection_search (job_id) where job_id is not null;
create index bisection_search_pending on bisection_search (next_attempt, id) where pending;
