//! Events: changes of a head that may have begun with the same version and have the same cause, and alerts. The status of an
//! event applies to all its changes and alerts.

use std::collections::HashMap;

use tidemark_api::{
    Actor, ActorKind, AlertStatus, Branch, Change, ChangeCause, ConfirmationState, Event, EventAction,
    EventStatus, EventUuid, NonEmpty, Page, ProjChangesSort, Timestamp, page::Direction,
};
use uuid::Uuid;

use crate::{
    Error, EventId, HeadId, List, ProjectId, Result, Tx, VersionId, WriteContext, bisection,
    bisection_search, change,
    columns::{columns, insert_columns},
    confirmation, event_alert, head,
    series_filter::SeriesFilter,
    sql::{Conditions, direction},
    value::distinct,
    version::{self, VersionRange},
};

/// Maximum number of changes, of candidate versions and of actions that are returned with an event.
const MAX_ENTRIES: usize = 64;

columns! {
    /// An event, for the assignment of changes to events.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StoredEvent {
        /// Primary key.
        pub id: EventId = "event.id",
        /// UUID.
        pub uuid: EventUuid = "event.uuid",
        /// First version with which all changes of the event may have begun.
        pub first: VersionId = "event.first_version",
        /// Last version with which all changes of the event may have begun.
        pub last: VersionId = "event.last_version",
        /// Cause of its changes.
        pub cause: ChangeCause = "event.cause",
        /// Start time of the first run of the event.
        pub start_time: Timestamp = "event.start_time",
        /// Whether a user set the status or a note.
        pub is_reviewed: bool = "event.status not in ('open', 'recovered') or event.note is not null",
        /// Number of changes that detection has not withdrawn.
        pub changes: i64 = "(select count(*) from change where change.event_id = event.id and change.withdrawn is null)",
        /// Number of series with alerts.
        pub alert_series: i64 = "(select count(*) from event_series where event_series.event_id = event.id)",
    }
}

insert_columns! {
    /// An event to insert.
    #[derive(Clone, Copy, Debug)]
    pub struct NewEvent {
        /// UUID.
        uuid: EventUuid,
        /// Project.
        project_id: ProjectId,
        /// Head.
        head_id: HeadId,
        /// First version with which all changes of the event may have begun.
        first_version: VersionId,
        /// Last version with which all changes of the event may have begun.
        last_version: VersionId,
        /// Cause of its changes.
        cause: ChangeCause,
        /// Status.
        status: EventStatus,
        /// Start time of the first run of the event.
        start_time: Timestamp,
        /// Time of the insertion.
        created: Timestamp,
        /// Time of the last modification.
        modified: Timestamp,
    }
}

/// Returns the events of a head that begin at a version or later, and the events with these keys.
pub fn of_head(
    tx: &mut Tx<'_>,
    head: HeadId,
    since: VersionId,
    events: &[EventId],
) -> Result<Vec<StoredEvent>> {
    let events = distinct(events.iter().map(|event| event.get()));
    let sql = "select {columns} from event
         where event.head_id = $1 and (event.last_version >= $2 or event.id in {ints $3}) order by event.id";
    tx.fetch_all(sql, &[&head, &since, &events])
}

/// Inserts events. Returns their primary keys, in the same order.
pub fn insert(tx: &mut Tx<'_>, events: &[NewEvent]) -> Result<Vec<EventId>> {
    Ok(tx.insert_keyed("event", events, "")?.into_iter().map(EventId::from).collect())
}

/// Updates the versions, the cause and the start time of existing events.
pub fn update_ranges(tx: &mut Tx<'_>, events: &[NewEvent]) -> Result<()> {
    tx.insert_many(
        "event",
        events,
        "on conflict (uuid) do update set first_version = excluded.first_version,
             last_version = excluded.last_version, cause = excluded.cause, start_time = excluded.start_time,
             modified = excluded.modified",
    )
}

