//! Jobs: runs that a runner makes for the one who asked for them. Servers do not offer them yet; clients know how to ask.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{JobUuid, ResourceId, Timestamp, Url, scalar::word};

/// The most words of an entry point, and of a command.
pub const JOB_WORDS_MAX: usize = 64;
/// The most files of a job, and the most variables.
pub const JOB_ENTRIES_MAX: usize = 255;

/// What a runner is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// The commit or pull request of a code host that is told how a job ended, when the one who asked for it waits no more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobCallback {
    /// The kind of code host, `github`.
    pub kind: String,
    /// Where its API is.
    pub url: Url,
    /// The repository there.
    pub repository: String,
    /// The commit that was measured.
    pub hash: String,
    /// The number of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The check that waits for the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<u64>,
    /// What authenticates there, and is still valid when the job ends.
    pub token: JobSecret,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its identifier.
    pub uuid: JobUuid,
    /// How far it is.
    pub status: JobStatus,
    /// What came of it, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<JobOutput>,
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

/// What came of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutput {
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// An entry for each time that it was run.
    #[serde(default)]
    pub results: Vec<JobIteration>,
}

/// What came of one run of the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobIteration {
    /// What the command ended with.
    pub exit_code: i32,
    /// What it wrote to standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What it wrote to standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}
