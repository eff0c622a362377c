//! Members of organizations.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Email, OrgMembersSort, OrganizationRole, Search, Slug, Timestamp, UserName, UserUuid};

/// A user with a role in an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonMember)]
pub struct Member {
    /// UUID of the user.
    pub uuid: UserUuid,
    /// Name of the user.
    pub name: UserName,
    /// Slug of the user.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// E-mail address of the user.
    pub email: Email,
    /// Role of the user in the organization.
    pub role: OrganizationRole,
    /// Time when the user joined.
    pub created: Timestamp,
    /// Time when the membership was last modified.
    pub modified: Timestamp,
}

/// A user to invite to an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewMember)]
pub struct NewMember {
    /// Name to address the user by in the mail; the name of the account by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<UserName>,
    /// E-mail address to send the invitation to.
    pub email: Email,
    /// Role that the user gets.
    pub role: OrganizationRole,
}

/// Changes to a membership. Omitted fields stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateMember)]
pub struct MemberPatch {
    /// New role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<OrganizationRole>,
}

/// Filter of a list of members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemberFilter {
    /// Only members with exactly this name.
    #[param(inline)]
    pub name: Option<UserName>,
    /// Only members whose name, slug or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<OrgMembersSort>,
}

/// Handling of the project keys of a member who loses a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemberKeys {
    /// Whether to keep the project keys that the member created; false by default. Otherwise the server revokes these keys in every
    /// project that the member may no longer manage.
    pub keep_keys: Option<bool>,
}
