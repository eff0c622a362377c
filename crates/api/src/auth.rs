//! Sign-up, sign-in, invitations and claims of organizations.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Email, JobSecret, Jwt, NonEmpty, OrganizationUuid, Project, SessionUuid, Slug, Timestamp, User, UserName,
    UserUuid, scalar::fixed_string,
};

/// Request to sign up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSignup)]
pub struct Signup {
    /// Name of the user.
    pub name: UserName,
    /// Slug of the user; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// E-mail address of the account.
    pub email: Email,
    /// Level of the plan that the user intends to buy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanLevel>,
    /// Token of an invitation to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invite: Option<Jwt>,
    /// UUID of an organization to claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<OrganizationUuid>,
    /// Whether the user agrees to the terms; must be true.
    pub i_agree: bool,
    /// Token of the CAPTCHA service; required if the server uses a CAPTCHA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recaptcha_token: Option<NonEmpty>,
}

/// Request to sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonLogin)]
pub struct Login {
    /// E-mail address of the account.
    pub email: Email,
    /// Level of the plan that the user intends to buy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanLevel>,
    /// Token of an invitation to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invite: Option<Jwt>,
    /// Token of the CAPTCHA service; required if the server uses a CAPTCHA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recaptcha_token: Option<NonEmpty>,
}

/// Request to exchange a mailed token for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonConfirm)]
pub struct Confirm {
    /// Token from the mail.
    pub token: Jwt,
}

/// Request to accept an invitation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAccept)]
pub struct Accept {
    /// Token of the invitation.
    pub invite: Jwt,
}

/// Recipient of a mail. The response is the same if the server sent no mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAuthAck)]
pub struct AuthAck {
    /// E-mail address.
    pub email: Email,
}

/// A user with a new session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAuthUser)]
pub struct AuthUser {
    /// User.
    pub user: User,
    /// Bearer token of the session.
    pub token: Jwt,
    /// Time when the session started.
    pub creation: Timestamp,
    /// Time when the session expires.
    pub expiration: Timestamp,
}

/// Owner of the credential of the request. Exactly one of `user` and `project` is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCaller)]
pub struct Caller {
    /// User; null if the credential is a project key.
    pub user: Option<User>,
    /// Project of the project key; null if the credential belongs to a user.
    pub project: Option<Project>,
}

/// Session of a browser, which is in a cookie that scripts cannot read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSession)]
pub struct Session {
    /// Signed-in user; null if no user is signed in.
    pub user: Option<User>,
}

/// An active session of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUserSession)]
pub struct UserSession {
    /// UUID of the session.
    pub uuid: SessionUuid,
    /// UUID of the user.
    pub user: UserUuid,
    /// Time when the user signed in.
    pub creation: Timestamp,
    /// Time when the session expires.
    pub expiration: Timestamp,
    /// IP address of the client that signed in; null if unknown.
    pub address: Option<String>,
    /// User agent of the client that signed in; null if unknown.
    pub agent: Option<String>,
    /// Whether the request was authenticated by this session.
    pub current: bool,
}

/// Request to claim an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewClaim)]
pub struct NewClaim {
    /// Claim token that the server returned to the run that created the organization. Required only if the operator enables claim
    /// tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::Secret>)]
    pub token: Option<JobSecret>,
}

fixed_string! {
    /// Level of a plan, in ascending order.
    PlanLevel {
        /// Without payment.
        Free = "free",
        /// For one user.
        Pro = "pro",
        /// For a team.
        Team = "team",
        /// For a company.
        Enterprise = "enterprise",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_an_object_without_required_fields() {
        assert!(serde_json::from_str::<NewClaim>("{}").is_ok());
        assert!(serde_json::from_str::<NewClaim>(r#"{"empty":null}"#).is_ok());
        assert!(serde_json::from_str::<NewClaim>("null").is_err());
    }

    #[test]
    fn a_claim_token_is_serialized_and_masked_in_logs() {
        let claim = NewClaim { token: Some(JobSecret("claim_x".to_owned())) };
        assert_eq!(serde_json::to_string(&claim).unwrap(), r#"{"token":"claim_x"}"#);
        assert!(!format!("{claim:?}").contains("claim_x"), "{claim:?}");
    }

    #[test]
    fn plans_are_ordered() {
        assert!(PlanLevel::ALL.is_sorted());
        assert!(PlanLevel::Free < PlanLevel::Enterprise);
    }

    #[test]
    fn credentials_are_masked_in_logs() {
        let login: Login =
            serde_json::from_str(r#"{"email":"Ada@Example.org","invite":"aa.bb.cc","plan":null}"#).unwrap();
        assert_eq!(login.email.as_str(), "ada@example.org");
        let debug = format!("{login:?}");
        assert!(!debug.contains("ada@") && !debug.contains("aa.bb"), "{debug}");
    }
}
