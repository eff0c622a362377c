//! API keys of users. Only the hashes are stored; a key is shown once, when it is created.

use tidemark_api::{
    id::UserKeyUuid,
    key::{KeyFilter, UserKey},
    name::ResourceName,
    page::{Direction, Page},
    time::Timestamp,
};

use crate::{
    List, Result, Tx, UserId, WriteContext,
    columns::columns,
    sql::{contains, direction},
    user,
};

columns!(UserKey {
    uuid: "user_key.uuid",
    user: "account.uuid",
    name: "user_key.name",
    creation: "user_key.created",
    expiration: "user_key.expires",
    revoked: "user_key.revoked",
});
const TABLES: &str = "user_key join account on account.id = user_key.account_id";

/// Fields of a new key of a user or a project.
#[derive(Clone, Copy, Debug)]
pub struct NewKeyRow<'a> {
    /// Name.
    pub name: &'a ResourceName,
    /// Hash of the key.
    pub hash: &'a [u8],
    /// Expiry time.
    pub expires: Timestamp,
}

/// Inserts a key of a user.
pub fn create(tx: &mut Tx<'_>, context: &WriteContext, user: UserId, key: NewKeyRow<'_>) -> Result<UserKey> {
    let uuid = UserKeyUuid::from(context.uuid());
    tx.execute(
        "insert into user_key (uuid, account_id, name, hash, created, expires) values ($1, $2, $3, $4, $5, $6)",
        &[&uuid, &user, key.name, &key.hash, &context.now, &key.expires],
    )?;
    view(tx, user, uuid)
}

/// Returns a key of a user.
pub fn view(tx: &mut Tx<'_>, user: UserId, key: UserKeyUuid) -> Result<UserKey> {
    tx.fetch_one(
        "key",
        &format!("select {{columns}} from {TABLES} where user_key.account_id = $1 and user_key.uuid = $2"),
        &[&user, &key],
    )
}

/// Lists the keys of a user by name; `only` limits the list to one key.
pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    only: Option<UserKeyUuid>,
    filter: &KeyFilter,
    page: &Page,
) -> Result<(Vec<UserKey>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            from: &format!(
                "{TABLES} where user_key.account_id = $1
                 and (cast($2 as text) is null or user_key.name = $2)
                 and (cast($3 as text) is null or lower(user_key.name) like $3 escape '\\'
                      or cast(user_key.uuid as text) like $3 escape '\\')
                 and (user_key.revoked is not null) = $4
                 and (cast($5 as text) is null or cast(user_key.uuid as text) = $5)"
            ),
            order: &format!(
                "lower(user_key.name) {direction}, user_key.created {direction}, user_key.id {direction}"
            ),
        },
        &[
            &user,
            &filter.name,
            &filter.search.as_ref().map(|search| contains(search.as_ref())),
            &filter.revoked.unwrap_or(false),
            &only.map(|key| key.to_string()),
        ],
        page,
    )
}

/// Renames a key of a user.
pub fn rename(tx: &mut Tx<'_>, user: UserId, key: UserKeyUuid, name: &ResourceName) -> Result<()> {
    tx.execute("update user_key set name = $3 where account_id = $1 and uuid = $2", &[&user, &key, name])?;
    Ok(())
}

/// Revokes a key of a user permanently; `false` if it was already revoked.
pub fn revoke(tx: &mut Tx<'_>, user: UserId, key: UserKeyUuid, now: Timestamp) -> Result<bool> {
    let revoked = tx.execute(
        "update user_key set revoked = $3 where account_id = $1 and uuid = $2 and revoked is null",
        &[&user, &key, &now],
    )?;
    Ok(revoked == 1)
}

/// Revokes all keys of a user with this name permanently.
pub fn revoke_named(tx: &mut Tx<'_>, user: UserId, name: &ResourceName, now: Timestamp) -> Result<()> {
    tx.execute(
        "update user_key set revoked = $3 where account_id = $1 and name = $2 and revoked is null",
        &[&user, name, &now],
    )?;
    Ok(())
}

/// Returns the UUID and the owner of the valid key with this hash.
pub fn authenticate(
    tx: &mut Tx<'_>,
    hash: &[u8],
    now: Timestamp,
) -> Result<Option<(UserKeyUuid, user::UserRow)>> {
    tx.fetch_optional(
        &format!(
            "select user_key.uuid, {{columns}} from {TABLES}
             where user_key.hash = $1 and user_key.revoked is null and user_key.expires > $2"
        ),
        &[&hash, &now],
    )
}

/// Returns the owner of a key that is still valid.
pub fn owner(tx: &mut Tx<'_>, key: UserKeyUuid, now: Timestamp) -> Result<Option<user::UserRow>> {
    tx.fetch_optional(
        &format!(
            "select {{columns}} from {TABLES}
             where user_key.uuid = $1 and user_key.revoked is null and user_key.expires > $2"
        ),
        &[&key, &now],
    )
}
