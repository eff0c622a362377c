//! Users.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Email, Search, Slug, Timestamp, UserName, UserUuid, UsersSort};

/// A user, as that user and the administrators see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUser)]
pub struct User {
    /// Its identifier.
    pub uuid: UserUuid,
    /// The name of the person.
    pub name: UserName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// The address of the account.
    pub email: Email,
    /// Whether the user administers the server.
    pub admin: bool,
    /// Whether the account is locked.
    pub locked: bool,
    /// When the account was created; some older servers do not tell.
    pub created: Option<Timestamp>,
}

/// A user, as everyone sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPubUser)]
pub struct PubUser {
    /// Its identifier.
    pub uuid: UserUuid,
    /// The name of the person.
    pub name: UserName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
}

/// What to change of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateUser)]
pub struct UserPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<UserName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// The new address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    /// Whether the user is to administer the server; only an administrator can say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<bool>,
    /// Whether the account is to be locked; only an administrator can say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
}

/// Which users to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UserFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<UserName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<UsersSort>,
}
