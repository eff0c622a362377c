//! Invitations to organizations. The token that the invited user receives is not part of these types.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Email, InvitationUuid, OrganizationRole, OrganizationUuid, PubUser, Timestamp, scalar::fixed_string,
};

/// An invitation to an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonInvitation)]
pub struct Invitation {
    /// UUID of the invitation.
    pub uuid: InvitationUuid,
    /// UUID of the organization.
    pub organization: OrganizationUuid,
    /// E-mail address of the invited user.
    pub email: Email,
    /// Role that the invited user gets.
    pub role: OrganizationRole,
    /// User who sent the invitation; null if the user was deleted.
    pub inviter: Option<PubUser>,
    /// Time when the invitation was sent.
    pub created: Timestamp,
    /// Time when the invitation expires.
    pub expires: Timestamp,
    /// Status of the invitation.
    pub status: InvitationStatus,
}

fixed_string! {
    /// Status of an invitation.
    InvitationStatus {
        /// The invitation can be accepted.
        Pending = "pending",
        /// The invitation was accepted. It cannot be accepted again.
        Accepted = "accepted",
        /// The invitation was revoked.
        Revoked = "revoked",
        /// The invitation was not accepted in time.
        Expired = "expired",
    }
}
