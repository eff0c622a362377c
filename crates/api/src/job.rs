//! Jobs: runs of an image on a runner. The messages between runner and server are in `channel.rs`.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Adapter, Average, Fold, JobUuid, ProjJobsSort, ProjectUuid, ReportUuid, ResourceId, RunnerUuid, Spec,
    Timestamp, Url, scalar::fixed_string,
};

/// Maximum number of arguments of an entry point, and of a command.
pub const JOB_WORDS_MAX: usize = 64;
/// Maximum number of files of a job, and of environment variables.
pub const JOB_ENTRIES_MAX: usize = 255;
/// Maximum number of iterations of a job.
pub const JOB_ITERATIONS_MAX: u32 = 1_000;
/// Maximum number of rounds of a job with a base: a round has one iteration of each side.
pub const JOB_ROUNDS_MAX: u32 = JOB_ITERATIONS_MAX / 2;
/// Number of rounds of a job with a base, unless the request has another one.
pub const JOB_ROUNDS_DEFAULT: u32 = 100;

/// A job to run on a runner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRunJob)]
pub struct NewJob {
    /// Image to run, from the registry of this server.
    pub image: String,
    /// Image to compare with, from the registry of this server. The runner then measures both images in pairs until every benchmark
    /// has a verdict, for at most `iter` rounds (1 to 500, 100 by default) and `timeout` seconds. The results of `image` become the
    /// report; `pairs` of the report and its verdict compare both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// With `base`: whether both sides run at the same time on separate cores, which they exchange after each round; false by
    /// default. The machine needs twice the cores of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duet: Option<bool>,
    /// UUID or slug of the spec; the spec of the testbed if omitted, or else the fallback spec of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ResourceId>,
    /// Entry point that replaces the entry point of the image; at most 64 arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Command and its arguments; at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    /// Environment variables by name; at most 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub env: Option<BTreeMap<String, JobSecret>>,
    /// Maximum duration of all iterations together, in seconds, from 1 to 2,147,483,647; 3,600 by default. The server reduces it
    /// to the maximum of the organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    /// Paths of files to read the results from; at most 255. By default, the results are the standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// Whether the result is the duration of the command, in seconds; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_time: Option<bool>,
    /// Whether the results are the sizes of the files in `file_paths`, in bytes; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<bool>,
    /// Number of iterations, from 1 to 1,000; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iter: Option<u32>,
    /// Whether to continue after an iteration with a nonzero exit code and to leave out its result; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_failure: Option<bool>,
    /// Start time to record for the run instead of the real start time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backdate: Option<Timestamp>,
    /// Whether the results stay out of the history: the output of the job has them, the report has no results. For a search for a
    /// commit, whose measurements must not raise events. False by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<bool>,
    /// Callback to call when the job has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<JobCallback>,
}

/// Destination to which the server reports the end of a job: a commit or a pull request at a code host, or a webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobCallback)]
pub struct JobCallback {
    /// Kind of destination.
    pub kind: JobCallbackKind,
    /// URL of the API of the code host, or of the webhook.
    pub url: Url,
    /// Repository at the code host. For GitLab, the project ID, or the project path with `%2F` for slashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Hash of the measured commit. Without it, GitHub gets a comment and no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Number of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// ID of the check to complete. Without it, the server creates a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<u64>,
    /// Identifier of the job in the comment and the check, to distinguish several jobs of the same project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether to write a comment only if a metric has a threshold; false by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_thresholds: bool,
    /// Whether to create the comment only if a metric is outside the limits of its threshold; false by default. The server still
    /// updates an existing comment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_on_alert: bool,
    /// Whether links lead to the public pages even if the project is private; false by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public_links: bool,
    /// Token that authenticates at the destination. It must still be valid when the job ends.
    #[schema(value_type = String)]
    pub token: JobSecret,
}

impl JobCallback {
    /// Creates a callback that sends the job and its report as JSON to a webhook, with a bearer token.
    pub fn webhook(url: Url, token: &str) -> Self {
        Self {
            kind: JobCallbackKind::Webhook,
            url,
            repository: None,
            hash: None,
            number: None,
            check: None,
            id: None,
            only_thresholds: false,
            only_on_alert: false,
            public_links: false,
            token: JobSecret(token.to_owned()),
        }
    }
}

fixed_string! {
    /// Kind of destination of a callback.
    JobCallbackKind {
        /// GitHub: a check on the commit, and a comment on the pull request.
        GitHub = "github",
        /// Forgejo or Gitea: a comment on the pull request.
        Forgejo = "forgejo",
        /// GitLab: a note on the merge request.
        GitLab = "gitlab",
        /// A webhook, which receives the job and its report as JSON.
        Webhook = "webhook",
    }
}

/// Text that `Debug` masks. Serialization does not mask it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobSecret(pub String);

impl fmt::Debug for JobSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(crate::name::MASK)
    }
}

