//! `tidemark member` and `tidemark project member`: members of organizations and projects with their roles.

use tidemark_api::{
    AuthAck, Email, Member, MemberFilter, MemberKeys, MemberPatch, NewMember, NewProjectMember,
    OrgMembersSort, OrganizationRole, ProjMembersSort, ProjectMember, ProjectMemberFilter,
    ProjectMemberPatch, ProjectRole, ResourceId, UserName,
};
use tidemark_client::{members, project_members};

use crate::{
    failure::Result,
    output,
    resource::{Fields, Find, InProject, Order, Paging, Session, Shown, Verb, word},
};

/// Output of `remove`.
const REMOVED: &str = "The member is removed. The audit log lists the revoked invitations and keys.";

/// Verbs of `tidemark member`.
#[derive(clap::Subcommand)]
pub(crate) enum MemberVerb {
    /// List the members of an organization
    #[command(visible_alias = "ls")]
    List {
        /// Organization UUID or slug
        organization: ResourceId,
        #[command(flatten)]
        find: Find<UserName>,
        #[command(flatten)]
        order: Order<OrgMembersSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Invite a user by mail
    #[command(visible_aliases = ["add", "create"])]
    Invite {
        /// Organization UUID or slug
        organization: ResourceId,
        /// E-mail address
        #[arg(long)]
        email: Email,
        /// Name of the user, for the greeting if the address has no account
        #[arg(long)]
        name: Option<UserName>,
        /// Role of the new member
        #[arg(long, value_parser = word::<OrganizationRole>())]
        role: OrganizationRole,
    },
    /// Show a member
    #[command(visible_alias = "get")]
    View(MemberTarget),
    /// Update the role of a member
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: MemberTarget,
        /// New role
        #[arg(long, value_parser = word::<OrganizationRole>())]
        role: OrganizationRole,
        #[command(flatten)]
        keys: Keys,
    },
    /// Remove a member and revoke the invitations and project keys that the member issued
    #[command(visible_aliases = ["rm", "delete"])]
    Remove {
        #[command(flatten)]
        one: MemberTarget,
        #[command(flatten)]
        keys: Keys,
    },
}

/// Handling of the keys of a member who loses a role.
#[derive(clap::Args)]
pub(crate) struct Keys {
    /// Keep the project keys that the member created [default: revoke the keys of projects that the member may no longer
    /// manage]
    #[arg(long)]
    keep_keys: bool,
}

impl Keys {
    fn query(&self) -> MemberKeys {
        MemberKeys { keep_keys: self.keep_keys.then_some(true) }
    }
}

/// A member of an organization.
#[derive(clap::Args)]
pub(crate) struct MemberTarget {
    /// Organization UUID or slug
    organization: ResourceId,
    /// User UUID or slug
    user: ResourceId,
}

impl Verb for MemberVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { organization, find, order, paging } => {
                let filter =
                    MemberFilter { name: find.name.clone(), search: find.search.clone(), sort: order.sort };
                session.list(members(organization).list(&filter), paging)
            }
            Self::Invite { organization, email, name, role } => {
                let new = NewMember { name: name.clone(), email: email.clone(), role: *role };
                session.show(&members(organization).create(&new))
            }
            Self::View(MemberTarget { organization, user }) => {
                session.show(&members(organization).view(user))
            }
            Self::Update { one, role, keys } => {
                let patch = MemberPatch { role: Some(*role) };
                session.show(&members(&one.organization).update(&one.user, &patch).query(&keys.query()))
            }
            Self::Remove { one, keys } => {
                let request = members(&one.organization).delete(&one.user).query(&keys.query());
                session.done(&request, REMOVED)
            }
        }
    }
}

/// Verbs of `tidemark project member`.
#[derive(clap::Subcommand)]
pub(crate) enum ProjectMemberVerb {
    /// List the members of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: InProject,
        #[command(flatten)]
        find: Find<UserName>,
        #[command(flatten)]
        order: Order<ProjMembersSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Give a user a role in a project
    #[command(visible_aliases = ["add"])]
    Create {
        #[command(flatten)]
        one: OneOfProject,
        /// Role
        #[arg(long, value_parser = word::<ProjectRole>())]
        role: ProjectRole,
    },
    /// Show a member of a project
    #[command(visible_alias = "get")]
    View(OneOfProject),
    /// Update the role of a member
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: OneOfProject,
        /// New role
        #[arg(long, value_parser = word::<ProjectRole>())]
        role: ProjectRole,
        #[command(flatten)]
        keys: Keys,
    },
    /// Remove a member from a project and revoke the project keys that the member created
    #[command(visible_aliases = ["rm", "delete"])]
    Remove {
        #[command(flatten)]
        one: OneOfProject,
        #[command(flatten)]
        keys: Keys,
    },
}

/// A member of a project.
#[derive(clap::Args)]
pub(crate) struct OneOfProject {
    #[command(flatten)]
    project: InProject,
    /// User UUID or slug
    user: ResourceId,
}

impl Verb for ProjectMemberVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, find, order, paging } => {
                let filter = ProjectMemberFilter {
                    name: find.name.clone(),
                    search: find.search.clone(),
                    sort: order.sort,
                };
                session.list(project_members(project.id()?).list(&filter), paging)
            }
            Self::Create { one, role } => {
                let new = NewProjectMember { user: one.user.clone(), role: *role };
                session.show(&project_members(one.project.id()?).create(&new))
            }
            Self::View(one) => session.show(&project_members(one.project.id()?).view(&one.user)),
            Self::Update { one, role, keys } => {
                let patch = ProjectMemberPatch { role: Some(*role) };
                let request = project_members(one.project.id()?).update(&one.user, &patch);
                session.show(&request.query(&keys.query()))
            }
            Self::Remove { one, keys } => {
                let request = project_members(one.project.id()?).delete(&one.user).query(&keys.query());
                session.done(&request, REMOVED)
            }
        }
    }
}

impl Shown for Member {
    const DROPPABLE: &'static [&'static str] = &["Joined", "Email"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .text("Email", &self.email)
            .column("Role", self.role)
            .detail("UUID", self.uuid)
            .column("Joined", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

impl Shown for ProjectMember {
    const DROPPABLE: &'static [&'static str] = &["Joined"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .column("Role", self.role)
            .detail("UUID", self.uuid)
            .column("Joined", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

impl Shown for AuthAck {
    fn fields(&self) -> Fields {
        Fields::default().column("Mailed to", &self.email)
    }
}
