//! Jobs: runs that a runner makes for the one who asked for them. What it and the server say to each other is in
//! `channel.rs`.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Average, Fold, JobUuid, ProjJobsSort, ProjectUuid, ReportUuid, ResourceId, RunnerUuid, Spec, Timestamp,
    Url, scalar::word,
};

/// The most words of an entry point, and of a command.
pub const JOB_WORDS_MAX: usize = 64;
/// The most files of a job, and the most variables.
pub const JOB_ENTRIES_MAX: usize = 255;
/// The most iterations of a job.
pub const JOB_ITERATIONS_MAX: u32 = 1_000;

/// What a runner is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRunJob)]
pub struct NewJob {
    /// The image to run.
    pub image: String,
    /// The kind of machine to run it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ResourceId>,
    /// What is started instead of the image's own entry point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// The command and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    /// Variables that it finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub env: Option<BTreeMap<String, JobSecret>>,
    /// How many seconds it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    /// Files to read the results from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// Whether the time that it takes is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_time: Option<bool>,
    /// Whether the sizes of the files are the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<bool>,
    /// How often it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iter: Option<u32>,
    /// Whether failed runs are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_failure: Option<bool>,
    /// When the run counts as begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backdate: Option<Timestamp>,
    /// Whom to tell when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<JobCallback>,
}

/// Whom the server tells how a job ended, when the one who asked for it waits no more: a commit or a pull request of a
/// code host, or anybody at an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobCallback)]
pub struct JobCallback {
    /// What is there.
    pub kind: JobCallbackKind,
    /// Where the API of the code host is; for a webhook, the address itself.
    pub url: Url,
    /// The repository of the code host; for GitLab the number of the project, or its path with `%2F` for slashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The commit that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The number of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The check that waits for the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<u64>,
    /// What tells the job from others of the same project, in the comment and the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether there is a comment only if there is a threshold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_thresholds: bool,
    /// Whether there is a first comment only once something has become better or worse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_on_alert: bool,
    /// Whether links lead to the public pages also of a private project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public_links: bool,
    /// What authenticates there, and is still valid when the job ends.
    #[schema(value_type = String)]
    pub token: JobSecret,
}

impl JobCallback {
    /// An address that gets the job and its report as JSON, and a token for it.
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

word! {
    /// What a server tells how a job ended.
    JobCallbackKind {
        /// GitHub: a check on the commit, and a comment on the pull request.
        GitHub = "github",
        /// Forgejo or Gitea: a comment on the pull request.
        Forgejo = "forgejo",
        /// GitLab: a note on the merge request.
        GitLab = "gitlab",
        /// Any address, which gets the job and its report as JSON.
        Webhook = "webhook",
    }
}

/// A text that does not show itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobSecret(pub String);

impl fmt::Debug for JobSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(crate::name::MASK)
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJob)]
pub struct Job {
    /// Its identifier.
    pub uuid: JobUuid,
    /// How far it is.
    pub status: JobStatus,
    /// The machine that it runs on.
    pub spec: Spec,
    /// The runner that has taken it.
    pub runner: Option<RunnerUuid>,
    /// The report that gets its results.
    pub report: ReportUuid,
    /// The image that it runs.
    pub image: Option<String>,
    /// How many seconds it may take.
    pub timeout: u32,
    /// Its place in the queue, counted from 1; absent unless it waits, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// Why it did not end well, for those who may see its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The end of what it has printed so far, while it runs; for those who may see its output, and not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When a runner took it.
    pub claimed: Option<Timestamp>,
    /// When the benchmarks began.
    pub started: Option<Timestamp>,
    /// When they ended, well or not.
    pub completed: Option<Timestamp>,
    /// What came of it, once it has ended; for those who may view the project by a role or its key, and not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<JobOutput>,
}

/// Which jobs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct JobFilter {
    /// Only those that are this far.
    #[param(inline)]
    pub status: Option<JobStatus>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjJobsSort>,
}

word! {
    /// How far a job is.
    JobStatus {
        /// No runner has taken it yet.
        Pending = "pending",
        /// A runner has taken it.
        Claimed = "claimed",
        /// The benchmarks run.
        Running = "running",
        /// The benchmarks have run; their results are not read yet.
        Completed = "completed",
        /// Its results are in the report.
        Processed = "processed",
        /// It failed.
        Failed = "failed",
        /// Somebody canceled it.
        Canceled = "canceled",
        /// Its runner was lost, so that nobody knows.
        Unknown = "unknown",
    }
}

/// What a runner needs to know to do a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobConfig)]
pub struct JobConfig {
    /// Where the image is.
    pub registry: Url,
    /// The project that it belongs to.
    pub project: ProjectUuid,
    /// The repository of the image; without it, the one that is called like the UUID of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The digest of the image.
    pub digest: String,
    /// The image as it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What is started instead of the image's own entry point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// The command and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    /// Variables that it finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub env: Option<BTreeMap<String, JobSecret>>,
    /// How many seconds all iterations together may take.
    pub timeout: u32,
    /// Files to read the results from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// Whether the time that it takes is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_time: Option<bool>,
    /// Whether the sizes of the files are the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<bool>,
    /// Which of the tool's averages is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Average>,
    /// How often it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iter: Option<u32>,
    /// How the iterations become one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Fold>,
    /// Whether failed runs are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_failure: Option<bool>,
    /// When the run counts as begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backdate: Option<Timestamp>,
}

/// What came of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobOutput)]
pub struct JobOutput {
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// An entry for each time that it was run.
    #[serde(default)]
    pub results: Vec<JobIteration>,
}

/// What came of one run of the command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonIterationOutput)]
pub struct JobIteration {
    /// What the command ended with.
    pub exit_code: i32,
    /// What it wrote to standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What it wrote to standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// What its files held, by path. If there are any, they are the results, and otherwise standard output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BTreeMap<String, String>>,
    /// How restless the machine was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<JobNoise>,
    /// How many seconds all cores together worked on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<f64>,
    /// How many bytes of memory it had at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
}

/// How restless a machine was around a run: the spread of a fixed piece of work that was timed again and again, as a
/// share of its median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonJobNoise)]
pub struct JobNoise {
    /// Before the run.
    pub before: f64,
    /// After it.
    pub after: f64,
}

impl JobNoise {
    /// The most restless moments of several runs.
    pub fn worst(runs: impl Iterator<Item = Self>) -> Option<Self> {
        runs.reduce(|one, other| Self {
            before: one.before.max(other.before),
            after: one.after.max(other.after),
        })
    }
}
