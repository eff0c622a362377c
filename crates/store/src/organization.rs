//! Organizations: the owners of projects.

use tidemark_api::{
    id::{OrganizationUuid, ResourceId},
    name::{Jwt, ResourceName},
    organization::{Organization, OrganizationFilter},
    page::{Direction, Page},
    slug::Slug,
    time::Timestamp,
};

use crate::{
    Cells, Error, FromRow, List, OrganizationId, Param, Result, Tx, UserId, WriteContext,
    columns::columns,
    plan, slug,
    sql::{contains, direction},
};

columns!(
    /// An organization with its primary key.
    #[derive(Clone, Debug)]
    pub struct OrganizationRow {
        /// Primary key.
        pub id: OrganizationId = "organization.id",
        /// Representation in the API.
        pub organization: Organization,
    }
);
columns!(
    struct StoredOrganization {
        uuid: OrganizationUuid = "organization.uuid",
        name: ResourceName = "organization.name",
        slug: Slug = "organization.slug",
        license: Option<Jwt> = "organization.license",
        claimed: Option<Timestamp> = "organization.claimed",
        created: Timestamp = "organization.created",
        modified: Timestamp = "organization.modified",
    }
);

/// Leaves `sso` empty: the domains are rows of another table.
impl FromRow for Organization {
    const WIDTH: usize = StoredOrganization::WIDTH;
    const COLUMNS: &'static str = StoredOrganization::COLUMNS;

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let StoredOrganization { uuid, name, slug, license, claimed, created, modified } = cells.read()?;
        Ok(Self { uuid, name, slug, license, sso: Vec::new(), claimed, created, modified })
    }
}

/// Fields to update.
#[derive(Clone, Debug, Default)]
pub struct OrganizationUpdate {
    /// New name.
    pub name: Option<ResourceName>,
    /// New slug.
    pub slug: Option<Slug>,
    /// License: absent keeps it, `None` removes it.
    pub license: Option<Option<Jwt>>,
}

/// Inserts an unclaimed organization. `uuid` is given for a personal organization, which has the UUID of its owner.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    uuid: Option<OrganizationUuid>,
    name: &ResourceName,
    slug: Option<&Slug>,
) -> Result<OrganizationRow> {
    let uuid = uuid.unwrap_or_else(|| context.uuid().into());
    let slug = slug::unused(context, uuid.uuid(), slug, name.as_ref(), |slug| {
        tx.value("select exists (select 1 from organization where slug = $1)", &[slug])
    })?;
    tx.fetch_one(
        "organization",
        "insert into organization (uuid, name, slug, created, modified) values ($1, $2, $3, $4, $4)
         returning {columns}",
        &[&uuid, name, &slug, &context.now],
    )
}

/// Returns the organization with this slug or UUID, unless it is deleted.
pub fn find(tx: &mut Tx<'_>, organization: &ResourceId) -> Result<OrganizationRow> {
    lookup(tx, organization, "and deleted is null")
}

/// Returns the organization with this slug or UUID, including deleted ones.
pub fn find_any(tx: &mut Tx<'_>, organization: &ResourceId) -> Result<OrganizationRow> {
    lookup(tx, organization, "")
}

fn lookup(tx: &mut Tx<'_>, organization: &ResourceId, live: &str) -> Result<OrganizationRow> {
    let (column, value): (_, &dyn Param) = match organization {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    };
    let sql = format!("select {{columns}} from organization where {column} = $1 {live}");
    tx.fetch_one("organization", &sql, &[value])
}

/// Returns the organization with this primary key, including deleted ones.
pub fn by_id(tx: &mut Tx<'_>, organization: OrganizationId) -> Result<OrganizationRow> {
    tx.fetch_one("organization", "select {columns} from organization where id = $1", &[&organization])
}

/// Whether an organization has this UUID.
pub fn exists(tx: &mut Tx<'_>, organization: OrganizationUuid) -> Result<bool> {
    tx.value("select exists (select 1 from organization where uuid = $1)", &[&organization])
}

