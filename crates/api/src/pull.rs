//! Pull requests: branches with a start point, and their newest reports.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Branch, Report};

/// A branch that starts from another branch, for example the branch of a pull request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPull)]
pub struct Pull {
    /// Branch, with its start point.
    pub branch: Branch,
    /// Newest report of the branch on each testbed, newest first, without results and alerts.
    pub reports: Vec<Report>,
}
