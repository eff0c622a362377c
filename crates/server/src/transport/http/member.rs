//! `/v0/organizations/{organization}/members`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    AuthAck, Email, Member, MemberFilter, MemberKeys, MemberPatch, NewMember, OrganizationPermission,
    OrganizationRole, Page, ResourceId, Timestamp,
};
use tidemark_store::{Lock, OrganizationId, Tx, UserId, invitation, member, user};
use utoipa::IntoParams;

use super::{
    access::{CreateRole, EditRole, Organization, ViewRole},
    answer::{Accepted, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    organization::OrganizationPath,
    project_key::revoke_orphans,
};
use crate::{
    domain::app::App,
    infra::{
        limits::Rule,
        mail::{self, Message},
    },
};

/// Lifetime of an invitation, in seconds.
const INVITATION_SECONDS: i64 = 7 * 86_400;

/// Path parameters: organization and member.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct MemberPath {
    /// The slug or UUID of an organization.
    #[serde(rename = "organization")]
    #[param(rename = "organization")]
    _organization: ResourceId,
    /// The slug or UUID of a user.
    user: ResourceId,
}

/// List the members of an organization.
#[utoipa::path(get, path = "/v0/organizations/{organization}/members", operation_id = "org_members_get",
    tag = "members", params(OrganizationPath, MemberFilter, Page), responses((status = 200, body = Vec<Member>)),
    extensions(("x-right" = json!("organization:view_role"))))]
pub(super) async fn list(
    State(app): State<App>,
    organization: Organization<ViewRole>,
    Query(filter): Query<MemberFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Member>> {
    Ok(Paged(app.db.read(move |tx| member::list(tx, organization.id, &filter, &page)).await?))
}

/// Invite a user by mail.
///
/// The user becomes a member after accepting the invitation.
#[utoipa::path(post, path = "/v0/organizations/{organization}/members", operation_id = "org_member_post",
    tag = "members", params(OrganizationPath), request_body = NewMember,
    responses((status = 202, body = AuthAck)), extensions(("x-right" = json!("organization:create_role"))))]
pub(super) async fn invite(
    State(app): State<App>,
    organization: Organization<CreateRole>,
    Body(new): Body<NewMember>,
) -> Result<Accepted<AuthAck>> {
    let fresh = app.fresh();
    app.limits.check(Rule::UserInvites, &organization.by.found.user.uuid.to_string(), fresh.now).await?;
    let ack = AuthAck { email: new.email.clone() };
    let write = move |tx: &mut Tx<'_>| {
        // The body can arrive long after the right was checked. A leader who was removed in the meantime must not invite.
        tx.lock(Lock::Organization(organization.id.get()))?;
        organization.recheck(tx)?;
        let known = user::by_email(tx, &new.email)?;
        if let Some(known) = &known
            && member::role(tx, organization.id, known.id)?.is_some()
        {
            return Err(Error::Conflict("This user is already a member of the organization.".into()));
        }
        let expires = fresh.now.plus_seconds(INVITATION_SECONDS);
        let inviter = &organization.by.found;
        let invited =
            invitation::create(tx, &fresh, organization.id, &new.email, new.role, inviter.id, expires)?;
        let message = Message::Invitation(mail::Invitation {
            uuid: invited.invitation.uuid,
            organization: organization.organization.uuid,
            organization_name: organization.organization.name.clone(),
            role: new.role,
            inviter: inviter.user.name.clone(),
            name: new.name.or_else(|| known.as_ref().map(|known| known.user.name.clone())),
            known: known.is_some(),
            created: invited.invitation.created,
            expires,
        });
        mail::enqueue(tx, fresh.now, &new.email, &message)?;
        let masked = new.email.masked();
        let detail = [("role", new.role.as_str())];
        organization.origin.audit(tx, &fresh, "invitation.create", &masked, Some(organization.id), &detail)
    };
    app.db.write(write).await?;
    app.background.wake();
    Ok(Accepted(ack))
}

/// View a member.
#[utoipa::path(get, path = "/v0/organizations/{organization}/members/{user}", operation_id = "org_member_get",
    tag = "members", params(MemberPath), responses((status = 200, body = Member)),
    extensions(("x-right" = json!("organization:view_role"))))]
pub(super) async fn view(
    State(app): State<App>,
    organization: Organization<ViewRole>,
    Path(path): Path<MemberPath>,
) -> Result<Json<Member>> {
    let found = app.db.read(move |tx| member::find(tx, organization.id, &path.user)).await?;
    Ok(Json(found.member))
}

