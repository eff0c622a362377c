//! Mutes: series that cause no notifications and no failing gates for a period. The server still measures and analyzes them.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Actor, MuteUuid, NamePattern, NonEmpty, Timestamp};

/// A mute: matching series cause no notifications and no failing gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonMute)]
pub struct Mute {
    /// UUID of the mute.
    pub uuid: MuteUuid,
    /// Name or pattern of the muted benchmarks; null for all benchmarks.
    pub benchmark: Option<NamePattern>,
    /// Name or pattern of the muted branches; null for all branches.
    pub branch: Option<NamePattern>,
    /// Name or pattern of the muted testbeds; null for all testbeds.
    pub testbed: Option<NamePattern>,
    /// Reason of the mute.
    pub reason: NonEmpty,
    /// User or key that created the mute.
    pub actor: Actor,
    /// Time when the mute was created.
    pub created: Timestamp,
    /// Time when the mute ends; null if it has effect until it is deleted.
    pub expires: Option<Timestamp>,
}

impl Mute {
    /// Whether the mute matches a series of this branch, testbed and benchmark.
    pub fn matches(&self, branch: &str, testbed: &str, benchmark: &str) -> bool {
        let matches = |pattern: &Option<NamePattern>, name| {
            pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
        };
        matches(&self.branch, branch)
            && matches(&self.testbed, testbed)
            && matches(&self.benchmark, benchmark)
    }
}

/// A mute to create. At least one of `benchmark`, `branch` and `testbed` is required.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewMute)]
#[serde(deny_unknown_fields)]
pub struct NewMute {
    /// Name or pattern of the benchmarks; all benchmarks by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<NamePattern>,
    /// Name or pattern of the branches; all branches by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NamePattern>,
    /// Name or pattern of the testbeds; all testbeds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NamePattern>,
    /// Reason of the mute.
    pub reason: NonEmpty,
    /// Duration in seconds; by default, the mute has effect until it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::number::positive")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub ttl: Option<NonZeroU32>,
}

/// Filter of a list of mutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MuteFilter {
    /// Only expired mutes (true), or only mutes that have effect (false); all mutes by default.
    pub expired: Option<bool>,
}

/// Mute of a series, an alert or an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonMuted)]
pub struct Muted {
    /// UUID of the mute.
    pub mute: MuteUuid,
    /// Reason of the mute.
    pub reason: NonEmpty,
    /// Time when the mute ends; null if it has effect until it is deleted.
    pub expires: Option<Timestamp>,
}

impl From<&Mute> for Muted {
    fn from(mute: &Mute) -> Self {
        Self { mute: mute.uuid, reason: mute.reason.clone(), expires: mute.expires }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mute(benchmark: Option<&str>, branch: Option<&str>, testbed: Option<&str>) -> Mute {
        serde_json::from_value(json!({
            "uuid": "0190a000-0000-7000-8000-000000000000", "benchmark": benchmark, "branch": branch,
            "testbed": testbed, "reason": "Flaky", "actor": { "kind": "user" },
            "created": "2026-01-01T00:00:00Z", "expires": null,
        }))
        .unwrap()
    }

    #[test]
    fn a_mute_matches_series_that_match_all_its_patterns() {
        let all = mute(Some("parser::*"), Some("main"), Some("metal"));
        assert!(all.matches("main", "metal", "parser::json"));
        assert!(!all.matches("next", "metal", "parser::json"));
        assert!(!all.matches("main", "ci", "parser::json"));
        assert!(!all.matches("main", "metal", "lexer"));
        assert!(mute(None, None, Some("ci")).matches("main", "ci", "lexer"));
        assert!(mute(Some("lexer"), None, None).matches("next", "ci", "lexer"));
    }
}
