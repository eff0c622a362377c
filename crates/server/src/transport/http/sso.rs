//! `/v0/organizations/{organization}/sso`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{NewSso, Page, ResourceId, Sso, SsoFilter, SsoUuid};
use tidemark_store::{Tx, organization, sso};
use utoipa::IntoParams;

use super::{
    access::{Admin, Organization, View},
    answer::{Accepted, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    organization::OrganizationPath,
};
use crate::domain::app::App;

/// Path parameters: organization and domain.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SsoPath {
    /// The slug or UUID of an organization.
    organization: ResourceId,
    /// The UUID of a domain.
    #[param(inline)]
    sso: SsoUuid,
}

/// List the domains whose users automatically become members of an organization.
#[utoipa::path(get, path = "/v0/organizations/{organization}/sso", operation_id = "org_ssos_get", tag = "members",
    params(OrganizationPath, SsoFilter, Page), responses((status = 200, body = Vec<Sso>)),
    extensions(("x-right" = json!("organization:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    organization: Organization<View>,
    Query(SsoFilter { sort: _ }): Query<SsoFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Sso>> {
    Ok(Paged(app.db.read(move |tx| sso::list(tx, organization.id, &page)).await?))
}

/// Add a domain to an organization.
///
/// Users with an address in the domain become members after they confirm the address.
#[utoipa::path(post, path = "/v0/organizations/{organization}/sso", operation_id = "org_sso_post", tag = "members",
    params(OrganizationPath), request_body = NewSso, responses((status = 202, body = Sso)),
    extensions(("x-right" = json!("admin"))))]
pub(super) async fn create(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<OrganizationPath>,
    Body(new): Body<NewSso>,
) -> Result<Accepted<Sso>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = organization::find(tx, &path.organization)?;
        let added = sso::create(tx, &fresh, found.id, &new.domain)?;
        admin.origin.audit(tx, &fresh, "sso.create", new.domain.as_str(), Some(found.id), &[])?;
        Ok::<_, Error>(added)
    };
    Ok(Accepted(app.db.write(write).await?))
}

/// View a domain of an organization.
#[utoipa::path(get, path = "/v0/organizations/{organization}/sso/{sso}", operation_id = "org_sso_get", tag = "members",
    params(SsoPath), responses((status = 200, body = Sso)),
    extensions(("x-right" = json!("organization:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    organization: Organization<View>,
    Path(path): Path<SsoPath>,
) -> Result<Json<Sso>> {
    Ok(Json(app.db.read(move |tx| sso::view(tx, organization.id, path.sso)).await?))
}

/// Remove a domain from an organization. Existing members stay members.
#[utoipa::path(delete, path = "/v0/organizations/{organization}/sso/{sso}", operation_id = "org_sso_delete",
    tag = "members", params(SsoPath), responses((status = 204)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn delete(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<SsoPath>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = organization::find(tx, &path.organization)?;
        let gone = sso::view(tx, found.id, path.sso)?;
        sso::delete(tx, found.id, path.sso)?;
        admin.origin.audit(tx, &fresh, "sso.delete", gone.domain.as_str(), Some(found.id), &[])?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
