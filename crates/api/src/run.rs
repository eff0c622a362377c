//! Runs: reports for which the server finds or creates the project.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    GitHash, NameId, NewJob, ReportIdempotencyKey, ReportSettings, ReportThresholds, ResourceId,
    StartPointPatch, Timestamp,
};

/// Prefixes of the keys of a context: the prefix of Tidemark, and the prefix that existing clients send.
const PREFIXES: [&str; 2] = ["tidemark.dev/v0", "bencher.dev/v0"];

/// Maximum length in bytes of the hash of a binary, and of the identifier of a host.
const HASH_MAX: usize = 128;

/// A run to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRun)]
pub struct NewRun {
    /// UUID or slug of the project. An unknown slug creates a project. Without `project`, the server uses the project of the
    /// project key, or of the image of the job, or derives the slug from the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ResourceId>,
    /// UUID, slug or name of the branch; from the context if omitted, or else `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// Hash of the measured commit; from the context if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// Start point of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<StartPointPatch>,
    /// UUID, slug or name of the testbed; from the context if omitted, or else `localhost`. For a job, the name of the spec if
    /// omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NameId>,
    /// Whether to remove the spec of the testbed; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_reset: Option<bool>,
    /// Thresholds of the branch and testbed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub thresholds: Option<ReportThresholds>,
    /// Start time of the run.
    pub start_time: Timestamp,
    /// End time of the run.
    pub end_time: Timestamp,
    /// Output of the benchmark tool, one text per iteration.
    pub results: Vec<String>,
    /// Settings for parsing the results.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub settings: Option<ReportSettings>,
    /// Job that produces the results, instead of `results`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub job: Option<NewJob>,
    /// Context of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<RunContext>,
    /// Idempotency key. If a report with the same key exists, the server returns that report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<ReportIdempotencyKey>,
}

/// Context of a run: data about the repository, the branch and the machine, by key, for example
/// `tidemark.dev/v0/branch/ref/name`. The server ignores unknown keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct RunContext(BTreeMap<String, String>);

/// Creates a context from keys without the prefix, for example `branch/hash`, and their values.
impl<'a> FromIterator<(&'a str, String)> for RunContext {
    fn from_iter<I: IntoIterator<Item = (&'a str, String)>>(facts: I) -> Self {
        Self(facts.into_iter().map(|(key, value)| (format!("{}/{key}", PREFIXES[0]), value)).collect())
    }
}

impl RunContext {
    fn get(&self, key: &str) -> Option<&str> {
        let value = PREFIXES.iter().find_map(|prefix| self.0.get(&format!("{prefix}/{key}")));
        value.map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns the value of a key if it consists of at most 128 printable ASCII characters without spaces; other values are
    /// ignored.
    fn get_plain(&self, key: &str) -> Option<&str> {
        let is_plain =
            |value: &&str| value.len() <= HASH_MAX && value.bytes().all(|byte| byte.is_ascii_graphic());
        self.get(key).filter(is_plain)
    }

    /// Returns the name of the repository.
    pub fn repo_name(&self) -> Option<&str> {
        self.get("repo/name")
    }

    /// Returns the hash of the first commit of the repository.
    pub fn repo_hash(&self) -> Option<&str> {
        self.get("repo/hash")
    }

    /// Returns the name of the branch.
    pub fn branch_name(&self) -> Option<&str> {
        self.get("branch/ref/name")
    }

    /// Returns the hash of the measured commit.
    pub fn branch_hash(&self) -> Option<&str> {
        self.get("branch/hash")
    }

    /// Returns the hash of the content of the measured binary.
    pub fn binary_hash(&self) -> Option<&str> {
        self.get_plain("binary/hash")
    }

    /// Returns the identifier of the host: the key `testbed/host`, or else the fingerprint of the machine.
    pub fn host(&self) -> Option<&str> {
        self.get_plain("testbed/host").or_else(|| self.get_plain("testbed/fingerprint"))
    }

    /// Returns the operating system of the machine.
    pub fn testbed_os(&self) -> Option<&str> {
        self.get("testbed/os")
    }

    /// Returns the fingerprint of the machine.
    pub fn testbed_fingerprint(&self) -> Option<&str> {
        self.get("testbed/fingerprint")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_prefixes_of_a_context_are_parsed() {
        let context: RunContext = serde_json::from_str(
            r#"{"bencher.dev/v0/repo/name": " My Repo ", "tidemark.dev/v0/testbed/os": "Linux", "other": "x",
                "tidemark.dev/v0/branch/hash": " "}"#,
        )
        .unwrap();
        assert_eq!(context.repo_name(), Some("My Repo"));
        assert_eq!(context.testbed_os(), Some("Linux"));
        assert_eq!(context.branch_hash(), None);
        let made: RunContext = [("branch/ref/name", "fix".to_owned())].into_iter().collect();
        assert_eq!(made.branch_name(), Some("fix"));
    }

    #[test]
    fn a_host_is_identified_by_its_key_or_its_fingerprint() {
        let host = |text: &str| serde_json::from_str::<RunContext>(text).unwrap().host().map(str::to_owned);
        let fingerprint = r#""bencher.dev/v0/testbed/fingerprint": "cws1tbnfkj8h3""#;
        assert_eq!(host(&format!("{{{fingerprint}}}")).as_deref(), Some("cws1tbnfkj8h3"));
        let own =
            |name: &str| host(&format!(r#"{{"tidemark.dev/v0/testbed/host": "{name}", {fingerprint}}}"#));
        assert_eq!(own("k3v9").as_deref(), Some("k3v9"));
        for wrong in ["two words", "über", &"x".repeat(129), " "] {
            assert_eq!(own(wrong).as_deref(), Some("cws1tbnfkj8h3"), "{wrong}");
        }
        assert_eq!(host("{}"), None);
    }
}
