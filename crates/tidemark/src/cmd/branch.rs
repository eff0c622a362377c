//! `tidemark branch`

use serde::Serialize;
use tidemark_api::{
    Branch, BranchFilter, BranchName, BranchPatch, GitHash, HeadUuid, NameId, NewBranch, NewStartPoint,
    ProjBranchesSort, ResourceId, Search, Slug, StartPointPatch,
};
use tidemark_client::{Collection, branches};
use uuid::Uuid;

use crate::{
    dimension::Dimension,
    output,
    resource::{Fields, Printable, optional},
};

/// Start point of a branch.
#[derive(clap::Args, Default)]
pub(crate) struct StartPointFlags {
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

/// Flags of `tidemark branch view`.
#[derive(Clone, clap::Args, Serialize)]
pub(crate) struct ViewFlags {
    /// UUID of the head to show [default: the current head]
    #[arg(long)]
    head: Option<HeadUuid>,
}

/// Flags of `tidemark branch update`.
#[derive(clap::Args, Default)]
pub(crate) struct UpdateFlags {
    #[command(flatten)]
    start_point: StartPointFlags,
    /// Start a new head; earlier results no longer count
    #[arg(long)]
    start_point_reset: bool,
}

impl Dimension for Branch {
    const NOUN: &'static str = "branch";
    const PLURAL: &'static str = "branches";
    const VALUE_NAME: &'static str = "BRANCH";

    type Name = BranchName;
    type Sort = ProjBranchesSort;
    type CreateFlags = StartPointFlags;
    type ViewFlags = ViewFlags;
    type UpdateFlags = UpdateFlags;

    fn of(project: &ResourceId) -> Collection<Self> {
        branches(project)
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn name(&self) -> BranchName {
        self.name.clone()
    }

    fn filter(
        name: Option<BranchName>,
        search: Option<Search>,
        archived: Option<bool>,
        sort: Option<ProjBranchesSort>,
    ) -> BranchFilter {
        BranchFilter { name, search, archived, sort }
    }

    fn new(name: BranchName, slug: Option<Slug>, flags: &StartPointFlags) -> NewBranch {
        let start_point = flags.start_point_branch.clone().map(|branch| NewStartPoint {
            branch,
            hash: flags.start_point_hash.clone(),
            max_versions: flags.start_point_max_versions,
            clone_thresholds: flags.start_point_clone_thresholds.then_some(true),
        });
        NewBranch { name, slug, start_point }
    }

    fn patch(
        name: Option<BranchName>,
        slug: Option<Slug>,
        archived: Option<bool>,
        UpdateFlags { start_point, start_point_reset }: &UpdateFlags,
    ) -> BranchPatch {
        let start_point = StartPointPatch {
            branch: start_point.start_point_branch.clone(),
            hash: start_point.start_point_hash.clone(),
            max_versions: start_point.start_point_max_versions,
            clone_thresholds: start_point.start_point_clone_thresholds.then_some(true),
            reset: start_point_reset.then_some(true),
        };
        let start_point = (start_point != StartPointPatch::default()).then_some(start_point);
        BranchPatch { name, slug, archived, start_point }
    }
}

impl Printable for Branch {
    const DROPPABLE: &'static [&'static str] = &["Created", "Archived", "Slug"];

    fn fields(&self) -> Fields {
        let start = self.head.start_point.as_ref();
        Fields::default()
            .text("Name", &self.name)
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
