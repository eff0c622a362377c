//! Sign-in at an identity provider.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{AuthUser, Confirm, Jwt, OrganizationUuid, PlanLevel, Secret};

/// Parameters of a sign-in at an identity provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OAuthQuery {
    /// Token of an invitation to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub invite: Option<Jwt>,
    /// UUID of an organization to claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub claim: Option<OrganizationUuid>,
    /// Level of the plan that the user intends to buy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub plan: Option<PlanLevel>,
    /// PKCE code challenge (method S256), for clients without cookies: the SHA-256 of the verifier in unpadded base64url. Only
    /// the holder of the verifier can complete the sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_challenge: Option<String>,
}

/// URL to continue a sign-in at an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOAuthUrl)]
pub struct OAuthUrl {
    /// URL of the page of the provider.
    pub url: String,
}

/// Authorization response of an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOAuth)]
pub struct OAuth {
    /// State that this server passed to the provider.
    pub state: Jwt,
    /// Authorization code of the provider.
    pub code: Secret,
    /// PKCE code verifier; required if the sign-in started with a `code_challenge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_verifier: Option<Secret>,
}

/// A user who signed in at an identity provider, with a new session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOAuthUser)]
pub struct OAuthUser {
    /// User and session.
    pub user: AuthUser,
    /// Level of the plan that the user intended to buy; null if there is none.
    pub plan: Option<PlanLevel>,
}

/// Proof to start a session in a browser: the token of a mailed link, or the authorization response of an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSessionProof)]
#[serde(untagged)]
pub enum SessionProof {
    /// Token of a mailed link.
    Mailed(Confirm),
    /// Authorization response of an identity provider.
    Provider(OAuth),
}

/// An identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProvider)]
pub struct Provider {
    /// Display name of the provider.
    pub name: String,
    /// Path that starts a sign-in.
    pub path: String,
}