/// Replaces the UUID of a deleted organization, so that the owner of a personal organization can create another.
pub fn replace_uuid(tx: &mut Tx<'_>, context: &WriteContext, organization: OrganizationUuid) -> Result<()> {
    let uuid = context.uuid();
    tx.execute(
        "update organization set uuid = $2, name = $3, slug = $4 where uuid = $1 and deleted is not null",
        &[&organization, &uuid, &format!("Deleted {uuid}"), &format!("deleted-{uuid}")],
    )?;
    Ok(())
}

/// Lists the organizations of a user, or all organizations for an administrator (`member` is `None`).
pub fn list(
    tx: &mut Tx<'_>,
    member: Option<UserId>,
    filter: &OrganizationFilter,
    page: &Page,
) -> Result<(Vec<Organization>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            from: "organization where deleted is null
                   and (cast($1 as bigint) is null or id in (select organization_id from member where account_id = $1))
                   and (cast($2 as text) is null or name = $2)
                   and (cast($3 as text) is null or lower(name) like $3 escape '\\' or slug like $3 escape '\\'
                        or cast(uuid as text) like $3 escape '\\')",
            order: &format!("lower(name) {direction}, slug {direction}"),
        },
        &[&member, &filter.name, &filter.search.as_ref().map(|search| contains(search.as_ref()))],
        page,
    )
}

/// Updates an organization.
pub fn update(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    change: &OrganizationUpdate,
    now: Timestamp,
) -> Result<OrganizationRow> {
    tx.fetch_one(
        "organization",
        "update organization set name = coalesce($2, name), slug = coalesce($3, slug),
                license = case when $4 then $5 else license end, modified = $6
         where id = $1 and deleted is null returning {columns}",
        &[
            &organization,
            &change.name,
            &change.slug,
            &change.license.is_some(),
            &change.license.as_ref().and_then(Option::as_ref),
            &now,
        ],
    )
}

/// Records that the organization has an owner; `false` if it was already claimed.
pub fn claim(tx: &mut Tx<'_>, organization: OrganizationId, now: Timestamp) -> Result<bool> {
    let claimed = tx.execute(
        "update organization set claimed = $2 where id = $1 and claimed is null and deleted is null",
        &[&organization, &now],
    )?;
    Ok(claimed == 1)
}

/// Marks the organization and its projects as deleted and frees their names and slugs.
pub fn delete(tx: &mut Tx<'_>, organization: OrganizationId, now: Timestamp) -> Result<()> {
    let deleted = tx.execute(
        "update organization set deleted = $2, name = 'Deleted ' || cast(uuid as text),
                slug = 'deleted-' || cast(uuid as text), modified = $2
         where id = $1 and deleted is null",
        &[&organization, &now],
    )?;
    if deleted == 0 {
        return Err(Error::NotFound("organization"));
    }
    tx.execute("delete from sso where organization_id = $1", &[&organization])?;
    plan::enqueue_cancellation(tx, organization, now)?;
    tx.execute(
        "update project set deleted = $2, name = 'Deleted ' || cast(uuid as text),
                slug = 'deleted-' || cast(uuid as text), modified = $2
         where organization_id = $1 and deleted is null",
        &[&organization, &now],
    )?;
    Ok(())
}

/// Deletes the organization and all of its data permanently.
pub fn destroy(tx: &mut Tx<'_>, organization: OrganizationId, now: Timestamp) -> Result<()> {
    plan::enqueue_cancellation(tx, organization, now)?;
    tx.execute("delete from organization where id = $1", &[&organization])?;
    Ok(())
}

/// Returns all organizations that are not deleted, for the statistics of the server.
pub fn all(tx: &mut Tx<'_>) -> Result<Vec<Organization>> {
    tx.fetch_all("select {columns} from organization where deleted is null order by id", &[])
}
