//! `/v0/runners`: runners, managed by administrators. `channel.rs` handles the requests of runners.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    NewRunner, NewRunnerSpec, Page, ResourceId, Runner, RunnerFilter, RunnerKey, RunnerPatch, Spec, Timestamp,
};
use tidemark_store::{Tx, runner, spec};
use utoipa::IntoParams;

use super::{
    access::Admin,
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
};
use crate::domain::{
    app::App,
    auth::{
        caller::AuthMethod,
        key::{KeyKind, generate, hash},
    },
    jobs::Signal,
};

/// Path parameter: runner.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct RunnerPath {
    /// The slug or UUID of a runner.
    runner: ResourceId,
}

/// Path parameters: runner and spec.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct RunnerSpecPath {
    /// The slug or UUID of a runner.
    runner: ResourceId,
    /// The slug or UUID of a spec.
    spec: ResourceId,
}

/// Returns the time of the oldest heartbeat with which a runner counts as online.
fn alive(app: &App) -> Timestamp {
    app.clock.now().plus_seconds(-i64::from(app.config.plus.runners.heartbeat_timeout))
}

/// List the runners of this server.
#[utoipa::path(get, path = "/v0/runners", operation_id = "runners_get", tag = "runners",
    params(RunnerFilter, Page), responses((status = 200, body = Vec<Runner>)),
    extensions(("x-right" = json!("admin"))))]
pub(super) async fn list(
    State(app): State<App>,
    _: Admin,
    Query(filter): Query<RunnerFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Runner>> {
    let alive = alive(&app);
    Ok(Paged(app.db.read(move |tx| runner::list(tx, &filter, &page, alive)).await?))
}

/// Rejects user keys: the runner key would stay valid after a leaked user key is revoked.
fn check_session(admin: &Admin) -> Result<()> {
    if let AuthMethod::Key(_) = admin.by.via {
        return Err(Error::Forbidden(
            "A user key cannot create a runner key; sign in to the console and create it there, or send a \
             session token."
                .into(),
        ));
    }
    Ok(())
}

/// Create a runner.
///
/// Only this response contains its key.
#[utoipa::path(post, path = "/v0/runners", operation_id = "runners_post", tag = "runners", request_body = NewRunner,
    responses((status = 201, body = RunnerKey)), extensions(("x-right" = json!("admin:by_session"))))]
pub(super) async fn create(
    State(app): State<App>,
    admin: Admin,
    Body(new): Body<NewRunner>,
) -> Result<Created<RunnerKey>> {
    check_session(&admin)?;
    let fresh = app.fresh();
    let key = generate(&fresh, &app.config.security.key_prefix, KeyKind::Runner);
    let hashed = hash(key.as_str());
    let write = move |tx: &mut Tx<'_>| {
        let row = runner::NewRunnerRow { name: &new.name, slug: new.slug.as_ref(), hash: &hashed };
        let uuid = runner::create(tx, &fresh, &row)?;
        let detail = [("name", new.name.as_str())];
        admin.origin.audit(tx, &fresh, "runner.create", &uuid.to_string(), None, &detail)?;
        Ok::<_, Error>(uuid)
    };
    let uuid = app.db.write(write).await?;
    Ok(Created(RunnerKey { uuid, key }))
}

/// View a runner.
#[utoipa::path(get, path = "/v0/runners/{runner}", operation_id = "runner_get", tag = "runners",
    params(RunnerPath), responses((status = 200, body = Runner)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn view(
    State(app): State<App>,
    _: Admin,
    Path(path): Path<RunnerPath>,
) -> Result<Json<Runner>> {
    let alive = alive(&app);
    Ok(Json(app.db.read(move |tx| runner::find(tx, &path.runner, alive)).await?.runner))
}

/// Rename or archive a runner.
#[utoipa::path(patch, path = "/v0/runners/{runner}", operation_id = "runner_patch", tag = "runners",
    params(RunnerPath), request_body = RunnerPatch, responses((status = 200, body = Runner)),
    extensions(("x-right" = json!("admin"))))]
pub(super) async fn update(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<RunnerPath>,
    Body(patch): Body<RunnerPatch>,
) -> Result<Json<Runner>> {
    let (fresh, alive) = (app.fresh(), alive(&app));
    let write = move |tx: &mut Tx<'_>| {
        let found = runner::find(tx, &path.runner, alive)?;
        runner::update(tx, found.id, &patch, fresh.now)?;
        let uuid = found.runner.uuid;
        let detail = match patch.archived {
            Some(true) => &[("archived", "true")][..],
            Some(false) => &[("archived", "false")],
            None => &[],
        };
        admin.origin.audit(tx, &fresh, "runner.update", &uuid.to_string(), None, detail)?;
        Signal::Runner(uuid).announce(tx)?;
        Ok::<_, Error>(runner::find(tx, &ResourceId::Uuid(uuid.uuid()), alive)?.runner)
    };
    let changed = app.db.write(write).await?;
    app.jobs.signal(Signal::Runner(changed.uuid));
    Ok(Json(changed))
}

