//! Bisections: the result of the last search for the commit that caused an event.

use std::collections::HashMap;

use tidemark_api::{
    Actor, ActorKind, Bisection, DeliveryStatus, EventUuid, NewBisection, ReportUuid, Timestamp,
};
use uuid::Uuid;

use crate::{Error, EventId, ProjectId, ReportId, Result, Tx, WriteContext, columns::columns};

columns! {
    struct StoredResult {
        result: String = "bisection.result",
        actor_kind: ActorKind = "bisection.actor_kind",
        actor_uuid: Option<Uuid> = "bisection.actor_uuid",
        actor_name: Option<String> = "bisection.actor_name",
        created: Timestamp = "bisection.created",
    }
}

columns! {
    struct BisectionRow {
        event: EventId = "bisection.event_id",
        stored: StoredResult,
    }
}

/// Stores the result of a search for the commit of an event. Replaces an earlier result.
pub fn store(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    event: EventUuid,
    new: NewBisection,
    actor: &Actor,
) -> Result<Bisection> {
    let event: EventId = tx.fetch_one(
        "event",
        "select id from event where project_id = $1 and uuid = $2",
        &[&project, &event],
    )?;
    let result = serde_json::to_string(&new).map_err(|error| Error::Engine(error.into()))?;
    tx.execute(
        "insert into bisection (event_id, result, actor_kind, actor_uuid, actor_name, created)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (event_id) do update set result = excluded.result, actor_kind = excluded.actor_kind,
             actor_uuid = excluded.actor_uuid, actor_name = excluded.actor_name, created = excluded.created",
        &[&event, &result, &actor.kind, &actor.uuid, &actor.name, &context.now],
    )?;
    Ok(Bisection { result: new, actor: actor.clone(), created: context.now })
}

/// Returns the bisections of events.
pub fn of_events(tx: &mut Tx<'_>, events: &[i64]) -> Result<HashMap<EventId, Bisection>> {
    let rows: Vec<BisectionRow> =
        tx.fetch_all("select {columns} from bisection where event_id in {ints $1}", &[&events])?;
    rows.into_iter().map(|row| Ok((row.event, row.stored.bisection()?))).collect()
}

columns! {
    struct RaisedBisectionRow {
        event: EventUuid = "event.uuid",
        stored: StoredResult,
    }
}

/// Returns the bisections of the events of the alerts of reports, each with the newest of these reports.
pub fn of_alerts(
    tx: &mut Tx<'_>,
    project: ProjectId,
    reports: &[i64],
) -> Result<Vec<(ReportUuid, EventUuid, Bisection)>> {
    let rows: Vec<(ReportUuid, RaisedBisectionRow)> = tx.fetch_all(
        "select report.uuid, {columns}
         from (select event_id, max(report_id) as report_id from alert where report_id in {ints $2}
               group by event_id) as alerted
         join report on report.id = alerted.report_id join event on event.id = alerted.event_id
         join bisection on bisection.event_id = event.id
         where event.project_id = $1 order by event.id",
        &[&project, &reports],
    )?;
    rows.into_iter().map(|(report, row)| Ok((report, row.event, row.stored.bisection()?))).collect()
}

/// Returns the bisections of the events of the changes that were selected for notification with these reports, each with the newest
/// of these reports.
pub fn raised_with(
    tx: &mut Tx<'_>,
    project: ProjectId,
    reports: &[i64],
) -> Result<Vec<(ReportUuid, EventUuid, Bisection)>> {
    let rows: Vec<(ReportUuid, RaisedBisectionRow)> = tx.fetch_all(
        "select report.uuid, {columns}
         from (select event_id, max(raised_id) as report_id from change
               where project_id = $1 and raised_id in {ints $2} and withdrawn is null group by event_id) as raised
         join report on report.id = raised.report_id join event on event.id = raised.event_id
         join bisection on bisection.event_id = event.id
         where event.project_id = $1 order by event.id",
        &[&project, &reports],
    )?;
    rows.into_iter().map(|(report, row)| Ok((report, row.event, row.stored.bisection()?))).collect()
}

/// Returns the report of a notification about the changes of an event that was delivered without the bisection: the newest report
/// that the changes were selected with, if none of its deliveries is waiting.
pub fn notified_report(tx: &mut Tx<'_>, project: ProjectId, event: EventUuid) -> Result<Option<ReportId>> {
    tx.fetch_optional(
        "select max(change.raised_id) from change join event on event.id = change.event_id
         where event.project_id = $1 and event.uuid = $2 and change.withdrawn is null
           and change.raised_id is not null
           and exists (select 1 from delivery where delivery.report_id = change.raised_id
                       and delivery.status = $3)
           and not exists (select 1 from delivery where delivery.report_id = change.raised_id
                           and delivery.status = $4)
         having max(change.raised_id) is not null",
        &[&project, &event, &DeliveryStatus::Delivered, &DeliveryStatus::Waiting],
    )
}

impl StoredResult {
    fn bisection(self) -> Result<Bisection> {
        let result = serde_json::from_str(&self.result).map_err(|error| Error::Engine(error.into()))?;
        let actor = Actor { kind: self.actor_kind, uuid: self.actor_uuid, name: self.actor_name };
        Ok(Bisection { result, actor, created: self.created })
    }
}
