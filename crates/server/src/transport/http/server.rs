//! `/` and `/v0/server`: the server.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, Method, Uri},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tidemark_api::{
    Accounts, ApiVersion, Backup, BackupCreated, CONTRACT_VERSION, Compression, Console, ServerStats,
    ServerUuid, Setup, UuidResponse,
};
use tidemark_store::{Tx, organization, server, user};
use utoipa::IntoParams;

use super::{
    access::Admin,
    answer::{Accepted, Created},
    body::{Body, Path},
    error::{Error, Result},
    origin::Origin,
};
use crate::{
    domain::{app::App, backup, captcha, identity::Provider},
    infra::{backup_store::BackupStore, config::Service, limits::Rule},
    transport::console,
};

/// Check that the server is available. A browser gets the web console.
#[utoipa::path(get, path = "/", operation_id = "server_root_get", tag = "server",
    responses((status = 200, body = ())), extensions(("x-right" = json!("public"))))]
pub(super) async fn root(
    state: State<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    if console::is_browser(&headers) {
        return console::serve(state, method, uri, headers).await;
    }
    Ok(Json(()).into_response())
}

/// Receive the statistics of another server.
#[utoipa::path(post, path = "/", operation_id = "root_server_stats_post", tag = "server",
    request_body = ServerStats, responses((status = 202, body = ())), extensions(("x-right" = json!("public"))))]
pub(super) async fn receive_at_root(
    state: State<App>,
    origin: Origin,
    body: Body<ServerStats>,
) -> Result<Accepted<()>> {
    receive(state, origin, body).await
}

/// Maximum stored size of the statistics of one server, in bytes.
const STATS_BYTES: usize = 16 << 10;

/// Receive the statistics of another server.
///
/// Only the newest statistics of each server are kept.
#[utoipa::path(post, path = "/v0/server/stats", operation_id = "server_stats_post", tag = "server",
    request_body = ServerStats, responses((status = 202, body = ())), extensions(("x-right" = json!("public"))))]
pub(super) async fn receive(
    State(app): State<App>,
    origin: Origin,
    Body(mut stats): Body<ServerStats>,
) -> Result<Accepted<()>> {
    let now = app.clock.now();
    app.limits.check(Rule::PublicAttempts, &format!("stats {}", origin.key()), now).await?;
    // The statistics are numbers. Do not store names and addresses of users of other servers.
    (stats.organizations, stats.admins) = (None, None);
    let document = serde_json::to_string(&stats).map_err(|error| Error::Internal(error.into()))?;
    if document.len() > STATS_BYTES {
        return Err(Error::Invalid(
            "The statistics are too long; send numbers, and leave the lists of projects out.".into(),
        ));
    }
    app.db.write(move |tx| server::record_report(tx, stats.server.uuid, &document, now)).await?;
    Ok(Accepted(()))
}

/// View the version of the API.
///
/// The header `x-server-version` of every response contains the version of Tidemark.
#[utoipa::path(get, path = "/v0/server/version", operation_id = "server_version_get", tag = "server",
    responses((status = 200, body = ApiVersion)), extensions(("x-right" = json!("public"))))]
pub(super) async fn version() -> Json<ApiVersion> {
    Json(ApiVersion { version: CONTRACT_VERSION.into() })
}

/// View the effective configuration, with masked secrets.
#[utoipa::path(get, path = "/v0/server/config", operation_id = "server_config_get", tag = "server",
    responses((status = 200, body = ref("#/components/schemas/JsonConfig"))), extensions(("x-right" = json!("admin"))))]
pub(super) async fn config(State(app): State<App>, _: Admin) -> Json<serde_json::Value> {
    Json(app.config.masked())
}

/// View the URL of the web console.
#[utoipa::path(get, path = "/v0/server/config/console", operation_id = "server_config_console_get", tag = "server",
    responses((status = 200, body = Console)), extensions(("x-right" = json!("public"))))]
pub(super) async fn console(State(app): State<App>, origin: Origin) -> Result<Json<Console>> {
    app.limits.check(Rule::PublicRequests, &origin.key(), app.clock.now()).await?;
    Ok(Json(Console { url: app.config.console.url.clone() }))
}

/// View the setup state of the server.
#[utoipa::path(get, path = "/v0/server/setup", operation_id = "server_setup_get", tag = "server",
    responses((status = 200, body = Setup)), extensions(("x-right" = json!("public"))))]
