//! Runners: machines that wait for jobs and run them. What they say to the server is in `channel.rs`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    JobUuid, PlainKey, ResourceId, ResourceName, RunnerUuid, RunnersSort, Search, Slug, SpecUuid, Timestamp,
    scalar::word,
};

/// A runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonRunner)]
pub struct Runner {
    /// Its identifier.
    pub uuid: RunnerUuid,
    /// Its name.
    pub name: ResourceName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// The specifications that it runs jobs for.
    pub specs: Vec<SpecUuid>,
    /// What it does now.
    pub state: RunnerState,
    /// The job that it works on; null while there is none.
    pub job: Option<JobUuid>,
    /// Its release, as it said the last time.
    pub version: Option<String>,
    /// When it was last heard of.
    pub last_heartbeat: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it was archived; null while it is in use.
    pub archived: Option<Timestamp>,
}

word! {
    /// What a runner does.
    RunnerState {
        /// Nothing was heard of it lately.
        Offline = "offline",
        /// It waits for a job.
        Idle = "idle",
        /// It works on a job.
        Busy = "busy",
    }
}

/// A runner to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRunner)]
pub struct NewRunner {
    /// Its name.
    pub name: ResourceName,
    /// Its slug, which no other runner can have; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

/// The new key of a runner. The one before it no longer works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonRunnerKey)]
pub struct RunnerKey {
    /// The runner.
    pub uuid: RunnerUuid,
    /// The key itself, which is never shown again.
    pub key: PlainKey,
}

/// What to change of a runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateRunner)]
pub struct RunnerPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether it is to be archived, which ends its connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// A specification that a runner is to run jobs for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRunnerSpec)]
pub struct NewRunnerSpec {
    /// The slug or UUID of the specification.
    pub spec: ResourceId,
}

/// Which runners to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunnerFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// The archived ones instead of the others.
    pub archived: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<RunnersSort>,
}
