//! The server itself: its identity, and statistics about what it holds.

use tidemark_api::{
    id::ServerUuid,
    server::{Cohort, Server},
    time::Timestamp,
};

use crate::{Fresh, Lock, Result, Tx};

/// The identity of this server, given at its first start and kept for ever.
pub fn identity(tx: &mut Tx<'_>, fresh: &Fresh) -> Result<Server> {
    tx.lock(Lock::Server)?;
    tx.execute(
        "insert into server (id, uuid, created) values (1, $1, $2) on conflict (id) do nothing",
        &[&fresh.uuid(), &fresh.now],
    )?;
    view(tx)
}

/// The identity that was given before. That it can be read shows that the tables are there and answer.
pub fn view(tx: &mut Tx<'_>) -> Result<Server> {
    tx.one("server", "select uuid, created from server", &[], |row| {
        Ok(Server { uuid: row.get(0)?, created: row.get(1)?, version: None, tidemark_version: None })
    })
}

/// How many users signed up in the last week, the last four weeks, and ever.
pub fn user_cohort(tx: &mut Tx<'_>, now: Timestamp) -> Result<Cohort> {
    cohort(tx, "account", now)
}

/// How many projects were made in the last week, the last four weeks, and ever.
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

/// Of how many other servers the statistics are kept. Anybody can send them under any name, so there must be an end.
pub const REPORTS: i64 = 1000;

/// Keeps the newest statistics of another server, and those of the [`REPORTS`] servers that were heard of last.
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
