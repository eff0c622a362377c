//! `/v0/projects/{project}/incidents`: groups of changes with the same possible cause, computed on request.

use std::collections::{HashMap, VecDeque};

use axum::extract::State;
use tidemark_api::{Change, ChangeUuid, Incident, IncidentFilter, Page};
use tidemark_store::{HeadId, ProjectId, Tx, change, incident, version};

use super::{
    access::{Project, View},
    answer::Paged,
    body::Query,
    error::{Error, Result},
    project::ProjectPath,
    series_filter::SeriesNames,
};
use crate::domain::app::App;

/// Maximum number of changes, and of candidate versions, in an incident.
const MAX_ENTRIES: usize = 64;

/// List the incidents of a project, newest first.
///
/// An incident groups changes of several benchmarks, measures and testbeds that may have begun with the same version.
#[utoipa::path(get, path = "/v0/projects/{project}/incidents", operation_id = "proj_incidents_get", tag = "changes",
    params(ProjectPath, IncidentFilter, Page), responses((status = 200, body = Vec<Incident>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<IncidentFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Incident>> {
    let read = move |tx: &mut Tx<'_>| {
        let names = SeriesNames { branch: filter.branch.as_ref(), ..SeriesNames::default() };
        let part = names.find(tx, project.id)?;
        let groups = group(incident::change_ranges(tx, project.id, part.branch, filter.status)?);
        let total = i64::try_from(groups.len()).unwrap_or(i64::MAX);
        let (skipped, size) = (page.offset(), page.limit());
        let shown: Vec<Group> = groups
            .into_iter()
            .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
            .take(usize::try_from(size).unwrap_or_default())
            .collect();
        Ok::<_, Error>((complete(tx, project.id, shown)?, total))
    };
    Ok(Paged(app.db.read(read).await?))
}

/// Changes that may have begun with the same version.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    head: HeadId,
    /// Numbers of the first and the last version that all changes of the group may have begun with.
    first: u32,
    last: u32,
    oldest: ChangeUuid,
    regressions: u32,
    improvements: u32,
    total: u32,
    /// The worst changes of the group.
    worst: Vec<ChangeUuid>,
}

/// Groups changes into the smallest number of groups: takes the change with the earliest last version, and groups it with all
/// changes that may have begun with that version. Returns the newest group first.
fn group(mut spans: Vec<incident::ChangeRange>) -> Vec<Group> {
    spans.sort_by_key(|span| (span.head, span.latest, span.earliest, span.id));
    let mut groups = Vec::new();
    let mut rest = VecDeque::from(spans);
    while let Some(first) = rest.front() {
        let (head, end) = (first.head, first.latest);
        let own = rest.partition_point(|span| span.head == head);
        let (mut inside, outside): (Vec<_>, Vec<_>) =
            rest.drain(..own).partition(|span| span.earliest <= end);
        outside.into_iter().rev().for_each(|span| rest.push_front(span));
        inside.sort_by(|left, right| {
            (right.worse > 0)
                .cmp(&(left.worse > 0))
                .then(right.size.total_cmp(&left.size))
                .then(left.id.cmp(&right.id))
        });
        let count = |wanted: i64| {
            u32::try_from(inside.iter().filter(|span| span.worse == wanted).count()).unwrap_or(u32::MAX)
        };
        let Some(oldest) = inside.iter().min_by_key(|span| span.id) else { continue };
        groups.push(Group {
            head,
            first: inside.iter().map(|span| span.earliest).max().unwrap_or(end),
            last: end,
            oldest: oldest.uuid,
            regressions: count(1),
            improvements: count(-1),
            total: u32::try_from(inside.len()).unwrap_or(u32::MAX),
            worst: inside.iter().take(MAX_ENTRIES).map(|span| span.uuid).collect(),
        });
    }
    groups.sort_by_key(|group| std::cmp::Reverse((group.last, group.head)));
    groups
}

fn complete(tx: &mut Tx<'_>, project: ProjectId, groups: Vec<Group>) -> Result<Vec<Incident>> {
    let uuids: Vec<_> = groups.iter().flat_map(|group| &group.worst).map(|uuid| uuid.uuid()).collect();
    let changes = change::by_uuids(tx, project, &uuids)?;
    let mut changes: HashMap<ChangeUuid, Change> =
        changes.into_iter().map(|change| (change.uuid, change)).collect();
    let spans: Vec<_> = groups.iter().map(|group| (group.head, group.first, group.last)).collect();
    let candidates = version::between(tx, &spans, MAX_ENTRIES)?;
    let incidents = groups.into_iter().zip(candidates).filter_map(|(group, candidates)| {
        let changes: Vec<Change> = group.worst.iter().filter_map(|uuid| changes.remove(uuid)).collect();
        let tightest = |number: fn(&Change) -> u32| changes.iter().map(number).max();
        let first = tightest(|change| change.earliest.version.number)?;
        let earliest =
            changes.iter().find(|change| change.earliest.version.number == first)?.earliest.clone();
        let latest = changes.iter().min_by_key(|change| change.latest.version.number)?.latest.clone();
        Some(Incident {
            uuid: group.oldest,
            branch: changes.first()?.branch.clone(),
            earliest,
            latest,
            candidates,
            regressions: group.regressions,
            improvements: group.improvements,
            total: group.total,
            changes,
        })
    });
    Ok(incidents.collect())
}
