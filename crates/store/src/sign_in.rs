//! Mailed sign-in links, single use. The token is not here: it is signed from the row when the mail goes out.

use tidemark_api::{
    id::{InvitationUuid, OrganizationUuid},
    name::Email,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Fresh, Result, Row, Tx, UserId};

/// One link that was mailed and not used yet.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The id inside the token.
    pub uuid: Uuid,
    /// Who signs in.
    pub user: UserId,
    /// The address it was mailed to; another than the user's own means a change of address.
    pub email: Email,
    /// The invitation to take up once the address is proven.
    pub invitation: Option<InvitationUuid>,
    /// The organization to claim once the address is proven.
    pub claim: Option<OrganizationUuid>,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it runs out.
    pub expires: Timestamp,
}

const COLUMNS: &str = "uuid, account_id, email, invitation, claim, created, expires";

fn read(row: &Row<'_>) -> Result<SignIn> {
    Ok(SignIn {
        uuid: row.get(0)?,
        user: row.get(1)?,
        email: row.get(2)?,
        invitation: row.get(3)?,
        claim: row.get(4)?,
        created: row.get(5)?,
        expires: row.get(6)?,
    })
}

/// Records a link that is about to be mailed.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    user: UserId,
    email: &Email,
    invitation: Option<InvitationUuid>,
    claim: Option<OrganizationUuid>,
    expires: Timestamp,
) -> Result<SignIn> {
    tx.one(
        "sign-in",
        &format!("insert into sign_in ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7) returning {COLUMNS}"),
        &[&fresh.uuid(), &user, email, &invitation, &claim, &fresh.now, &expires],
        read,
    )
}

/// Takes a link out of the table, so that only one caller can use it.
pub fn take(tx: &mut Tx<'_>, uuid: Uuid, now: Timestamp) -> Result<Option<SignIn>> {
    tx.optional(
        &format!("delete from sign_in where uuid = $1 and expires > $2 returning {COLUMNS}"),
        &[&uuid, &now],
        read,
    )
}

/// Makes every link of a user worthless.
pub fn drop_all(tx: &mut Tx<'_>, user: UserId) -> Result<()> {
    tx.execute("delete from sign_in where account_id = $1", &[&user])?;
    Ok(())
}

/// Forgets links that have run out.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from sign_in where expires <= $1", &[&now])
}
