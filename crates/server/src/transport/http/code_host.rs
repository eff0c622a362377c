//! `/v0/projects/{project}/code_host`, and the webhook of the code host.

use axum::{
    Json,
    extract::{Request, State},
};
use serde_json::Value;
use tidemark_api::{CodeHost, CodeHostReceipt, NewCodeHost, Url};
use tidemark_store::{
    Lock, Tx, WriteContext,
    code_host::{self, CodeHostRow, CodeHostSettings},
    project,
};

use super::{
    access::{AnyCaller, Manage, Project, ProjectByUser, found_or_none},
    answer::{Accepted, Deleted},
    body::{Body, Path, collect},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::{
    domain::{
        app::App,
        code_host::{event, new_secret},
    },
    infra::{limits::Rule, outgoing},
};

/// Maximum size of an event, in bytes. Code hosts limit the text of a comment to 1 MB or less.
const MAX_EVENT_BYTES: usize = 2 << 20;

/// View the connection of a project to a code host, without its token and its secret.
#[utoipa::path(get, path = "/v0/projects/{project}/code_host", operation_id = "proj_code_host_get",
    tag = "code_host", params(ProjectPath), responses((status = 200, body = CodeHost)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn view(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
) -> Result<Json<CodeHost>> {
    let found = app.db.read(move |tx| code_host::find(tx, project.id)).await?;
    let found = found.ok_or_else(|| Error::not_found("code host connection"))?;
    Ok(Json(show(&app, &project.project, found)))
}

/// Connect a project to a repository at a code host.
///
/// It replaces the existing connection. Only the response to the request for which the server created the secret of the webhook
/// contains the secret.
#[utoipa::path(put, path = "/v0/projects/{project}/code_host", operation_id = "proj_code_host_put",
    tag = "code_host", params(ProjectPath), request_body = NewCodeHost,
    responses((status = 200, body = CodeHost)), extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn put(
    State(app): State<App>,
    ProjectByUser { project, by }: ProjectByUser<Manage>,
    Body(new): Body<NewCodeHost>,
) -> Result<Json<CodeHost>> {
    let fresh = app.fresh();
    app.limits.check(Rule::UserCredentials, &by.found.user.uuid.to_string(), fresh.now).await?;
    let url = match new.url {
        Some(url) => url,
        None => new
            .provider
            .default_url()
            .parse()
            .map_err(|error: tidemark_api::Invalid| Error::Internal(error.into()))?,
    };
    if let Some(reason) = outgoing::rejection_reason(url.as_str(), app.config.plus.runners.private_callbacks)
    {
        return Err(Error::Invalid(format!("The connection cannot be used: {reason}.")));
    }
    let created_secret = new_secret(&fresh)?;
    let target = project.project.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let existing = code_host::find(tx, project.id)?;
        let is_same = |old: &CodeHostRow| {
            old.provider == new.provider && old.url == url && old.repository == new.repository
        };
        let kept = existing.as_ref().filter(|old| is_same(old));
        // A kept token must not reach another host, and comments of another repository may have the same identifiers.
        if kept.is_none() && existing.is_some() && new.token.is_some() {
            code_host::delete(tx, project.id)?;
        }
        let Some(token) = new.token.or_else(|| kept.map(|old| old.token.clone())) else {
            return Err(Error::Invalid(
                "`token` is required for a new connection, and if `provider`, `url` or `repository` changes."
                    .into(),
            ));
        };
        let secret = new.secret.or_else(|| existing.as_ref().map(|old| old.secret.clone()));
        let created = secret.is_none().then(|| created_secret.clone());
        let settings = CodeHostSettings {
            provider: new.provider,
            url,
            repository: new.repository,
            token,
            secret: secret.unwrap_or(created_secret),
            commands: new.commands.unwrap_or(true),
        };
        let row = code_host::put(tx, project.id, &settings, fresh.now)?;
        let commands = if row.commands { "true" } else { "false" };
        let detail = [
            ("provider", row.provider.as_str()),
            ("repository", row.repository.as_str()),
            ("url", row.url.as_str()),
            ("commands", commands),
        ];
        audit(tx, &fresh, &project, "code_host.set", &detail)?;
        Ok::<_, Error>((row, created))
    };
    let (row, secret) = app.db.write(write).await?;
    Ok(Json(CodeHost { secret, ..show(&app, &target, row) }))
}

/// Disconnect a project from its code host. Waiting commands are dropped.
#[utoipa::path(delete, path = "/v0/projects/{project}/code_host", operation_id = "proj_code_host_delete",
    tag = "code_host", params(ProjectPath), responses((status = 204)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        if !code_host::delete(tx, project.id)? {
            return Err(Error::not_found("code host connection"));
        }
        audit(tx, &fresh, &project, "code_host.delete", &[])?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}

/// Receive an event of a code host.
///
/// The secret of the webhook signs the event. The server runs the command of a new comment on a pull request and ignores all
/// other events. A comment has effect only once.
#[utoipa::path(post, path = "/v0/projects/{project}/code_host/webhook", operation_id = "proj_code_host_webhook_post",
    tag = "code_host", params(ProjectPath),
    request_body(content = String, description = "An event of GitHub, GitLab, Forgejo or Gitea, signed in the header \
    X-Hub-Signature-256, X-Gitlab-Token or X-Gitea-Signature.", content_type = "application/json"),
    responses((status = 202, body = CodeHostReceipt)), extensions(("x-right" = json!("signature"))))]
