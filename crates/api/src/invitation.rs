//! Invitations to organizations. [`Invitation`] does not contain the token that the invited user receives.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Email, InvitationUuid, Jwt, OrganizationRole, OrganizationUuid, PubUser, ResourceName, Timestamp, Url,
    UserName, scalar::fixed_string,
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

/// Link of a pending invitation. Only the owner of the invited address can accept the invitation with it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonInvitationLink)]
pub struct InvitationLink {
    /// URL of the page of the console that shows the invitation.
    pub url: Url,
}

/// Hides the token of the link in logs.
impl fmt::Debug for InvitationLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvitationLink").finish_non_exhaustive()
    }
}

/// Request to view the invitation of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonInvitationToken)]
pub struct InvitationToken {
    /// Token of the invitation.
    pub invite: Jwt,
}

/// An invitation as the invited user sees it before signing in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonInvitationOffer)]
pub struct InvitationOffer {
    /// Name of the organization.
    pub organization: ResourceName,
    /// Name of the user who sent the invitation; null if the user was deleted.
    pub inviter: Option<UserName>,
    /// E-mail address of the invited user.
    pub email: Email,
    /// Role that the invited user gets.
    pub role: OrganizationRole,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_a_link_is_masked_in_logs() {
        let link: InvitationLink =
            serde_json::from_str(r#"{"url":"https://example.org/auth/invitation?invite=aa.bb.cc"}"#).unwrap();
        assert!(!format!("{link:?}").contains("aa.bb"), "{link:?}");
    }
}
