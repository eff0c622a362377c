//! API keys of projects. Only the hashes are stored; a key is shown once, when it is created.

use tidemark_api::{
    id::ProjectKeyUuid,
    key::KeyFilter,
    name::ResourceName,
    page::{Direction, Page},
    project_key::ProjectKey,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    List, OrganizationId, Param, ProjectId, Result, Tx, UserId, WriteContext,
    columns::columns,
    key::NewKeyRow,
    sql::{contains, direction},
};

columns!(ProjectKey {
    uuid: "project_key.uuid",
    project: "project.uuid",
    creator: "account.uuid",
    name: "project_key.name",
    creation: "project_key.created",
    expiration: "project_key.expires",
    revoked: "project_key.revoked",
});
const TABLES: &str = "project_key join project on project.id = project_key.project_id
     left join account on account.id = project_key.creator_id";

/// Inserts a key of a project.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    creator: UserId,
    key: NewKeyRow<'_>,
) -> Result<ProjectKey> {
    let uuid = ProjectKeyUuid::from(context.uuid());
    tx.execute(
        "insert into project_key (uuid, project_id, creator_id, name, hash, created, expires)
         values ($1, $2, $3, $4, $5, $6, $7)",
        &[&uuid, &project, &creator, key.name, &key.hash, &context.now, &key.expires],
    )?;
    view(tx, project, uuid)
}

/// Returns a key of a project.
pub fn view(tx: &mut Tx<'_>, project: ProjectId, key: ProjectKeyUuid) -> Result<ProjectKey> {
    tx.fetch_one(
        "key",
        &format!(
            "select {{columns}} from {TABLES}
             where project_key.project_id = $1 and project_key.uuid = $2"
        ),
        &[&project, &key],
    )
}

/// Lists the keys of a project, by name.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &KeyFilter,
    page: &Page,
) -> Result<(Vec<ProjectKey>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            from: &format!(
                "{TABLES} where project_key.project_id = $1
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
    )
}

/// Renames a key of a project.
pub fn rename(tx: &mut Tx<'_>, project: ProjectId, key: ProjectKeyUuid, name: &ResourceName) -> Result<()> {
    tx.execute(
        "update project_key set name = $3 where project_id = $1 and uuid = $2",
        &[&project, &key, name],
    )?;
    Ok(())
}

/// Revokes a key of a project permanently; `false` if it was already revoked.
pub fn revoke(tx: &mut Tx<'_>, project: ProjectId, key: ProjectKeyUuid, now: Timestamp) -> Result<bool> {
    let revoked = tx.execute(
        "update project_key set revoked = $3 where project_id = $1 and uuid = $2 and revoked is null",
        &[&project, &key, &now],
    )?;
    Ok(revoked == 1)
}

columns!(
    /// A valid key whose creator may no longer manage its project.
    #[derive(Clone, Debug)]
    pub struct OrphanedKey {
        id: i64 = "project_key.id",
        /// UUID of the key.
        pub uuid: ProjectKeyUuid = "project_key.uuid",
        /// Name of the key.
        pub name: ResourceName = "project_key.name",
        /// Slug of the project.
        pub project: String = "project.slug",
    }
);

/// Returns the valid keys that a user created in the projects of an organization and could not create now: the user is
/// neither a leader of the organization nor a maintainer of the project.
pub fn orphaned(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    creator: UserId,
    now: Timestamp,
) -> Result<Vec<OrphanedKey>> {
    tx.fetch_all(
        "select {columns} from project_key join project on project.id = project_key.project_id
         where project.organization_id = $1 and project_key.creator_id = $2
           and project_key.revoked is null and project_key.expires > $3
           and not exists (select 1 from member where member.organization_id = $1 and member.account_id = $2
                           and member.role = 'leader')
           and not exists (select 1 from project_member where project_member.project_id = project.id
                           and project_member.account_id = $2 and project_member.role = 'maintainer')
         order by project.slug, project_key.id",
        &[&organization, &creator, &now],
    )
}

/// Revokes all of these keys.
pub fn revoke_all(tx: &mut Tx<'_>, keys: &[OrphanedKey], now: Timestamp) -> Result<()> {
    let keys: Vec<i64> = keys.iter().map(|key| key.id).collect();
    tx.execute(
        "update project_key set revoked = $2 where id in {ints $1} and revoked is null",
        &[&keys, &now],
    )?;
    Ok(())
}

/// Returns the valid key with this hash, unless its project is deleted.
pub fn authenticate(tx: &mut Tx<'_>, hash: &[u8], now: Timestamp) -> Result<Option<ProjectKeyRow>> {
    find_valid(tx, "hash", &hash, now)
}

/// Returns the key with this UUID, if it is valid and its project is not deleted.
pub fn by_uuid(tx: &mut Tx<'_>, key: ProjectKeyUuid, now: Timestamp) -> Result<Option<ProjectKeyRow>> {
    find_valid(tx, "uuid", &key, now)
}

fn find_valid(
    tx: &mut Tx<'_>,
    column: &str,
    value: &dyn Param,
    now: Timestamp,
) -> Result<Option<ProjectKeyRow>> {
    tx.fetch_optional(
        &format!(
            "select {{columns}} from project_key join project on project.id = project_key.project_id
             where project_key.{column} = $1 and project_key.revoked is null and project_key.expires > $2
             and project.deleted is null"
        ),
        &[value, &now],
    )
}

columns!(
    /// An authenticated project key.
    #[derive(Clone, Debug)]
    pub struct ProjectKeyRow {
        /// UUID of the key.
        pub uuid: ProjectKeyUuid = "project_key.uuid",
        /// Name of the key.
        pub name: ResourceName = "project_key.name",
        /// Project of the key.
        pub project: ProjectId = "project.id",
        /// UUID of the project.
        pub project_uuid: Uuid = "project.uuid",
    }
);
