//! Mutes: series that cause no notifications and no failing gates for a period. `domain/mute.rs` of the server matches them.

use tidemark_api::{
    Actor, EventUuid, Mute, MuteFilter, MuteUuid, Muted, NewMute, Page, Timestamp, page::Direction,
};
use uuid::Uuid;

use crate::{List, MuteId, ProjectId, Result, Tx, WriteContext, columns::columns, sql::direction};

/// Maximum number of mutes of a project that have effect.
pub const MAX_ACTIVE_MUTES: i64 = 1_000;

columns!(Mute {
    uuid: "mute.uuid",
    benchmark: "mute.benchmark",
    branch: "mute.branch",
    testbed: "mute.testbed",
    reason: "mute.reason",
    actor: Actor { kind: "mute.actor_kind", uuid: "mute.actor_uuid", name: "mute.actor_name" },
    created: "mute.created",
    expires: "mute.expires",
});

columns!(Muted { mute: "mute.uuid", reason: "mute.reason", expires: "mute.expires" });

columns! {
    /// A mute with its primary key.
    #[derive(Clone, Debug)]
    pub struct MuteRow {
        /// Primary key.
        pub id: MuteId = "mute.id",
        /// Representation in the API.
        pub mute: Mute,
    }
}

/// Predicate that a mute has effect; `$2` is the current time.
const ACTIVE: &str = "(mute.expires is null or mute.expires > $2)";

/// Returns the mutes of a project that have effect, oldest first.
pub fn active(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Result<Vec<MuteRow>> {
    let sql =
        format!("select {{columns}} from mute where mute.project_id = $1 and {ACTIVE} order by mute.id");
    tx.fetch_all(&sql, &[&project, &now])
}

/// Returns the number of mutes of a project that have effect.
pub fn count_active(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Result<i64> {
    let sql = format!("select count(*) from mute where mute.project_id = $1 and {ACTIVE}");
    tx.value(&sql, &[&project, &now])
}

/// Inserts a mute.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    new: &NewMute,
    actor: &Actor,
) -> Result<Mute> {
    let uuid = MuteUuid::from(context.uuid());
    let NewMute { benchmark, branch, testbed, reason, ttl } = new;
    let expires = ttl.map(|ttl| context.now.plus_seconds(i64::from(ttl.get())));
    let Actor { kind, uuid: actor_uuid, name } = actor;
    tx.execute(
        "insert into mute (uuid, project_id, benchmark, branch, testbed, reason, actor_kind, actor_uuid, actor_name,
                           created, expires)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        &[
            &uuid,
            &project,
            benchmark,
            branch,
            testbed,
            reason,
            kind,
            actor_uuid,
            name,
            &context.now,
            &expires,
        ],
    )?;
    Ok(find(tx, project, uuid)?.mute)
}

/// Returns a mute.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, mute: MuteUuid) -> Result<MuteRow> {
    tx.fetch_one(
        "mute",
        "select {columns} from mute where mute.project_id = $1 and mute.uuid = $2",
        &[&project, &mute],
    )
}

/// Lists the mutes of a project, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &MuteFilter,
    now: Timestamp,
    page: &Page,
) -> Result<(Vec<Mute>, i64)> {
    let (condition, params): (_, Vec<&dyn crate::Param>) = match filter.expired {
        None => (String::new(), vec![&project]),
        Some(true) => (format!(" and not {ACTIVE}"), vec![&project, &now]),
        Some(false) => (format!(" and {ACTIVE}"), vec![&project, &now]),
    };
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    tx.page(
        &List {
            from: &format!("mute where mute.project_id = $1{condition}"),
            order: &format!("mute.id {direction}"),
        },
        &params,
        page,
    )
}

/// Deletes a mute. The alerts that were raised while it was active are no longer muted.
pub fn delete(tx: &mut Tx<'_>, mute: MuteId) -> Result<()> {
    tx.execute("delete from mute where id = $1", &[&mute])?;
    Ok(())
}

/// Removes the mutes that have expired from the alerts that were raised while they were active.
pub fn unlink_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    tx.execute(
        "update alert set mute_id = null where mute_id in (select id from mute where expires <= $1)",
        &[&now],
    )?;
    Ok(())
}

/// Deletes the mutes that expired before a time.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.execute("delete from mute where expires <= $1", &[&before])?;
    Ok(())
}

columns! {
    /// Names of a series of an event.
    #[derive(Clone, Debug)]
    pub struct EventSeries {
        /// UUID of the event.
        pub event: EventUuid = "event.uuid",
        /// Branch.
        pub branch: String = "branch.name",
        /// Testbed.
        pub testbed: String = "testbed.name",
        /// Benchmark.
        pub benchmark: String = "benchmark.name",
    }
}

/// Returns the names of the series of events, with a change or an alert.
pub fn event_series(tx: &mut Tx<'_>, events: &[EventUuid]) -> Result<Vec<EventSeries>> {
    let uuids: Vec<Uuid> = events.iter().map(|event| event.uuid()).collect();
    let names = "join head on head.id = event.head_id join branch on branch.id = head.branch_id
                 join testbed on testbed.id = series.testbed_id join benchmark on benchmark.id = series.benchmark_id
                 where event.uuid in {uuids $1}";
    let sql = format!(
        "select {{columns}} from event join change as series on series.event_id = event.id {names}
           and series.withdrawn is null
         union select {{columns}} from event join event_series as series on series.event_id = event.id {names}"
    );
    tx.fetch_all(&sql, &[&uuids.as_slice()])
}
