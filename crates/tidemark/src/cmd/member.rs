//! `tidemark member` and `tidemark project member`: who has a role in an organization, and in a project.

use tidemark_api::{
    AuthAck, Email, Member, MemberFilter, MemberPatch, NewMember, NewProjectMember, OrgMembersSort,
    OrganizationRole, ProjMembersSort, ProjectMember, ProjectMemberFilter, ProjectMemberPatch, ProjectRole,
    ResourceId, UserName,
};
use tidemark_client::{members, project_members};

use crate::{
    failure::Result,
    output,
    resource::{Fields, Find, InProject, Order, Paging, Session, Shown, Verb, word},
};

/// What can be done with members of organizations.
#[derive(clap::Subcommand)]
pub(crate) enum MemberVerb {
    /// List the members of an organization
    #[command(visible_alias = "ls")]
    List {
        /// The organization, by UUID or slug
        organization: ResourceId,
        #[command(flatten)]
        find: Find<UserName>,
        #[command(flatten)]
        order: Order<OrgMembersSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Invite somebody by mail
    #[command(visible_aliases = ["add", "create"])]
    Invite {
        /// The organization, by UUID or slug
        organization: ResourceId,
        /// Where to send the invitation
        #[arg(long)]
        email: Email,
        /// How to greet somebody who has no account yet
        #[arg(long)]
        name: Option<UserName>,
        /// The role to join with
        #[arg(long, value_parser = word::<OrganizationRole>())]
        role: OrganizationRole,
    },
    /// Show a member
    #[command(visible_alias = "get")]
    View(One),
    /// Change the role of a member
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: One,
        /// The new role
        #[arg(long, value_parser = word::<OrganizationRole>())]
        role: OrganizationRole,
    },
    /// Remove a member
    #[command(visible_aliases = ["rm", "delete"])]
    Remove(One),
}

/// A member of an organization.
#[derive(clap::Args)]
pub(crate) struct One {
    /// The organization, by UUID or slug
    organization: ResourceId,
    /// The user, by UUID or slug
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
            Self::View(One { organization, user }) => session.show(&members(organization).view(user)),
            Self::Update { one, role } => {
                let patch = MemberPatch { role: Some(*role) };
                session.update(&members(&one.organization), &one.user, &patch)
            }
            Self::Remove(One { organization, user }) => {
                session.done(&members(organization).delete(user), "The member is removed.")
            }
        }
    }
}

/// What can be done with members of projects.
#[derive(clap::Subcommand)]
pub(crate) enum ProjectMemberVerb {
    /// List who has a role in a project
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
        /// The role
        #[arg(long, value_parser = word::<ProjectRole>())]
        role: ProjectRole,
    },
    /// Show a member of a project
    #[command(visible_alias = "get")]
    View(OneOfProject),
    /// Change the role of a member
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: OneOfProject,
        /// The new role
        #[arg(long, value_parser = word::<ProjectRole>())]
        role: ProjectRole,
    },
    /// Take the role of a member away
    #[command(visible_aliases = ["rm", "delete"])]
    Remove(OneOfProject),
}

/// A member of a project.
#[derive(clap::Args)]
pub(crate) struct OneOfProject {
    #[command(flatten)]
    project: InProject,
    /// The user, by UUID or slug
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
            Self::Update { one, role } => {
                let patch = ProjectMemberPatch { role: Some(*role) };
                session.update(&project_members(one.project.id()?), &one.user, &patch)
            }
            Self::Remove(one) => {
                let request = project_members(one.project.id()?).delete(&one.user);
                session.done(&request, "The member is removed.")
            }
        }
    }
}

impl Shown for Member {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
            .column("Slug", &self.slug)
            .column("Email", &self.email)
            .column("Role", self.role)
            .detail("UUID", self.uuid)
            .column("Joined", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

impl Shown for ProjectMember {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
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
