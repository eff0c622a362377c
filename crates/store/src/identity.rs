//! Identities of users at identity providers.

use crate::{Result, Tx, UserId, WriteContext, user::UserRow};

/// Returns the user with this subject at a provider.
pub fn find(tx: &mut Tx<'_>, provider: &str, subject: &str) -> Result<Option<UserRow>> {
    tx.fetch_optional(
        "select {columns} from identity join account on account.id = identity.account_id
         where identity.provider = $1 and identity.subject = $2",
        &[&provider, &subject],
    )
}

/// Links a user to a subject at a provider; `false` if the user or the subject is already linked at this provider.
pub fn link(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    user: UserId,
    provider: &str,
    subject: &str,
) -> Result<bool> {
    let linked = tx.execute(
        "insert into identity (account_id, provider, subject, created) values ($1, $2, $3, $4) on conflict do nothing",
        &[&user, &provider, &subject, &context.now],
    )?;
    Ok(linked == 1)
}
