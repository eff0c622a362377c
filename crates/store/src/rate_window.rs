//! Rate limits that several servers share. The arithmetic is the server's; this only keeps its state.

use tidemark_api::time::Timestamp;

use crate::{Result, Tx};

/// The state kept under a name, held against other servers until the transaction ends.
pub fn take(tx: &mut Tx<'_>, name: &str, empty: &str, expires: Timestamp) -> Result<String> {
    // The update that changes nothing but the time locks the row until the end.
    tx.one(
        "rate window",
        "insert into rate_window (name, state, expires) values ($1, $2, $3)
         on conflict (name) do update set expires = excluded.expires returning state",
        &[&name, &empty, &expires],
        |row| row.get(0),
    )
}

/// Stores the state under a name.
pub fn put(tx: &mut Tx<'_>, name: &str, state: &str) -> Result<()> {
    tx.execute("update rate_window set state = $2 where name = $1", &[&name, &state])?;
    Ok(())
}

/// Forgets what no longer limits anything.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from rate_window where expires <= $1", &[&now])
}
