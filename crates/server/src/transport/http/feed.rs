//! `/v0/projects/{project}/feed`

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use serde::Deserialize;
use tidemark_api::{NameId, Timestamp};
use tidemark_store::{Tx, detection};
use url::form_urlencoded;
use utoipa::IntoParams;

use super::{
    access::{Project, View},
    body::Query,
    conditional,
    error::{Error, Result},
    project::ProjectPath,
    series_filter::SeriesNames,
};
use crate::domain::{
    app::App,
    feed::{Feed, events},
};

/// Query parameters of a feed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FeedQuery {
    /// Include only alerts or changes of this branch (UUID, slug or name).
    #[param(inline)]
    branch: Option<NameId>,
    /// Include only alerts or changes of this testbed (UUID, slug or name).
    #[param(inline)]
    testbed: Option<NameId>,
    /// Include only alerts or changes of this measure (UUID, slug or name).
    #[param(inline)]
    measure: Option<NameId>,
}

impl FeedQuery {
    /// Returns the given parameters, with the names of their fields.
    fn given(&self) -> Vec<(&'static str, String)> {
        let fields = [("branch", &self.branch), ("testbed", &self.testbed), ("measure", &self.measure)];
        fields.into_iter().filter_map(|(noun, name)| Some((noun, name.as_ref()?.to_string()))).collect()
    }
}

/// View the changes or alerts of a project as an Atom feed.
///
/// The notification settings of the project decide between changes and alerts. The feed has one entry for each of the newest 50
/// reports with changes or alerts. It includes alerts of every status, and changes that were not withdrawn.
#[utoipa::path(get, path = "/v0/projects/{project}/feed", operation_id = "proj_feed_get", tag = "alerts",
    params(ProjectPath, FeedQuery),
    responses((status = 200, description = "The feed.", content((String = "application/atom+xml")))),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let (id, given) = (project.id, query.given());
    let read = move |tx: &mut Tx<'_>| {
        let (branch, testbed) = (query.branch.as_ref(), query.testbed.as_ref());
        let names = SeriesNames { branch, testbed, measure: query.measure.as_ref(), benchmark: None };
        let part = names.find(tx, id)?;
        let notifies = detection::settings(tx, id)?.notifies;
        Ok::<_, Error>((notifies, events(tx, id, &part, notifies)?))
    };
    let (notifies, events) = app.db.read(read).await?;
    let feed = Feed {
        project: &project.project,
        console: &app.config.console.url,
        parts: given.iter().map(|(_, name)| name.as_str()).collect(),
        query: form_urlencoded::Serializer::new(String::new()).extend_pairs(&given).finish(),
        notifies,
        events: &events,
    };
    let cache = conditional::cache(project.project.visibility);
    let mut answer = conditional::answer(&headers, "application/atom+xml", cache, feed.write());
    // Informative only, not used for conditional requests: deleting a report changes the feed but not this date.
    if let Some(date) = http_date(feed.updated()) {
        answer.headers_mut().insert(header::LAST_MODIFIED, date);
    }
    Ok(answer)
}

fn http_date(time: Timestamp) -> Option<HeaderValue> {
    let moment = jiff::Timestamp::from_second(time.seconds()).ok()?;
    let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&moment).ok()?;
    HeaderValue::from_str(&date).ok()
}
