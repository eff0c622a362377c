//! Searches for the commits of events that the server makes with jobs. The results are in `bisection`.

use std::collections::HashMap;

use tidemark_api::{Actor, ActorKind, BisectionSearch, EventUuid, JobUuid, Timestamp};
use uuid::Uuid;

use crate::{EventId, JobId, ProjectId, ReportId, Result, Tx, columns::columns};

/// Returns the primary key of an event.
pub fn find_event(tx: &mut Tx<'_>, project: ProjectId, event: EventUuid) -> Result<EventId> {
    let sql = "select id from event where project_id = $1 and uuid = $2";
    tx.fetch_one("event", sql, &[&project, &event])
}

/// Returns the newest open event of the branches with these names.
pub fn newest_open_event(
    tx: &mut Tx<'_>,
    project: ProjectId,
    [first, second]: [&str; 2],
) -> Result<Option<(EventId, EventUuid)>> {
    tx.fetch_optional(
        "select event.id, event.uuid from event join head on head.id = event.head_id
         join branch on branch.id = head.branch_id
         where event.project_id = $1 and event.status = 'open' and head.replaced is null and branch.name in ($2, $3)
         order by event.id desc limit 1",
        &[&project, &first, &second],
    )
}

/// A search to start.
#[derive(Clone, Debug)]
pub struct NewSearch<'a> {
    /// Event.
    pub event: EventId,
    /// Report that shows how to measure the commits again.
    pub report: ReportId,
    /// Commits of the search and their values, as JSON.
    pub progress: &'a str,
    /// Time when the search ends without a result.
    pub deadline: Timestamp,
    /// The user who starts the search, or the server.
    pub actor: &'a Actor,
}

/// Starts a search. Returns false if a search for the commit of the event has not ended. Replaces a search that has ended.
pub fn start(tx: &mut Tx<'_>, new: &NewSearch<'_>, now: Timestamp) -> Result<bool> {
    let started = tx.execute(
        "insert into bisection_search (event_id, report_id, progress, pending, deadline, attempts, next_attempt,
             actor_kind, actor_uuid, actor_name, created, modified)
         values ($1, $2, $3, true, $4, 0, $8, $5, $6, $7, $8, $8)
         on conflict (event_id) do update set report_id = excluded.report_id, job_id = null,
             progress = excluded.progress, pending = true, reason = null, deadline = excluded.deadline, attempts = 0,
             next_attempt = excluded.next_attempt, actor_kind = excluded.actor_kind, actor_uuid = excluded.actor_uuid,
             actor_name = excluded.actor_name, created = excluded.created, modified = excluded.modified
         where not bisection_search.pending",
        &[
            &new.event,
            &new.report,
            &new.progress,
            &new.deadline,
            &new.actor.kind,
            &new.actor.uuid,
            &new.actor.name,
            &now,
        ],
    )?;
    Ok(started == 1)
}

/// Records the reason why a search could not start, unless a search for the commit of the event has not ended.
pub fn refuse(tx: &mut Tx<'_>, event: EventId, reason: &str, actor: &Actor, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into bisection_search (event_id, progress, pending, reason, deadline, attempts, next_attempt,
             actor_kind, actor_uuid, actor_name, created, modified)
         values ($1, '{}', false, $2, $6, 0, $6, $3, $4, $5, $6, $6)
         on conflict (event_id) do update set report_id = null, job_id = null, progress = excluded.progress,
             reason = excluded.reason, actor_kind = excluded.actor_kind, actor_uuid = excluded.actor_uuid,
             actor_name = excluded.actor_name, created = excluded.created, modified = excluded.modified
         where not bisection_search.pending",
        &[&event, &reason, &actor.kind, &actor.uuid, &actor.name, &now],
    )?;
    Ok(())
}

columns! {
    struct SearchRow {
        event: EventId = "event_id",
        pending: bool = "pending",
        reason: Option<String> = "reason",
        actor_kind: ActorKind = "actor_kind",
        actor_uuid: Option<Uuid> = "actor_uuid",
        actor_name: Option<String> = "actor_name",
        created: Timestamp = "created",
        modified: Timestamp = "modified",
    }
}

/// Returns the searches for the commits of events.
pub(crate) fn of_events(tx: &mut Tx<'_>, events: &[i64]) -> Result<HashMap<EventId, BisectionSearch>> {
    let rows: Vec<SearchRow> =
        tx.fetch_all("select {columns} from bisection_search where event_id in {ints $1}", &[&events])?;
    let search = |row: SearchRow| {
        let SearchRow { event, pending, reason, actor_kind, actor_uuid, actor_name, created, modified } = row;
        let actor = Actor { kind: actor_kind, uuid: actor_uuid, name: actor_name };
        (event, BisectionSearch { pending, reason, actor, created, modified })
    };
    Ok(rows.into_iter().map(search).collect())
}

