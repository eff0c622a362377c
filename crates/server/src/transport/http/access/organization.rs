//! The organization in the path, and the permissions of users in organizations.

use std::marker::PhantomData;

use axum::{extract::FromRequestParts, http::request::Parts};
use tidemark_api::{self as api, OrganizationPermission, OrganizationRole, ResourceId};
use tidemark_store::{OrganizationId, Tx, member, organization};

use super::{Right, authenticate, found_or_none, signed_in_for};
use crate::{
    domain::{
        app::App,
        auth::caller::{Caller, SignedIn},
        error::{Error, Result},
    },
    transport::http::{body::segment, origin::Origin},
};

/// The organization in the path, for a user with the right `R` in it. Users who may not view the organization get 404.
#[derive(Clone, Debug)]
pub struct Organization<R> {
    /// Database key.
    pub id: OrganizationId,
    /// The organization. Its license is blanked for users who may not manage the organization.
    pub organization: api::Organization,
    /// The user who sent the request.
    pub by: SignedIn,
    /// User and address of the request.
    pub origin: Origin,
    role: Option<OrganizationRole>,
    right: PhantomData<R>,
}

impl<R> Organization<R> {
    /// Whether the caller has a permission in addition to the right of the signature.
    pub fn allows(&self, permission: OrganizationPermission) -> bool {
        allowed(&self.by, self.role, permission)
    }

    /// Requires a permission in addition to the right of the signature.
    pub fn require(&self, permission: OrganizationPermission) -> Result<()> {
        require_permission(self.allows(permission), permission)
    }
}

impl<R: Right> Organization<R> {
    /// Checks the right of the signature again, inside a transaction.
    pub fn recheck(&self, tx: &mut Tx<'_>) -> Result<()> {
        require(&self.by, member::role(tx, self.id, self.by.found.id)?, R::ORGANIZATION)
    }
}

/// Requires a permission in an organization. Users who may not view the organization get 404.
fn require(by: &SignedIn, role: Option<OrganizationRole>, permission: OrganizationPermission) -> Result<()> {
    if !allowed(by, role, OrganizationPermission::View) {
        return Err(Error::not_found("organization"));
    }
    require_permission(allowed(by, role, permission), permission)
}

/// Whether a user with this role has the permission. An administrator of the server has all permissions.
pub fn allowed(by: &SignedIn, role: Option<OrganizationRole>, permission: OrganizationPermission) -> bool {
    by.found.user.admin || role.is_some_and(|role| role.grants(permission))
}

/// Returns the organization named in a body, if the user has the required permission in it.
pub fn organization_for(
    tx: &mut Tx<'_>,
    by: &SignedIn,
    wanted: &ResourceId,
    permission: OrganizationPermission,
) -> Result<organization::OrganizationRow> {
    let found = organization::find(tx, wanted)?;
    require(by, member::role(tx, found.id, by.found.id)?, permission)?;
    Ok(found)
}

fn require_permission(allowed: bool, permission: OrganizationPermission) -> Result<()> {
    if allowed {
        return Ok(());
    }
    Err(Error::Forbidden(format!(
        "This operation requires the permission `{permission}` in the organization; ask a leader of the \
         organization."
    )))
}

impl<R: Right> FromRequestParts<App> for Organization<R> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let wanted: ResourceId = segment(parts, "organization").await?;
        let (caller, found) = authenticate(parts, app, move |tx, caller| {
            let Some(found) = found_or_none(organization::find(tx, &wanted))? else { return Ok(None) };
            let role = match caller {
                Caller::User(signed_in) => member::role(tx, found.id, signed_in.found.id)?,
                _ => None,
            };
            Ok(Some((found, role)))
        })
        .await?;
        let by = signed_in_for(caller, "organization")?;
        let (found, role) = found.ok_or_else(|| Error::not_found("organization"))?;
        require(&by, role, R::ORGANIZATION)?;
        let mut organization = found.organization;
        if !allowed(&by, role, OrganizationPermission::Manage) {
            organization.license = None;
        }
        Ok(Self {
            id: found.id,
            organization,
            origin: Origin::of(parts, by.actor()),
            by,
            role,
            right: PhantomData,
        })
    }
}
