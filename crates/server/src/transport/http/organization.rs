//! `/v0/organizations`

use axum::{
    Json,
    extract::{FromRequestParts as _, State},
    http::request::Parts,
};
use serde::Deserialize;
use tidemark_api::{
    Allowed, NewClaim, NewOrganization, Organization as Wire, OrganizationFilter, OrganizationPatch,
    OrganizationPermission, OrganizationRole, OrganizationUuid, Page, ResourceId, ResourceName,
};
use tidemark_store::{
    self as store, Lock, OrganizationId, Tx, UserId, WriteContext, member, organization, sso, unclaimed, user,
};
use utoipa::IntoParams;

use super::{
    access::{self, AnyCaller, Delete, Edit, Organization, SignedInUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query, segment},
    error::{Error, Result},
    origin::Origin,
};
use crate::{
    domain::{app::App, auth::key::hash, jobs::tier, license, quota::Quota},
    infra::{config::Claims, limits::Rule},
};

/// Path parameter: organization.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct OrganizationPath {
    /// The slug or UUID of an organization.
    pub(super) organization: ResourceId,
}

/// List your organizations.
///
/// With `all`, an administrator of the server gets all organizations.
#[utoipa::path(get, path = "/v0/organizations", operation_id = "organizations_get", tag = "organizations",
    params(OrganizationFilter, Page), responses((status = 200, body = Vec<Wire>)),
    extensions(("x-right" = json!("user"))))]
pub(super) async fn list(
    State(app): State<App>,
    signed: SignedInUser,
    Query(filter): Query<OrganizationFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Wire>> {
    let (user, admin) = (signed.by.found.id, signed.by.found.user.admin);
    let all = filter.all.unwrap_or(false);
    if all && !admin {
        return Err(Error::Forbidden(
            "Only an administrator of this server may list all organizations; leave `all` out to list yours."
                .into(),
        ));
    }
    let read = move |tx: &mut Tx<'_>| {
        let (mut rows, total) = organization::list(tx, (!all).then_some(user), &filter, &page)?;
        let roles = member::roles(tx, user)?;
        for organization in &mut rows {
            let role = roles.get(&organization.uuid).copied();
            if !access::allowed(&signed.by, role, OrganizationPermission::Manage) {
                organization.license = None;
            }
        }
        Ok::<_, Error>((rows, total))
    };
    Ok(Paged(app.db.read(read).await?))
}

/// Create an organization. You become its leader.
#[utoipa::path(post, path = "/v0/organizations", operation_id = "organization_post", tag = "organizations",
    request_body = NewOrganization, responses((status = 201, body = Wire)),
    extensions(("x-right" = json!("user"))))]
pub(super) async fn create(
    State(app): State<App>,
    signed: SignedInUser,
    Body(new): Body<NewOrganization>,
) -> Result<Created<Wire>> {
    let fresh = app.fresh();
    app.limits.check(Rule::UserOrganizations, &signed.by.found.user.uuid.to_string(), fresh.now).await?;
    let write = move |tx: &mut Tx<'_>| {
        let mut found = organization::create(tx, &fresh, None, &new.name, new.slug.as_ref())?;
        claim_for_user(tx, &fresh, found.id, signed.by.found.id)?;
        found.organization.claimed = Some(fresh.now);
        let slug = found.organization.slug.as_str();
        signed.origin.audit(tx, &fresh, "organization.create", slug, Some(found.id), &[])?;
        Ok::<_, Error>(found.organization)
    };
    Ok(Created(app.db.write(write).await?))
}

/// Makes a user the first leader of an unclaimed organization. Returns `false` if the organization is claimed.
pub(super) fn claim_for_user(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    organization: OrganizationId,
    user: UserId,
) -> Result<bool> {
    let free = organization::claim(tx, organization, fresh.now)?;
    if free && member::role(tx, organization, user)?.is_some() {
        member::set_role(tx, organization, user, OrganizationRole::Leader, fresh.now)?;
    } else if free {
        member::add(tx, organization, user, OrganizationRole::Leader, fresh.now)?;
    }
    Ok(free)
}

