//! Start point of the branch of a run.

use tidemark_api::{GitHash, NameId, StartPointPatch};

use crate::{
    context::Context,
    failure::{Failure, Result},
};

/// Flags of the start point.
#[derive(clap::Args)]
pub(crate) struct StartPointFlags {
    /// Branch to start from: UUID, slug or name; an empty value means none [default: the base of a detected pull request]
    #[arg(long, value_name = "BRANCH", aliases = ["else-if-branch", "branch-start-point"])]
    start_point: Option<String>,
    /// Commit to start from
    #[arg(long, value_name = "HASH", requires = "start_point")]
    start_point_hash: Option<GitHash>,
    /// Number of versions to inherit from the start point [default: 255]
    #[arg(long, value_name = "COUNT", requires = "start_point")]
    start_point_max_versions: Option<u32>,
    /// Copy the thresholds of the start point, too
    #[arg(long, requires = "start_point")]
    start_point_clone_thresholds: bool,
    /// Start a new head of the branch; earlier results no longer count
    #[arg(long, alias = "branch-reset")]
    start_point_reset: bool,
}

impl StartPointFlags {
    /// Returns the given commit to start from.
    pub(super) fn hash(&self) -> Option<&GitHash> {
        self.start_point_hash.as_ref()
    }

    /// Returns the start point. A detected pull request starts from its merge base with each run, with the thresholds of its base
    /// branch, unless a flag sets the branch or the start point. If the clone does not have the merge base, the pull request starts
    /// from the newest version of the base branch.
    pub(super) fn patch(
        &self,
        branch: Option<&NameId>,
        measured: Option<&GitHash>,
        context: &Context,
    ) -> Result<Option<StartPointPatch>> {
        let given = self.start_point.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let from = given
            .map(str::parse::<NameId>)
            .transpose()
            .map_err(|error| Failure::usage(format!("The branch of --start-point is invalid: {error}.")))?;
        if from.is_some() || self.start_point_reset {
            let from_branch = from.is_some();
            return Ok(Some(StartPointPatch {
                branch: from,
                hash: self.start_point_hash.clone().filter(|_| from_branch),
                max_versions: self.start_point_max_versions.filter(|_| from_branch),
                clone_thresholds: (self.start_point_clone_thresholds && from_branch).then_some(true),
                reset: self.start_point_reset.then_some(true),
            }));
        }
        let base = context.base.as_ref().filter(|_| branch.is_none() && self.start_point.is_none());
        Ok(base.filter(|base| context.branch.as_ref() != Some(base)).and_then(|base| {
            Some(StartPointPatch {
                branch: Some(base.as_str().parse().ok()?),
                hash: context.merge_base(measured),
                clone_thresholds: Some(true),
                reset: Some(true),
                ..StartPointPatch::default()
            })
        }))
    }
}
