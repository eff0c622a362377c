//! `/v0/projects/{project}/events/{event}/bisection`: the result of a search for the commit that caused an event.

use axum::{Json, extract::State};
use tidemark_api::{
    Bisection, BisectionStatus, Event, NewBisection,
    bisection::{MAX_BISECTION_CANDIDATES, MAX_BISECTION_COMMITS, MAX_BISECTION_VALUES},
};
use tidemark_store::{Lock, Tx, bisection, bisection_search, delivery};

use super::{
    access::{Edit, Project},
    answer::Created,
    body::{Body, Path},
    error::{Error, Result},
    event::{self, EventPath},
};
use crate::domain::{app::App, jobs};

/// Maximum length of a text of a bisection, in bytes.
const TEXT_MAX: usize = 1_024;

/// Store the result of a search for the commit that caused an event.
///
/// It replaces an earlier result of the event. Notifications about the changes of the event contain the commit; if they were
/// delivered before, the server sends them again with the commit.
#[utoipa::path(post, path = "/v0/projects/{project}/events/{event}/bisection",
    operation_id = "proj_event_bisection_post", tag = "changes", params(EventPath), request_body = NewBisection,
    responses((status = 201, body = Bisection)), extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<EventPath>,
    Body(new): Body<NewBisection>,
) -> Result<Created<Bisection>> {
    check(&new)?;
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let is_found = new.status == BisectionStatus::Found;
        let actor = &project.origin.actor;
        let stored = bisection::store(tx, &fresh, project.id, path.event, new, actor)?;
        if is_found && let Some(report) = bisection::notified_report(tx, project.id, path.event)? {
            delivery::enqueue(tx, &fresh, project.id, report)?;
        }
        let culprit = stored.result.culprit.as_ref().map_or("", |culprit| culprit.hash.as_str());
        let detail = [("project", project.project.slug.as_str()), ("culprit", culprit)];
        let target = path.event.to_string();
        project.origin.audit(tx, &fresh, "event.bisection", &target, Some(project.organization), &detail)?;
        Ok::<_, Error>(stored)
    };
    let stored = app.db.write(write).await?;
    app.background.wake();
    Ok(Created(stored))
}

/// Search for the commit that caused an event, with jobs on runners.
///
/// The server measures the images of the commits in the range of the event, for the series with the largest change. `search` in
/// the event shows whether the search goes on, or the reason why it could not start. The result becomes the `bisection` of the event.
#[utoipa::path(post, path = "/v0/projects/{project}/events/{event}/search",
    operation_id = "proj_event_search_post", tag = "changes", params(EventPath),
    responses((status = 200, body = Event)), extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn search(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<EventPath>,
) -> Result<Json<Event>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let found = bisection_search::find_event(tx, project.id, path.event)?;
        let actor = &project.origin.actor;
        let started = jobs::bisection::start_requested(tx, &fresh, (project.id, found), None, actor)?;
        if started.is_ok() {
            let detail = [("project", project.project.slug.as_str())];
            let target = path.event.to_string();
            project.origin.audit(tx, &fresh, "event.search", &target, Some(project.organization), &detail)?;
        }
        event::find(tx, project.id, path.event, fresh.now)
    };
    let event = app.db.write(write).await?;
    app.jobs.wake();
    Ok(Json(event))
}

/// Rejects results that are too large or not consistent.
fn check(new: &NewBisection) -> Result<()> {
    let invalid = |message: String| Err(Error::Invalid(message));
    let shares = new.commits.iter().map(|commit| commit.probability).chain([new.probability]);
    for share in shares {
        if !(0.0..=1.0).contains(&share) {
            return invalid(format!("A probability is {share}; it must be from 0 to 1."));
        }
    }
    if new.culprit.is_none() && new.status == BisectionStatus::Found {
        return invalid("`culprit` is missing; it is required if the status is `found`.".into());
    }
    for (name, count, most) in [
        ("commits", new.commits.len(), MAX_BISECTION_COMMITS),
        ("candidates", new.candidates.len(), MAX_BISECTION_CANDIDATES),
    ] {
        if count > most {
            return invalid(format!("`{name}` has {count} entries; the maximum is {most}."));
        }
    }
    let counts = new.commits.iter().map(|commit| commit.values.len().max(commit.reused.len()));
    if let Some(count) = counts.max().filter(|count| *count > MAX_BISECTION_VALUES) {
        return invalid(format!("A commit has {count} values; the maximum is {MAX_BISECTION_VALUES}."));
    }
    let texts = new.culprit.iter().flat_map(|culprit| [&culprit.subject, &culprit.author, &culprit.date]);
    if let Some(length) = texts.chain([&new.units]).map(String::len).max().filter(|length| *length > TEXT_MAX)
    {
        return invalid(format!("A text has {length} bytes; the maximum is {TEXT_MAX}."));
    }
    Ok(())
}
