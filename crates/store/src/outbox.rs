//! Outbox: work that is enqueued in the transaction that causes it, processed afterwards and retried until it succeeds.

use tidemark_api::time::Timestamp;

use crate::{
    OrganizationId, Result, Tx,
    columns::{columns, insert_columns},
};

columns! {
    /// An item that this server has claimed.
    #[derive(Clone, Debug)]
    pub struct OutboxItem {
        /// Primary key.
        pub id: i64 = "id",
        /// Kind of work.
        pub kind: String = "kind",
        /// Payload, as JSON.
        pub payload: String = "payload",
        /// Number of attempts, including the current one.
        pub attempts: i64 = "attempts",
        /// Time when the item was enqueued.
        pub created: Timestamp = "created",
    }
}

insert_columns! {
    struct NewItem<'a> {
        kind: &'a str,
        payload: &'a str,
        owner: Option<OrganizationId>,
        attempts: i64,
        due: Timestamp,
        created: Timestamp,
    }
}

/// Enqueues an item. The number of concurrent claims per owner is limited; items without an owner belong to the server.
pub fn add(
    tx: &mut Tx<'_>,
    kind: &str,
    payload: &str,
    owner: Option<OrganizationId>,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into outbox (kind, payload, owner, attempts, due, created) values ($1, $2, $3, 0, $4, $4)",
        &[&kind, &payload, &owner, &now],
    )?;
    Ok(())
}

/// Enqueues items of one kind: payloads and their owners.
pub fn add_many(
    tx: &mut Tx<'_>,
    kind: &str,
    work: &[(String, Option<OrganizationId>)],
    now: Timestamp,
) -> Result<()> {
    let items = work.iter().map(|(payload, owner)| NewItem {
        kind,
        payload,
        owner: *owner,
        attempts: 0,
        due: now,
        created: now,
    });
    tx.insert_many("outbox", &items.collect::<Vec<_>>(), "")
}

/// What to claim.
#[derive(Clone, Copy, Debug)]
pub struct ClaimOptions<'a> {
    /// Kinds of work.
    pub kinds: &'a [&'a str],
    /// Maximum number of items.
    pub count: usize,
    /// Maximum number of items of one owner that are claimed at the same time, by all servers together.
    pub per_owner: usize,
    /// End of the claim: items of a server that crashed become due again then.
    pub lease: Timestamp,
}

/// Claims the items that are due, oldest first.
pub fn claim(tx: &mut Tx<'_>, claim: &ClaimOptions<'_>, now: Timestamp) -> Result<Vec<OutboxItem>> {
    let sql = format!(
        "update outbox set due = $2, attempts = attempts + 1, claimed = true
         where id in (select id from outbox where due <= $1 and id in (
             select waiting.id from (
                 select id, due, owner, row_number() over (partition by owner order by due, id) as place
                 from outbox where due <= $1 and kind in {{texts $3}}) as waiting
             left join (
                 select owner, count(*) as number from outbox
                 where claimed and due > $1 and owner is not null group by owner) as running
               on running.owner = waiting.owner
             where waiting.owner is null or waiting.place + coalesce(running.number, 0) <= $4
             order by waiting.due, waiting.id limit $5) {})
         returning {{columns}}",
        tx.skip_locked()
    );
    let (count, per_owner) = (as_limit(claim.count), as_limit(claim.per_owner));
    let mut items: Vec<OutboxItem> =
        tx.fetch_all(&sql, &[&now, &claim.lease, &claim.kinds, &per_owner, &count])?;
    items.sort_by_key(|item| item.id);
    Ok(items)
}

fn as_limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Releases all claims. Only for a server that is known to be the only one: the process with the claims has ended.
pub fn release(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    tx.execute("update outbox set due = $1, claimed = false where claimed", &[&now])?;
    Ok(())
}

/// Deletes an item that is done or failed permanently.
pub fn delete(tx: &mut Tx<'_>, item: i64) -> Result<()> {
    tx.execute("delete from outbox where id = $1", &[&item])?;
    Ok(())
}

/// Postpones an item until `due` and records the error.
pub fn postpone(tx: &mut Tx<'_>, item: i64, due: Timestamp, error: &str) -> Result<()> {
    tx.execute(
        "update outbox set due = $2, error = $3, claimed = false where id = $1",
        &[&item, &due, &error],
    )?;
    Ok(())
}

/// Postpones an item until `due` because it cannot run yet. This does not count as an attempt.
pub fn defer(tx: &mut Tx<'_>, item: i64, due: Timestamp) -> Result<()> {
    tx.execute(
        "update outbox set due = $2, attempts = attempts - 1, claimed = false where id = $1",
        &[&item, &due],
    )?;
    Ok(())
}

/// Returns the number of items in the outbox.
pub fn depth(tx: &mut Tx<'_>) -> Result<i64> {
    tx.value("select count(*) from outbox", &[])
}

/// Returns the time when the next item of these kinds is due.
pub fn next_due(tx: &mut Tx<'_>, kinds: &[&str]) -> Result<Option<Timestamp>> {
    tx.value("select min(due) from outbox where kind in {texts $1}", &[&kinds])
}
