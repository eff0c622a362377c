//! Sessions: what a sign-in opens and a sign-out ends.

use tidemark_api::time::Timestamp;
use uuid::Uuid;

use crate::{
    Fresh, Result, Tx, UserId,
    user::{self, Found},
};

/// Opens a session and answers its id.
pub fn open(tx: &mut Tx<'_>, fresh: &Fresh, user: UserId, expires: Timestamp) -> Result<Uuid> {
    let uuid = fresh.uuid();
    tx.execute(
        "insert into session (uuid, account_id, created, expires) values ($1, $2, $3, $4)",
        &[&uuid, &user, &fresh.now, &expires],
    )?;
    Ok(uuid)
}

/// The user of a live session.
pub fn find(tx: &mut Tx<'_>, session: Uuid, now: Timestamp) -> Result<Option<Found>> {
    tx.optional(
        &format!(
            "select {} from session join account on account.id = session.account_id
             where session.uuid = $1 and session.expires > $2",
            user::COLUMNS
        ),
        &[&session, &now],
        user::read,
    )
}

/// Ends a session; the answer says whether it was there.
pub fn end(tx: &mut Tx<'_>, session: Uuid) -> Result<bool> {
    Ok(tx.execute("delete from session where uuid = $1", &[&session])? > 0)
}

/// Ends every session of a user.
pub fn end_all(tx: &mut Tx<'_>, user: UserId) -> Result<()> {
    tx.execute("delete from session where account_id = $1", &[&user])?;
    Ok(())
}

/// Forgets sessions that have run out.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from session where expires <= $1", &[&now])
}
