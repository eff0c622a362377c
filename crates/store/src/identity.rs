//! Identities of users at identity providers.

use crate::{Fresh, Result, Tx, UserId, user};

/// Returns the user with this subject at a provider.
pub fn find(tx: &mut Tx<'_>, provider: &str, subject: &str) -> Result<Option<user::UserRow>> {
    tx.optional(
        &format!(
            "select {} from identity join account on account.id = identity.account_id
             where identity.provider = $1 and identity.subject = $2",
            user::COLUMNS
        ),
        &[&provider, &subject],
        user::read,
    )
}

/// Links a user to a subject at a provider; `false` if the user or the subject is already linked at this provider.
pub fn link(tx: &mut Tx<'_>, fresh: &Fresh, user: UserId, provider: &str, subject: &str) -> Result<bool> {
    let linked = tx.execute(
        "insert into identity (account_id, provider, subject, created) values ($1, $2, $3, $4) on conflict do nothing",
        &[&user, &provider, &subject, &fresh.now],
    )?;
    Ok(linked == 1)
}
