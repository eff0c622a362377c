//! The server: its identity and its statistics.

use tidemark_api::{
    id::ServerUuid,
    server::{Cohort, Server},
    time::Timestamp,
};

use crate::{Lock, Result, Tx, WriteContext, columns::columns};

/// Returns the identity of this server, which is created at the first start and never changes.
pub fn identity(tx: &mut Tx<'_>, context: &WriteContext) -> Result<Server> {
    tx.lock(Lock::Server)?;
    tx.execute(
        "insert into server (id, uuid, created) values (1, $1, $2) on conflict (id) do nothing",
        &[&context.uuid(), &context.now],
    )?;
    view(tx)
}

/// Returns the existing identity. This read also checks that the database responds and has its tables.
pub fn view(tx: &mut Tx<'_>) -> Result<Server> {
    let (uuid, created) = tx.fetch_one("server", "select uuid, created from server", &[])?;
    Ok(Server { uuid, created, version: None, tidemark_version: None })
}

columns!(Cohort {
    week: "count(case when created > $1 then 1 end)",
    month: "count(case when created > $2 then 1 end)",
    total: "count(*)",
});

/// Returns the number of users who signed up in the last week, in the last four weeks, and in total.
pub fn user_cohort(tx: &mut Tx<'_>, now: Timestamp) -> Result<Cohort> {
    cohort(tx, "account", now)
}

/// Returns the number of projects created in the last week, in the last four weeks, and in total.
pub fn project_cohort(tx: &mut Tx<'_>, now: Timestamp) -> Result<Cohort> {
    cohort(tx, "project", now)
}

fn cohort(tx: &mut Tx<'_>, table: &str, now: Timestamp) -> Result<Cohort> {
    tx.fetch_one(
        "cohort",
        &format!("select {{columns}} from {table}"),
        &[&now.plus_seconds(-7 * 86_400), &now.plus_seconds(-28 * 86_400)],
    )
}

/// Maximum number of other servers whose statistics are stored. The limit is required because anyone can send
/// statistics with any UUID.
pub const MAX_SERVERS: i64 = 1000;

/// Stores the newest statistics of another server, and deletes all but the [`MAX_SERVERS`] most recently received.
pub fn record_report(tx: &mut Tx<'_>, server: ServerUuid, document: &str, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into server_report (server, received, document) values ($1, $2, $3)
         on conflict (server) do update set received = excluded.received, document = excluded.document",
        &[&server, &now, &document],
    )?;
    tx.execute(
        "delete from server_report where server not in
             (select server from server_report order by received desc, server desc limit $1)",
        &[&MAX_SERVERS],
    )?;
    Ok(())
}
