//! Deprecated API tokens: signed by another server or by an earlier release, never issued by this one. Only the hashes
//! are stored.

use tidemark_api::{
    id::{TokenUuid, UserUuid},
    name::ResourceName,
    page::{Direction, Page},
    time::Timestamp,
    token::{Token, TokenFilter, masked},
};

use crate::{
    Cells, FromRow, List, Result, Tx, UserId, WriteContext,
    columns::columns,
    sql::{contains, direction},
};

columns!(
    struct TokenRow {
        uuid: TokenUuid = "user_token.uuid",
        user: UserUuid = "account.uuid",
        name: ResourceName = "user_token.name",
        creation: Timestamp = "user_token.created",
        expiration: Timestamp = "user_token.expires",
        revoked: Option<Timestamp> = "user_token.revoked",
    }
);
const TABLES: &str = "user_token join account on account.id = user_token.account_id";

impl FromRow for Token {
    const WIDTH: usize = TokenRow::WIDTH;
    const COLUMNS: &'static str = TokenRow::COLUMNS;

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let TokenRow { uuid, user, name, creation, expiration, revoked } = cells.read()?;
        Ok(Self { uuid, user, name, token: masked(), creation, expiration, revoked })
    }
}

/// Inserts a token that is used for the first time, so that its owner can view and revoke it.
pub fn record(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    user: UserId,
    name: &ResourceName,
    hash: &[u8],
    created: Timestamp,
    expires: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into user_token (uuid, account_id, name, hash, created, expires) values ($1, $2, $3, $4, $5, $6)
         on conflict (hash) do nothing",
        &[&context.uuid(), &user, name, &hash, &created, &expires],
    )?;
    Ok(())
}

/// Returns the owner of the token with this hash, and whether the token is revoked.
pub fn by_hash(tx: &mut Tx<'_>, hash: &[u8]) -> Result<Option<(UserId, bool)>> {
    tx.fetch_optional("select account_id, revoked is not null from user_token where hash = $1", &[&hash])
}

/// Returns a token of a user.
pub fn find(tx: &mut Tx<'_>, user: UserId, token: TokenUuid) -> Result<Token> {
    tx.fetch_one(
        "token",
        &format!(
            "select {{columns}} from {TABLES} where user_token.account_id = $1 and user_token.uuid = $2"
        ),
        &[&user, &token],
    )
}

/// Lists the tokens of a user, by name.
pub fn list(tx: &mut Tx<'_>, user: UserId, filter: &TokenFilter, page: &Page) -> Result<(Vec<Token>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            from: &format!(
                "{TABLES} where user_token.account_id = $1
                 and (cast($2 as text) is null or user_token.name = $2)
                 and (cast($3 as text) is null or lower(user_token.name) like $3 escape '\\'
                      or cast(user_token.uuid as text) like $3 escape '\\')
                 and (user_token.revoked is not null) = $4"
            ),
            order: &format!(
                "lower(user_token.name) {direction}, user_token.expires {direction}, user_token.id {direction}"
            ),
        },
        &[
            &user,
            &filter.name,
            &filter.search.as_ref().map(|search| contains(search.as_ref())),
            &filter.revoked.unwrap_or(false),
        ],
        page,
    )
}

/// Renames a token.
pub fn rename(tx: &mut Tx<'_>, user: UserId, token: TokenUuid, name: &ResourceName) -> Result<()> {
    tx.execute(
        "update user_token set name = $3 where account_id = $1 and uuid = $2",
        &[&user, &token, name],
    )?;
    Ok(())
}

/// Revokes a token permanently; `false` if it was already revoked.
pub fn revoke(tx: &mut Tx<'_>, user: UserId, token: TokenUuid, now: Timestamp) -> Result<bool> {
    let revoked = tx.execute(
        "update user_token set revoked = $3 where account_id = $1 and uuid = $2 and revoked is null",
        &[&user, &token, &now],
    )?;
    Ok(revoked == 1)
}
