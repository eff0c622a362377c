//! Users: people with an account.

use tidemark_api::{
    id::ResourceId,
    name::{Email, UserName},
    page::{Direction, Page},
    server::Accounts,
    slug::Slug,
    time::Timestamp,
    user::{PubUser, User, UserFilter},
};

use crate::{
    List, Lock, Result, Tx, UserId, WriteContext,
    columns::columns,
    slug,
    sql::{contains, direction},
};

columns!(
    /// A user with its internal fields.
    #[derive(Clone, Debug)]
    pub struct UserRow {
        /// Primary key.
        pub id: UserId = "account.id",
        /// Time when the user confirmed the address.
        pub confirmed: Option<Timestamp> = "account.confirmed",
        /// Representation in the API.
        pub user: User,
    }
);
columns!(User {
    uuid: "account.uuid",
    name: "account.name",
    slug: "account.slug",
    email: "account.email",
    admin: "account.admin",
    locked: "account.locked",
    created: "account.created",
});
columns!(PubUser { uuid: "account.uuid", name: "account.name", slug: "account.slug" });

/// Fields to update immediately; a new address must be confirmed first.
#[derive(Clone, Debug, Default)]
pub struct UserUpdate {
    /// New name.
    pub name: Option<UserName>,
    /// New slug.
    pub slug: Option<Slug>,
    /// Whether the user is an administrator.
    pub admin: Option<bool>,
    /// Whether the user is locked.
    pub locked: Option<bool>,
}

/// Inserts an unconfirmed user; the first user of a server is an administrator.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    name: &UserName,
    slug: Option<&Slug>,
    email: &Email,
) -> Result<UserRow> {
    tx.lock(Lock::Server)?;
    let admin = !tx.value::<bool>("select exists (select 1 from account)", &[])?;
    let uuid = context.uuid();
    let slug = slug::unused(context, uuid, slug, name.as_ref(), |slug| {
        tx.value("select exists (select 1 from account where slug = $1)", &[slug])
    })?;
    tx.fetch_one(
        "user",
        "insert into account (uuid, name, slug, email, admin, locked, created, modified)
         values ($1, $2, $3, $4, $5, false, $6, $6) returning {columns}",
        &[&uuid, name, &slug, email, &admin, &context.now],
    )
}

/// Returns the user with this slug or UUID.
pub fn find(tx: &mut Tx<'_>, user: &ResourceId) -> Result<UserRow> {
    let (column, value): (_, &dyn crate::Param) = match user {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    };
    tx.fetch_one("user", &format!("select {{columns}} from account where {column} = $1"), &[value])
}

/// Returns the user with this address.
pub fn by_email(tx: &mut Tx<'_>, email: &Email) -> Result<Option<UserRow>> {
    tx.fetch_optional("select {columns} from account where email = $1", &[email])
}

/// Returns the user with this primary key.
pub fn by_id(tx: &mut Tx<'_>, user: UserId) -> Result<UserRow> {
    tx.fetch_one("user", "select {columns} from account where id = $1", &[&user])
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
            from: "account where (cast($1 as text) is null or name = $1)
                   and (cast($2 as text) is null or lower(name) like $2 escape '\\' or slug like $2 escape '\\'
                        or cast(uuid as text) like $2 escape '\\')",
            order: &format!("lower(name) {direction}, slug {direction}"),
        },
        &[&filter.name, &filter.search.as_ref().map(|search| contains(search.as_ref()))],
        page,
    )
}

/// Updates the fields that do not need confirmation.
pub fn update(tx: &mut Tx<'_>, user: UserId, change: &UserUpdate, now: Timestamp) -> Result<UserRow> {
    tx.fetch_one(
        "user",
        "update account set name = coalesce($2, name), slug = coalesce($3, slug),
                admin = coalesce($4, admin), locked = coalesce($5, locked), modified = $6
         where id = $1 returning {columns}",
        &[&user, &change.name, &change.slug, &change.admin, &change.locked, &now],
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
    crate::sign_in::delete_all(tx, user)?;
    crate::session::end_all(tx, user)
}

/// Records that the user confirmed the address.
pub fn confirm(tx: &mut Tx<'_>, user: UserId, now: Timestamp) -> Result<()> {
    tx.execute("update account set confirmed = coalesce(confirmed, $2) where id = $1", &[&user, &now])?;
    Ok(())
}

/// Returns when a user last changed from this address to another one, if ever.
pub fn former_email_changed(tx: &mut Tx<'_>, email: &Email) -> Result<Option<Timestamp>> {
    tx.fetch_optional("select changed from former_email where email = $1", &[email])
}

/// Returns all administrators who are not locked.
pub fn admins(tx: &mut Tx<'_>) -> Result<Vec<User>> {
    tx.fetch_all("select {columns} from account where admin and not locked order by id", &[])
}

/// Returns the oldest administrator account with a confirmed address that is not locked.
pub fn first_admin(tx: &mut Tx<'_>) -> Result<Option<UserRow>> {
    tx.fetch_optional(
        "select {columns} from account where admin and not locked and confirmed is not null
         order by id limit 1",
        &[],
    )
}

/// Returns the number of unlocked administrators other than this user.
pub fn other_admins(tx: &mut Tx<'_>, user: UserId) -> Result<i64> {
    tx.value("select count(*) from account where admin and not locked and id <> $1", &[&user])
}
