//! `tidemark project`

use tidemark_api::{
    AnyUrl, NewProject, Project, ProjectFilter, ProjectKey, ProjectPatch, ProjectPermission, ProjectsSort,
    ResourceId, ResourceName, Slug, Visibility,
};
use tidemark_client::{allowed_in_project, projects, projects_of};

use super::{key::KeyVerb, member::ProjectMemberVerb, organization::Hard};
use crate::{
    failure::Result,
    output,
    resource::{Change, Fields, Find, InProject, Order, Paging, Session, Shown, Verb, optional, word},
};

/// Verbs of `tidemark project`.
#[derive(clap::Subcommand)]
pub(crate) enum ProjectVerb {
    /// List projects: those that you see, or those of an organization
    #[command(visible_alias = "ls")]
    List {
        /// The organization, by UUID or slug
        organization: Option<ResourceId>,
        #[command(flatten)]
        find: Find<ResourceName>,
        #[command(flatten)]
        order: Order<ProjectsSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Make a project
    #[command(visible_alias = "add")]
    Create {
        /// The organization that it belongs to, by UUID or slug
        organization: ResourceId,
        /// Its name
        #[arg(long)]
        name: ResourceName,
        /// Its slug; made from the name when not given
        #[arg(long)]
        slug: Option<Slug>,
        /// The address of what is measured
        #[arg(long)]
        url: Option<AnyUrl>,
        /// Who can see it [default: public]
        #[arg(long, value_parser = word::<Visibility>())]
        visibility: Option<Visibility>,
    },
    /// Show a project
    #[command(visible_alias = "get")]
    View(InProject),
    /// Change a project
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        project: InProject,
        /// The new name
        #[arg(long)]
        name: Option<ResourceName>,
        /// The new slug
        #[arg(long)]
        slug: Option<Slug>,
        /// The new address of what is measured; `_` takes it away
        #[arg(long)]
        url: Option<Change<AnyUrl>>,
        /// Who can see it
        #[arg(long, value_parser = word::<Visibility>())]
        visibility: Option<Visibility>,
    },
    /// Delete a project
    #[command(visible_alias = "rm")]
    Delete {
        /// The project, by UUID or slug
        project: ResourceId,
        #[command(flatten)]
        how: Hard,
    },
    /// Say whether you may do something in a project
    Allowed {
        #[command(flatten)]
        project: InProject,
        /// What is to be done
        #[arg(long, value_parser = word::<ProjectPermission>())]
        perm: ProjectPermission,
    },
    /// Keys that act in one project only
    #[command(subcommand)]
    Key(KeyVerb<ProjectKey>),
    /// Users who have a role in one project only
    #[command(subcommand)]
    Member(ProjectMemberVerb),
}

impl Verb for ProjectVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { organization, find, order, paging } => {
                let filter =
                    ProjectFilter { name: find.name.clone(), search: find.search.clone(), sort: order.sort };
                let list = organization.as_ref().map_or_else(projects, projects_of);
                session.list(list.list(&filter), paging)
            }
            Self::Create { organization, name, slug, url, visibility } => {
                let new = NewProject {
                    name: name.clone(),
                    slug: slug.clone(),
                    url: url.clone(),
                    visibility: *visibility,
                };
                session.show(&projects_of(organization).create(&new))
            }
            Self::View(project) => session.show(&projects().view(project.id()?)),
            Self::Update { project, name, slug, url, visibility } => {
                let patch = ProjectPatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    url: Change::of(url.as_ref()),
                    visibility: *visibility,
                };
                session.update(&projects(), project.id()?, &patch)
            }
            Self::Delete { project, how } => {
                session.done(&projects().delete(project).query(how), "The project is deleted.")
            }
            Self::Allowed { project, perm } => session.show(&allowed_in_project(project.id()?, *perm)),
            Self::Key(verb) => verb.run(session),
            Self::Member(verb) => verb.run(session),
        }
    }
}

impl Shown for Project {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
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
