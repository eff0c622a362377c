//! Number of recently created resources, for limits on creation.

use tidemark_api::time::Timestamp;

use crate::{BranchId, OrganizationId, Param, ProjectId, Result, ThresholdId, Tx};

/// The resources that are counted together.
#[derive(Clone, Copy, Debug)]
pub enum QuotaScope {
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

impl QuotaScope {
    /// Returns the noun for one resource, which is also the table name.
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

impl QuotaScope {
    /// Returns the column of the owner of the resources, and the primary key of the owner.
    fn owner(&self) -> (&'static str, &dyn Param) {
        match self {
            Self::Projects(id) => ("organization_id", id),
            Self::Heads(id) => ("branch_id", id),
            Self::Models(id) => ("threshold_id", id),
            Self::Branches(id)
            | Self::Testbeds(id)
            | Self::Benchmarks(id)
            | Self::Measures(id)
            | Self::Thresholds(id)
            | Self::Plots(id)
            | Self::Reports(id) => ("project_id", id),
        }
    }
}

/// Returns when the `limit`-th newest resource was created; `None` if there are fewer.
pub fn limit_reached(tx: &mut Tx<'_>, scope: QuotaScope, limit: u32) -> Result<Option<Timestamp>> {
    let (table, (column, id)) = (scope.noun(), scope.owner());
    tx.fetch_optional(
        &format!("select created from {table} where {column} = $1 order by created desc limit 1 offset $2"),
        &[id, &(i64::from(limit) - 1)],
    )
}

/// Returns when the newest resource beyond `limit` was created; `None` if the limit is not exceeded or no resource was
/// created at `now`.
pub fn limit_exceeded(
    tx: &mut Tx<'_>,
    scope: QuotaScope,
    limit: u32,
    now: Timestamp,
) -> Result<Option<Timestamp>> {
    let (table, (column, id)) = (scope.noun(), scope.owner());
    tx.fetch_optional(
        &format!(
            "select created from {table} where {column} = $1
               and exists (select 1 from {table} as made where made.{column} = $1 and made.created = $3)
             order by created desc limit 1 offset $2"
        ),
        &[id, &i64::from(limit), &now],
    )
}
