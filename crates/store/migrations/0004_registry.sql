-- The container registry: what each repository holds. The bytes of blobs are objects outside of the database, each under
-- a name of its own that is never used again.

-- A project is a repository (its path is empty) and has others below it.
create table repository (
    id {key},
    project_id {int} not null references project on delete cascade,
    path {text} not null,
    created {int} not null
) {strict};
create unique index repository_project_id_path on repository (project_id, path);

-- Bytes that are stored once, whoever has them. The row makes the object visible.
create table blob (
    id {key},
    uuid {uuid} not null,
    digest {text} not null,
    size {int} not null,
    created {int} not null,
    touched {int} not null
) {strict};
create unique index blob_uuid on blob (uuid);
create unique index blob_digest on blob (digest);

-- Which blobs a repository has, and since when none of its manifests needs one; null while one does.
create table repository_blob (
    repository_id {int} not null references repository on delete cascade,
    blob_id {int} not null references blob,
    idle {int},
    primary key (repository_id, blob_id)
) {clustered};
create index repository_blob_blob_id on repository_blob (blob_id);
create index repository_blob_idle on repository_blob (idle) where idle is not null;

create table manifest (
    id {key},
    repository_id {int} not null references repository on delete cascade,
    digest {text} not null,
    media_type {text} not null,
    artifact_type {text},
    subject {text},
    annotations {text},
    body {blob} not null,
    size {int} not null,
    created {int} not null
) {strict};
create unique index manifest_repository_id_digest on manifest (repository_id, digest);
create index manifest_subject on manifest (repository_id, subject, digest) where subject is not null;

-- The blobs that a manifest needs.
create table manifest_blob (
    manifest_id {int} not null references manifest on delete cascade,
    blob_id {int} not null references blob,
    primary key (manifest_id, blob_id)
) {clustered};
create index manifest_blob_blob_id on manifest_blob (blob_id);

create table tag (
    repository_id {int} not null references repository on delete cascade,
    name {text} not null,
    manifest_id {int} not null references manifest on delete cascade,
    modified {int} not null,
    primary key (repository_id, name)
) {clustered};
create index tag_list on tag (repository_id, lower(name), name);
create index tag_manifest_id on tag (manifest_id);

-- A blob on its way: what has come so far, one object a request.
create table upload (
    id {key},
    uuid {uuid} not null,
    repository_id {int} not null references repository on delete cascade,
    size {int} not null,
    created {int} not null,
    touched {int} not null
) {strict};
create unique index upload_uuid on upload (uuid);
create index upload_repository_id on upload (repository_id);
create index upload_touched on upload (touched);

create table upload_part (
    upload_id {int} not null references upload on delete cascade,
    place {int} not null,
    object {uuid} not null,
    size {int} not null,
    digest {text} not null,
    primary key (upload_id, place)
) {clustered};
create unique index upload_part_object on upload_part (object);

-- Bytes that went in and out by the hour, kept only where they are limited.
create table registry_traffic (
    organization_id {int} not null references organization on delete cascade,
    hour {int} not null,
    bytes {int} not null,
    primary key (organization_id, hour)
) {clustered};
