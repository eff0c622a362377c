//! Runs: reports that find or make their project by themselves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    GitHash, NameId, NewJob, ReportIdempotencyKey, ReportSettings, ReportThresholds, ResourceId,
    StartPointPatch, Timestamp,
};

/// The prefixes of the keys of a context: our own, and the one that existing clients send.
const PREFIXES: [&str; 2] = ["tidemark.dev/v0", "bencher.dev/v0"];

/// The longest hash of a binary, and the longest name of a host.
const HASH_MAX: usize = 128;

/// A run to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewRun)]
pub struct NewRun {
    /// The UUID or slug of the project. A slug that is not known makes a new one; without it, the context decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ResourceId>,
    /// The UUID, slug or name of the branch; from the context when not given, or else `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// The commit that was measured; from the context when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// Where the branch starts from.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<StartPointPatch>,
    /// The UUID, slug or name of the testbed; from the context when not given, or else `localhost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NameId>,
    /// Whether the testbed loses its spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_reset: Option<bool>,
    /// The thresholds of this branch and testbed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub thresholds: Option<ReportThresholds>,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// What the tool printed, a text for each iteration.
    pub results: Vec<String>,
    /// How the results are read.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub settings: Option<ReportSettings>,
    /// The job that brings the results, instead of `results`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub job: Option<NewJob>,
    /// What is known of where the run was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<RunContext>,
    /// A UUID of the sender's choice: a run that is sent again with the same one is answered with the first report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<ReportIdempotencyKey>,
}

/// What is known of where a run was made: texts by keys such as `tidemark.dev/v0/branch/ref/name`. Keys that are not
/// known are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct RunContext(BTreeMap<String, String>);

/// Makes a context of facts by the end of their keys, such as `branch/hash`.
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

    /// The value of a key if it is short and of printable characters of ASCII; another one is ignored.
    fn get_plain(&self, key: &str) -> Option<&str> {
        let is_plain =
            |value: &&str| value.len() <= HASH_MAX && value.bytes().all(|byte| byte.is_ascii_graphic());
        self.get(key).filter(is_plain)
    }

    /// The name of the repository.
    pub fn repo_name(&self) -> Option<&str> {
        self.get("repo/name")
    }

    /// The first commit of the repository.
    pub fn repo_hash(&self) -> Option<&str> {
        self.get("repo/hash")
    }

    /// The name of the branch.
    pub fn branch_name(&self) -> Option<&str> {
        self.get("branch/ref/name")
    }

    /// The commit that was measured.
    pub fn branch_hash(&self) -> Option<&str> {
        self.get("branch/hash")
    }

    /// A hash of what was measured, by its content.
    pub fn binary_hash(&self) -> Option<&str> {
        self.get_plain("binary/hash")
    }

    /// What tells the machine from others: its own key, or else its fingerprint.
    pub fn host(&self) -> Option<&str> {
        self.get_plain("testbed/host").or_else(|| self.get_plain("testbed/fingerprint"))
    }

    /// The operating system of the machine.
    pub fn testbed_os(&self) -> Option<&str> {
        self.get("testbed/os")
    }

    /// A fingerprint of the machine.
    pub fn testbed_fingerprint(&self) -> Option<&str> {
        self.get("testbed/fingerprint")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_read_under_either_prefix() {
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
    fn a_host_is_known_by_its_own_key_or_by_its_fingerprint() {
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
