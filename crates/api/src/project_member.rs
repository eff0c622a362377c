//! Members of projects: users with a role in one project. Members of organizations are in `member`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{ProjMembersSort, ProjectRole, ResourceId, Search, Slug, Timestamp, UserName, UserUuid};

/// A user with a role in a project. The e-mail address is not included, because every user can give every other user a role in
/// their own project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProjectMember)]
pub struct ProjectMember {
    /// UUID of the user.
    pub uuid: UserUuid,
    /// Name of the user.
    pub name: UserName,
    /// Slug of the user.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Role of the user in the project.
    pub role: ProjectRole,
    /// Time when the user got the role.
    pub created: Timestamp,
    /// Time when the role was last modified.
    pub modified: Timestamp,
}

/// A user to give a role in a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewProjectMember)]
pub struct NewProjectMember {
    /// UUID or slug of a user of this server.
    pub user: ResourceId,
    /// Role of the user in the project.
    pub role: ProjectRole,
}

/// Changes to a membership in a project. Omitted fields stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateProjectMember)]
pub struct ProjectMemberPatch {
    /// New role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ProjectRole>,
}

/// Filter of a list of members of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProjectMemberFilter {
    /// Only members with exactly this name.
    #[param(inline)]
    pub name: Option<UserName>,
    /// Only members whose name, slug or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<ProjMembersSort>,
}
