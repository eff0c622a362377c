//! What a runner and the server say to each other on the channel: JSON objects in text frames, told apart by `event`.
//! How jobs move by it is not decided here.
//!
//! Members that other runners do not know are optional. A message may carry an `id` of the sender's choice; the server
//! repeats it in its answer, so that an answer is never taken for that to another message.

use serde::{Deserialize, Serialize};

use crate::{
    Architecture, JobConfig, JobIteration, JobUuid, Jwt, LeaseUuid, OperatingSystem, Spec, Timestamp,
    scalar::integer,
};

/// The largest message in bytes, either way. What is larger is uploaded.
pub const MESSAGE_MAX: usize = 4 * 1024 * 1024;

/// How much of what a job has printed is shown while it runs, in bytes: the end of it.
pub const PRINTED_MAX: usize = 16 * 1024;

/// Maximum size in bytes of the output of a job as JSON. The server rejects a larger upload with 413.
pub const OUTPUT_MAX: u64 = 256 * 1024 * 1024;

/// The end of the path to which the output of a job is uploaded, after `/v0/runners/{runner}/jobs/{job}`.
pub const OUTPUT_PATH: &str = "output";

/// A message, and by what its answer is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope<M> {
    /// What the sender calls it. An answer has the `id` of what it answers, and what was said unasked has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The message itself.
    #[serde(flatten)]
    pub message: M,
}

/// What a runner says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FromRunner {
    /// It has nothing to do. The answer is a job, or that there is none.
    Ready {
        /// How many seconds it waits for a job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_timeout: Option<PollTimeout>,
        /// What it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<RunnerMetadata>,
        /// What it asks under. It keeps that until it has a job, so that one whose order was lost on the way is handed to it
        /// again; afterwards that is what it holds the job by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
    },
    /// It has a job from an earlier connection and goes on with it. The answer is `ack`, or `cancel` if it is to stop.
    Resume {
        /// The job.
        job: JobUuid,
        /// What it holds it by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
    },
    /// All is prepared, and the benchmarks begin. The answer is `ack`, or `cancel`.
    Running {
        /// The job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
        /// What it holds it by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
    },
    /// It still works on its job. The answer is `ack`, or `cancel`.
    Heartbeat {
        /// The job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
        /// What it holds it by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseUuid>,
        /// The end of what the job has printed, if that is something new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        printed: Option<String>,
    },
    /// The benchmarks have run.
    Completed {
        /// The job.
        job: JobUuid,
        /// What came of each iteration; nothing if that is uploaded.
        #[serde(default)]
        results: Vec<JobIteration>,
        /// Whether the output was uploaded.
        #[serde(default, skip_serializing_if = "is_false")]
        uploaded: bool,
    },
    /// The job could not be done.
    Failed {
        /// The job.
        job: JobUuid,
        /// What came of each iteration; nothing if that is uploaded.
        #[serde(default)]
        results: Vec<JobIteration>,
        /// What went wrong.
        error: String,
        /// Whether the output was uploaded.
        #[serde(default, skip_serializing_if = "is_false")]
        uploaded: bool,
    },
    /// The job was stopped because the server wanted that.
    Canceled {
        /// The job.
        job: JobUuid,
        /// What came of each iteration until then; nothing if that is uploaded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        results: Vec<JobIteration>,
        /// Whether the output was uploaded.
        #[serde(default, skip_serializing_if = "is_false")]
        uploaded: bool,
    },
}

/// What the server says to a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ToRunner {
    /// A message has been taken note of; it need not be sent again.
    Ack {
        /// The job that it was about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
        /// Why it had no effect, if it had none. Sending it again would not help.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    /// A job to do.
    Job(Box<JobOrder>),
    /// There is no job now.
    NoJob,
    /// The job is to be stopped. It comes as an answer, or unasked.
    Cancel {
        /// The job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
    },
}

/// A job as a runner gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobOrder {
    /// The job.
    pub uuid: JobUuid,
    /// The machine that it is to run on.
    pub spec: Spec,
    /// What to do.
    pub config: JobConfig,
    /// What opens the image in the registry, for ten minutes.
    pub oci_token: Jwt,
    /// How many seconds all iterations together may take, from `running` on.
    pub timeout: u32,
    /// When it was asked for.
    pub created: Timestamp,
}

/// What a runner is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerMetadata {
    /// The operating system of its machine.
    pub os: OperatingSystem,
    /// The instruction set of its machine.
    pub arch: Architecture,
    /// Its release.
    pub version: String,
}

integer! {
    /// How many seconds a runner waits for a job.
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
    fn messages_of_other_runners_are_read() {
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
    fn an_answer_repeats_the_id_and_nothing_that_is_not_there() {
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
