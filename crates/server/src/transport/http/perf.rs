//! `/v0/projects/{project}/perf`

use std::{convert::Infallible, io::Write};

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, IntoResponseParts, Response, ResponseParts},
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
use crate::domain::{app::App, perf};

/// Number of requested permutations, or of series of their variants, if the response does not contain all of them.
pub(super) const TRUNCATED: HeaderName = HeaderName::from_static("x-perf-truncated");

/// View metrics over time.
///
/// The response contains at most the first 255 permutations of the lists, and at most the first 4096 series of these
/// permutations; each variant of a benchmark is a separate series. If there are more, the header `x-perf-truncated` contains
/// their number.
#[utoipa::path(get, path = "/v0/projects/{project}/perf", operation_id = "proj_perf_get", tag = "perf",
    params(ProjectPath, PerfQuery), responses((status = 200, body = Perf)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn query(
    State(app): State<App>,
    project: Project<View>,
    Query(query): Query<PerfQuery>,
) -> Result<Response> {
    let query = perf::Query::read(&query)?;
    let address = project.origin.address;
    let begin = move |tx: &mut Tx<'_>| {
        let mut found = perf::find(tx, project.id, &query)?;
        let truncated = found.truncated();
        let write = move |tx: &mut Tx<'_>, sink: &mut stream::Sink| {
            // Has the shape of `Perf`; the list of results is written one by one.
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
            let mut list = stream::List::new(sink);
            while let Some(metrics) = found.next(tx)? {
                list.push(&metrics)?;
            }
            list.end()?.write_all(after.as_bytes())?;
            Ok(())
        };
        Ok((truncated, write))
    };
    let (truncated, body) = stream::body(&app, address, begin).await?;
    Ok((Truncated(truncated), [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Sets the header `x-perf-truncated` if the response does not contain everything that was requested.
pub(super) struct Truncated(pub(super) Option<usize>);

impl IntoResponseParts for Truncated {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        if let Some(asked) = self.0 {
            parts.headers_mut().insert(TRUNCATED, HeaderValue::from(asked));
        }
        Ok(parts)
    }
}
