//! `tidemark branch`

use tidemark_api::{
    Branch, BranchFilter, BranchName, BranchPatch, GitHash, HeadQuery, HeadUuid, NameId, NewBranch,
    NewStartPoint, ProjBranchesSort, ResourceId, Slug, StartPointPatch,
};
use tidemark_client::{Collection, branches};
use uuid::Uuid;

use crate::{
    failure::Result,
    output,
    resource::{
        Archiving, Dimension, Fields, Find, InProject, Order, Paging, Session, Shown, Verb, optional,
    },
};

/// Verbs of `tidemark branch`.
#[derive(clap::Subcommand)]
pub(crate) enum BranchVerb {
    /// List the branches of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: InProject,
        #[command(flatten)]
        find: Find<BranchName>,
        /// List only archived branches
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        order: Order<ProjBranchesSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Create a branch
    #[command(visible_alias = "add")]
    Create {
        #[command(flatten)]
        project: InProject,
        /// Name
        #[arg(long)]
        name: BranchName,
        /// Slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
        #[command(flatten)]
        start: Start,
    },
    /// Show a branch
    #[command(visible_alias = "get")]
    View {
        #[command(flatten)]
        one: BranchTarget,
        /// UUID of the head to show [default: the current head]
        #[arg(long)]
        head: Option<HeadUuid>,
    },
    /// Update a branch
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: BranchTarget,
        /// New name
        #[arg(long)]
        name: Option<BranchName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        #[command(flatten)]
        start: Start,
        /// Start a new head; earlier results no longer count
        #[arg(long)]
        start_point_reset: bool,
        #[command(flatten)]
        archiving: Archiving,
    },
    /// Delete a branch without reports
    #[command(visible_alias = "rm")]
    Delete(BranchTarget),
}

/// A branch of a project.
#[derive(clap::Args)]
pub(crate) struct BranchTarget {
    #[command(flatten)]
    project: InProject,
    /// Branch UUID, slug or name
    branch: NameId,
}

/// Start point of a branch.
#[derive(clap::Args)]
pub(crate) struct Start {
    /// Branch to start from: UUID, slug or name
    #[arg(long, value_name = "BRANCH", alias = "start-point")]
    start_point_branch: Option<NameId>,
    /// Commit to start from
    #[arg(long, value_name = "HASH", requires = "start_point_branch")]
    start_point_hash: Option<GitHash>,
    /// Number of versions to inherit [default: 255]
    #[arg(long, value_name = "COUNT", requires = "start_point_branch")]
    start_point_max_versions: Option<u32>,
    /// Copy the thresholds of that branch, too
    #[arg(long, requires = "start_point_branch")]
    start_point_clone_thresholds: bool,
}

impl Verb for BranchVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, find, archived, order, paging } => {
                let filter = BranchFilter {
                    name: find.name.clone(),
                    search: find.search.clone(),
                    archived: archived.then_some(true),
                    sort: order.sort,
                };
                session.list(branches(project.id()?).list(&filter), paging)
            }
            Self::Create { project, name, slug, start } => {
                let start_point = start.start_point_branch.clone().map(|branch| NewStartPoint {
                    branch,
                    hash: start.start_point_hash.clone(),
                    max_versions: start.start_point_max_versions,
                    clone_thresholds: start.start_point_clone_thresholds.then_some(true),
                });
                let new = NewBranch { name: name.clone(), slug: slug.clone(), start_point };
                session.show(&branches(project.id()?).create(&new))
            }
            Self::View { one, head } => {
                let (branches, branch) = session.find::<Branch>(&one.project, &one.branch)?;
                session.show(&branches.view(&branch).query(&HeadQuery { head: *head }))
            }
            Self::Update { one, name, slug, start, start_point_reset, archiving } => {
                let start_point = StartPointPatch {
                    branch: start.start_point_branch.clone(),
                    hash: start.start_point_hash.clone(),
                    max_versions: start.start_point_max_versions,
                    clone_thresholds: start.start_point_clone_thresholds.then_some(true),
                    reset: start_point_reset.then_some(true),
                };
                let patch = BranchPatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    archived: archiving.wanted(),
                    start_point: (start_point != StartPointPatch::default()).then_some(start_point),
                };
                let (branches, branch) = session.find::<Branch>(&one.project, &one.branch)?;
                session.update(&branches, &branch, &patch)
            }
            Self::Delete(one) => {
                let (branches, branch) = session.find::<Branch>(&one.project, &one.branch)?;
                session.done(&branches.delete(&branch), "The branch is deleted.")
            }
        }
    }
}

impl Dimension for Branch {
    const NOUN: &'static str = "branch";

    type Name = BranchName;

    fn of(project: &ResourceId) -> Collection<Self> {
        branches(project)
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn name(&self) -> Self::Name {
        self.name.clone()
    }

    fn filter(name: Option<Self::Name>, archived: bool) -> BranchFilter {
        BranchFilter { name, archived: Some(archived), ..BranchFilter::default() }
    }

    fn archive(archived: bool) -> BranchPatch {
        BranchPatch { archived: Some(archived), ..BranchPatch::default() }
    }
}

impl Shown for Branch {
    fn fields(&self) -> Fields {
        let start = self.head.start_point.as_ref();
        Fields::default()
            .column("Name", &self.name)
            .column("Slug", &self.slug)
            .detail("UUID", self.uuid)
            .detail("Project", self.project)
            .detail("Head", self.head.uuid)
            .detail("Starts from branch", optional(start.map(|start| start.branch)))
            .detail("at version", optional(start.map(|start| start.version.number)))
            .detail("at commit", optional(start.and_then(|start| start.version.hash.as_ref())))
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
