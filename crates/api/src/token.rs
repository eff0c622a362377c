//! Legacy API tokens. They can be seen, renamed and revoked; no new ones are made.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Jwt, ResourceName, Search, Timestamp, TokenUuid, UserTokensSort, UserUuid};

/// A legacy API token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonToken)]
pub struct Token {
    /// Its identifier.
    pub uuid: TokenUuid,
    /// The user it acts for.
    pub user: UserUuid,
    /// Its name.
    pub name: ResourceName,
    /// The token itself.
    pub token: Jwt,
    /// When it was created.
    pub creation: Timestamp,
    /// When it ceases to work.
    pub expiration: Timestamp,
    /// When it was revoked; absent while it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// A legacy API token to create, which is always refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewToken)]
pub struct NewToken {
    /// Its name.
    pub name: ResourceName,
    /// How many seconds it is to work.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::number::positive")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub ttl: Option<NonZeroU32>,
}

/// What to change of a legacy API token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateToken)]
pub struct TokenPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
}

/// Which legacy API tokens to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TokenFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only those with this text in the name or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// The revoked ones instead of the others.
    pub revoked: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<UserTokensSort>,
}

/// What stands where a legacy token would: only its hash is kept, so it cannot be shown again. It has the form of a
/// token because clients check that.
pub fn masked() -> Jwt {
    "masked00.masked00.masked00".parse().expect("three parts of base64url")
}
