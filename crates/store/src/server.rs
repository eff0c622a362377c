//! The server: its identity and its statistics.

use tidemark_api::{
    id::ServerUuid,
    server::{Cohort, Server},
    time::Timestamp,
};

use crate::{Fresh, Lock, Result, Tx};

/// Returns the identity of this server, which is created at the first start and never changes.
pub fn identity(tx: &mut Tx<'_>, fresh: &Fresh) -> Result<Server> {
    tx.lock(Lock::Server)?;
    tx.execute(
        "insert into server (id, uuid, created) values (1, $1, $2) on conflict (id) do nothing",
        &[&fresh.uuid(), &fresh.now],
    )?;
    view(tx)
}

/// Returns the existing identity. This read also checks that the database responds and has its tables.
pub fn view(tx: &mut Tx<'_>) -> Result<Server> {
    tx.one("server", "select uuid, created from server", &[], |row| {
        Ok(Server { uuid: row.get(0)?, created: row.get(1)?, version: None, tidemark_version: None })
    })
}

/// Returns the number of users who signed up in the last week, in the last four weeks, and in total.
pub fn user_cohort(tx: &mut Tx<'_>, now: Timestamp) -> Result<Cohort> {
    cohort(tx, "account", now)
}

/// Returns the number of projects created in the last week, in the last four weeks, and in total.
pub fn project_cohort(tx: &mut Tx<'_>, now: Timestamp) -> Result<Cohort> {
    cohort(tx, "project", now)
}

fn cohort(tx: &mut Tx<'_>, table: &str, now: Timestamp) -> Result<Cohort> {
    tx.one(
        "cohort",
        &format!(
            "select count(case when created > $1 then 1 end), count(case when created > $2 then 1 end), count(*)
             from {table}"
        ),
        &[&now.plus_seconds(-7 * 86_400), &now.plus_seconds(-28 * 86_400)],
        |row| {
            let count = |index| Ok::<_, crate::Error>(u64::try_from(row.get::<i64>(index)?).unwrap_or_default());
            Ok(Cohort { week: count(0)?, month: count(1)?, total: count(2)? })
        },
    )
}

/// Maximum number of other servers whose statistics are stored. The limit is required because anyone can send
/// statistics with any UUID.
pub const REPORTS: i64 = 1000;

/// Stores the newest statistics of another server, and deletes all but the [`REPORTS`] most recently received.
pub fn record_report(tx: &mut Tx<'_>, server: ServerUuid, document: &str, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into server_report (server, received, document) values ($1, $2, $3)
         on conflict (server) do update set received = excluded.received, document = excluded.document",
        &[&server, &now, &document],
    )?;
    tx.execute(
        "delete from server_report where server not in
             (select server from server_report order by received desc, server desc limit $1)",
        &[&REPORTS],
    )?;
    Ok(())
}
