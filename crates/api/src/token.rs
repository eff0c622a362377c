//! Legacy API tokens. Users can list, rename and revoke them, but not create new ones.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Jwt, ResourceName, Search, Timestamp, TokenUuid, UserTokensSort, UserUuid};

/// A legacy API token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonToken)]
pub struct Token {
    /// UUID of the token.
    pub uuid: TokenUuid,
    /// UUID of the user that the token authenticates.
    pub user: UserUuid,
    /// Name of the token.
    pub name: ResourceName,
    /// Masked token. The server stores only the hash of a token.
    pub token: Jwt,
    /// Time when the token was created.
    pub creation: Timestamp,
    /// Time when the token expires.
    pub expiration: Timestamp,
    /// Time when the token was revoked; omitted if it is not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// A legacy API token to create. The server always rejects the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewToken)]
pub struct NewToken {
    /// Name of the token.
    pub name: ResourceName,
    /// Lifetime in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::number::positive")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub ttl: Option<NonZeroU32>,
}

/// Changes to a legacy API token. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateToken)]
pub struct TokenPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
}

/// Filter of a list of legacy API tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TokenFilter {
    /// Only tokens with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only tokens whose name or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list revoked tokens instead of all others; false by default.
    pub revoked: Option<bool>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<UserTokensSort>,
}

/// Returns the mask of a legacy token. The server stores only the hash of a token, so it cannot show the token again. The mask
/// has the form of a token, because clients validate the form.
pub fn masked() -> Jwt {
    "masked00.masked00.masked00".parse().expect("three parts of base64url")
}
