//! Who users are at identity providers.

use crate::{Fresh, Result, Tx, UserId, user};

/// The user whom a provider knows by this subject.
pub fn find(tx: &mut Tx<'_>, provider: &str, subject: &str) -> Result<Option<user::Found>> {
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

/// Remembers who a user is at a provider; `false` when the provider knew the user, or the subject was somebody, before.
pub fn link(tx: &mut Tx<'_>, fresh: &Fresh, user: UserId, provider: &str, subject: &str) -> Result<bool> {
    let linked = tx.execute(
        "insert into identity (account_id, provider, subject, created) values ($1, $2, $3, $4) on conflict do nothing",
        &[&user, &provider, &subject, &fresh.now],
    )?;
    Ok(linked == 1)
}
