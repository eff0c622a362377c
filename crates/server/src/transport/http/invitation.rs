//! `/v0/organizations/{organization}/invitations`, and the invitation of a token.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    Invitation, InvitationLink, InvitationOffer, InvitationStatus, InvitationToken, InvitationUuid, Page,
    ResourceId,
};
use tidemark_store::{OrganizationId, Tx, invitation, organization};
use utoipa::IntoParams;

use super::{
    access::{CreateRole, Organization, ViewRole},
    answer::{Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    organization::OrganizationPath,
    origin::Origin,
    sign_in_completion::invalid_invitation,
};
use crate::{
    domain::{
        app::App,
        auth::jwt::{Audience, Claims},
    },
    infra::{
        limits::Rule,
        mail::{self, TokenSigner},
    },
};

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

/// View the link of a pending invitation, to send it to the invited user.
///
/// Only the owner of the invited address can use the link: accepting the invitation requires a sign-in with this address.
#[utoipa::path(get, path = "/v0/organizations/{organization}/invitations/{invitation}/link",
    operation_id = "org_invitation_link_get", tag = "members", params(InvitationPath),
    responses((status = 200, body = InvitationLink)), extensions(("x-right" = json!("organization:create_role"))))]
pub(super) async fn link(
    State(app): State<App>,
    organization: Organization<CreateRole>,
    Path(path): Path<InvitationPath>,
) -> Result<Json<InvitationLink>> {
    let now = app.clock.now();
    let found = app.db.read(move |tx| invitation::find(tx, path.invitation, now)).await?;
    within(organization.id, &found)?;
    let Invitation { uuid, organization, email, role, created, expires, status, .. } = found.invitation;
    if status != InvitationStatus::Pending {
        return Err(Error::Conflict(format!("The invitation has no link: it is {status}.")));
    }
    let token = app.signer.invitation(uuid, &email, organization, role, created, expires);
    let console = app.config.console.url.as_str().parse().map_err(internal)?;
    let url = mail::invitation_url(&console, &token).as_str().parse().map_err(internal)?;
    Ok(Json(InvitationLink { url }))
}

/// View the invitation of a token, also if it can no longer be accepted.
///
/// The token is the credential. The response does not reveal whether the address has an account.
#[utoipa::path(post, path = "/v0/auth/invitation", operation_id = "auth_invitation_post", tag = "auth",
    request_body = InvitationToken, responses((status = 200, body = InvitationOffer)),
    extensions(("x-right" = json!("public"))))]
pub(super) async fn of_token(
    State(app): State<App>,
    origin: Origin,
    Body(token): Body<InvitationToken>,
) -> Result<Json<InvitationOffer>> {
    let now = app.clock.now();
    // Ignores the expiration time of the token: the response names the status of the invitation.
    let claims: Option<Claims> = app.signer.verify_claims(token.invite.as_ref());
    let invited = claims.filter(|claims| claims.aud == Audience::Invite).and_then(|claims| claims.jti);
    let Some(invited) = invited else {
        app.limits.check(Rule::PublicAttempts, &origin.key(), now).await?;
        return Err(invalid_invitation());
    };
    let read = move |tx: &mut Tx<'_>| {
        let found = match invitation::find(tx, invited.into(), now) {
            Err(tidemark_store::Error::NotFound(_)) => return Err(invalid_invitation()),
            found => found?,
        };
        let organization = organization::by_id(tx, found.organization)?.organization.name;
        let Invitation { inviter, email, role, expires, status, .. } = found.invitation;
        let inviter = inviter.map(|inviter| inviter.name);
        Ok(InvitationOffer { organization, inviter, email, role, expires, status })
    };
    Ok(Json(app.db.read(read).await?))
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

fn internal(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Internal(error.into())
}

fn within(organization: OrganizationId, found: &invitation::InvitationRow) -> Result<()> {
    if found.organization == organization { Ok(()) } else { Err(Error::not_found("invitation")) }
}
