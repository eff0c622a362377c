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
    resource::{
        Fields, NameFilter, PageFlags, Printable, ProjectArgument, Session, SortFlag, Verb,
        fixed_string_parser,
    },
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
        names: NameFilter<UserName>,
        #[command(flatten)]
        sort: SortFlag<OrgMembersSort>,
        #[command(flatten)]
        page: PageFlags,
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
        #[arg(long, value_parser = fixed_string_parser::<OrganizationRole>())]
        role: OrganizationRole,
    },
    /// Show a member
    #[command(visible_alias = "get")]
    View(MemberTarget),
    /// Update the role of a member
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        target: MemberTarget,
        /// New role
        #[arg(long, value_parser = fixed_string_parser::<OrganizationRole>())]
        role: OrganizationRole,
        #[command(flatten)]
        keys: KeyFlags,
    },
    /// Remove a member and revoke the invitations and project keys that the member issued
    #[command(visible_aliases = ["rm", "delete"])]
    Remove {
        #[command(flatten)]
        target: MemberTarget,
        #[command(flatten)]
        keys: KeyFlags,
    },
}

/// Handling of the keys of a member who loses a role.
#[derive(clap::Args)]
pub(crate) struct KeyFlags {
    /// Keep the project keys that the member created [default: revoke the keys of projects that the member may no longer
    /// manage]
    #[arg(long)]
    keep_keys: bool,
}

impl KeyFlags {
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
            Self::List { organization, names, sort, page } => {
                let filter =
                    MemberFilter { name: names.name.clone(), search: names.search.clone(), sort: sort.sort };
                session.list(members(organization).list(&filter), page)
            }
            Self::Invite { organization, email, name, role } => {
                let new = NewMember { name: name.clone(), email: email.clone(), role: *role };
                session.show(&members(organization).create(&new))
            }
            Self::View(MemberTarget { organization, user }) => {
                session.show(&members(organization).view(user))
            }
            Self::Update { target, role, keys } => {
                let patch = MemberPatch { role: Some(*role) };
                session.show(&members(&target.organization).update(&target.user, &patch).query(&keys.query()))
            }
            Self::Remove { target, keys } => {
                let request = members(&target.organization).delete(&target.user).query(&keys.query());
                session.confirm(&request, REMOVED)
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
        project: ProjectArgument,
        #[command(flatten)]
        names: NameFilter<UserName>,
        #[command(flatten)]
        sort: SortFlag<ProjMembersSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Give a user a role in a project
    #[command(visible_aliases = ["add"])]
    Create {
        #[command(flatten)]
        target: ProjectMemberTarget,
        /// Role
        #[arg(long, value_parser = fixed_string_parser::<ProjectRole>())]
        role: ProjectRole,
    },
    /// Show a member of a project
    #[command(visible_alias = "get")]
    View(ProjectMemberTarget),
    /// Update the role of a member
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        target: ProjectMemberTarget,
        /// New role
        #[arg(long, value_parser = fixed_string_parser::<ProjectRole>())]
        role: ProjectRole,
        #[command(flatten)]
        keys: KeyFlags,
    },
    /// Remove a member from a project and revoke the project keys that the member created
    #[command(visible_aliases = ["rm", "delete"])]
    Remove {
        #[command(flatten)]
        target: ProjectMemberTarget,
        #[command(flatten)]
        keys: KeyFlags,
    },
}

/// A member of a project.
#[derive(clap::Args)]
pub(crate) struct ProjectMemberTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// User UUID or slug
    user: ResourceId,
}

impl Verb for ProjectMemberVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, names, sort, page } => {
                let filter = ProjectMemberFilter {
                    name: names.name.clone(),
                    search: names.search.clone(),
                    sort: sort.sort,
                };
                session.list(project_members(project.id()?).list(&filter), page)
            }
            Self::Create { target, role } => {
                let new = NewProjectMember { user: target.user.clone(), role: *role };
                session.show(&project_members(target.project.id()?).create(&new))
            }
            Self::View(target) => session.show(&project_members(target.project.id()?).view(&target.user)),
            Self::Update { target, role, keys } => {
                let patch = ProjectMemberPatch { role: Some(*role) };
                let request = project_members(target.project.id()?).update(&target.user, &patch);
                session.show(&request.query(&keys.query()))
            }
            Self::Remove { target, keys } => {
                let request = project_members(target.project.id()?).delete(&target.user).query(&keys.query());
                session.confirm(&request, REMOVED)
            }
        }
    }
}

impl Printable for Member {
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

impl Printable for ProjectMember {
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

impl Printable for AuthAck {
    fn fields(&self) -> Fields {
        Fields::default().column("Mailed to", &self.email)
    }
}
