//! Mailed sign-in links, single-use. The token is not stored: it is signed from the row when the mail is sent.

use tidemark_api::{
    id::{InvitationUuid, OrganizationUuid},
    name::Email,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Result, Tx, UserId, WriteContext, columns::columns};

columns!(
    /// A mailed link that is not used yet.
    #[derive(Clone, Debug)]
    pub struct SignIn {
        /// UUID in the token.
        pub uuid: Uuid = "uuid",
        /// User who signs in.
        pub user: UserId = "account_id",
        /// Address that the link was mailed to; an address other than the user's own means a change of address.
        pub email: Email = "email",
        /// Invitation to accept when the address is confirmed.
        pub invitation: Option<InvitationUuid> = "invitation",
        /// Organization to claim when the address is confirmed.
        pub claim: Option<OrganizationUuid> = "claim",
        /// Time of the request.
        pub created: Timestamp = "created",
        /// Expiry time.
        pub expires: Timestamp = "expires",
    }
);

/// Inserts a link that is about to be mailed.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    user: UserId,
    email: &Email,
    invitation: Option<InvitationUuid>,
    claim: Option<OrganizationUuid>,
    expires: Timestamp,
) -> Result<SignIn> {
    tx.fetch_one(
        "sign-in",
        "insert into sign_in (uuid, account_id, email, invitation, claim, created, expires)
         values ($1, $2, $3, $4, $5, $6, $7) returning {columns}",
        &[&context.uuid(), &user, email, &invitation, &claim, &context.now, &expires],
    )
}

/// Deletes and returns a link, so that only one caller can use it.
pub fn consume(tx: &mut Tx<'_>, uuid: Uuid, now: Timestamp) -> Result<Option<SignIn>> {
    tx.fetch_optional(
        "delete from sign_in where uuid = $1 and expires > $2 returning {columns}",
        &[&uuid, &now],
    )
}

/// Deletes all links of a user.
pub fn delete_all(tx: &mut Tx<'_>, user: UserId) -> Result<()> {
    tx.execute("delete from sign_in where account_id = $1", &[&user])?;
    Ok(())
}

/// Deletes expired links.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from sign_in where expires <= $1", &[&now])
}
