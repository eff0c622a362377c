//! How much was made lately, for limits on creation.

use tidemark_api::time::Timestamp;

use crate::{BranchId, OrganizationId, Param, ProjectId, Result, ThresholdId, Tx};

/// What is counted, and where.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// Projects of an organization.
    Projects(OrganizationId),
    /// Branches of a project.
    Branches(ProjectId),
    /// Heads of a branch.
    Heads(BranchId),
    /// Testbeds of a project.
    Testbeds(ProjectId),
    /// Benchmarks of a project.
    Benchmarks(ProjectId),
    /// Measures of a project.
    Measures(ProjectId),
    /// Thresholds of a project.
    Thresholds(ProjectId),
    /// Models of a threshold.
    Models(ThresholdId),
    /// Plots of a project.
    Plots(ProjectId),
    /// Reports of a project.
    Reports(ProjectId),
}

impl Scope {
    /// The word for one of what is counted, which is also its table.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Projects(_) => "project",
            Self::Branches(_) => "branch",
            Self::Heads(_) => "head",
            Self::Testbeds(_) => "testbed",
            Self::Benchmarks(_) => "benchmark",
            Self::Measures(_) => "measure",
            Self::Thresholds(_) => "threshold",
            Self::Models(_) => "model",
            Self::Plots(_) => "plot",
            Self::Reports(_) => "report",
        }
    }
}

/// When the `limit`-th newest of them was made, if there are so many.
pub fn limit_reached(tx: &mut Tx<'_>, scope: Scope, limit: u32) -> Result<Option<Timestamp>> {
    let (column, id): (_, &dyn Param) = match &scope {
        Scope::Projects(id) => ("organization_id", id),
        Scope::Heads(id) => ("branch_id", id),
        Scope::Models(id) => ("threshold_id", id),
        Scope::Branches(id)
        | Scope::Testbeds(id)
        | Scope::Benchmarks(id)
        | Scope::Measures(id)
        | Scope::Thresholds(id)
        | Scope::Plots(id)
        | Scope::Reports(id) => ("project_id", id),
    };
    let table = scope.noun();
    tx.optional(
        &format!("select created from {table} where {column} = $1 order by created desc limit 1 offset $2"),
        &[id, &(i64::from(limit) - 1)],
        |row| row.get(0),
    )
}
