//! Incidents: groups of changes with a common start.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Branch, Change, ChangePoint, ChangeStatus, ChangeUuid, NameId, Version};

/// A group of changes of a branch that may have begun with the same version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonIncident)]
pub struct Incident {
    /// UUID of the oldest change of the group, which identifies the incident.
    pub uuid: ChangeUuid,
    /// Branch.
    pub branch: Branch,
    /// Earliest report where all changes of the incident may begin.
    pub earliest: ChangePoint,
    /// Latest report where all changes of the incident may begin.
    pub latest: ChangePoint,
    /// Versions where the incident may begin, oldest first, at most 64.
    pub candidates: Vec<Version>,
    /// Number of regressions.
    pub regressions: u32,
    /// Number of improvements.
    pub improvements: u32,
    /// Number of changes.
    pub total: u32,
    /// Changes: regressions first, then by size, largest first; at most 64.
    pub changes: Vec<Change>,
}

/// Filter of a list of incidents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct IncidentFilter {
    /// Only changes with this status.
    #[param(inline)]
    pub status: Option<ChangeStatus>,
    /// Only incidents of this branch, given by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
}