/// Change the role of a member.
///
/// A leader who becomes a member loses the pending invitations that this leader issued and, unless `keep_keys` is set, the keys
/// of projects that this leader may no longer manage.
#[utoipa::path(patch, path = "/v0/organizations/{organization}/members/{user}", operation_id = "org_member_patch",
    tag = "members", params(MemberPath, MemberKeys), request_body = MemberPatch, responses((status = 200, body = Member)),
    extensions(("x-right" = json!("organization:edit_role"))))]
pub(super) async fn update(
    State(app): State<App>,
    organization: Organization<EditRole>,
    Path(path): Path<MemberPath>,
    Query(query): Query<MemberKeys>,
    Body(patch): Body<MemberPatch>,
) -> Result<Json<Member>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Organization(organization.id.get()))?;
        let mut found = member::find(tx, organization.id, &path.user)?;
        let Some(role) = patch.role.filter(|role| *role != found.member.role) else {
            return Ok(found.member);
        };
        keep_a_leader(tx, organization.id, &found)?;
        member::set_role(tx, organization.id, found.user, role, fresh.now)?;
        let revoked = revoke_issued(tx, organization.id, found.user, query, fresh.now)?;
        let mut detail = vec![("from", found.member.role.as_str()), ("to", role.as_str())];
        detail.extend(revoked.iter().map(|(key, list)| (*key, list.as_str())));
        let target = found.member.slug.as_str();
        organization.origin.audit(tx, &fresh, "member.role", target, Some(organization.id), &detail)?;
        found.member.role = role;
        found.member.modified = fresh.now;
        Ok::<_, Error>(found.member)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Remove a member, or leave an organization.
///
/// The server revokes the pending invitations that the member issued and, unless `keep_keys` is set, the keys that the member
/// created in projects of the organization. The audit log lists both.
#[utoipa::path(delete, path = "/v0/organizations/{organization}/members/{user}", operation_id = "org_member_delete",
    tag = "members", params(MemberPath, MemberKeys), responses((status = 204)),
    extensions(("x-right" = json!("organization:delete_role"))))]
pub(super) async fn remove(
    State(app): State<App>,
    organization: Organization<ViewRole>,
    Path(path): Path<MemberPath>,
    Query(query): Query<MemberKeys>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Organization(organization.id.get()))?;
        let found = member::find(tx, organization.id, &path.user);
        if !matches!(&found, Ok(found) if found.user == organization.by.found.id) {
            organization.require(OrganizationPermission::DeleteRole)?;
        }
        let found = found?;
        keep_a_leader(tx, organization.id, &found)?;
        member::remove(tx, organization.id, found.user)?;
        // An older invitation must not restore the membership. `revoke_issued` covers invitations that the member issued to
        // other addresses of the same person.
        invitation::revoke_all(tx, organization.id, &found.member.email, fresh.now)?;
        let revoked = revoke_issued(tx, organization.id, found.user, query, fresh.now)?;
        let detail: Vec<_> = revoked.iter().map(|(key, list)| (*key, list.as_str())).collect();
        let target = found.member.slug.as_str();
        organization.origin.audit(tx, &fresh, "member.remove", target, Some(organization.id), &detail)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}

/// Revokes the invitations that a user issued in an organization and may no longer issue, and the keys unless they are to be
/// kept. Returns the audit log entries that list them.
fn revoke_issued(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    user: UserId,
    query: MemberKeys,
    now: Timestamp,
) -> Result<Vec<(&'static str, String)>> {
    if member::role(tx, organization, user)? == Some(OrganizationRole::Leader) {
        return Ok(Vec::new());
    }
    let mut listed = Vec::new();
    let invitations = invitation::revoke_issued(tx, organization, user, now)?;
    if !invitations.is_empty() {
        let list: Vec<_> = invitations.iter().map(Email::masked).collect();
        listed.push(("invitations_revoked", list.join(", ")));
    }
    listed.extend(revoke_orphans(tx, organization, user, query, now)?);
    Ok(listed)
}

/// Checks that the user is not the last leader: an organization without a leader could not be managed.
fn keep_a_leader(tx: &mut Tx<'_>, organization: OrganizationId, found: &member::MemberRow) -> Result<()> {
    let user: UserId = found.user;
    if found.member.role == OrganizationRole::Leader && member::other_leaders(tx, organization, user)? == 0 {
        return Err(Error::Conflict(
            "This is the last leader of the organization; make another member a leader first.".into(),
        ));
    }
    Ok(())
}
