//! Incidents: changes that one event explains.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Branch, Change, ChangePoint, ChangeStatus, ChangeUuid, NameId, Version};

/// Changes on a branch that began with the same version, as far as can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonIncident)]
pub struct Incident {
    /// The oldest of its changes, by which it can be told apart.
    pub uuid: ChangeUuid,
    /// The branch.
    pub branch: Branch,
    /// The first report that it may have begun with.
    pub earliest: ChangePoint,
    /// The last such report.
    pub latest: ChangePoint,
    /// The versions that it may have begun with, oldest first, at most 64.
    pub candidates: Vec<Version>,
    /// How many of its changes are regressions.
    pub regressions: u32,
    /// How many are improvements.
    pub improvements: u32,
    /// How many changes there are.
    pub total: u32,
    /// The changes, regressions before others and the largest first, at most 64.
    pub changes: Vec<Change>,
}

/// Which incidents to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct IncidentFilter {
    /// Only of changes of which this is said.
    #[param(inline)]
    pub status: Option<ChangeStatus>,
    /// Only those of this branch, by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
}