/// Replace the key of a runner.
///
/// Only this response contains the new key. The previous key stops working.
#[utoipa::path(post, path = "/v0/runners/{runner}/key", operation_id = "runner_key_post", tag = "runners",
    params(RunnerPath), responses((status = 201, body = RunnerKey)),
    extensions(("x-right" = json!("admin:by_session"))))]
pub(super) async fn renew_key(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<RunnerPath>,
) -> Result<Created<RunnerKey>> {
    check_session(&admin)?;
    let (fresh, alive) = (app.fresh(), alive(&app));
    let key = generate(&fresh, &app.config.security.key_prefix, KeyKind::Runner);
    let hashed = hash(key.as_str());
    let write = move |tx: &mut Tx<'_>| {
        let found = runner::find(tx, &path.runner, alive)?;
        if found.runner.archived.is_some() {
            return Err(Error::Conflict(
                "The runner is archived; unarchive it before you create a key.".into(),
            ));
        }
        runner::set_key(tx, found.id, &hashed, fresh.now)?;
        let uuid = found.runner.uuid;
        admin.origin.audit(tx, &fresh, "runner.key", &uuid.to_string(), None, &[])?;
        Signal::Runner(uuid).announce(tx)?;
        Ok(uuid)
    };
    let uuid = app.db.write(write).await?;
    app.jobs.signal(Signal::Runner(uuid));
    Ok(Created(RunnerKey { uuid, key }))
}

/// List the specs that a runner serves.
#[utoipa::path(get, path = "/v0/runners/{runner}/specs", operation_id = "runner_specs_get", tag = "runners",
    params(RunnerPath), responses((status = 200, body = Vec<Spec>)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn specs(
    State(app): State<App>,
    _: Admin,
    Path(path): Path<RunnerPath>,
) -> Result<Paged<Spec>> {
    let alive = alive(&app);
    let read = move |tx: &mut Tx<'_>| {
        let found = runner::find(tx, &path.runner, alive)?;
        Ok::<_, Error>(runner::specs(tx, found.id)?)
    };
    let specs = app.db.read(read).await?;
    let total = i64::try_from(specs.len()).unwrap_or(i64::MAX);
    Ok(Paged((specs, total)))
}

/// Add a spec to a runner.
#[utoipa::path(post, path = "/v0/runners/{runner}/specs", operation_id = "runner_specs_post", tag = "runners",
    params(RunnerPath), request_body = NewRunnerSpec, responses((status = 201, body = Spec)),
    extensions(("x-right" = json!("admin"))))]
pub(super) async fn add_spec(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<RunnerPath>,
    Body(new): Body<NewRunnerSpec>,
) -> Result<Created<Spec>> {
    let (fresh, alive) = (app.fresh(), alive(&app));
    let write = move |tx: &mut Tx<'_>| {
        let found = runner::find(tx, &path.runner, alive)?;
        let wanted = spec::find(tx, &new.spec)?;
        runner::add_spec(tx, found.id, wanted, fresh.now)?;
        let spec = spec::by_id(tx, wanted)?.spec;
        let (uuid, detail) = (found.runner.uuid.to_string(), [("spec", spec.slug.as_str())]);
        admin.origin.audit(tx, &fresh, "runner.add_spec", &uuid, None, &detail)?;
        Signal::Queued.announce(tx)?;
        Ok::<_, Error>(Created(spec))
    };
    let added = app.db.write(write).await?;
    app.jobs.signal(Signal::Queued);
    Ok(added)
}

/// Remove a spec from a runner.
#[utoipa::path(delete, path = "/v0/runners/{runner}/specs/{spec}", operation_id = "runner_spec_delete",
    tag = "runners", params(RunnerSpecPath), responses((status = 204)),
    extensions(("x-right" = json!("admin"))))]
pub(super) async fn remove_spec(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<RunnerSpecPath>,
) -> Result<Deleted> {
    let (fresh, alive) = (app.fresh(), alive(&app));
    let write = move |tx: &mut Tx<'_>| {
        let found = runner::find(tx, &path.runner, alive)?;
        let spec = spec::get(tx, &path.spec)?;
        runner::remove_spec(tx, found.id, spec.id)?;
        let (uuid, detail) = (found.runner.uuid.to_string(), [("spec", spec.spec.slug.as_str())]);
        admin.origin.audit(tx, &fresh, "runner.remove_spec", &uuid, None, &detail)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
