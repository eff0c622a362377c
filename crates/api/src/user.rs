//! Users.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Email, Search, Slug, Timestamp, UserName, UserUuid, UsersSort};

/// A user, as visible to the user and to administrators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUser)]
pub struct User {
    /// UUID of the user.
    pub uuid: UserUuid,
    /// Name of the user.
    pub name: UserName,
    /// Slug of the user.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// E-mail address of the account.
    pub email: Email,
    /// Whether the user is an administrator of the server.
    pub admin: bool,
    /// Whether the account is locked.
    pub locked: bool,
    /// Time when the account was created; null on some older servers.
    pub created: Option<Timestamp>,
}

/// A user, as visible to everyone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPubUser)]
pub struct PubUser {
    /// UUID of the user.
    pub uuid: UserUuid,
    /// Name of the user.
    pub name: UserName,
    /// Slug of the user.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
}

/// Changes to a user. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateUser)]
pub struct UserPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<UserName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// New e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    /// Whether the user is an administrator of the server. Only administrators can set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<bool>,
    /// Whether the account is locked. Only administrators can set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
}

/// Filter of a list of users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UserFilter {
    /// Only users with exactly this name.
    #[param(inline)]
    pub name: Option<UserName>,
    /// Only users whose name, slug or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<UsersSort>,
}
