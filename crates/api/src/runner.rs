//! Runners: machines that run jobs. The messages between runner and server are in `channel.rs`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    JobUuid, PlainKey, ResourceId, ResourceName, RunnerUuid, RunnersSort, Search, Slug, SpecUuid, Timestamp,
    scalar::fixed_string,
};

/// A machine that runs jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonRunner)]
pub struct Runner {
    /// UUID of the runner.
    pub uuid: RunnerUuid,
    /// Name of the runner.
    pub name: ResourceName,
    /// Slug of the runner.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// UUIDs of the specs that the runner serves.
    pub specs: Vec<SpecUuid>,
    /// State of the runner.
    pub state: RunnerState,
    /// UUID of the current job; null if there is none.
    pub job: Option<JobUuid>,
    /// Version that the runner last reported; null if unknown.
    pub version: Option<String>,
    /// Time of the last message of the runner; null if there was none.
    pub last_heartbeat: Option<Timestamp>,
    /// Time when the runner was created.
    pub created: Timestamp,
    /// Time when the runner was last modified.
    pub modified: Timestamp,
    /// Time when the runner was archived; null if it is not archived.
    pub archived: Option<Timestamp>,
}

fixed_string! {
    /// State of a runner.
    RunnerState {
        /// The runner has no job and sent no message within the heartbeat timeout.
        Offline = "offline",
        /// The runner waits for a job.
        Idle = "idle",
        /// The runner works on a job.
        Busy = "busy",
    }
}

/// A runner to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRunner)]
pub struct NewRunner {
    /// Name of the runner.
    pub name: ResourceName,
    /// Slug of the runner, unique on the server; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

/// New key of a runner. The previous key is no longer valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonRunnerKey)]
pub struct RunnerKey {
    /// UUID of the runner.
    pub uuid: RunnerUuid,
    /// The key in plain text. The server shows it only in this response.
    pub key: PlainKey,
}

/// Changes to a runner. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateRunner)]
pub struct RunnerPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether to archive the runner (`true`) or to restore it (`false`). Archiving closes its connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// A spec for a runner to serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRunnerSpec)]
pub struct NewRunnerSpec {
    /// UUID or slug of the spec.
    pub spec: ResourceId,
}

/// Filter of a list of runners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunnerFilter {
    /// Only runners with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only runners whose name, slug or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list archived runners instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<RunnersSort>,
}