/// One run of an image on a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJob)]
pub struct Job {
    /// UUID of the job.
    pub uuid: JobUuid,
    /// Status of the job.
    pub status: JobStatus,
    /// Spec of the machine that the job runs on.
    pub spec: Spec,
    /// UUID of the runner that claimed the job; null if no runner has claimed it.
    pub runner: Option<RunnerUuid>,
    /// UUID of the report that receives the results.
    pub report: ReportUuid,
    /// Image that the job runs; null if unknown.
    pub image: Option<String>,
    /// Image that `image` is compared with; omitted if the job measures one image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Maximum duration of all iterations together, in seconds.
    pub timeout: u32,
    /// Position in the queue, counted from 1; omitted if the job is not pending, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// Reason why the job failed. Visible only to callers who may see the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// End of the output so far, while the job runs. Visible only to callers who may see the output; omitted in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// Time when the job was created.
    pub created: Timestamp,
    /// Time when the job was last modified.
    pub modified: Timestamp,
    /// Time when a runner claimed the job; null if no runner has claimed it.
    pub claimed: Option<Timestamp>,
    /// Time when the benchmarks started; null if they have not started.
    pub started: Option<Timestamp>,
    /// Time when the job ended, with any result; null if it has not ended.
    pub completed: Option<Timestamp>,
    /// Output of the job after its end. Visible only with a role in the project or a project key; omitted in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<JobOutput>,
}

/// Filter of a list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct JobFilter {
    /// Only jobs with this status.
    #[param(inline)]
    pub status: Option<JobStatus>,
    /// Sort key; `created` by default.
    #[param(inline)]
    pub sort: Option<ProjJobsSort>,
}

fixed_string! {
    /// Status of a job.
    JobStatus {
        /// No runner has claimed the job.
        Pending = "pending",
        /// A runner has claimed the job and prepares it.
        Claimed = "claimed",
        /// The benchmarks are running.
        Running = "running",
        /// The benchmarks have run. The server has not yet stored the results in the report.
        Completed = "completed",
        /// The server has stored the results in the report.
        Processed = "processed",
        /// The job failed.
        Failed = "failed",
        /// The job was canceled.
        Canceled = "canceled",
        /// The server lost contact with the runner, so the state of the job is unknown.
        Unknown = "unknown",
    }
}

/// Configuration of a job for the runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobConfig)]
pub struct JobConfig {
    /// URL of the registry.
    pub registry: Url,
    /// UUID of the project of the image.
    pub project: ProjectUuid,
    /// Repository of the image; the UUID of the project if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Digest of the image.
    pub digest: String,
    /// Name of the image as given in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Entry point that replaces the entry point of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Command and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    /// Environment variables by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub env: Option<BTreeMap<String, JobSecret>>,
    /// Maximum duration of all iterations together, in seconds.
    pub timeout: u32,
    /// Paths of files to read the results from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// Whether the result is the duration of the command, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_time: Option<bool>,
    /// Whether the results are the sizes of the files, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<bool>,
    /// Average that the server uses if the tool prints several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Average>,
    /// Number of iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iter: Option<u32>,
    /// How the iterations are combined into one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Fold>,
    /// Whether to continue after an iteration with a nonzero exit code and to leave out its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_failure: Option<bool>,
    /// Start time to record for the run instead of the real start time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backdate: Option<Timestamp>,
    /// Whether the results stay out of the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<bool>,
    /// Image to compare with; omitted if the job measures one image. A runner that does not know this field measures only the
    /// image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<JobBase>,
}

/// The image that a job compares its image with, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobBase)]
pub struct JobBase {
    /// Repository of the image; the UUID of the project if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Digest of the image.
    pub digest: String,
    /// Name of the image as given in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Adapter that reads the results of both sides.
    pub adapter: Adapter,
    /// Whether both sides run at the same time on separate cores.
    #[serde(default)]
    pub duet: bool,
    /// Maximum number of rounds.
    pub rounds: u32,
    /// Names of the benchmarks that need a verdict; all benchmarks if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<String>,
    /// Smallest change that counts, as a share of the base.
    pub min_change: f64,
    /// Range within which two sides count as equal, as a share of the base.
    pub same_within: f64,
}

fixed_string! {
    /// Side of a comparison that an iteration of a job measured.
    JobSide {
        /// The base.
        Base = "base",
        /// The image of the job.
        New = "new",
    }
}

/// Output of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobOutput)]
pub struct JobOutput {
    /// Error of the job; omitted if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Result of each iteration.
    #[serde(default)]
    pub results: Vec<JobIteration>,
}

/// Output of one iteration of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonIterationOutput)]
pub struct JobIteration {
    /// Exit code of the command.
    pub exit_code: i32,
    /// Standard output of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Contents of the files by path. If there are files, the server reads the results from the files, otherwise from standard
    /// output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BTreeMap<String, String>>,
    /// Noise of the machine before and after the iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<JobNoise>,
    /// CPU time of all cores, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<f64>,
    /// Peak memory usage, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
    /// Measured side; omitted if the job has no base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<JobSide>,
    /// Round of a comparison, counted from 1. The two iterations of a round form a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

/// Noise of a machine around a run: the standard deviation of the duration of a fixed computation, divided by the median
/// duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobNoise)]
pub struct JobNoise {
    /// Noise before the run.
    pub before: f64,
    /// Noise after the run.
    pub after: f64,
}

impl JobNoise {
    /// Returns the highest noise of several runs, separately before and after.
    pub fn worst(runs: impl Iterator<Item = Self>) -> Option<Self> {
        runs.reduce(|one, other| Self {
            before: one.before.max(other.before),
            after: one.after.max(other.after),
        })
    }
}