columns! {
    /// A search that has not ended.
    #[derive(Clone, Debug)]
    pub struct PendingSearch {
        /// Event.
        pub event: EventId = "search.event_id",
        /// UUID of the event.
        pub uuid: EventUuid = "event.uuid",
        /// Project.
        pub project: ProjectId = "event.project_id",
        /// Report that shows how to measure the commits again.
        pub report: ReportId = "search.report_id",
        /// Job that measures a commit.
        pub job: Option<JobId> = "search.job_id",
        /// UUID of the job.
        pub job_uuid: Option<JobUuid> = "job.uuid",
        /// Error of the job.
        pub error: Option<String> = "job.error",
        /// Commits of the search and their values, as JSON.
        pub progress: String = "search.progress",
        /// Time when the search ends without a result.
        pub deadline: Timestamp = "search.deadline",
        /// Attempts that failed with an error of the server.
        pub attempts: u32 = "search.attempts",
        /// Kind of the actor that started the search.
        pub actor_kind: ActorKind = "search.actor_kind",
        /// UUID of the actor.
        pub actor_uuid: Option<Uuid> = "search.actor_uuid",
        /// Name of the actor.
        pub actor_name: Option<String> = "search.actor_name",
    }
}

const PENDING: &str = "bisection_search as search join event on event.id = search.event_id
     join project on project.id = event.project_id and project.deleted is null
     left join job on job.id = search.job_id";

/// Returns the search of an event, if it has not ended.
pub fn pending(tx: &mut Tx<'_>, event: EventId) -> Result<Option<PendingSearch>> {
    let sql = format!("select {{columns}} from {PENDING} where search.event_id = $1 and search.pending");
    tx.fetch_optional(&sql, &[&event])
}

/// Returns the search that a job measures a commit for, if it has not ended.
pub fn of_job(tx: &mut Tx<'_>, job: JobId) -> Result<Option<PendingSearch>> {
    let sql = format!("select {{columns}} from {PENDING} where search.job_id = $1 and search.pending");
    tx.fetch_optional(&sql, &[&job])
}

/// Whether a job measures a commit of a search, even if the search has ended.
pub fn is_searching_job(tx: &mut Tx<'_>, job: JobId) -> Result<bool> {
    tx.value("select exists (select 1 from bisection_search where job_id = $1)", &[&job])
}

/// Returns the searches without a job, those whose jobs ended without results, and those whose deadline has passed, if their next
/// attempt is due; at most `limit`, in the order of the next attempts.
pub fn due(tx: &mut Tx<'_>, now: Timestamp, limit: i64) -> Result<Vec<PendingSearch>> {
    let sql = format!(
        "select {{columns}} from {PENDING} where search.pending and search.next_attempt <= $1
           and (search.deadline <= $1 or coalesce(job.status, 'failed') in ('failed', 'canceled'))
         order by search.next_attempt, search.id limit $2"
    );
    tx.fetch_all(&sql, &[&now, &limit])
}

/// Whether any search has not ended.
pub fn is_any_pending(tx: &mut Tx<'_>) -> Result<bool> {
    tx.value(&format!("select exists (select 1 from {PENDING} where search.pending)"), &[])
}

/// Updates the job and the progress of a search.
pub fn update(
    tx: &mut Tx<'_>,
    event: EventId,
    job: Option<JobUuid>,
    progress: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update bisection_search set job_id = (select id from job where uuid = $2), progress = $3, attempts = 0,
             modified = $4
         where event_id = $1 and pending",
        &[&event, &job, &progress, &now],
    )?;
    Ok(())
}

/// Ends a search, without a result if there is a reason. Returns whether it had not ended before.
pub fn end(tx: &mut Tx<'_>, event: EventId, reason: Option<&str>, now: Timestamp) -> Result<bool> {
    let ended = tx.execute(
        "update bisection_search set pending = false, reason = $2, modified = $3 where event_id = $1 and pending",
        &[&event, &reason, &now],
    )?;
    Ok(ended == 1)
}

/// Records that an attempt failed with an error of the server, and delays the next one.
pub fn postpone(tx: &mut Tx<'_>, event: EventId, next: Timestamp) -> Result<()> {
    tx.execute(
        "update bisection_search set attempts = attempts + 1, next_attempt = $2 where event_id = $1 and pending",
        &[&event, &next],
    )?;
    Ok(())
}
