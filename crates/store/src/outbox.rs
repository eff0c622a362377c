//! The outbox: work promised in the same transaction as its cause, done afterwards and retried until it succeeds.

use tidemark_api::time::Timestamp;

use crate::{Kind, Param, Result, Tx, Value};

/// Work that this server has claimed.
#[derive(Clone, Debug)]
pub struct Item {
    /// The key.
    pub id: i64,
    /// What kind of work it is.
    pub kind: String,
    /// What the worker needs to know, as JSON.
    pub payload: String,
    /// How often it has been tried, this time included.
    pub attempts: i64,
    /// When it was promised.
    pub created: Timestamp,
}

/// Promises work.
pub fn add(tx: &mut Tx<'_>, kind: &str, payload: &str, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into outbox (kind, payload, attempts, due, created) values ($1, $2, 0, $3, $3)",
        &[&kind, &payload, &now],
    )?;
    Ok(())
}

/// Promises several pieces of work of one kind, at the cost of one statement.
pub fn add_many(tx: &mut Tx<'_>, kind: &str, payloads: &[String], now: Timestamp) -> Result<()> {
    let rows: Vec<Vec<Value<'_>>> = payloads
        .iter()
        .map(|payload| {
            let columns: [&dyn Param; 5] = [&kind, payload, &0, &now, &now];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    let columns = [
        ("kind", Kind::Text),
        ("payload", Kind::Text),
        ("attempts", Kind::Int),
        ("due", Kind::Int),
        ("created", Kind::Int),
    ];
    tx.insert_many("outbox", &columns, &rows, "")?;
    Ok(())
}

/// Claims work that is due until `lease`; a server that dies with it leaves it due again then.
pub fn claim(tx: &mut Tx<'_>, count: u32, now: Timestamp, lease: Timestamp) -> Result<Vec<Item>> {
    let sql = format!(
        "update outbox set due = $2, attempts = attempts + 1, claimed = true
         where id in (select id from outbox where due <= $1 order by due, id limit $3 {})
         returning id, kind, payload, attempts, created",
        tx.skip_locked()
    );
    let mut items = tx.all(&sql, &[&now, &lease, &count], |row| {
        Ok(Item {
            id: row.get(0)?,
            kind: row.get(1)?,
            payload: row.get(2)?,
            attempts: row.get(3)?,
            created: row.get(4)?,
        })
    })?;
    items.sort_by_key(|item| item.id);
    Ok(items)
}

/// Lets go of all that was claimed. Only for a server that knows that it is the only one: whoever claimed it is dead.
pub fn release(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    tx.execute("update outbox set due = $1, claimed = false where claimed", &[&now])?;
    Ok(())
}

/// Removes work that is done, or given up.
pub fn done(tx: &mut Tx<'_>, item: i64) -> Result<()> {
    tx.execute("delete from outbox where id = $1", &[&item])?;
    Ok(())
}

/// Puts work off until `due`, and remembers why.
pub fn postpone(tx: &mut Tx<'_>, item: i64, due: Timestamp, error: &str) -> Result<()> {
    tx.execute(
        "update outbox set due = $2, error = $3, claimed = false where id = $1",
        &[&item, &due, &error],
    )?;
    Ok(())
}

/// Puts work off until `due` because its time has not come, which does not count as an attempt.
pub fn put_back(tx: &mut Tx<'_>, item: i64, due: Timestamp) -> Result<()> {
    tx.execute(
        "update outbox set due = $2, attempts = attempts - 1, claimed = false where id = $1",
        &[&item, &due],
    )?;
    Ok(())
}

/// How much work is waiting.
pub fn depth(tx: &mut Tx<'_>) -> Result<i64> {
    tx.value("select count(*) from outbox", &[])
}

/// When the next work is due.
pub fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>> {
    tx.value("select min(due) from outbox", &[])
}
