//! `tidemark project`

mod transfer;

use tidemark_api::{
    AnyUrl, NewProject, Project, ProjectFilter, ProjectKey, ProjectPatch, ProjectPermission, ProjectsSort,
    ResourceId, ResourceName, Slug, Visibility,
};
use tidemark_client::{allowed_in_project, projects, projects_of};

use self::transfer::{ExportProject, ImportProject};
use super::{key::KeyVerb, member::ProjectMemberVerb, organization::DeleteFlags};
use crate::{
    connection::Connection,
    failure::Result,
    output,
    resource::{
        Fields, NameFilter, NewValue, OutputFlags, PageFlags, Printable, ProjectArgument, Session, SortFlag,
        Verb, fixed_string_parser, optional,
    },
};

/// Verbs of `tidemark project`.
#[derive(clap::Subcommand)]
pub(crate) enum ProjectVerb {
    /// List the projects that you can view, or the projects of an organization
    #[command(visible_alias = "ls")]
    List {
        /// Organization UUID or slug
        organization: Option<ResourceId>,
        #[command(flatten)]
        names: NameFilter<ResourceName>,
        #[command(flatten)]
        sort: SortFlag<ProjectsSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Create a project
    #[command(visible_alias = "add")]
    Create {
        /// Organization UUID or slug
        organization: ResourceId,
        /// Name
        #[arg(long)]
        name: ResourceName,
        /// Slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
        /// URL of the measured software
        #[arg(long)]
        url: Option<AnyUrl>,
        /// Visibility [default: private]
        #[arg(long, value_parser = fixed_string_parser::<Visibility>())]
        visibility: Option<Visibility>,
    },
    /// Show a project
    #[command(visible_alias = "get")]
    View(ProjectArgument),
    /// Update a project
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        project: ProjectArgument,
        /// New name
        #[arg(long)]
        name: Option<ResourceName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        /// New URL of the measured software; `_` removes it
        #[arg(long)]
        url: Option<NewValue<AnyUrl>>,
        /// New visibility
        #[arg(long, value_parser = fixed_string_parser::<Visibility>())]
        visibility: Option<Visibility>,
    },
    /// Delete a project
    #[command(visible_alias = "rm")]
    Delete {
        /// Project UUID or slug
        project: ResourceId,
        #[command(flatten)]
        flags: DeleteFlags,
    },
    /// Show whether you have a permission in a project
    Allowed {
        #[command(flatten)]
        project: ProjectArgument,
        /// Permission
        #[arg(long, value_parser = fixed_string_parser::<ProjectPermission>())]
        perm: ProjectPermission,
    },
    /// Manage the keys of a project
    #[command(subcommand)]
    Key(KeyVerb<ProjectKey>),
    /// Manage the members of a project
    #[command(subcommand)]
    Member(ProjectMemberVerb),
    /// Write a whole project of the database to a file: metrics, verdicts, events and history
    Export(ExportProject),
    /// Add a project from a file of `project export` to the database
    Import(ImportProject),
}

impl Verb for ProjectVerb {
    fn run_offline(&self, _: &Connection, _: &OutputFlags) -> Option<Result> {
        match self {
            Self::Export(export) => Some(export.run()),
            Self::Import(import) => Some(import.run()),
            _ => None,
        }
    }

    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { organization, names, sort, page } => {
                let filter =
                    ProjectFilter { name: names.name.clone(), search: names.search.clone(), sort: sort.sort };
                let list = organization.as_ref().map_or_else(projects, projects_of);
                session.list(list.list(&filter), page)
            }
            Self::Create { organization, name, slug, url, visibility } => {
                let new = NewProject {
                    name: name.clone(),
                    slug: slug.clone(),
                    url: url.clone(),
                    visibility: Some(visibility.unwrap_or(Visibility::Private)),
                };
                session.show(&projects_of(organization).create(&new))
            }
            Self::View(project) => session.show(&projects().view(project.id()?)),
            Self::Update { project, name, slug, url, visibility } => {
                let patch = ProjectPatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    url: NewValue::patch(url.as_ref()),
                    visibility: *visibility,
                };
                session.update(&projects(), project.id()?, &patch)
            }
            Self::Delete { project, flags } => {
                session.confirm(&projects().delete(project).query(flags), "The project is deleted.")
            }
            Self::Allowed { project, perm } => session.show(&allowed_in_project(project.id()?, *perm)),
            Self::Key(verb) => verb.run(session),
            Self::Member(verb) => verb.run(session),
            // `run_offline` runs them.
            Self::Export(_) | Self::Import(_) => Ok(()),
        }
    }
}

impl Printable for Project {
    const DROPPABLE: &'static [&'static str] = &["Created", "Visibility"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .column("Visibility", self.visibility)
            .detail("UUID", self.uuid)
            .detail("Organization", self.organization)
            .detail("URL", optional(self.url.as_ref()))
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .detail("Claimed", optional(self.claimed.map(output::time)))
    }
}
