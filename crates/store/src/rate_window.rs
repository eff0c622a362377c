//! State of the rate limits that several servers share, which the server computes, and leases of work that only one of the servers
//! does.

use tidemark_api::time::Timestamp;

use crate::{Result, Tx};

/// Returns the state with this name and locks it against other servers until the transaction ends.
pub fn load_for_update(tx: &mut Tx<'_>, name: &str, empty: &str, expires: Timestamp) -> Result<String> {
    // The update changes only the expiry time; it locks the row until the end of the transaction.
    tx.fetch_one(
        "rate window",
        "insert into rate_window (name, state, expires) values ($1, $2, $3)
         on conflict (name) do update set expires = excluded.expires returning state",
        &[&name, &empty, &expires],
    )
}

/// Stores the state with this name.
pub fn save(tx: &mut Tx<'_>, name: &str, state: &str) -> Result<()> {
    tx.execute("update rate_window set state = $2 where name = $1", &[&name, &state])?;
    Ok(())
}

/// Deletes expired states.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from rate_window where expires <= $1", &[&now])
}

/// Claims the lease with this name until a time. Returns `false` if another server has it.
pub fn claim(tx: &mut Tx<'_>, name: &str, now: Timestamp, until: Timestamp) -> Result<bool> {
    let claimed = tx.execute(
        "insert into rate_window (name, state, expires) values ($1, '', $3)
         on conflict (name) do update set expires = excluded.expires where rate_window.expires <= $2",
        &[&name, &now, &until],
    )?;
    Ok(claimed > 0)
}

/// Ends the lease with this name.
pub fn release(tx: &mut Tx<'_>, name: &str) -> Result<()> {
    tx.execute("delete from rate_window where name = $1", &[&name])?;
    Ok(())
}