pub(super) async fn receive(
    State(app): State<App>,
    AnyCaller { .. }: AnyCaller,
    Path(ProjectPath { project: wanted }): Path<ProjectPath>,
    request: Request,
) -> Result<Accepted<CodeHostReceipt>> {
    let headers = request.headers().clone();
    let (body, _permits) = collect(&app, request).await?;
    if body.len() > MAX_EVENT_BYTES {
        return Err(Error::OverLimit(format!("An event has at most {MAX_EVENT_BYTES} bytes.")));
    }
    let find = move |tx: &mut Tx<'_>| {
        let Some((project, _)) = found_or_none(project::find(tx, &wanted, None))? else { return Ok(None) };
        Ok::<_, Error>(code_host::find(tx, project.id)?.zip(Some(project)))
    };
    let found = app.db.read(find).await?;
    let signed = found.filter(|(connection, _)| {
        event::is_signed(connection.provider, connection.secret.as_str(), &headers, &body)
    });
    // The same response for a project that does not exist, which may be private.
    let Some((connection, project)) = signed else {
        return Err(Error::Unauthorized(
            "The project has no code host connection, or the secret of the connection did not sign the event; \
             check the secret in the settings of the webhook."
                .into(),
        ));
    };
    let ignore = |reason: &str| {
        Ok(Accepted(CodeHostReceipt { accepted: false, message: format!("The event is ignored: {reason}") }))
    };
    if !connection.commands {
        return ignore("Commands are disabled in the settings of the project.");
    }
    let value: Value = serde_json::from_slice(&body).map_err(|_| {
        Error::Invalid(
            "The event is not JSON; set the content type of the webhook to application/json.".into(),
        )
    })?;
    let command = match event::read(connection.provider, &connection.repository, &headers, &value) {
        Ok(command) => command,
        Err(reason) => return ignore(reason),
    };
    let fresh = app.fresh();
    app.limits.check(Rule::ProjectRuns, &project.project.uuid.to_string(), fresh.now).await?;
    let write = move |tx: &mut Tx<'_>| {
        code_host::add_command(tx, &fresh, &connection, project.organization, &command)
    };
    if !app.db.write(write).await? {
        return ignore("The command of this comment was already accepted.");
    }
    app.background.wake();
    Ok(Accepted(CodeHostReceipt {
        accepted: true,
        message: "The command is accepted. The answer is a comment on the pull request.".to_owned(),
    }))
}

/// Returns a connection without its token and its secret.
fn show(app: &App, project: &tidemark_api::Project, row: CodeHostRow) -> CodeHost {
    let CodeHostRow { provider, url, repository, commands, created, modified, .. } = row;
    CodeHost {
        provider,
        url,
        repository,
        commands,
        webhook_url: webhook_url(&app.config.console.url, project),
        secret: None,
        created,
        modified,
    }
}

/// Returns the URL of the webhook. It contains the UUID of the project, which does not change with its name.
fn webhook_url(console: &Url, project: &tidemark_api::Project) -> Url {
    let url =
        format!("{}/v0/projects/{}/code_host/webhook", console.as_str().trim_end_matches('/'), project.uuid);
    url.parse().unwrap_or_else(|_| console.clone())
}

fn audit(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: &Project<Manage>,
    action: &str,
    detail: &[(&str, &str)],
) -> Result<()> {
    let target = project.project.slug.to_string();
    project.origin.audit(tx, fresh, action, &target, Some(project.organization), detail)
}
