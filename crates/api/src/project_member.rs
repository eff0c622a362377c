//! Members of projects: users with a role in one project. Those of its organization stand in `member`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{ProjMembersSort, ProjectRole, ResourceId, Search, Slug, Timestamp, UserName, UserUuid};

/// A user with a role in a project. The address stays unsaid: anybody can give anybody a role in a project of their
/// own, and must not learn more than they knew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProjectMember)]
pub struct ProjectMember {
    /// The identifier of the user.
    pub uuid: UserUuid,
    /// The name of the user.
    pub name: UserName,
    /// The slug of the user.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// The role of the user in the project.
    pub role: ProjectRole,
    /// When the user was given a role.
    pub created: Timestamp,
    /// When the role was last changed.
    pub modified: Timestamp,
}

/// A user to give a role in a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewProjectMember)]
pub struct NewProjectMember {
    /// The slug or UUID of a user of this server.
    pub user: ResourceId,
    /// The role to give.
    pub role: ProjectRole,
}

/// What to change of a membership in a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateProjectMember)]
pub struct ProjectMemberPatch {
    /// The new role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ProjectRole>,
}

/// Which members of a project to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProjectMemberFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<UserName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjMembersSort>,
}
