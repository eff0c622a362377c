//! Domains whose users join an organization automatically.

use tidemark_api::{
    Domain, Sso, SsoUuid,
    page::{Direction, Page},
};

use crate::{Error, List, OrganizationId, Result, Tx, WriteContext, columns::columns, sql::direction};

columns!(Sso { uuid: "sso.uuid", domain: "sso.domain", created: "sso.created" });

/// Inserts a domain; a domain that any organization has is a conflict.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    organization: OrganizationId,
    domain: &Domain,
) -> Result<Sso> {
    tx.fetch_one(
        "domain",
        "insert into sso (uuid, organization_id, domain, created) values ($1, $2, $3, $4)
         returning {columns}",
        &[&context.uuid(), &organization, domain, &context.now],
    )
}

/// Lists the domains of an organization, by name.
pub fn list(tx: &mut Tx<'_>, organization: OrganizationId, page: &Page) -> Result<(Vec<Sso>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List { from: "sso where organization_id = $1", order: &format!("domain {direction}") },
        &[&organization],
        page,
    )
}

/// Returns all domains of an organization, by name.
pub fn all(tx: &mut Tx<'_>, organization: OrganizationId) -> Result<Vec<Sso>> {
    tx.fetch_all("select {columns} from sso where organization_id = $1 order by domain", &[&organization])
}

/// Returns a domain of an organization.
pub fn view(tx: &mut Tx<'_>, organization: OrganizationId, sso: SsoUuid) -> Result<Sso> {
    let sql = "select {columns} from sso where organization_id = $1 and uuid = $2";
    tx.fetch_one("domain", sql, &[&organization, &sso])
}

/// Deletes a domain. Users who joined by the domain stay members.
pub fn delete(tx: &mut Tx<'_>, organization: OrganizationId, sso: SsoUuid) -> Result<()> {
    let deleted =
        tx.execute("delete from sso where organization_id = $1 and uuid = $2", &[&organization, &sso])?;
    if deleted == 0 { Err(Error::NotFound("domain")) } else { Ok(()) }
}

/// Returns the organization that users of this domain join.
pub fn organization(tx: &mut Tx<'_>, domain: &str) -> Result<Option<OrganizationId>> {
    tx.fetch_optional(
        "select organization.id from sso join organization on organization.id = sso.organization_id
         where sso.domain = $1 and organization.deleted is null",
        &[&domain],
    )
}