pub(super) async fn setup(State(app): State<App>, origin: Origin) -> Result<Json<Setup>> {
    app.limits.check(Rule::PublicRequests, &origin.key(), app.clock.now()).await?;
    let accounts = app.db.read(user::accounts).await?;
    let mail = app.config.smtp.is_some();
    let is_near = origin.address.is_some_and(|address| address.is_loopback());
    let outbox = (!mail && is_near && accounts != Accounts::Confirmed)
        .then(|| app.config.data_dir.join("outbox").display().to_string());
    let providers = Provider::all(&app.config).iter().map(Provider::to_api).collect();
    let levels = app.config.plus.billing.as_ref().map(|billing| billing.levels.keys().copied().collect());
    let (captcha, plans) = (captcha::site(&app.config), levels.unwrap_or_default());
    let sign_up = app.config.access.sign_up;
    Ok(Json(Setup { accounts, mail, outbox, providers, captcha, plans, sign_up }))
}

/// View the statistics of this server.
#[utoipa::path(get, path = "/v0/server/stats", operation_id = "server_stats_get", tag = "server",
    responses((status = 200, body = ServerStats)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn stats(State(app): State<App>, _: Admin) -> Result<Json<ServerStats>> {
    let (now, server) = (app.clock.now(), app.server.clone());
    let read = move |tx: &mut Tx<'_>| {
        let mut stats = ServerStats::new(server, now);
        stats.organizations = Some(organization::all(tx)?);
        stats.admins = Some(user::admins(tx)?);
        stats.users = Some(server::user_cohort(tx, now)?);
        stats.projects = Some(server::project_cohort(tx, now)?);
        Ok::<_, Error>(stats)
    };
    Ok(Json(app.db.read(read).await?))
}

/// Path parameter: another server.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ServerPath {
    /// The UUID of a server.
    #[param(inline)]
    server: ServerUuid,
}

/// Report that a server started.
///
/// For existing clients only; the server records nothing.
#[utoipa::path(get, path = "/v0/server/stats/{server}", operation_id = "server_startup_stats_get", tag = "server",
    params(ServerPath), responses((status = 200, body = UuidResponse)), extensions(("x-right" = json!("public"))))]
pub(super) async fn seen(Path(path): Path<ServerPath>) -> Json<UuidResponse> {
    Json(UuidResponse { uuid: path.server.uuid() })
}

/// Create a backup of the database. The server stays available.
#[utoipa::path(post, path = "/v0/server/backup", operation_id = "server_backup_post", tag = "server",
    request_body = Backup, responses((status = 201, body = BackupCreated)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn backup(
    State(app): State<App>,
    admin: Admin,
    Body(wanted): Body<Backup>,
) -> Result<Created<BackupCreated>> {
    let store = match wanted.data_store {
        None => None,
        Some(_) if app.config.backup.data_store.service == Service::Local => {
            return Err(Error::Invalid(
                "This server has no data store configured (`backup.data_store`); leave `data_store` out to keep the backup on its \
                 disk."
                    .into(),
            ));
        }
        Some(_) => Some(BackupStore::open(&app.config).map_err(Error::Internal)?),
    };
    let removes = wanted.remove == Some(true);
    if removes && store.is_none() {
        return Err(Error::Invalid(
            "`remove` deletes the backup once it is copied to a data store, and this request names none: no backup would be \
             left. Leave `remove` out to keep the backup on the disk of the server."
                .into(),
        ));
    }
    let compression = match (wanted.compress, wanted.compression) {
        (Some(false), _) | (None, None) => None,
        (_, chosen) => Some(chosen.unwrap_or(Compression::Gzip)),
    };
    let fresh = app.fresh();
    let created = fresh.now;
    // A separate task completes the backup if the client disconnects.
    let backup = async move {
        let file = backup::create(&app, fresh.now, compression).await?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(store) = store {
            store.upload(&file, &name).await.map_err(Error::Internal)?;
            if removes {
                tokio::fs::remove_file(&file).await.map_err(|error| Error::Internal(error.into()))?;
            }
        }
        app.db.write(move |tx| admin.origin.audit(tx, &fresh, "server.backup", &name, None, &[])).await
    };
    tokio::spawn(backup).await.map_err(|error| Error::Internal(error.into()))??;
    Ok(Created(BackupCreated { created }))
}
