-- Connection of a project to a repository at a code host, for commands in comments of pull requests.
create table code_host (
    id {key},
    project_id {int} not null references project on delete cascade,
    provider {text} not null,
    url {text} not null,
    repository {text} not null,
    -- Credential for the API of the code host.
    token {text} not null,
    -- Secret that signs the events of the webhook.
    secret {text} not null,
    commands {bool} not null,
    created {int} not null,
    modified {int} not null
) {strict};
create unique index code_host_project_id on code_host (project_id);

-- Commands of comments. A row is kept as long as the connection, so that an event that is sent again has no effect.
create table code_host_command (
    id {key},
    uuid {uuid} not null,
    code_host_id {int} not null references code_host on delete cascade,
    -- Identifier of the comment, and number of its pull request.
    comment {int} not null,
    pull {int} not null,
    author {text} not null,
    author_id {int} not null,
    command {text} not null,
    benchmark {text},
    created {int} not null,
    -- Time when the command was answered; null while it waits.
    completed {int}
) {strict};
create unique index code_host_command_uuid on code_host_command (uuid);
create unique index code_host_command_code_host_id_comment on code_host_command (code_host_id, comment);
