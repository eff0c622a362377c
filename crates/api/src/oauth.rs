//! Signing in at an identity provider.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{AuthUser, Confirm, Jwt, OrganizationUuid, PlanLevel, Secret};

/// What a sign-in at an identity provider leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OAuthQuery {
    /// An invitation to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub invite: Option<Jwt>,
    /// An organization to claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub claim: Option<OrganizationUuid>,
    /// The plan the person has in mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub plan: Option<PlanLevel>,
    /// For clients without cookies: the SHA-256 of a verifier that the client keeps, in base64url without padding (PKCE,
    /// method S256). Only the holder of that verifier can complete the sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_challenge: Option<String>,
}

/// Where a sign-in at an identity provider goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOAuthUrl)]
pub struct OAuthUrl {
    /// The page of the provider.
    pub url: String,
}

/// What an identity provider sent the browser back with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOAuth)]
pub struct OAuth {
    /// What this server gave along.
    pub state: Jwt,
    /// What the provider answers with.
    pub code: Secret,
    /// The verifier that belongs to the `code_challenge` which the sign-in began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_verifier: Option<Secret>,
}

/// A user with a session, who signed in at an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOAuthUser)]
pub struct OAuthUser {
    /// The user and the session.
    pub user: AuthUser,
    /// The plan the person had in mind.
    pub plan: Option<PlanLevel>,
}

/// What opens a session in a browser: the token of a mailed link, or what an identity provider sent the browser back with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSessionProof)]
#[serde(untagged)]
pub enum SessionProof {
    /// By a mailed link.
    Mailed(Confirm),
    /// By an identity provider.
    Provider(OAuth),
}

/// An identity provider that people can sign in at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProvider)]
pub struct Provider {
    /// Its name for people.
    pub name: String,
    /// The path under which a sign-in begins.
    pub path: String,
}
