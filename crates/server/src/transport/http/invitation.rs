//! `/v0/organizations/{organization}/invitations`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Invitation, InvitationUuid, Page, ResourceId};
use tidemark_store::{OrganizationId, Tx, invitation};
use utoipa::IntoParams;

use super::{
    access::{CreateRole, Organization, ViewRole},
    answer::{Deleted, Paged},
    body::{Path, Query},
    error::{Error, Result},
    organization::OrganizationPath,
};
use crate::domain::app::App;

/// Path parameters: organization and invitation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct InvitationPath {
    /// The slug or UUID of an organization.
    #[serde(rename = "organization")]
    #[param(rename = "organization")]
    _organization: ResourceId,
    /// The UUID of an invitation.
    #[param(inline)]
    invitation: InvitationUuid,
}

/// List the invitations of an organization, newest first.
#[utoipa::path(get, path = "/v0/organizations/{organization}/invitations", operation_id = "org_invitations_get",
    tag = "members", params(OrganizationPath, Page), responses((status = 200, body = Vec<Invitation>)),
    extensions(("x-right" = json!("organization:view_role"))))]
pub(super) async fn list(
    State(app): State<App>,
    organization: Organization<ViewRole>,
    Query(page): Query<Page>,
) -> Result<Paged<Invitation>> {
    let now = app.clock.now();
    Ok(Paged(app.db.read(move |tx| invitation::list(tx, organization.id, &page, now)).await?))
}

/// View an invitation.
#[utoipa::path(get, path = "/v0/organizations/{organization}/invitations/{invitation}",
    operation_id = "org_invitation_get", tag = "members", params(InvitationPath),
    responses((status = 200, body = Invitation)), extensions(("x-right" = json!("organization:view_role"))))]
pub(super) async fn view(
    State(app): State<App>,
    organization: Organization<ViewRole>,
    Path(path): Path<InvitationPath>,
) -> Result<Json<Invitation>> {
    let now = app.clock.now();
    let found = app.db.read(move |tx| invitation::find(tx, path.invitation, now)).await?;
    within(organization.id, &found)?;
    Ok(Json(found.invitation))
}

/// Revoke an invitation. Its link no longer works.
#[utoipa::path(delete, path = "/v0/organizations/{organization}/invitations/{invitation}",
    operation_id = "org_invitation_delete", tag = "members", params(InvitationPath), responses((status = 204)),
    extensions(("x-right" = json!("organization:create_role"))))]
pub(super) async fn revoke(
    State(app): State<App>,
    organization: Organization<CreateRole>,
    Path(path): Path<InvitationPath>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = invitation::find(tx, path.invitation, fresh.now)?;
        within(organization.id, &found)?;
        if !invitation::revoke(tx, path.invitation, fresh.now)? {
            return Err(Error::Conflict("The invitation was already accepted or revoked.".into()));
        }
        let target = found.invitation.email.masked();
        organization.origin.audit(tx, &fresh, "invitation.revoke", &target, Some(organization.id), &[])?;
        Ok(Deleted)
    };
    app.db.write(write).await
}

fn within(organization: OrganizationId, found: &invitation::InvitationRow) -> Result<()> {
    if found.organization == organization { Ok(()) } else { Err(Error::not_found("invitation")) }
}
