//! Users: people with an account.

use tidemark_api::{
    id::ResourceId,
    name::{Email, UserName},
    page::{Direction, Page},
    server::Accounts,
    slug::Slug,
    time::Timestamp,
    user::{User, UserFilter},
};

use crate::{
    Fresh, List, Lock, Result, Row, Tx, UserId, slug,
    sql::{contains, direction},
};

/// A user with its internal fields.
#[derive(Clone, Debug)]
pub struct UserRow {
    /// Primary key.
    pub id: UserId,
    /// Time when the user confirmed the address.
    pub confirmed: Option<Timestamp>,
    /// Representation in the API.
    pub user: User,
}

/// Fields to update immediately; a new address must be confirmed first.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// New name.
    pub name: Option<UserName>,
    /// New slug.
    pub slug: Option<Slug>,
    /// Whether the user is an administrator.
    pub admin: Option<bool>,
    /// Whether the user is locked.
    pub locked: Option<bool>,
}

pub(crate) const COLUMNS: &str = "account.id, account.confirmed, account.uuid, account.name, account.slug, \
     account.email, account.admin, account.locked, account.created";

pub(crate) fn read(row: &Row<'_>) -> Result<UserRow> {
    Ok(UserRow { id: row.get(0)?, confirmed: row.get(1)?, user: read_user(row)? })
}

fn read_user(row: &Row<'_>) -> Result<User> {
    Ok(User {
        uuid: row.get(2)?,
        name: row.get(3)?,
        slug: row.get(4)?,
        email: row.get(5)?,
        admin: row.get(6)?,
        locked: row.get(7)?,
        created: Some(row.get(8)?),
    })
}

/// Inserts an unconfirmed user; the first user of a server is an administrator.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    name: &UserName,
    slug: Option<&Slug>,
    email: &Email,
) -> Result<UserRow> {
    tx.lock(Lock::Server)?;
    let admin = !tx.value::<bool>("select exists (select 1 from account)", &[])?;
    let uuid = fresh.uuid();
    let slug = slug::choose(fresh, uuid, slug, name.as_ref(), |slug| {
        tx.value("select exists (select 1 from account where slug = $1)", &[slug])
    })?;
    tx.one(
        "user",
        &format!(
            "insert into account (uuid, name, slug, email, admin, locked, created, modified)
             values ($1, $2, $3, $4, $5, false, $6, $6) returning {COLUMNS}"
        ),
        &[&uuid, name, &slug, email, &admin, &fresh.now],
        read,
    )
}

/// Returns the user with this slug or UUID.
pub fn find(tx: &mut Tx<'_>, user: &ResourceId) -> Result<UserRow> {
    let (column, value): (_, &dyn crate::Param) = match user {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    };
    tx.one("user", &format!("select {COLUMNS} from account where {column} = $1"), &[value], read)
}

/// Returns the user with this address.
pub fn by_email(tx: &mut Tx<'_>, email: &Email) -> Result<Option<UserRow>> {
    tx.optional(&format!("select {COLUMNS} from account where email = $1"), &[email], read)
}

/// Returns the user with this primary key.
pub fn by_id(tx: &mut Tx<'_>, user: UserId) -> Result<UserRow> {
    tx.one("user", &format!("select {COLUMNS} from account where id = $1"), &[&user], read)
}

/// Returns whether any account exists.
pub fn accounts(tx: &mut Tx<'_>) -> Result<Accounts> {
    if tx.value("select exists (select 1 from account where confirmed is not null)", &[])? {
        return Ok(Accounts::Confirmed);
    }
    let any = tx.value("select exists (select 1 from account)", &[])?;
    Ok(if any { Accounts::Unconfirmed } else { Accounts::None })
}

/// Lists all users, by name.
pub fn list(tx: &mut Tx<'_>, filter: &UserFilter, page: &Page) -> Result<(Vec<User>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            columns: COLUMNS,
            from: "account where (cast($1 as text) is null or name = $1)
                   and (cast($2 as text) is null or lower(name) like $2 escape '\\' or slug like $2 escape '\\'
                        or cast(uuid as text) like $2 escape '\\')",
            order: &format!("lower(name) {direction}, slug {direction}"),
        },
        &[&filter.name, &filter.search.as_ref().map(|search| contains(search.as_ref()))],
        page,
        read_user,
    )
}

/// Updates the fields that do not need confirmation.
pub fn update(tx: &mut Tx<'_>, user: UserId, change: &Change, now: Timestamp) -> Result<UserRow> {
    tx.one(
        "user",
        &format!(
            "update account set name = coalesce($2, name), slug = coalesce($3, slug),
                    admin = coalesce($4, admin), locked = coalesce($5, locked), modified = $6
             where id = $1 returning {COLUMNS}"
        ),
        &[&user, &change.name, &change.slug, &change.admin, &change.locked, &now],
        read,
    )
}

/// Changes the address of a user to a confirmed address. Revokes all credentials of the account, because the new
/// address may belong to another person: sessions, keys, legacy tokens, and mailed links, which could change the
/// address back.
pub fn set_email(tx: &mut Tx<'_>, user: UserId, email: &Email, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into former_email (email, changed) select email, $2 from account where id = $1
         on conflict (email) do update set changed = excluded.changed",
        &[&user, &now],
    )?;
    tx.execute("update account set email = $2, modified = $3 where id = $1", &[&user, email, &now])?;
    tx.execute(
        "update user_token set revoked = $2 where account_id = $1 and revoked is null",
        &[&user, &now],
    )?;
    tx.execute("update user_key set revoked = $2 where account_id = $1 and revoked is null", &[&user, &now])?;
    crate::sign_in::drop_all(tx, user)?;
    crate::session::end_all(tx, user)
}

/// Records that the user confirmed the address.
pub fn confirm(tx: &mut Tx<'_>, user: UserId, now: Timestamp) -> Result<()> {
    tx.execute("update account set confirmed = coalesce(confirmed, $2) where id = $1", &[&user, &now])?;
    Ok(())
}

/// Returns when a user last changed from this address to another one, if ever.
pub fn email_given_up(tx: &mut Tx<'_>, email: &Email) -> Result<Option<Timestamp>> {
    tx.optional("select changed from former_email where email = $1", &[email], |row| row.get(0))
}

/// Returns all administrators who are not locked.
pub fn admins(tx: &mut Tx<'_>) -> Result<Vec<User>> {
    tx.all(&format!("select {COLUMNS} from account where admin and not locked order by id"), &[], read_user)
}

/// Returns the oldest administrator account with a confirmed address that is not locked.
pub fn first_admin(tx: &mut Tx<'_>) -> Result<Option<UserRow>> {
    let sql = format!(
        "select {COLUMNS} from account where admin and not locked and confirmed is not null order by id limit 1"
    );
    tx.optional(&sql, &[], read)
}

/// Returns the number of unlocked administrators other than this user.
pub fn other_admins(tx: &mut Tx<'_>, user: UserId) -> Result<i64> {
    tx.value("select count(*) from account where admin and not locked and id <> $1", &[&user])
}
