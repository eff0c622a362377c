//! Permissions, roles, and which role grants which permission. Who holds a role is the store's to say.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::scalar::word;

word! {
    /// Something that can be done with an organization.
    OrganizationPermission {
        /// See it.
        View = "view",
        /// Create projects in it.
        Create = "create",
        /// Change its name and slug.
        Edit = "edit",
        /// Delete it.
        Delete = "delete",
        /// Change what concerns licenses, plans and usage.
        Manage = "manage",
        /// See its members.
        ViewRole = "view_role",
        /// Invite members.
        CreateRole = "create_role",
        /// Change the role of a member.
        EditRole = "edit_role",
        /// Remove a member.
        DeleteRole = "delete_role",
    }
}

word! {
    /// Something that can be done with a project.
    ProjectPermission {
        /// See it and what it holds.
        View = "view",
        /// Add reports and other content.
        Create = "create",
        /// Change it and its content.
        Edit = "edit",
        /// Delete it or its content.
        Delete = "delete",
        /// Manage its keys and settings.
        Manage = "manage",
        /// See who has a role in it.
        ViewRole = "view_role",
        /// Give someone a role.
        CreateRole = "create_role",
        /// Change someone's role.
        EditRole = "edit_role",
        /// Take someone's role away.
        DeleteRole = "delete_role",
    }
}

word! {
    /// The role of a user in an organization.
    OrganizationRole {
        /// Sees the organization and its projects.
        Member = "member",
        /// Can do everything.
        Leader = "leader",
    }
}

impl OrganizationRole {
    /// Whether this role allows something in the organization itself.
    pub const fn grants(self, permission: OrganizationPermission) -> bool {
        use OrganizationPermission::{View, ViewRole};
        match self {
            Self::Member => matches!(permission, View | ViewRole),
            Self::Leader => true,
        }
    }

    /// Whether this role allows something in each project of the organization.
    pub const fn grants_in_projects(self, permission: ProjectPermission) -> bool {
        match self {
            Self::Member => ProjectRole::Viewer.grants(permission),
            Self::Leader => true,
        }
    }
}

word! {
    /// The role of a user in a project.
    ProjectRole {
        /// Sees the project.
        Viewer = "viewer",
        /// Works with its content.
        Developer = "developer",
        /// Can do everything.
        Maintainer = "maintainer",
    }
}

impl ProjectRole {
    /// Whether this role allows something in the project.
    pub const fn grants(self, permission: ProjectPermission) -> bool {
        use ProjectPermission::{Create, Delete, Edit, View, ViewRole};
        match self {
            Self::Viewer => matches!(permission, View | ViewRole),
            Self::Developer => matches!(permission, View | ViewRole | Create | Edit | Delete),
            Self::Maintainer => true,
        }
    }
}

/// Whether the caller has a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAllowed)]
pub struct Allowed {
    /// Whether the caller has it.
    pub allowed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(granted: impl Iterator<Item = &'static str>) -> String {
        granted.collect::<Vec<_>>().join(" ")
    }

    fn in_organization(role: OrganizationRole) -> String {
        words(OrganizationPermission::ALL.iter().filter(|word| role.grants(**word)).map(|word| word.as_str()))
    }

    fn in_project(grants: impl Fn(ProjectPermission) -> bool) -> String {
        words(ProjectPermission::ALL.iter().filter(|word| grants(**word)).map(|word| word.as_str()))
    }

    const ALL: &str = "view create edit delete manage view_role create_role edit_role delete_role";

    #[test]
    fn what_each_role_grants() {
        assert_eq!(in_organization(OrganizationRole::Member), "view view_role");
        assert_eq!(in_organization(OrganizationRole::Leader), ALL);
        assert_eq!(in_project(|word| OrganizationRole::Member.grants_in_projects(word)), "view view_role");
        assert_eq!(in_project(|word| OrganizationRole::Leader.grants_in_projects(word)), ALL);
        assert_eq!(in_project(|word| ProjectRole::Viewer.grants(word)), "view view_role");
        assert_eq!(
            in_project(|word| ProjectRole::Developer.grants(word)),
            "view create edit delete view_role"
        );
        assert_eq!(in_project(|word| ProjectRole::Maintainer.grants(word)), ALL);
    }
}
