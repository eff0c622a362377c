//! Permissions, roles, and the permissions that each role grants. The store knows which user has which role.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::scalar::fixed_string;

fixed_string! {
    /// Permission in an organization.
    OrganizationPermission {
        /// View the organization.
        View = "view",
        /// Create projects in the organization.
        Create = "create",
        /// Change the name and slug of the organization.
        Edit = "edit",
        /// Delete the organization.
        Delete = "delete",
        /// Manage licenses, plans and usage.
        Manage = "manage",
        /// View the members.
        ViewRole = "view_role",
        /// Invite members.
        CreateRole = "create_role",
        /// Change the role of a member.
        EditRole = "edit_role",
        /// Remove a member.
        DeleteRole = "delete_role",
    }
}

fixed_string! {
    /// Permission in a project.
    ProjectPermission {
        /// View the project and its content.
        View = "view",
        /// Add reports and other content.
        Create = "create",
        /// Change the project and its content.
        Edit = "edit",
        /// Delete the project or its content.
        Delete = "delete",
        /// Manage the keys and settings of the project.
        Manage = "manage",
        /// View the members of the project.
        ViewRole = "view_role",
        /// Give a user a role in the project.
        CreateRole = "create_role",
        /// Change the role of a user in the project.
        EditRole = "edit_role",
        /// Remove the role of a user in the project.
        DeleteRole = "delete_role",
    }
}

fixed_string! {
    /// Role of a user in an organization.
    OrganizationRole {
        /// Can view the organization and its projects.
        Member = "member",
        /// Has all permissions.
        Leader = "leader",
    }
}

impl OrganizationRole {
    /// Whether the role grants a permission in the organization.
    pub const fn grants(self, permission: OrganizationPermission) -> bool {
        use OrganizationPermission::{View, ViewRole};
        match self {
            Self::Member => matches!(permission, View | ViewRole),
            Self::Leader => true,
        }
    }

    /// Whether the role grants a permission in each project of the organization.
    pub const fn grants_in_projects(self, permission: ProjectPermission) -> bool {
        match self {
            Self::Member => ProjectRole::Viewer.grants(permission),
            Self::Leader => true,
        }
    }
}

fixed_string! {
    /// Role of a user in a project.
    ProjectRole {
        /// Can view the project.
        Viewer = "viewer",
        /// Can view the project, and create, edit and delete its content.
        Developer = "developer",
        /// Has all permissions.
        Maintainer = "maintainer",
    }
}

impl ProjectRole {
    /// Whether the role grants a permission in the project.
    pub const fn grants(self, permission: ProjectPermission) -> bool {
        use ProjectPermission::{Create, Delete, Edit, View, ViewRole};
        match self {
            Self::Viewer => matches!(permission, View | ViewRole),
            Self::Developer => matches!(permission, View | ViewRole | Create | Edit | Delete),
            Self::Maintainer => true,
        }
    }
}

/// Result of a permission check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAllowed)]
pub struct Allowed {
    /// Whether the caller has the permission.
    pub allowed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(granted: impl Iterator<Item = &'static str>) -> String {
        granted.collect::<Vec<_>>().join(" ")
    }

    fn in_organization(role: OrganizationRole) -> String {
        words(
            OrganizationPermission::ALL
                .iter()
                .filter(|permission| role.grants(**permission))
                .map(|permission| permission.as_str()),
        )
    }

    fn in_project(grants: impl Fn(ProjectPermission) -> bool) -> String {
        words(
            ProjectPermission::ALL
                .iter()
                .filter(|permission| grants(**permission))
                .map(|permission| permission.as_str()),
        )
    }

    const ALL: &str = "view create edit delete manage view_role create_role edit_role delete_role";

    #[test]
    fn each_role_grants_its_permissions() {
        assert_eq!(in_organization(OrganizationRole::Member), "view view_role");
        assert_eq!(in_organization(OrganizationRole::Leader), ALL);
        assert_eq!(
            in_project(|permission| OrganizationRole::Member.grants_in_projects(permission)),
            "view view_role"
        );
        assert_eq!(in_project(|permission| OrganizationRole::Leader.grants_in_projects(permission)), ALL);
        assert_eq!(in_project(|permission| ProjectRole::Viewer.grants(permission)), "view view_role");
        assert_eq!(
            in_project(|permission| ProjectRole::Developer.grants(permission)),
            "view create edit delete view_role"
        );
        assert_eq!(in_project(|permission| ProjectRole::Maintainer.grants(permission)), ALL);
    }
}
