//! The container registry: `/v2` of the OCI distribution specification 1.1, and its tokens.
//!
//! A repository is a project or a path below a project; `infra/blobs.rs` stores the blobs. Each file implements one resource of
//! the specification.

mod access;
mod blob;
mod digest;
mod error;
mod manifest;
mod minimum_rate;
mod quota;
mod range;
mod referrer;
mod route;
mod scope;
mod tag;
pub(crate) mod token;
mod upload;

use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderName, Method, request::Parts},
    response::{IntoResponse, Response},
    routing::any,
};
use serde_json::json;
use tidemark_api::{JobUuid, Jwt, RunnerUuid, Timestamp};

pub(crate) use self::{
    access::TOKEN_PATH,
    error::{error_body, is_registry_path, oauth_code},
};
use self::{
    error::{Error, Result},
    route::Target,
    scope::Claims,
};
use crate::domain::app::App;

/// Header of every response of the registry, by which clients recognize it.
pub(crate) const API_VERSION: HeaderName = HeaderName::from_static("docker-distribution-api-version");
const DOCKER_CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// Route template of all paths except the base path. The duration of these requests depends on the size of the body.
pub(crate) const PATH: &str = "/v2/{*rest}";

/// Returns a token that gives a runner access to repositories during a job, for ten minutes.
pub(crate) fn runner_token(
    app: &App,
    runner: RunnerUuid,
    job: JobUuid,
    repositories: &[&str],
    now: Timestamp,
) -> Jwt {
    app.signer.sign_claims(&Claims::of_runner(app.signer.issuer(), runner, job, repositories, now))
}

/// Returns all routes below `/v2`.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v2", any(serve)).route(PATH, any(serve))
}

async fn serve(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    answer(&app, &parts, body).await.into_response()
}

async fn answer(app: &App, parts: &Parts, body: Body) -> Result<Response> {
    let head = parts.method == Method::HEAD;
    match (Target::parse(parts.uri.path())?, &parts.method) {
        (Target::Base, &Method::GET | &Method::HEAD) => {
            access::authenticate(app, parts).await?;
            Ok(Json(json!({})).into_response())
        }
        (Target::Base, _) => Err(Error::Method("GET, HEAD")),
        (Target::Blob(name, digest), &Method::GET | &Method::HEAD) => {
            blob::read(app, parts, name, digest, head).await
        }
        (Target::Blob(name, digest), &Method::DELETE) => blob::delete(app, parts, name, digest).await,
        (Target::Blob(..), _) => Err(Error::Method("GET, HEAD, DELETE")),
        (Target::Uploads(name), &Method::POST) => upload::begin(app, parts, name, body).await,
        (Target::Uploads(name), &Method::PUT) => upload::put(app, parts, name, body).await,
        (Target::Uploads(_), _) => Err(Error::Method("POST, PUT")),
        (Target::Upload(name, id), &Method::GET) => upload::status(app, parts, name, id).await,
        (Target::Upload(name, id), &Method::PATCH) => upload::append(app, parts, name, id, body).await,
        (Target::Upload(name, id), &Method::PUT) => upload::finish(app, parts, name, id, body).await,
        (Target::Upload(name, id), &Method::DELETE) => upload::cancel(app, parts, name, id).await,
        (Target::Upload(..), _) => Err(Error::Method("GET, PATCH, PUT, DELETE")),
        (Target::Manifest(name, reference), &Method::GET | &Method::HEAD) => {
            manifest::read(app, parts, name, reference, head).await
        }
        (Target::Manifest(name, reference), &Method::PUT) => {
            manifest::put(app, parts, name, &reference, body).await
        }
        (Target::Manifest(name, reference), &Method::DELETE) => {
            manifest::delete(app, parts, name, &reference).await
        }
        (Target::Manifest(..), _) => Err(Error::Method("GET, HEAD, PUT, DELETE")),
        (Target::Tags(name), &Method::GET) => tag::list(app, parts, name).await,
        (Target::Referrers(name, digest), &Method::GET) => referrer::list(app, parts, name, digest).await,
        (Target::Tags(_) | Target::Referrers(..), _) => Err(Error::Method("GET")),
    }
}

/// Returns the first value of a query parameter.
fn query(parts: &Parts, name: &str) -> Option<String> {
    token::form_values(parts.uri.query().unwrap_or_default().as_bytes(), name).into_iter().next()
}
