//! Messages between a runner and the server: JSON objects in text frames, distinguished by `event`. The job states are in
//! `job_event.rs`.
//!
//! Fields that other runners do not send are optional. A message may have an `id` that the sender chooses. The server repeats the
//! `id` in its reply, so that a runner can match each reply to its message.

use serde::{Deserialize, Serialize};

use crate::{
    Architecture, JobConfig, JobIteration, JobUuid, Jwt, LeaseUuid, OperatingSystem, Spec, Timestamp,
    scalar::integer,
};

/// Maximum size of a message in bytes, in both directions. Larger results are uploaded.
pub const MESSAGE_MAX: usize = 4 * 1024 * 1024;

/// Maximum number of bytes of a running job's output to show, from the end of the output.
pub const PRINTED_MAX: usize = 16 * 1024;

/// Maximum size in bytes of the output of a job as JSON. The server rejects a larger upload with 413.
pub const OUTPUT_MAX: u64 = 256 * 1024 * 1024;

/// Last segment of the upload path for the output of a job, after `/v0/runners/{runner}/jobs/{job}`.
pub const OUTPUT_PATH: &str = "output";

/// A message with its identifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope<M> {
    /// Identifier that the sender chooses. A reply has the `id` of its message; a message that the server sends on its own has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The message.
    #[serde(flatten)]
    pub message: M,
}

/// Message of a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FromRunner {
    /// The runner is idle. The reply is `job` or `no_job`.
    Ready {
        /// Maximum time to wait for a job, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_timeout: Option<PollTimeout>,
        /// Description of the runner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<RunnerMetadata>,
        /// Lease that the runner chooses. The runner keeps the lease until it receives a job, so that the server can hand out a
        /// job again if the message with the job was lost. After that, the lease identifies the runner as the holder of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
    },
    /// The runner continues a job of an earlier connection. The reply is `ack`, or `cancel` if the runner must stop.
    Resume {
        /// UUID of the job.
        job: JobUuid,
        /// Lease of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
    },
    /// Preparation is done and the benchmarks start. The reply is `ack` or `cancel`.
    Running {
        /// UUID of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
        /// Lease of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
    },
    /// The runner still works on its job. The reply is `ack` or `cancel`.
    Heartbeat {
        /// UUID of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
        /// Lease of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
        /// End of the job's output so far; omitted if there is no new output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        printed: Option<String>,
    },
    /// All iterations have run.
    Completed {
        /// UUID of the job.
        job: JobUuid,
        /// Result of each iteration; empty if the results are uploaded.
        #[serde(default)]
        results: Vec<JobIteration>,
        /// Whether the results are uploaded.
        #[serde(default, skip_serializing_if = "is_false")]
        uploaded: bool,
    },
    /// The job failed.
    Failed {
        /// UUID of the job.
        job: JobUuid,
        /// Result of each iteration so far; empty if the results are uploaded.
        #[serde(default)]
        results: Vec<JobIteration>,
        /// Reason of the failure.
        error: String,
        /// Whether the results are uploaded.
        #[serde(default, skip_serializing_if = "is_false")]
        uploaded: bool,
    },
    /// The runner stopped the job because the server canceled it.
    Canceled {
        /// UUID of the job.
        job: JobUuid,
        /// Result of each iteration so far; empty if the results are uploaded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        results: Vec<JobIteration>,
        /// Whether the results are uploaded.
        #[serde(default, skip_serializing_if = "is_false")]
        uploaded: bool,
    },
}

/// Message of the server to a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ToRunner {
    /// The server has received a message. The runner does not need to resend it.
    Ack {
        /// UUID of the job of the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
        /// Reason why the message had no effect; omitted if it had an effect. Resending the message does not help.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    /// A job to run.
    Job(Box<JobOrder>),
    /// No job is available.
    NoJob,
    /// The runner must stop the job. The server sends it as a reply or on its own.
    Cancel {
        /// UUID of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
    },
}

/// A job to run, as the server sends it to a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobOrder {
    /// UUID of the job.
    pub uuid: JobUuid,
    /// Spec of the machine to run the job on.
    pub spec: Spec,
    /// Configuration of the job.
    pub config: JobConfig,
    /// Token that allows pulling the image from the registry for ten minutes.
    pub oci_token: Jwt,
    /// Maximum duration of all iterations together, in seconds from `running` on.
    pub timeout: u32,
    /// Time when the job was created.
    pub created: Timestamp,
}

/// Description of a runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerMetadata {
    /// Operating system of the machine.
    pub os: OperatingSystem,
    /// Instruction set of the machine.
    pub arch: Architecture,
    /// Version of the runner.
    pub version: String,
}

integer! {
    /// Maximum time that a runner waits for a job, in seconds.
    PollTimeout(u32, "uint32"), 1, 900
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: serde_json::Value) -> Result<Envelope<FromRunner>, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn messages_of_other_runners_are_parsed() {
        let ready = read(json!({ "event": "ready", "poll_timeout": 55, "runner": {
            "os": "linux", "arch": "x86_64", "version": "0.6.12", "channel": "canary", "checksum": "ab" } }));
        let FromRunner::Ready { poll_timeout, runner, lease: None } = ready.unwrap().message else {
            panic!("not ready")
        };
        assert_eq!(poll_timeout.map(PollTimeout::get), Some(55));
        assert_eq!(runner.unwrap().arch, Architecture::X8664);
        let heartbeat = read(json!({ "event": "heartbeat" })).unwrap();
        assert_eq!(
            heartbeat,
            Envelope { id: None, message: FromRunner::Heartbeat { job: None, lease: None, printed: None } }
        );
        let job = "3f0c0000-0000-4000-8000-000000000000";
        let completed = read(
            json!({ "event": "completed", "job": job, "results": [{ "exit_code": 0, "stdout": "{}" }] }),
        );
        let FromRunner::Completed { results, uploaded, .. } = completed.unwrap().message else {
            panic!("not completed")
        };
        assert_eq!((results.len(), uploaded), (1, false));
        for wrong in [
            json!({ "event": "ready", "poll_timeout": 0 }),
            json!({ "event": "ready", "poll_timeout": 901 }),
            json!({ "event": "failed", "job": job, "results": [] }),
            json!({ "event": "nap" }),
            json!([]),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_response_has_the_id_and_no_absent_fields() {
        let write = |id, message| serde_json::to_value(Envelope { id, message }).unwrap();
        assert_eq!(write(None, ToRunner::NoJob), json!({ "event": "no_job" }));
        assert_eq!(write(None, ToRunner::Cancel { job: None }), json!({ "event": "cancel" }));
        let ack = write(Some(7), ToRunner::Ack { job: None, refused: None });
        assert_eq!(ack, json!({ "event": "ack", "id": 7 }));
        let sent: Envelope<FromRunner> =
            Envelope { id: Some(7), message: FromRunner::Running { job: None, lease: None } };
        assert_eq!(read(serde_json::to_value(&sent).unwrap()).unwrap(), sent);
    }
}
