-- Where projects and users are told what happened, and what became of each telling.

-- That of a project has no account; that of a user is about one project, or about all of the organizations of the user.
create table notice (
    id {key},
    uuid {uuid} not null,
    project_id {int} references project on delete cascade,
    account_id {int} references account on delete cascade,
    name {text} not null,
    kind {text} not null,
    url {text},
    -- Who gets the mails of a project; those of a user go to the address of the account.
    email {text},
    -- What signs the requests of a webhook.
    secret {text},
    event {text} not null,
    -- Times of the day in UTC, such as 22:30.
    quiet_from {text},
    quiet_to {text},
    digest {text} not null,
    created {int} not null,
    modified {int} not null,
    archived {int}
) {strict};
create unique index notice_uuid on notice (uuid);
create index notice_project_id on notice (project_id, lower(name), id);
create index notice_account_id on notice (account_id, lower(name), id);

-- A report that is to be told, or was. Those of a notice and a project are told in the order of their keys, and only the
-- first that waits has its row in the outbox.
create table delivery (
    id {key},
    uuid {uuid} not null,
    notice_id {int} not null references notice on delete cascade,
    project_id {int} not null references project on delete cascade,
    report_id {int} references report on delete set null,
    -- What a receiver knows it by: the same for each attempt, for all reports of a digest, and when it is told again.
    event {uuid} not null,
    -- Whether somebody asked for it to be told again.
    again {bool} not null,
    status {text} not null,
    attempts {int} not null,
    error {text},
    created {int} not null,
    tried {int}
) {strict};
create unique index delivery_uuid on delivery (uuid);
create index delivery_notice_id on delivery (notice_id, id);
create index delivery_waiting on delivery (notice_id, project_id, id) where status = 'waiting';
create index delivery_event on delivery (notice_id, event);
create index delivery_project_id on delivery (project_id);
create index delivery_report_id on delivery (report_id);
create index delivery_tried on delivery (tried);

-- Whether a server works on it, which a server that starts alone knows to be dead.
alter table outbox add column claimed {bool} not null default false;
