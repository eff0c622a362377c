//! Sessions: created by a sign-in, ended by a sign-out.

use tidemark_api::{
    auth::UserSession,
    id::{SessionUuid, UserUuid},
    page::{Direction, Page},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{List, Result, Tx, UserId, WriteContext, columns::columns, sql::direction, user::UserRow};

/// Origin of a session, by which its owner recognizes it.
#[derive(Clone, Copy, Debug)]
pub struct SessionOrigin<'a> {
    /// Client address.
    pub address: Option<&'a str>,
    /// User agent.
    pub agent: Option<&'a str>,
}

/// Creates a session and returns its UUID.
pub fn open(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    user: UserId,
    place: SessionOrigin<'_>,
    expires: Timestamp,
) -> Result<Uuid> {
    let uuid = context.uuid();
    tx.execute(
        "insert into session (uuid, account_id, created, expires, address, agent) values ($1, $2, $3, $4, $5, $6)",
        &[&uuid, &user, &context.now, &expires, &place.address, &place.agent],
    )?;
    Ok(uuid)
}

columns!(
    struct SessionRow {
        uuid: SessionUuid = "session.uuid",
        user: UserUuid = "account.uuid",
        creation: Timestamp = "session.created",
        expiration: Timestamp = "session.expires",
        address: Option<String> = "session.address",
        agent: Option<String> = "session.agent",
    }
);

/// Lists the valid sessions of a user, newest first. `current` is the session of the caller.
pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    current: Option<Uuid>,
    now: Timestamp,
    page: &Page,
) -> Result<(Vec<UserSession>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let (sessions, total) = tx.page::<SessionRow>(
        &List {
            from: "session join account on account.id = session.account_id
                   where session.account_id = $1 and session.expires > $2",
            order: &format!("session.created {direction}, session.id {direction}"),
        },
        &[&user, &now],
        page,
    )?;
    let view = |session: SessionRow| {
        let SessionRow { uuid, user, creation, expiration, address, agent } = session;
        let current = Some(uuid.uuid()) == current;
        UserSession { uuid, user, creation, expiration, address, agent, current }
    };
    Ok((sessions.into_iter().map(view).collect(), total))
}

/// Ends a valid session of a user; `false` if the user has no session with this UUID.
pub fn end_of(tx: &mut Tx<'_>, user: UserId, session: SessionUuid, now: Timestamp) -> Result<bool> {
    let ended = tx.execute(
        "delete from session where account_id = $1 and uuid = $2 and expires > $3",
        &[&user, &session, &now],
    )?;
    Ok(ended == 1)
}

/// Returns the user of a valid session.
pub fn find(tx: &mut Tx<'_>, session: Uuid, now: Timestamp) -> Result<Option<UserRow>> {
    tx.fetch_optional(
        "select {columns} from session join account on account.id = session.account_id
         where session.uuid = $1 and session.expires > $2",
        &[&session, &now],
    )
}

/// Ends a session. Returns whether it existed.
pub fn end(tx: &mut Tx<'_>, session: Uuid) -> Result<bool> {
    Ok(tx.execute("delete from session where uuid = $1", &[&session])? > 0)
}

/// Ends all sessions of a user.
pub fn end_all(tx: &mut Tx<'_>, user: UserId) -> Result<()> {
    tx.execute("delete from session where account_id = $1", &[&user])?;
    Ok(())
}

/// Deletes expired sessions.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from session where expires <= $1", &[&now])
}
