//! Connections of projects to code hosts, and the commands that their webhooks send.

use tidemark_api::{CodeHostProvider, CodeHostRepository, CodeHostSecret, Timestamp, Url};
use uuid::Uuid;

use crate::{OrganizationId, ProjectId, Result, Tx, WriteContext, columns::columns, outbox};

/// Kind of outbox items that run commands. The payload is the UUID of the command.
pub const COMMAND: &str = "code_host_command";

columns! {
    /// Connection of a project, with its credentials.
    #[derive(Clone, Debug)]
    pub struct CodeHostRow {
        /// Primary key.
        pub id: i64 = "code_host.id",
        /// Project.
        pub project: ProjectId = "code_host.project_id",
        /// Kind of code host.
        pub provider: CodeHostProvider = "code_host.provider",
        /// URL of the API.
        pub url: Url = "code_host.url",
        /// Repository.
        pub repository: CodeHostRepository = "code_host.repository",
        /// Credential for the API.
        pub token: CodeHostSecret = "code_host.token",
        /// Secret of the webhook.
        pub secret: CodeHostSecret = "code_host.secret",
        /// Whether the server runs commands.
        pub commands: bool = "code_host.commands",
        /// Time of the creation.
        pub created: Timestamp = "code_host.created",
        /// Time of the last change.
        pub modified: Timestamp = "code_host.modified",
    }
}

/// Connection to write.
#[derive(Clone, Debug)]
pub struct CodeHostSettings {
    /// Kind of code host.
    pub provider: CodeHostProvider,
    /// URL of the API.
    pub url: Url,
    /// Repository.
    pub repository: CodeHostRepository,
    /// Credential for the API.
    pub token: CodeHostSecret,
    /// Secret of the webhook.
    pub secret: CodeHostSecret,
    /// Whether the server runs commands.
    pub commands: bool,
}

columns! {
    /// Command of a comment.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CommandRow {
        /// Identifier of the comment.
        pub comment: i64 = "code_host_command.comment",
        /// Number of the pull request.
        pub pull: i64 = "code_host_command.pull",
        /// User name of the author.
        pub author: String = "code_host_command.author",
        /// Identifier of the author.
        pub author_id: i64 = "code_host_command.author_id",
        /// Name of the command.
        pub command: String = "code_host_command.command",
        /// Benchmarks that the comment names.
        pub benchmark: Option<String> = "code_host_command.benchmark",
    }
}

columns! {
    /// Command that waits for its answer, and the connection that it came from.
    #[derive(Clone, Debug)]
    pub struct WaitingCommand {
        /// Connection.
        pub code_host: CodeHostRow,
        /// Command.
        pub command: CommandRow,
    }
}

/// Returns the connection of a project, if it has one.
pub fn find(tx: &mut Tx<'_>, project: ProjectId) -> Result<Option<CodeHostRow>> {
    tx.fetch_optional("select {columns} from code_host where code_host.project_id = $1", &[&project])
}

/// Writes the connection of a project.
pub fn put(
    tx: &mut Tx<'_>,
    project: ProjectId,
    settings: &CodeHostSettings,
    now: Timestamp,
) -> Result<CodeHostRow> {
    let CodeHostSettings { provider, url, repository, token, secret, commands } = settings;
    tx.fetch_one(
        "code host connection",
        "insert into code_host (project_id, provider, url, repository, token, secret, commands, created, modified)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
         on conflict (project_id) do update set provider = excluded.provider, url = excluded.url,
             repository = excluded.repository, token = excluded.token, secret = excluded.secret,
             commands = excluded.commands, modified = excluded.modified
         returning {columns}",
        &[&project, provider, url, repository, token, secret, commands, &now],
    )
}

/// Deletes the connection of a project with its commands. Returns whether it existed.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId) -> Result<bool> {
    Ok(tx.execute("delete from code_host where project_id = $1", &[&project])? > 0)
}

/// Stores a command and enqueues it. Returns false if a command of the same comment is stored.
pub fn add_command(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    code_host: &CodeHostRow,
    owner: OrganizationId,
    new: &CommandRow,
) -> Result<bool> {
    let uuid = context.uuid();
    let CommandRow { comment, pull, author, author_id, command, benchmark } = new;
    let inserted = tx.execute(
        "insert into code_host_command (uuid, code_host_id, comment, pull, author, author_id, command, benchmark, created)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing",
        &[&uuid, &code_host.id, comment, pull, author, author_id, command, benchmark, &context.now],
    )?;
    if inserted == 0 {
        return Ok(false);
    }
    outbox::add(tx, COMMAND, &uuid.to_string(), Some(owner), context.now)?;
    Ok(true)
}

/// Returns a command that waits for its answer; `None` if it was answered, or if its connection or project was deleted.
pub fn find_waiting(tx: &mut Tx<'_>, command: Uuid) -> Result<Option<WaitingCommand>> {
    tx.fetch_optional(
        "select {columns} from code_host_command join code_host on code_host.id = code_host_command.code_host_id
         join project on project.id = code_host.project_id
         where code_host_command.uuid = $1 and code_host_command.completed is null and code_host.commands
           and project.deleted is null",
        &[&command],
    )
}

/// Marks a command as answered.
pub fn complete_command(tx: &mut Tx<'_>, command: Uuid, now: Timestamp) -> Result<()> {
    tx.execute("update code_host_command set completed = $2 where uuid = $1", &[&command, &now])?;
    Ok(())
}
