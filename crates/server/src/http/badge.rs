//! `/v0/projects/{project}/badge`

use axum::{extract::State, http::HeaderMap, response::Response};
use serde::Deserialize;
use tidemark_api::{NameId, ResourceName, Visibility};
use tidemark_store::{Tx, badge, benchmark, branch, measure, testbed};
use utoipa::IntoParams;

use super::{
    access::{Project, View},
    alert::chosen,
    body::Query,
    conditional,
    error::{Error, Result},
    project::ProjectPath,
};
use crate::{
    App,
    plot::{self, Tone},
};

/// What a badge says.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct BadgeQuery {
    /// Only the alerts of this branch, by UUID, slug or name.
    #[param(inline)]
    branch: Option<NameId>,
    /// Only those of this testbed, by UUID, slug or name.
    #[param(inline)]
    testbed: Option<NameId>,
    /// Only those of this benchmark, by UUID, slug or name.
    #[param(inline)]
    benchmark: Option<NameId>,
    /// Only those of this measure, by UUID, slug or name.
    #[param(inline)]
    measure: Option<NameId>,
    /// What stands on its left; `benchmarks` when not given.
    #[param(inline)]
    label: Option<ResourceName>,
}

/// Draw a badge that tells how many active alerts there are.
///
/// Those of archived branches, testbeds and measures do not count.
#[utoipa::path(get, path = "/v0/projects/{project}/badge", operation_id = "proj_badge_get", tag = "alerts",
    params(ProjectPath, BadgeQuery),
    responses((status = 200, description = "The badge.", content((String = "image/svg+xml")))),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Query(query): Query<BadgeQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let id = project.id;
    let label = query.label.clone();
    let read = move |tx: &mut Tx<'_>| {
        let which = badge::Which {
            branch: chosen("branch", query.branch.as_ref(), |name| branch::resolve(tx, id, name))?,
            testbed: chosen("testbed", query.testbed.as_ref(), |name| testbed::resolve(tx, id, name))?,
            benchmark: chosen("benchmark", query.benchmark.as_ref(), |name| {
                benchmark::resolve(tx, id, name)
            })?,
            measure: chosen("measure", query.measure.as_ref(), |name| measure::resolve(tx, id, name))?,
        };
        Ok::<_, Error>(badge::alerts(tx, id, &which)?)
    };
    let (message, tone) = match app.db.read(read).await? {
        None => ("no reports".to_owned(), Tone::Unknown),
        Some(0) => ("no alerts".to_owned(), Tone::Good),
        Some(1) => ("1 alert".to_owned(), Tone::Bad),
        Some(count) => (format!("{count} alerts"), Tone::Bad),
    };
    let svg = plot::badge(label.as_ref().map_or("benchmarks", ResourceName::as_str), &message, tone);
    let cache = match project.project.visibility {
        // It stands on pages that many people open, few of them at the moment it changes.
        Visibility::Public => "public, max-age=60",
        Visibility::Private => conditional::cache(Visibility::Private),
    };
    Ok(conditional::answer(&headers, "image/svg+xml", cache, svg))
}
