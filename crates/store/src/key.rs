//! API keys of users and of projects. Only their hashes are here; a key itself is shown once, when it is made.

use tidemark_api::{
    id::{ProjectKeyUuid, UserKeyUuid},
    key::{KeyFilter, ProjectKey, UserKey},
    name::ResourceName,
    page::{Direction, Page},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Fresh, List, ProjectId, Result, Row, Tx, UserId,
    db::{contains, direction},
    user,
};

const USER_COLUMNS: &str =
    "user_key.uuid, account.uuid, user_key.name, user_key.created, user_key.expires, user_key.revoked";
const USER_TABLES: &str = "user_key join account on account.id = user_key.account_id";
const PROJECT_COLUMNS: &str = "project_key.uuid, project.uuid, account.uuid, project_key.name, project_key.created, \
     project_key.expires, project_key.revoked";
const PROJECT_TABLES: &str = "project_key join project on project.id = project_key.project_id
     left join account on account.id = project_key.creator_id";

fn read_user_key(row: &Row<'_>) -> Result<UserKey> {
    Ok(UserKey {
        uuid: row.get(0)?,
        user: row.get(1)?,
        name: row.get(2)?,
        creation: row.get(3)?,
        expiration: row.get(4)?,
        revoked: row.get(5)?,
    })
}

fn read_project_key(row: &Row<'_>) -> Result<ProjectKey> {
    Ok(ProjectKey {
        uuid: row.get(0)?,
        project: row.get(1)?,
        creator: row.get(2)?,
        name: row.get(3)?,
        creation: row.get(4)?,
        expiration: row.get(5)?,
        revoked: row.get(6)?,
    })
}

/// What a key is made of.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Its name.
    pub name: &'a ResourceName,
    /// The hash of the key.
    pub hash: &'a [u8],
    /// When it runs out.
    pub expires: Timestamp,
}

/// Adds a key of a user.
pub fn create_for_user(tx: &mut Tx<'_>, fresh: &Fresh, user: UserId, key: New<'_>) -> Result<UserKey> {
    let uuid = UserKeyUuid::from(fresh.uuid());
    tx.execute(
        "insert into user_key (uuid, account_id, name, hash, created, expires) values ($1, $2, $3, $4, $5, $6)",
        &[&uuid, &user, key.name, &key.hash, &fresh.now, &key.expires],
    )?;
    of_user(tx, user, uuid)
}

/// One key of a user.
pub fn of_user(tx: &mut Tx<'_>, user: UserId, key: UserKeyUuid) -> Result<UserKey> {
    tx.one(
        "key",
        &format!(
            "select {USER_COLUMNS} from {USER_TABLES} where user_key.account_id = $1 and user_key.uuid = $2"
        ),
        &[&user, &key],
        read_user_key,
    )
}

/// The keys of a user by name; `only` shows a single one of them.
pub fn list_of_user(
    tx: &mut Tx<'_>,
    user: UserId,
    only: Option<UserKeyUuid>,
    filter: &KeyFilter,
    page: &Page,
) -> Result<(Vec<UserKey>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            columns: USER_COLUMNS,
            from: &format!(
                "{USER_TABLES} where user_key.account_id = $1
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
        read_user_key,
    )
}

/// Renames a key of a user.
pub fn rename_of_user(tx: &mut Tx<'_>, user: UserId, key: UserKeyUuid, name: &ResourceName) -> Result<()> {
    tx.execute("update user_key set name = $3 where account_id = $1 and uuid = $2", &[&user, &key, name])?;
    Ok(())
}

/// Revokes a key of a user for ever; `false` when it was revoked before.
pub fn revoke_of_user(tx: &mut Tx<'_>, user: UserId, key: UserKeyUuid, now: Timestamp) -> Result<bool> {
    let revoked = tx.execute(
        "update user_key set revoked = $3 where account_id = $1 and uuid = $2 and revoked is null",
        &[&user, &key, &now],
    )?;
    Ok(revoked == 1)
}