/// Sets the status of events to `recovered` if all their regressions returned to their earlier level and the values of all
/// other series with alerts to their limits, and back to `open` if not. An event without a regression recovers if its improvements
/// only revert earlier regressions. Keeps the status that a user has set.
pub fn update_recovery(tx: &mut Tx<'_>, context: &WriteContext, events: &[EventId]) -> Result<()> {
    let events = distinct(events.iter().map(|event| event.get()));
    let updated: Vec<(EventId, EventStatus)> = tx.fetch_all(
        "update event set status = case status when 'open' then 'recovered' else 'open' end, modified = $2
         where id in {ints $1} and status in ('open', 'recovered')
           and (exists (select 1 from change where change.event_id = event.id and change.withdrawn is null)
                or exists (select 1 from event_series where event_series.event_id = event.id))
           and (status = 'open') <> (
               exists (select 1 from change where change.event_id = event.id and change.withdrawn is null
                       and change.worse = 1 and not change.recovered)
               or exists (select 1 from change where change.event_id = event.id and change.withdrawn is null
                          and not (change.worse = -1 and change.recovered))
                  and not exists (select 1 from change where change.event_id = event.id and change.withdrawn is null
                                  and change.worse = 1)
               or exists (select 1 from event_series as series where series.event_id = event.id and series.outside
                          and not exists (select 1 from change where change.event_id = event.id
                              and change.withdrawn is null and change.worse = 1
                              and change.testbed_id = series.testbed_id and change.measure_id = series.measure_id
                              and change.benchmark_id = series.benchmark_id
                              and change.variant_id = series.variant_id)))
         returning id, status",
        &[&events, &context.now],
    )?;
    let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
    let actions: Vec<NewAction> = updated
        .iter()
        .map(|(event, status)| NewAction::new(*event, *status, None, &actor, context))
        .collect();
    tx.insert_many("event_action", &actions, "")
}

insert_columns! {
    struct NewAction {
        event_id: EventId,
        status: EventStatus,
        note: Option<NonEmpty>,
        actor_kind: ActorKind,
        actor_uuid: Option<Uuid>,
        actor_name: Option<String>,
        created: Timestamp,
    }
}

impl NewAction {
    fn new(
        event: EventId,
        status: EventStatus,
        note: Option<NonEmpty>,
        actor: &Actor,
        context: &WriteContext,
    ) -> Self {
        Self {
            event_id: event,
            status,
            note,
            actor_kind: actor.kind,
            actor_uuid: actor.uuid,
            actor_name: actor.name.clone(),
            created: context.now,
        }
    }
}

/// Filter of the events to list.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Only events with this status.
    pub status: Option<EventStatus>,
    /// Only events with this cause.
    pub cause: Option<ChangeCause>,
    /// Only events with a change or an alert that is a regression (1), an improvement (-1) or of unknown direction (0).
    pub worse: Option<i64>,
    /// Only events of this branch, with a change or an alert of this testbed, benchmark and measure.
    pub part: SeriesFilter,
    /// Only events whose series are all muted, or only other events.
    pub muted: Option<MutedSeries>,
    /// Only events with this state of the confirmation.
    pub confirmation: Option<ConfirmationState>,
}

/// The muted series of a project, as a filter of events.
#[derive(Clone, Debug, Default)]
pub struct MutedSeries {
    /// A series is muted if it matches a group.
    pub groups: Vec<MutedGroup>,
    /// Whether to list the events whose series are all muted; otherwise all others.
    pub is_muted: bool,
}

/// Series of these branches, testbeds and benchmarks; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct MutedGroup {
    /// Keys of branches.
    pub branches: Option<Vec<i64>>,
    /// Keys of testbeds.
    pub testbeds: Option<Vec<i64>>,
    /// Keys of benchmarks.
    pub benchmarks: Option<Vec<i64>>,
}

impl MutedSeries {
    /// Adds the condition on the events. A mute matches a few series, so that most events have an early series that is not muted
    /// and decides.
    fn add_to<'a>(&'a self, conditions: &mut Conditions<'a>) {
        let mut arms = Vec::new();
        for group in &self.groups {
            let mut parts = Vec::new();
            for (column, keys) in [
                ("head.branch_id", &group.branches),
                ("series.testbed_id", &group.testbeds),
                ("series.benchmark_id", &group.benchmarks),
            ] {
                if let Some(keys) = keys {
                    conditions.params.push(keys);
                    parts.push(format!("{column} in {{ints ${}}}", conditions.params.len()));
                }
            }
            let all = if parts.is_empty() { "1 = 1".to_owned() } else { parts.join(" and ") };
            arms.push(format!("when {all} then 1"));
        }
        let condition = if arms.is_empty() {
            "1 = 0".to_owned()
        } else {
            // A `case` instead of `or`: engines limit the depth of an expression.
            let is_muted = format!("case {} else 0 end", arms.join(" "));
            format!(
                "(not exists (select 1 from change as series where series.event_id = event.id
                              and series.withdrawn is null and {is_muted} = 0)
                  and not exists (select 1 from event_series as series where series.event_id = event.id
                                  and {is_muted} = 0))"
            )
        };
        let not = if self.is_muted { "" } else { "not " };
        conditions.sql.push_str(&format!(" and {not}{condition}"));
    }
}

columns! {
    struct EventRow {
        id: EventId = "event.id",
        uuid: EventUuid = "event.uuid",
        head: HeadId = "event.head_id",
        first: VersionId = "event.first_version",
        last: VersionId = "event.last_version",
        branch: Branch,
        status: EventStatus = "event.status",
        note: Option<NonEmpty> = "event.note",
        cause: ChangeCause = "event.cause",
        start_time: Timestamp = "event.start_time",
        created: Timestamp = "event.created",
        modified: Timestamp = "event.modified",
    }
}

