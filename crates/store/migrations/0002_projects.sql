-- The dimensions of a project, and what is said about them.

create table project_member (
    id {key},
    project_id {int} not null references project on delete cascade,
    account_id {int} not null references account on delete cascade,
    role {text} not null,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index project_member_project_id_account_id on project_member (project_id, account_id);
create index project_member_account_id on project_member (account_id);

-- How many of each kind a project has, so that a list need not count them.
create table dimension_count (
    project_id {int} not null references project on delete cascade,
    kind {text} not null,
    live {int} not null,
    archived {int} not null,
    primary key (project_id, kind)
) {strict};

create table branch (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    name {text} not null,
    slug {text} not null,
    created {int} not null,
    modified {int} not null,
    archived {int}
) {strict};
create unique index branch_uuid on branch (uuid);
create unique index branch_project_id_name on branch (project_id, name);
create unique index branch_project_id_slug on branch (project_id, slug);
create index branch_live on branch (project_id, lower(name), id) where archived is null;
create index branch_archived on branch (project_id, lower(name), id) where archived is not null;
create index branch_created on branch (project_id, created);
{search branch}

-- A branch has one head at a time; replaced ones are kept.
create table head (
    id {key},
    uuid {uuid} not null,
    branch_id {int} not null references branch on delete cascade,
    start_head_id {int} references head on delete set null,
    start_version_id {int},
    created {int} not null,
    replaced {int}
) {strict};
create unique index head_uuid on head (uuid);
create unique index head_branch_id on head (branch_id) where replaced is null;
create index head_branch on head (branch_id, id);
create index head_start_head_id on head (start_head_id);
create index head_start_version_id on head (start_version_id);

-- A version belongs to the head it was made on; other heads see it through their lineage.
create table version (
    id {key},
    head_id {int} not null references head on delete cascade,
    number {int} not null,
    hash {text},
    created {int} not null
) {strict};
create unique index version_head_id_number on version (head_id, number);
create index version_hash on version (head_id, hash, number);

-- The lineage of a head: the versions of other heads that it continues, as ranges of numbers.
create table segment (
    head_id {int} not null references head on delete cascade,
    source_head_id {int} not null references head on delete cascade,
    first_number {int} not null,
    last_number {int} not null,
    primary key (head_id, source_head_id)
) {strict};
create index segment_source_head_id on segment (source_head_id);

-- What a machine offers; kept by the administrators of the server.
create table spec (
    id {key},
    uuid {uuid} not null,
    name {text} not null,
    slug {text} not null,
    os {text} not null,
    architecture {text} not null,
    sandbox {text},
    cpu {int} not null,
    memory {int} not null,
    disk {int} not null,
    network {bool} not null,
    fallback {int},
    created {int} not null,
    modified {int} not null,
    archived {int}
) {strict};
create unique index spec_uuid on spec (uuid);
create unique index spec_slug on spec (slug);

create table testbed (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    name {text} not null,
    slug {text} not null,
    spec_id {int} references spec on delete set null,
    created {int} not null,
    modified {int} not null,
    archived {int}
) {strict};
create unique index testbed_uuid on testbed (uuid);
create unique index testbed_project_id_name on testbed (project_id, name);
create unique index testbed_project_id_slug on testbed (project_id, slug);
create index testbed_live on testbed (project_id, lower(name), id) where archived is null;
create index testbed_archived on testbed (project_id, lower(name), id) where archived is not null;
create index testbed_created on testbed (project_id, created);
create index testbed_spec_id on testbed (spec_id);
{search testbed}

create table benchmark (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    name {text} not null,
    slug {text} not null,
    created {int} not null,
    modified {int} not null,
    archived {int}
) {strict};
create unique index benchmark_uuid on benchmark (uuid);
create unique index benchmark_project_id_name on benchmark (project_id, name);
create unique index benchmark_project_id_slug on benchmark (project_id, slug);
create index benchmark_live on benchmark (project_id, lower(name), id) where archived is null;
create index benchmark_archived on benchmark (project_id, lower(name), id) where archived is not null;
create index benchmark_created on benchmark (project_id, created);
{search benchmark}

create table measure (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    name {text} not null,
    slug {text} not null,
    units {text} not null,
    created {int} not null,
    modified {int} not null,
    archived {int}
) {strict};
create unique index measure_uuid on measure (uuid);
create unique index measure_project_id_name on measure (project_id, name);
create unique index measure_project_id_slug on measure (project_id, slug);
create index measure_live on measure (project_id, lower(name), id) where archived is null;
create index measure_archived on measure (project_id, lower(name), id) where archived is not null;
create index measure_created on measure (project_id, created);
{search measure}

create table threshold (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    branch_id {int} not null references branch,
    testbed_id {int} not null references testbed,
    measure_id {int} not null references measure,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index threshold_uuid on threshold (uuid);
create unique index threshold_branch_id_testbed_id_measure_id on threshold (branch_id, testbed_id, measure_id);
create index threshold_project_created on threshold (project_id, created, id);
create index threshold_project_modified on threshold (project_id, modified, id);
create index threshold_testbed_id on threshold (testbed_id);
create index threshold_measure_id on threshold (measure_id);

-- Models are never changed: the one in force has not been replaced.
create table model (
    id {key},
    uuid {uuid} not null,
    threshold_id {int} not null references threshold on delete cascade,
    test {text} not null,
    min_sample_size {int},
    max_sample_size {int},
    span {int},
    lower_boundary {real},
    upper_boundary {real},
    created {int} not null,
    replaced {int}
) {strict};
create unique index model_uuid on model (uuid);
create unique index model_threshold_id on model (threshold_id) where replaced is null;
create index model_history on model (threshold_id, id);

create table plot (
    id {key},
    uuid {uuid} not null,
    project_id {int} not null references project on delete cascade,
    place {int} not null,
    title {text},
    lower_value {bool} not null,
    upper_value {bool} not null,
    lower_boundary {bool} not null,
    upper_boundary {bool} not null,
    x_axis {text} not null,
    y_axis {text} not null,
    span {int} not null,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index plot_uuid on plot (uuid);
create index plot_place on plot (project_id, place, id);

create table plot_branch (
    plot_id {int} not null references plot on delete cascade,
    position {int} not null,
    dimension_id {int} not null references branch on delete cascade,
    primary key (plot_id, position)
) {strict};
create index plot_branch_dimension_id on plot_branch (dimension_id);

create table plot_testbed (
    plot_id {int} not null references plot on delete cascade,
    position {int} not null,
    dimension_id {int} not null references testbed on delete cascade,
    primary key (plot_id, position)
) {strict};
create index plot_testbed_dimension_id on plot_testbed (dimension_id);

create table plot_benchmark (
    plot_id {int} not null references plot on delete cascade,
    position {int} not null,
    dimension_id {int} not null references benchmark on delete cascade,
    primary key (plot_id, position)
) {strict};
create index plot_benchmark_dimension_id on plot_benchmark (dimension_id);

create table plot_measure (
    plot_id {int} not null references plot on delete cascade,
    position {int} not null,
    dimension_id {int} not null references measure on delete cascade,
    primary key (plot_id, position)
) {strict};
create index plot_measure_dimension_id on plot_measure (dimension_id);
