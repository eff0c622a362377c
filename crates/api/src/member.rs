//! Members of organizations.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Email, OrgMembersSort, OrganizationRole, Search, Slug, Timestamp, UserName, UserUuid};

/// A user in an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonMember)]
pub struct Member {
    /// The identifier of the user.
    pub uuid: UserUuid,
    /// The name of the user.
    pub name: UserName,
    /// The slug of the user.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// The address of the user.
    pub email: Email,
    /// The role of the user in the organization.
    pub role: OrganizationRole,
    /// When the user joined.
    pub created: Timestamp,
    /// When the membership was last changed.
    pub modified: Timestamp,
}

/// Someone to invite into an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewMember)]
pub struct NewMember {
    /// How to greet someone who has no account yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<UserName>,
    /// Where to send the invitation.
    pub email: Email,
    /// The role to join with.
    pub role: OrganizationRole,
}

/// What to change of a membership.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateMember)]
pub struct MemberPatch {
    /// The new role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<OrganizationRole>,
}

/// Which members to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemberFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<UserName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<OrgMembersSort>,
}

/// What happens to the keys of a member who loses a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemberKeys {
    /// Keep the project keys that the member created. By default the server revokes every key of a project that the
    /// member may no longer manage.
    pub keep_keys: Option<bool>,
}