fn joins() -> String {
    format!(
        "event join project on project.id = event.project_id join head on head.id = event.head_id {}
         join branch on branch.id = head.branch_id",
        head::JOINS
    )
}

/// Lists the events of a project on the current heads of its branches.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &EventFilter,
    sort: ProjChangesSort,
    page: &Page,
) -> Result<(Vec<Event>, i64)> {
    let live = "event.project_id = $1 and head.replaced is null".to_owned();
    let mut conditions = Conditions::new(live, vec![&project]);
    conditions.and("event.status =", &which.status);
    conditions.and("event.cause =", &which.cause);
    conditions.and("head.branch_id =", &which.part.branch);
    conditions.and(
        "(select state from confirmation where confirmation.event_id = event.id) =",
        &which.confirmation,
    );
    if let Some(muted) = &which.muted {
        muted.add_to(&mut conditions);
    }
    conditions.sql.push_str(
        " and (exists (select 1 from change where change.event_id = event.id and change.withdrawn is null",
    );
    conditions.and("change.worse =", &which.worse);
    conditions.and("change.testbed_id =", &which.part.testbed);
    conditions.and("change.benchmark_id =", &which.part.benchmark);
    conditions.and("change.measure_id =", &which.part.measure);
    conditions.sql.push_str(") or exists (select 1 from event_series where event_series.event_id = event.id");
    conditions.and("event_series.worse =", &which.worse);
    conditions.and("event_series.testbed_id =", &which.part.testbed);
    conditions.and("event_series.benchmark_id =", &which.part.benchmark);
    conditions.and("event_series.measure_id =", &which.part.measure);
    conditions.sql.push_str("))");
    let column = match sort {
        ProjChangesSort::Time => "event.start_time",
        ProjChangesSort::Size => {
            "coalesce(
                 (select max(change.size) from change where change.event_id = event.id and change.withdrawn is null),
                 (select max(event_series.size) from event_series where event_series.event_id = event.id))"
        }
    };
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let (rows, total) = tx.page(
        &List {
            from: &format!("{} where {}", joins(), conditions.sql),
            order: &format!("{column} {direction}, event.id {direction}"),
        },
        &conditions.params,
        page,
    )?;
    Ok((complete(tx, rows)?, total))
}

/// Returns an event, even if it has neither changes nor alerts any more.
pub fn view(tx: &mut Tx<'_>, project: ProjectId, event: EventUuid) -> Result<Event> {
    let sql = format!("select {{columns}} from {} where event.project_id = $1 and event.uuid = $2", joins());
    let row: EventRow = tx.fetch_one("event", &sql, &[&project, &event])?;
    complete(tx, vec![row])?.pop().ok_or(Error::NotFound("event"))
}

columns! {
    #[derive(Clone, Copy, Default)]
    struct ChangeCounts {
        regressions: u32 = "cast(sum(case when worse = 1 then 1 else 0 end) as bigint)",
        improvements: u32 = "cast(sum(case when worse = -1 then 1 else 0 end) as bigint)",
        total: u32 = "count(*)",
        raised: Option<Timestamp> = "min(raised)",
    }
}

columns! {
    struct ActionRow {
        event: EventId = "event_id",
        status: EventStatus = "status",
        note: Option<NonEmpty> = "note",
        actor_kind: ActorKind = "actor_kind",
        actor_uuid: Option<Uuid> = "actor_uuid",
        actor_name: Option<String> = "actor_name",
        created: Timestamp = "created",
    }
}

