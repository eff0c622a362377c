//! `/v0/projects/{project}/badge`

use std::collections::BTreeSet;

use axum::{extract::State, http::HeaderMap, response::Response};
use serde::Deserialize;
use tidemark_api::{NameId, Notifies, ResourceName, Visibility};
use tidemark_store::{Tx, badge, detection};
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
    mute::Mutes,
    plot::{self, Tone},
};

/// Query parameters of a badge.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct BadgeQuery {
    /// Count only alerts or changes of this branch (UUID, slug or name).
    #[param(inline)]
    branch: Option<NameId>,
    /// Count only alerts or changes of this testbed (UUID, slug or name).
    #[param(inline)]
    testbed: Option<NameId>,
    /// Count only alerts or changes of this benchmark (UUID, slug or name).
    #[param(inline)]
    benchmark: Option<NameId>,
    /// Count only alerts or changes of this measure (UUID, slug or name).
    #[param(inline)]
    measure: Option<NameId>,
    /// Text on the left side; default: `benchmarks`.
    #[param(inline)]
    label: Option<ResourceName>,
}

/// View a badge with the number of active alerts or of regressions.
///
/// The notification settings of the project decide between alerts and regressions: open events with a regression. Alerts and events
/// of archived branches, testbeds and measures and muted series do not count.
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
    let (id, now) = (project.id, app.clock.now());
    let label = query.label.clone();
    let read = move |tx: &mut Tx<'_>| {
        let names = SeriesNames {
            branch: query.branch.as_ref(),
            testbed: query.testbed.as_ref(),
            benchmark: query.benchmark.as_ref(),
            measure: query.measure.as_ref(),
        };
        let part = names.find(tx, id)?;
        Ok::<_, Error>(match detection::settings(tx, id)?.notifies {
            Notifies::Alerts => (badge::alerts(tx, id, &part)?, "alert"),
            Notifies::Changes => {
                let mutes = Mutes::read(tx, id, now)?;
                let count = badge::regressions(tx, id, &part)?.map(|regressed| {
                    let regressed = regressed.iter();
                    let unmuted =
                        regressed.filter(|one| !mutes.matches(&one.branch, &one.testbed, &one.benchmark));
                    let events: BTreeSet<i64> = unmuted.map(|one| one.event.get()).collect();
                    i64::try_from(events.len()).unwrap_or(i64::MAX)
                });
                (count, "regression")
            }
        })
    };
    let (message, tone) = match app.db.read(read).await? {
        (None, _) => ("no reports".to_owned(), Tone::Unknown),
        (Some(0), noun) => (format!("no {noun}s"), Tone::Good),
        (Some(1), noun) => (format!("1 {noun}"), Tone::Bad),
        (Some(count), noun) => (format!("{count} {noun}s"), Tone::Bad),
    };
    let svg = plot::badge(label.as_ref().map_or("benchmarks", ResourceName::as_str), &message, tone);
    let cache = match project.project.visibility {
        // Pages with badges have many readers, and the count changes rarely.
        Visibility::Public => "public, max-age=60",
        Visibility::Private => conditional::cache(Visibility::Private),
    };
    Ok(conditional::answer(&headers, "image/svg+xml", cache, svg))
}
