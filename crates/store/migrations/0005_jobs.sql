-- Runners, and the jobs that they do.

-- Only the hash of a runner's key is kept.
create table runner (
    id {key},
    uuid {uuid} not null,
    name {text} not null,
    slug {text} not null,
    hash {blob} not null,
    version {text},
    last_heartbeat {int},
    created {int} not null,
    modified {int} not null,
    archived {int}
) {strict};
create unique index runner_uuid on runner (uuid);
create unique index runner_slug on runner (slug);
create unique index runner_hash on runner (hash);

-- Which specs a runner does jobs for.
create table runner_spec (
    id {key},
    runner_id {int} not null references runner on delete cascade,
    spec_id {int} not null references spec,
    created {int} not null
) {strict};
create unique index runner_spec_runner_id_spec_id on runner_spec (runner_id, spec_id);
create index runner_spec_spec_id on runner_spec (spec_id);

-- A job fills the report that was made with it.
create table job (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    report_id {int} not null references report on delete cascade,
    spec_id {int} not null references spec,
    runner_id {int} references runner,
    -- What its runner holds it by, so that of two that have the same key only one can begin it.
    lease {uuid},
    status {text} not null,
    -- The higher, the sooner.
    rank {int} not null,
    -- Where it was asked for from, if the project belonged to nobody: such jobs are limited by that.
    address {text},
    -- How many jobs of the organization, or from the address, may be under way at once; null when any number may.
    concurrency {int},
    -- What the runner is told, as JSON.
    config {text} not null,
    -- Whom to tell of its end, as JSON.
    callback {text},
    timeout {int} not null,
    error {text},
    -- The end of what it has printed, while it runs.
    printed {text},
    -- The object that holds the output.
    output {uuid},
    -- How restless the machine was at its worst before and after the runs.
    noise_before {real},
    noise_after {real},
    -- How often its results could not be read for a fault of the server, and when that is tried again.
    attempts {int} not null,
    retry {int},
    created {int} not null,
    modified {int} not null,
    claimed {int},
    started {int},
    completed {int},
    heartbeat {int},
    -- When it is given up, in the state that it is in.
    deadline {int},
    -- When it is given up if no runner takes it.
    expires {int} not null
) {strict};
create unique index job_uuid on job (uuid);
create unique index job_report_id on job (report_id);
-- A runner does one job at a time.
create unique index job_runner_id on job (runner_id) where status in ('claimed', 'running');
create index job_runner on job (runner_id);
create index job_spec_id on job (spec_id);
create index job_list on job (project_id, created, id);
create index job_queue on job (rank, created, id) where status = 'pending';
create index job_open on job (status) where status in ('pending', 'claimed', 'running', 'completed');
create index job_output on job (output);
create index job_callback on job (modified) where callback is not null;