/// Creates the personal organization of a user: with the UUID and name of the user, and the slug of the user if it is not
/// taken.
pub(super) fn create_personal(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    origin: &Origin,
    found: &user::UserRow,
) -> Result<OrganizationId> {
    let name: ResourceName = found
        .user
        .name
        .as_str()
        .parse()
        .map_err(|error| Error::Internal(format!("a user's name is no resource name: {error}").into()))?;
    let uuid = OrganizationUuid::from(found.user.uuid.uuid());
    organization::replace_uuid(tx, fresh, uuid)?;
    // A user who transferred the first personal organization gets another one with a new UUID.
    let taken = organization::exists(tx, uuid)?;
    let created = organization::create(tx, fresh, (!taken).then_some(uuid), &name, Some(&found.user.slug))?;
    claim_for_user(tx, fresh, created.id, found.id)?;
    let slug = created.organization.slug.as_str();
    origin.audit(tx, fresh, "organization.create", slug, Some(created.id), &[])?;
    Ok(created.id)
}

/// View an organization.
#[utoipa::path(get, path = "/v0/organizations/{organization}", operation_id = "organization_get",
    tag = "organizations", params(OrganizationPath), responses((status = 200, body = Wire)),
    extensions(("x-right" = json!("organization:view"))))]
pub(super) async fn view(State(app): State<App>, organization: Organization<View>) -> Result<Json<Wire>> {
    let mut shown = organization.organization;
    shown.sso = app.db.read(move |tx| sso::all(tx, organization.id)).await?;
    Ok(Json(shown))
}

/// Change the name, the slug or the license of an organization.
#[utoipa::path(patch, path = "/v0/organizations/{organization}", operation_id = "organization_patch",
    tag = "organizations", params(OrganizationPath), request_body = OrganizationPatch,
    responses((status = 200, body = Wire)), extensions(("x-right" = json!("organization:edit"))))]
pub(super) async fn update(
    State(app): State<App>,
    organization: Organization<Edit>,
    Body(patch): Body<OrganizationPatch>,
) -> Result<Json<Wire>> {
    if patch.license.is_some() {
        organization.require(OrganizationPermission::Manage)?;
    }
    let fresh = app.fresh();
    if let Some(Some(key)) = &patch.license {
        license::check(&app.config, key, organization.organization.uuid, fresh.now)?;
    }
    let manages = organization.allows(OrganizationPermission::Manage);
    let write = move |tx: &mut Tx<'_>| {
        let before = &organization.organization;
        let change =
            organization::OrganizationUpdate { name: patch.name, slug: patch.slug, license: patch.license };
        let mut after = organization::update(tx, organization.id, &change, fresh.now)?.organization;
        let mut detail = Vec::new();
        for (key, changed, value) in [
            ("name", after.name != before.name, after.name.as_str()),
            ("slug", after.slug != before.slug, after.slug.as_str()),
            ("license", change.license.is_some() && after.license != before.license, licensed(&after)),
        ] {
            if changed {
                detail.push((key, value));
            }
        }
        if !detail.is_empty() {
            let target = before.slug.as_str();
            organization.origin.audit(
                tx,
                &fresh,
                "organization.update",
                target,
                Some(organization.id),
                &detail,
            )?;
        }
        if !manages {
            after.license = None;
        }
        after.sso = sso::all(tx, organization.id)?;
        Ok::<_, Error>(after)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Returns what changed about the license of an organization.
fn licensed(organization: &Wire) -> &'static str {
    if organization.license.is_some() { "set" } else { "removed" }
}

/// Query parameters of a deletion.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteQuery {
    /// Delete permanently instead of hiding; only for administrators of the server.
    hard: Option<bool>,
}

/// Delete an organization and its projects.
#[utoipa::path(delete, path = "/v0/organizations/{organization}", operation_id = "organization_delete",
    tag = "organizations", params(OrganizationPath, DeleteQuery), responses((status = 204)),
    extensions(("x-right" = json!("organization:delete"))))]
pub(super) async fn delete(
    State(app): State<App>,
    Query(query): Query<DeleteQuery>,
    mut parts: Parts,
) -> Result<Deleted> {
    let fresh = app.fresh();
    if query.hard.unwrap_or(false) {
        let AnyCaller { caller } = AnyCaller::from_request_parts(&mut parts, &app).await?;
        access::may_delete_permanently(&caller)?;
        let origin = Origin::of(&parts, caller.actor());
        let wanted: ResourceId = segment(&mut parts, "organization").await?;
        let write = move |tx: &mut Tx<'_>| {
            let found = organization::find_any(tx, &wanted)?;
            let (slug, uuid) = (found.organization.slug.as_str(), found.organization.uuid.to_string());
            // The entry is kept after the organization is deleted and then has no reference to it.
            let detail = [("organization", uuid.as_str())];
            origin.audit(tx, &fresh, "organization.destroy", slug, Some(found.id), &detail)?;
            Ok::<_, Error>(organization::destroy(tx, found.id, fresh.now)?)
        };
        app.db.write(write).await?;
    } else {
        let organization = Organization::<Delete>::from_request_parts(&mut parts, &app).await?;
        let write = move |tx: &mut Tx<'_>| {
            let slug = organization.organization.slug.as_str();
            organization.origin.audit(tx, &fresh, "organization.delete", slug, Some(organization.id), &[])?;
            Ok::<_, Error>(organization::delete(tx, organization.id, fresh.now)?)
        };
        app.db.write(write).await?;
    }
    Ok(Deleted)
}

