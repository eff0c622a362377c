-- Accounts, organizations and the server's own records.
-- Times are microseconds UTC. A unique index is called <table>_<column>_<column>: conflicts are reported by that name.

create table server (
    id {int} primary key check (id = 1),
    uuid {uuid} not null,
    created {int} not null
) {strict};

-- A user; "user" itself is a reserved word in PostgreSQL.
create table account (
    id {key},
    uuid {uuid} not null,
    name {text} not null,
    slug {text} not null,
    email {text} not null,
    admin {bool} not null,
    locked {bool} not null,
    confirmed {int},
    created {int} not null,
    modified {int} not null
) {strict};
create unique index account_uuid on account (uuid);
create unique index account_slug on account (slug);
create unique index account_email on account (email);
create index account_list on account (lower(name), slug);

-- Addresses that were given up: a legacy token names its owner by address and must not reach the next owner.
create table former_email (
    email {text} primary key,
    changed {int} not null
) {strict};

-- A mailed sign-in link. The token itself is not stored: it is signed anew from this row when the mail is sent.
create table sign_in (
    id {key},
    uuid {uuid} not null,
    account_id {int} not null references account on delete cascade,
    email {text} not null,
    invitation {uuid},
    claim {uuid},
    created {int} not null,
    expires {int} not null
) {strict};
create unique index sign_in_uuid on sign_in (uuid);
create index sign_in_account_id on sign_in (account_id);
create index sign_in_expires on sign_in (expires);

create table session (
    id {key},
    uuid {uuid} not null,
    account_id {int} not null references account on delete cascade,
    created {int} not null,
    expires {int} not null
) {strict};
create unique index session_uuid on session (uuid);
create index session_account_id on session (account_id);
create index session_expires on session (expires);

create table user_key (
    id {key},
    uuid {uuid} not null,
    account_id {int} not null references account on delete cascade,
    name {text} not null,
    hash {blob} not null,
    created {int} not null,
    expires {int} not null,
    revoked {int}
) {strict};
create unique index user_key_uuid on user_key (uuid);
create unique index user_key_hash on user_key (hash);
create index user_key_list on user_key (account_id, lower(name), created);

-- Deprecated API tokens: a row appears when a correctly signed one is first used, so that it can be revoked.
create table user_token (
    id {key},
    uuid {uuid} not null,
    account_id {int} not null references account on delete cascade,
    name {text} not null,
    hash {blob} not null,
    created {int} not null,
    expires {int} not null,
    revoked {int}
) {strict};
create unique index user_token_uuid on user_token (uuid);
create unique index user_token_hash on user_token (hash);
create index user_token_list on user_token (account_id, lower(name), expires);

create table organization (
    id {key},
    uuid {uuid} not null,
    name {text} not null,
    slug {text} not null,
    license {text},
    claimed {int},
    created {int} not null,
    modified {int} not null,
    deleted {int}
) {strict};
create unique index organization_uuid on organization (uuid);
create unique index organization_slug on organization (slug);
create index organization_list on organization (lower(name), slug);

create table member (
    id {key},
    organization_id {int} not null references organization on delete cascade,
    account_id {int} not null references account on delete cascade,
    role {text} not null,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index member_organization_id_account_id on member (organization_id, account_id);
create index member_account_id on member (account_id);

create table invitation (
    id {key},
    uuid {uuid} not null,
    organization_id {int} not null references organization on delete cascade,
    email {text} not null,
    role {text} not null,
    inviter_id {int} references account on delete set null,
    created {int} not null,
    expires {int} not null,
    accepted {int},
    revoked {int}
) {strict};
create unique index invitation_uuid on invitation (uuid);
create index invitation_list on invitation (organization_id, created);

create table project (
    id {key},
    uuid {uuid} not null,
    organization_id {int} not null references organization on delete cascade,
    name {text} not null,
    slug {text} not null,
    url {text},
    visibility {text} not null,
    created {int} not null,
    modified {int} not null,
    deleted {int}
) {strict};
create unique index project_uuid on project (uuid);
create unique index project_slug on project (slug);
create unique index project_organization_id_name on project (organization_id, name);
create index project_list on project (lower(name), slug);
create index project_created on project (organization_id, created);

create table project_key (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    creator_id {int} references account on delete set null,
    name {text} not null,
    hash {blob} not null,
    created {int} not null,
    expires {int} not null,
    revoked {int}
) {strict};
create unique index project_key_uuid on project_key (uuid);
create unique index project_key_hash on project_key (hash);
create index project_key_list on project_key (project_id, lower(name), created);

-- Who changed what, when and from where. Rows outlive what they speak of.
create table audit (
    id {key},
    uuid {uuid} not null,
    created {int} not null,
    actor_kind {text} not null,
    actor_uuid {uuid},
    actor_name {text},
    action {text} not null,
    target {text} not null,
    organization_id {int} references organization on delete set null,
    address {text},
    detail {text} not null
) {strict};
create unique index audit_uuid on audit (uuid);
create index audit_organization_id on audit (organization_id, id);

-- Work promised in the same transaction as its cause, done afterwards by whichever server claims it.
create table outbox (
    id {key},
    kind {text} not null,
    payload {text} not null,
    attempts {int} not null,
    due {int} not null,
    created {int} not null,
    error {text}
) {strict};
create index outbox_due on outbox (due);

-- Rate limits shared by several servers; a single one keeps them in memory.
create table rate_window (
    name {text} primary key,
    state {text} not null,
    expires {int} not null
) {strict};
create index rate_window_expires on rate_window (expires);

-- The newest statistics that other servers chose to send here.
create table server_report (
    server {uuid} primary key,
    received {int} not null,
    document {text} not null
) {strict};
