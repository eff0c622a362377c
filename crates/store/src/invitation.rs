//! Invitations to organizations: recorded, listed, revocable, single-use.

use tidemark_api::{
    id::{InvitationUuid, OrganizationUuid},
    invitation::{Invitation, InvitationStatus},
    name::Email,
    page::{Direction, Page},
    right::OrganizationRole,
    time::Timestamp,
    user::PubUser,
};

use crate::{List, OrganizationId, Result, Tx, UserId, WriteContext, columns::columns, sql::direction};

/// An invitation with its organization.
#[derive(Clone, Debug)]
pub struct InvitationRow {
    /// Organization.
    pub organization: OrganizationId,
    /// Representation in the API.
    pub invitation: Invitation,
}

columns!(
    struct StoredInvitation {
        organization_id: OrganizationId = "organization.id",
        uuid: InvitationUuid = "invitation.uuid",
        organization: OrganizationUuid = "organization.uuid",
        email: Email = "invitation.email",
        role: OrganizationRole = "invitation.role",
        inviter: Option<PubUser>,
        created: Timestamp = "invitation.created",
        expires: Timestamp = "invitation.expires",
        accepted: Option<Timestamp> = "invitation.accepted",
        revoked: Option<Timestamp> = "invitation.revoked",
    }
);
const TABLES: &str = "invitation join organization on organization.id = invitation.organization_id
     left join account on account.id = invitation.inviter_id";

impl StoredInvitation {
    /// Returns the invitation with its status at a time.
    fn at(self, now: Timestamp) -> InvitationRow {
        let status = if self.accepted.is_some() {
            InvitationStatus::Accepted
        } else if self.revoked.is_some() {
            InvitationStatus::Revoked
        } else if self.expires <= now {
            InvitationStatus::Expired
        } else {
            InvitationStatus::Pending
        };
        let Self { organization_id, uuid, organization, email, role, inviter, created, expires, .. } = self;
        InvitationRow {
            organization: organization_id,
            invitation: Invitation { uuid, organization, email, role, inviter, created, expires, status },
        }
    }
}

/// Inserts an invitation.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    organization: OrganizationId,
    email: &Email,
    role: OrganizationRole,
    inviter: UserId,
    expires: Timestamp,
) -> Result<InvitationRow> {
    let uuid = InvitationUuid::from(context.uuid());
    tx.execute(
        "insert into invitation (uuid, organization_id, email, role, inviter_id, created, expires)
         values ($1, $2, $3, $4, $5, $6, $7)",
        &[&uuid, &organization, email, &role, &inviter, &context.now, &expires],
    )?;
    find(tx, uuid, context.now)
}

/// Returns the invitation with this UUID, if its organization is not deleted.
pub fn find(tx: &mut Tx<'_>, invitation: InvitationUuid, now: Timestamp) -> Result<InvitationRow> {
    let sql = format!(
        "select {{columns}} from {TABLES} where invitation.uuid = $1 and organization.deleted is null"
    );
    let found: StoredInvitation = tx.fetch_one("invitation", &sql, &[&invitation])?;
    Ok(found.at(now))
}

/// Lists the invitations of an organization, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    page: &Page,
    now: Timestamp,
) -> Result<(Vec<Invitation>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let (found, total) = tx.page::<StoredInvitation>(
        &List {
            from: &format!("{TABLES} where invitation.organization_id = $1"),
            order: &format!("invitation.created {direction}, invitation.id {direction}"),
        },
        &[&organization],
        page,
    )?;
    Ok((found.into_iter().map(|found| found.at(now).invitation).collect(), total))
}

/// Accepts a pending invitation; `false` if it was accepted or revoked or has expired.
pub fn accept(tx: &mut Tx<'_>, invitation: InvitationUuid, now: Timestamp) -> Result<bool> {
    let accepted = tx.execute(
        "update invitation set accepted = $2
         where uuid = $1 and accepted is null and revoked is null and expires > $2",
        &[&invitation, &now],
    )?;
    Ok(accepted == 1)
}

/// Revokes a pending invitation; `false` if it is not pending.
pub fn revoke(tx: &mut Tx<'_>, invitation: InvitationUuid, now: Timestamp) -> Result<bool> {
    let revoked = tx.execute(
        "update invitation set revoked = $2 where uuid = $1 and accepted is null and revoked is null",
        &[&invitation, &now],
    )?;
    Ok(revoked == 1)
}

/// Revokes all pending invitations of an address to an organization.
pub fn revoke_all(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    email: &Email,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update invitation set revoked = $3
         where organization_id = $1 and email = $2 and accepted is null and revoked is null and expires > $3",
        &[&organization, email, &now],
    )?;
    Ok(())
}

/// Deletes the invitations that were accepted or revoked or that expired before a time.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.execute("delete from invitation where coalesce(accepted, revoked, expires) < $1", &[&before])?;
    Ok(())
}

/// Revokes all pending invitations to an organization that a user issued. Returns the invited addresses.
pub fn revoke_issued(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    inviter: UserId,
    now: Timestamp,
) -> Result<Vec<Email>> {
    tx.fetch_all(
        "update invitation set revoked = $3
         where organization_id = $1 and inviter_id = $2 and accepted is null and revoked is null and expires > $3
         returning email",
        &[&organization, &inviter, &now],
    )
}
