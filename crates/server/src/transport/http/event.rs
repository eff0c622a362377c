//! `/v0/projects/{project}/events`: changes and alerts with a common start and a common status.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{ChangeDirection, Event, EventFilter, EventPatch, EventUuid, Page, ResourceId, Timestamp};
use tidemark_store::{Lock, ProjectId, Tx, event};
use utoipa::IntoParams;

use super::{
    access::{Edit, Project, View},
    answer::Paged,
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
    series_filter::SeriesNames,
};
use crate::domain::{app::App, mute::Mutes};

/// Path parameters: project and event.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct EventPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of an event.
    pub(super) event: EventUuid,
}

/// List the events of a project, the newest or the largest first.
///
/// An event groups changes of several benchmarks, measures and testbeds that may have begun with the same version and have the
/// same cause, and the alerts of their series. Alerts of other series are events, too: an event begins with the first report that
/// raised its alerts, and contains the later alerts of the same series.
#[utoipa::path(get, path = "/v0/projects/{project}/events", operation_id = "proj_events_get", tag = "changes",
    params(ProjectPath, EventFilter, Page), responses((status = 200, body = Vec<Event>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<EventFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Event>> {
    let now = app.clock.now();
    let read = move |tx: &mut Tx<'_>| {
        let names = SeriesNames {
            branch: filter.branch.as_ref(),
            testbed: filter.testbed.as_ref(),
            benchmark: filter.benchmark.as_ref(),
            measure: filter.measure.as_ref(),
        };
        let mutes = Mutes::read(tx, project.id, now)?;
        let is_muted = filter.muted;
        let muted = is_muted.map(|is_muted| mutes.event_filter(tx, project.id, is_muted)).transpose()?;
        let which = event::EventFilter {
            status: filter.status,
            cause: filter.cause,
            worse: filter.change_direction.map(ChangeDirection::number),
            part: names.find(tx, project.id)?,
            muted,
            confirmation: filter.confirmation,
        };
        let (mut events, total) =
            event::list(tx, project.id, &which, filter.sort.unwrap_or_default(), &page)?;
        mutes.mark_events(tx, &mut events)?;
        Ok::<_, Error>((events, total))
    };
    Ok(Paged(app.db.read(read).await?))
}

/// View an event.
#[utoipa::path(get, path = "/v0/projects/{project}/events/{event}", operation_id = "proj_event_get",
    tag = "changes", params(EventPath), responses((status = 200, body = Event)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<EventPath>,
) -> Result<Json<Event>> {
    let now = app.clock.now();
    Ok(Json(app.db.read(move |tx| find(tx, project.id, path.event, now)).await?))
}

/// Set the status and the note of an event: open, expected, fixed or false alarm.
///
/// The status applies to all changes and alerts of the event. A status other than `open` dismisses the active alerts of the event;
/// `open` activates them again. The server dismisses later alerts of an expected event until a value is worse than expected.
#[utoipa::path(patch, path = "/v0/projects/{project}/events/{event}", operation_id = "proj_event_patch",
    tag = "changes", params(EventPath), request_body = EventPatch, responses((status = 200, body = Event)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn update(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<EventPath>,
    Body(patch): Body<EventPatch>,
) -> Result<Json<Event>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        // A report that is being recorded must not join the event with another status.
        tx.lock(Lock::Project(project.id.get()))?;
        let note = patch.note.as_ref().map(Option::as_ref);
        let status = patch.status.map(Into::into);
        event::update(tx, &fresh, project.id, path.event, status, note, &project.origin.actor)?;
        let event = find(tx, project.id, path.event, fresh.now)?;
        let detail = [
            ("project", project.project.slug.as_str()),
            ("status", event.status.as_str()),
            ("note", event.note.as_ref().map_or("", |note| note.as_str())),
        ];
        let target = path.event.to_string();
        project.origin.audit(tx, &fresh, "event.status", &target, Some(project.organization), &detail)?;
        Ok::<_, Error>(event)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Returns an event with its mutes.
pub(super) fn find(tx: &mut Tx<'_>, project: ProjectId, event: EventUuid, now: Timestamp) -> Result<Event> {
    let mutes = Mutes::read(tx, project, now)?;
    let mut found = event::view(tx, project, event)?;
    mutes.mark_events(tx, std::slice::from_mut(&mut found))?;
    Ok(found)
}
