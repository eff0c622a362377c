//! Signing up, signing in, accepting invitations and claiming organizations.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Email, JobSecret, Jwt, NonEmpty, OrganizationUuid, Project, SessionUuid, Slug, Timestamp, User, UserName,
    UserUuid, scalar::word,
};

/// A wish for a new account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSignup)]
pub struct Signup {
    /// The name of the person.
    pub name: UserName,
    /// The slug of the user; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// The address of the account.
    pub email: Email,
    /// The plan the person has in mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanLevel>,
    /// An invitation to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invite: Option<Jwt>,
    /// An organization to claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<OrganizationUuid>,
    /// Agreement to the terms; must be true.
    pub i_agree: bool,
    /// Proof of being human, where the server asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recaptcha_token: Option<NonEmpty>,
}

/// A wish to sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonLogin)]
pub struct Login {
    /// The address of the account.
    pub email: Email,
    /// The plan the person has in mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanLevel>,
    /// An invitation to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invite: Option<Jwt>,
    /// Proof of being human, where the server asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recaptcha_token: Option<NonEmpty>,
}

/// The token from the mail, to be exchanged for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonConfirm)]
pub struct Confirm {
    /// The token.
    pub token: Jwt,
}

/// An invitation to accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAccept)]
pub struct Accept {
    /// The invitation.
    pub invite: Jwt,
}

/// Where something was sent, or would have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAuthAck)]
pub struct AuthAck {
    /// The address.
    pub email: Email,
}

/// A user with a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAuthUser)]
pub struct AuthUser {
    /// The user.
    pub user: User,
    /// The token of the session.
    pub token: Jwt,
    /// When the session began.
    pub creation: Timestamp,
    /// When the session ends.
    pub expiration: Timestamp,
}

/// Whose credential a request came with: one of the two is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCaller)]
pub struct Caller {
    /// The user; null for the key of a project.
    pub user: Option<User>,
    /// The project that the key belongs to; null for a user.
    pub project: Option<Project>,
}

/// Who is signed in, for a browser, whose session is in a cookie that its page cannot read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSession)]
pub struct Session {
    /// The user; nobody when null.
    pub user: Option<User>,
}

/// A live session of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUserSession)]
pub struct UserSession {
    /// Its identifier.
    pub uuid: SessionUuid,
    /// The user it acts for.
    pub user: UserUuid,
    /// When the user signed in.
    pub creation: Timestamp,
    /// When it ceases to work.
    pub expiration: Timestamp,
    /// The address of the client that signed in.
    pub address: Option<String>,
    /// The program that signed in, as it names itself.
    pub agent: Option<String>,
    /// Whether this request was made with it.
    pub current: bool,
}

/// A claim to an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewClaim)]
pub struct NewClaim {
    /// The claim token that the run was given which created the organization; needed only where the operator asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::Secret>)]
    pub token: Option<JobSecret>,
}

word! {
    /// The level of a plan, lowest first.
    PlanLevel {
        /// Without payment.
        Free = "free",
        /// For one person.
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
    fn a_claim_needs_an_object_and_nothing_in_it() {
        assert!(serde_json::from_str::<NewClaim>("{}").is_ok());
        assert!(serde_json::from_str::<NewClaim>(r#"{"empty":null}"#).is_ok());
        assert!(serde_json::from_str::<NewClaim>("null").is_err());
    }

    #[test]
    fn a_claim_token_is_sent_and_does_not_show() {
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
    fn what_people_send_does_not_show_in_logs() {
        let login: Login =
            serde_json::from_str(r#"{"email":"Ada@Example.org","invite":"aa.bb.cc","plan":null}"#).unwrap();
        assert_eq!(login.email.as_str(), "ada@example.org");
        let debug = format!("{login:?}");
        assert!(!debug.contains("ada@") && !debug.contains("aa.bb"), "{debug}");
    }
}
