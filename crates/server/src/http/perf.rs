//! `/v0/projects/{project}/perf`

use std::io::Write;

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use tidemark_api::{Perf, PerfQuery};
use tidemark_store::Tx;

use super::{
    access::{Project, View},
    body::Query,
    error::{Error, Result},
    project::ProjectPath,
    stream,
};
use crate::{App, perf};

/// Says how many permutations were asked for when not all of them are answered.
const TRUNCATED: HeaderName = HeaderName::from_static("x-perf-truncated");

/// Show metrics over time.
#[utoipa::path(get, path = "/v0/projects/{project}/perf", operation_id = "proj_perf_get", tag = "perf",
    params(ProjectPath, PerfQuery), responses((status = 200, body = Perf)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn query(
    State(app): State<App>,
    project: Project<View>,
    Query(query): Query<PerfQuery>,
) -> Result<Response> {
    let query = perf::Query::read(&query)?;
    let truncated = query.truncated();
    let write = move |tx: &mut Tx<'_>, sink: &mut stream::Sink| {
        // The shape of `Perf`, whose list of results is written one by one.
        let head = Perf {
            project: project.project,
            start_time: query.start_time,
            end_time: query.end_time,
            results: Vec::new(),
        };
        let head = serde_json::to_string(&head).map_err(|error| Error::Internal(error.into()))?;
        let Some((before, after)) = head.rsplit_once("[]") else {
            return Err(Error::Internal("the answer has no list of results".into()));
        };
        sink.write_all(before.as_bytes())?;
        let mut separator = b"[";
        perf::run(tx, project.id, &query, |metrics| {
            sink.write_all(separator)?;
            separator = b",";
            serde_json::to_writer(&mut *sink, &metrics).map_err(|error| Error::Internal(error.into()))?;
            Ok(true)
        })?;
        if separator == b"[" {
            sink.write_all(separator)?;
        }
        sink.write_all(b"]")?;
        sink.write_all(after.as_bytes())?;
        Ok(())
    };
    let body = stream::body(&app, write).await?;
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    if let Some(asked) = truncated {
        response.headers_mut().insert(TRUNCATED, HeaderValue::from(asked));
    }
    Ok(response)
}