/// Adds the changes, versions, alerts and actions to events.
fn complete(tx: &mut Tx<'_>, rows: Vec<EventRow>) -> Result<Vec<Event>> {
    let keys: Vec<i64> = rows.iter().map(|row| row.id.get()).collect();
    let mut changes: HashMap<EventId, Vec<Change>> = HashMap::new();
    for (event, change) in change::of_events(tx, &keys, MAX_ENTRIES)? {
        changes.entry(event).or_default().push(change);
    }
    let counts: Vec<(EventId, ChangeCounts)> = tx.fetch_all(
        "select event_id, {columns} from change where event_id in {ints $1} and withdrawn is null group by event_id",
        &[&keys],
    )?;
    let counts: HashMap<EventId, ChangeCounts> = counts.into_iter().collect();
    let alert_counts = event_alert::count(tx, &keys)?;
    let mut alerts = event_alert::of_events(tx, &keys, MAX_ENTRIES)?;
    let mut confirmations = confirmation::of_events(tx, &keys)?;
    let newest: Vec<ActionRow> = tx.fetch_all(
        "select {columns} from (
             select *, row_number() over (partition by event_id order by id desc) as place
             from event_action where event_id in {ints $1}) as ranked
         where place <= $2 order by id desc",
        &[&keys, &(MAX_ENTRIES as i64)],
    )?;
    let mut actions: HashMap<EventId, Vec<EventAction>> = HashMap::new();
    for ActionRow { event, status, note, actor_kind, actor_uuid, actor_name, created } in newest {
        let actor = Actor { kind: actor_kind, uuid: actor_uuid, name: actor_name };
        actions.entry(event).or_default().push(EventAction { status, note, actor, created });
    }
    let ranges: Vec<VersionRange> =
        rows.iter().map(|row| VersionRange { head: row.head, first: row.first, last: row.last }).collect();
    let candidates = version::of_ranges(tx, &ranges, MAX_ENTRIES)?;
    let mut bisections = bisection::of_events(tx, &keys)?;
    let mut searches = bisection_search::of_events(tx, &keys)?;
    let events = rows.into_iter().zip(candidates).map(|(row, candidates)| {
        let changes = changes.remove(&row.id).unwrap_or_default();
        let counts = counts.get(&row.id).copied().unwrap_or_default();
        let actions = actions.remove(&row.id).unwrap_or_default();
        let latest = changes.iter().map(|change| &change.latest).min_by_key(|point| point.version.number);
        let earliest = changes.iter().map(|change| &change.earliest).max_by_key(|point| point.version.number);
        Event {
            uuid: row.uuid,
            branch: row.branch,
            status: row.status,
            note: row.note,
            cause: row.cause,
            earliest: earliest.cloned(),
            latest: latest.cloned(),
            candidates,
            regressions: counts.regressions,
            improvements: counts.improvements,
            total: counts.total,
            total_alerts: alert_counts.get(&row.id).copied().unwrap_or_default(),
            alerts: alerts.remove(&row.id).unwrap_or_default(),
            raised: counts.raised,
            muted: None,
            confirmation: confirmations.remove(&row.id),
            bisection: bisections.remove(&row.id),
            search: searches.remove(&row.id),
            actions,
            start_time: row.start_time,
            created: row.created,
            modified: row.modified,
            changes,
        }
    });
    Ok(events.collect())
}

/// Updates the status and the note of an event, and records the action. A status other than `open` dismisses the active
/// alerts of the event; `open` activates the alerts that the event dismissed, and all alerts of a dismissed event.
pub fn update(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    event: EventUuid,
    status: Option<EventStatus>,
    note: Option<Option<&NonEmpty>>,
    actor: &Actor,
) -> Result<()> {
    let before: Option<EventStatus> = tx.fetch_optional(
        "select status from event where project_id = $1 and uuid = $2",
        &[&project, &event],
    )?;
    let updated: Option<UpdatedEvent> = tx.fetch_optional(
        "update event set status = coalesce($3, status), note = case when $4 then $5 else note end, modified = $6
         where project_id = $1 and uuid = $2 returning {columns}",
        &[&project, &event, &status, &note.is_some(), &note.flatten(), &context.now],
    )?;
    let UpdatedEvent { id, status: current, note } = updated.ok_or(Error::NotFound("event"))?;
    tx.insert_many("event_action", &[NewAction::new(id, current, note, actor, context)], "")?;
    let was_dismissed = before == Some(EventStatus::Dismissed);
    match status {
        Some(status) => event_alert::apply_status(tx, id, status, was_dismissed, context.now),
        None => Ok(()),
    }
}

/// Updates the status of events after a user has changed the status of alerts. An open event without changes is dismissed if none
/// of its alerts is active; an event that a user closed is open again if an alert was activated.
pub fn follow_alerts(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    events: &[i64],
    status: AlertStatus,
    actor: &Actor,
) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let sql = match status {
        AlertStatus::Active => {
            "update event set status = 'open', modified = $2
             where id in {ints $1} and status not in ('open', 'recovered') returning {columns}"
        }
        AlertStatus::Dismissed | AlertStatus::Silenced => {
            "update event set status = 'dismissed', modified = $2
             where id in {ints $1} and status = 'open'
               and not exists (select 1 from alert where alert.event_id = event.id and alert.status = 'active')
               and not exists (select 1 from change where change.event_id = event.id and change.withdrawn is null)
             returning {columns}"
        }
    };
    let updated: Vec<UpdatedEvent> = tx.fetch_all(sql, &[&events, &context.now])?;
    let actions: Vec<NewAction> = updated
        .into_iter()
        .map(|UpdatedEvent { id, status, note }| NewAction::new(id, status, note, actor, context))
        .collect();
    tx.insert_many("event_action", &actions, "")
}

columns! {
    struct UpdatedEvent {
        id: EventId = "id",
        status: EventStatus = "status",
        note: Option<NonEmpty> = "note",
    }
}
