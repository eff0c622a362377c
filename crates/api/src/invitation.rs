//! Invitations into organizations. The token that an invited person receives is not part of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Email, InvitationUuid, OrganizationRole, OrganizationUuid, PubUser, Timestamp, scalar::word};

/// An invitation into an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonInvitation)]
pub struct Invitation {
    /// Its identifier.
    pub uuid: InvitationUuid,
    /// The organization to join.
    pub organization: OrganizationUuid,
    /// Who is invited.
    pub email: Email,
    /// The role to join with.
    pub role: OrganizationRole,
    /// Who invited; null when that user is gone.
    pub inviter: Option<PubUser>,
    /// When it was sent.
    pub created: Timestamp,
    /// Until when it can be accepted.
    pub expires: Timestamp,
    /// What became of it.
    pub status: InvitationStatus,
}

word! {
    /// What became of an invitation.
    InvitationStatus {
        /// It can be accepted.
        Pending = "pending",
        /// It was accepted and cannot be again.
        Accepted = "accepted",
        /// It was taken back.
        Revoked = "revoked",
        /// Nobody accepted it in time.
        Expired = "expired",
    }
}