/// Path parameters: organization and permission.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct AllowedPath {
    /// The slug or UUID of an organization.
    organization: ResourceId,
    /// The permission to check.
    #[param(inline)]
    permission: OrganizationPermission,
}

/// Check whether you have a permission in an organization.
///
/// The result is `false` for an organization that you may not view.
#[utoipa::path(get, path = "/v0/organizations/{organization}/allowed/{permission}",
    operation_id = "org_allowed_get", tag = "organizations", params(AllowedPath),
    responses((status = 200, body = Allowed)), extensions(("x-right" = json!("user"))))]
pub(super) async fn allowed(
    State(app): State<App>,
    signed: SignedInUser,
    Path(path): Path<AllowedPath>,
) -> Result<Json<Allowed>> {
    let user = signed.by.found.id;
    let role = app
        .db
        .read(move |tx| match organization::find(tx, &path.organization) {
            Ok(found) => Ok(Some(member::role(tx, found.id, user)?)),
            Err(store::Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        })
        .await?;
    let allowed = role.is_some_and(|role| access::allowed(&signed.by, role, path.permission));
    Ok(Json(Allowed { allowed }))
}

/// Claim an unclaimed organization.
///
/// If the server requires it, this needs the claim token that the run that created the organization received.
#[utoipa::path(post, path = "/v0/organizations/{organization}/claim", operation_id = "org_claim_post",
    tag = "organizations", params(OrganizationPath), request_body = NewClaim,
    responses((status = 201, body = Wire)), extensions(("x-right" = json!("user"))))]
pub(super) async fn claim(
    State(app): State<App>,
    signed: SignedInUser,
    Path(path): Path<OrganizationPath>,
    Body(new): Body<NewClaim>,
) -> Result<Created<Wire>> {
    if signed.by.found.confirmed.is_none() {
        return Err(Error::Forbidden("Confirm your address first: use the link in the mail we sent.".into()));
    }
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let needs_token = app.config.access.claims == Claims::Token && !signed.by.found.user.admin;
    let write = move |tx: &mut Tx<'_>| {
        let mut found = match organization::find(tx, &path.organization) {
            Err(store::Error::NotFound(_)) => return Err(nothing_to_claim()),
            found => found?,
        };
        tx.lock(Lock::Organization(found.id.get()))?;
        if needs_token && found.organization.claimed.is_none() {
            let given = new.token.as_ref().map(|token| hash(&token.0));
            if given.is_none() || given != unclaimed::claim_hash(tx, found.id)? {
                return Err(Error::Forbidden(
                    "A claim requires the claim token that the first run of the project returned; send it as \
                     `token`, or ask an administrator of the server."
                        .into(),
                ));
            }
        }
        if !claim_for_user(tx, &fresh, found.id, signed.by.found.id)? {
            let role = member::role(tx, found.id, signed.by.found.id)?;
            return Err(if access::allowed(&signed.by, role, OrganizationPermission::View) {
                Error::Conflict("The organization is already claimed.".into())
            } else {
                nothing_to_claim()
            });
        }
        tier::raise_pending(tx, quota, found.id)?;
        found.organization.claimed = Some(fresh.now);
        let slug = found.organization.slug.as_str();
        signed.origin.audit(tx, &fresh, "organization.claim", slug, Some(found.id), &[])?;
        Ok(found.organization)
    };
    Ok(Created(app.db.write(write).await?))
}

/// Returns the error for a claimed organization, which is the same as for one that does not exist: claimed organizations are
/// hidden.
fn nothing_to_claim() -> Error {
    Error::NotFound(
        "The organization does not exist or is already claimed; ask a leader of the organization for an \
         invitation."
            .into(),
    )
}