/// The live key with this hash: its id and its owner.
pub fn authenticate_user(
    tx: &mut Tx<'_>,
    hash: &[u8],
    now: Timestamp,
) -> Result<Option<(UserKeyUuid, user::Found)>> {
    tx.optional(
        &format!(
            "select {}, user_key.uuid from {USER_TABLES}
             where user_key.hash = $1 and user_key.revoked is null and user_key.expires > $2",
            user::COLUMNS
        ),
        &[&hash, &now],
        |row| Ok((row.get(9)?, user::read(row)?)),
    )
}

/// Adds a key of a project.
pub fn create_for_project(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    creator: UserId,
    key: New<'_>,
) -> Result<ProjectKey> {
    let uuid = ProjectKeyUuid::from(fresh.uuid());
    tx.execute(
        "insert into project_key (uuid, project_id, creator_id, name, hash, created, expires)
         values ($1, $2, $3, $4, $5, $6, $7)",
        &[&uuid, &project, &creator, key.name, &key.hash, &fresh.now, &key.expires],
    )?;
    of_project(tx, project, uuid)
}

/// One key of a project.
pub fn of_project(tx: &mut Tx<'_>, project: ProjectId, key: ProjectKeyUuid) -> Result<ProjectKey> {
    tx.one(
        "key",
        &format!(
            "select {PROJECT_COLUMNS} from {PROJECT_TABLES}
             where project_key.project_id = $1 and project_key.uuid = $2"
        ),
        &[&project, &key],
        read_project_key,
    )
}

/// The keys of a project, by name.
pub fn list_of_project(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &KeyFilter,
    page: &Page,
) -> Result<(Vec<ProjectKey>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            columns: PROJECT_COLUMNS,
            from: &format!(
                "{PROJECT_TABLES} where project_key.project_id = $1
                 and (cast($2 as text) is null or project_key.name = $2)
                 and (cast($3 as text) is null or lower(project_key.name) like $3 escape '\\'
                      or cast(project_key.uuid as text) like $3 escape '\\')
                 and (project_key.revoked is not null) = $4"
            ),
            order: &format!(
                "lower(project_key.name) {direction}, project_key.created {direction}, project_key.id {direction}"
            ),
        },
        &[
            &project,
            &filter.name,
            &filter.search.as_ref().map(|search| contains(search.as_ref())),
            &filter.revoked.unwrap_or(false),
        ],
        page,
        read_project_key,
    )
}

/// Renames a key of a project.
pub fn rename_of_project(
    tx: &mut Tx<'_>,
    project: ProjectId,
    key: ProjectKeyUuid,
    name: &ResourceName,
) -> Result<()> {
    tx.execute(
        "update project_key set name = $3 where project_id = $1 and uuid = $2",
        &[&project, &key, name],
    )?;
    Ok(())
}

/// Revokes a key of a project for ever; `false` when it was revoked before.
pub fn revoke_of_project(
    tx: &mut Tx<'_>,
    project: ProjectId,
    key: ProjectKeyUuid,
    now: Timestamp,
) -> Result<bool> {
    let revoked = tx.execute(
        "update project_key set revoked = $3 where project_id = $1 and uuid = $2 and revoked is null",
        &[&project, &key, &now],
    )?;
    Ok(revoked == 1)
}

/// The live key of a live project with this hash: the key's id and name, and the project's keys.
pub fn authenticate_project(tx: &mut Tx<'_>, hash: &[u8], now: Timestamp) -> Result<Option<ProjectKeyFound>> {
    tx.optional(
        "select project_key.uuid, project_key.name, project.id, project.uuid
         from project_key join project on project.id = project_key.project_id
         where project_key.hash = $1 and project_key.revoked is null and project_key.expires > $2
         and project.deleted is null",
        &[&hash, &now],
        |row| {
            Ok(ProjectKeyFound {
                uuid: row.get(0)?,
                name: row.get(1)?,
                project: row.get(2)?,
                project_uuid: row.get(3)?,
            })
        },
    )
}

/// A project key that was just proven.
#[derive(Clone, Debug)]
pub struct ProjectKeyFound {
    /// The key's id.
    pub uuid: ProjectKeyUuid,
    /// The key's name.
    pub name: ResourceName,
    /// The project it opens.
    pub project: ProjectId,
    /// The id of that project.
    pub project_uuid: Uuid,
}
