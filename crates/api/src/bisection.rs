//! Bisections: results of a search for the commit that caused an event.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Actor, BenchmarkName, GitHash, NonEmpty, ResourceName, Timestamp, scalar::fixed_string};

/// Maximum number of measured commits of a bisection.
pub const MAX_BISECTION_COMMITS: usize = 1_024;
/// Maximum number of values of a commit.
pub const MAX_BISECTION_VALUES: usize = 1_024;
/// Maximum number of commits among which a search does not decide.
pub const MAX_BISECTION_CANDIDATES: usize = 1_024;

fixed_string! {
    /// End of a bisection.
    BisectionStatus {
        /// The commit is known with the requested probability.
        Found = "found",
        /// The good and the bad commit do not differ.
        NoDifference = "no_difference",
        /// The search ended before a commit was known, for example at its time limit.
        Undecided = "undecided",
    }
}

/// Result of a search for the commit that changed a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewBisection)]
#[serde(deny_unknown_fields)]
pub struct NewBisection {
    /// End of the search.
    pub status: BisectionStatus,
    /// Most probable commit; if the search cannot distinguish several commits, the last of them. Null if there is no difference.
    pub culprit: Option<BisectionCulprit>,
    /// Commits of which one is the culprit, oldest first. More than one if the commits before the last one cannot be measured.
    #[schema(max_items = 1024)]
    pub candidates: Vec<GitHash>,
    /// Probability of the culprit or, if there is no difference, of no difference; from 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub probability: f64,
    /// Good commit.
    pub good: GitHash,
    /// Bad commit.
    pub bad: GitHash,
    /// Name of the benchmark.
    pub benchmark: BenchmarkName,
    /// Name of the measure.
    pub measure: ResourceName,
    /// Units of the measure; empty if they are unknown.
    pub units: String,
    /// Mean value before the culprit; null if it is unknown.
    pub before: Option<f64>,
    /// Mean value since the culprit; null if it is unknown.
    pub after: Option<f64>,
    /// Estimated difference; null if it is unknown.
    pub difference: Option<BisectionDifference>,
    /// Number of measurements that the search made.
    pub runs: u32,
    /// Number of earlier results that the search used.
    pub reused: u32,
    /// Number of commits in the range.
    pub total: u32,
    /// Measured and skipped commits, oldest first.
    #[schema(max_items = 1024)]
    pub commits: Vec<BisectionCommit>,
}

/// The commit that a bisection found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBisectionCulprit)]
#[serde(deny_unknown_fields)]
pub struct BisectionCulprit {
    /// Hash of the commit.
    pub hash: GitHash,
    /// First line of its message.
    pub subject: String,
    /// Name of its author.
    pub author: String,
    /// Date of the commit, as git prints it.
    pub date: String,
}

/// Difference between the level since the culprit and the level before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBisectionDifference)]
#[serde(deny_unknown_fields)]
pub struct BisectionDifference {
    /// Most probable difference: a share of the level before, or an amount in the units of the measure.
    pub estimate: f64,
    /// Lower end of the 95 % interval.
    pub lower: f64,
    /// Upper end of the 95 % interval.
    pub upper: f64,
    /// Whether the difference is a share of the level before.
    pub relative: bool,
}

/// A commit that a bisection measured or skipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBisectionCommit)]
#[serde(deny_unknown_fields)]
pub struct BisectionCommit {
    /// Hash of the commit.
    pub hash: GitHash,
    /// Probability that the commit is the culprit, from 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub probability: f64,
    /// Measured values, in the order of time.
    #[schema(max_items = 1024)]
    pub values: Vec<f64>,
    /// Earlier results of the commit, which the search used.
    #[schema(max_items = 1024)]
    pub reused: Vec<f64>,
    /// Reason why the commit cannot be measured; null if it can.
    pub skipped: Option<NonEmpty>,
}

/// Search for the commit of an event that the server makes with jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBisectionSearch)]
pub struct BisectionSearch {
    /// Whether the search goes on.
    pub pending: bool,
    /// Reason why the search could not start, or ended without a result; omitted if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// User or key that started the search; the server for an event that it confirmed.
    pub actor: Actor,
    /// Time when the search was started.
    pub created: Timestamp,
    /// Time when the search made its last step.
    pub modified: Timestamp,
}

/// Stored bisection of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBisection)]
pub struct Bisection {
    /// Result of the search.
    pub result: NewBisection,
    /// User or key that stored the result.
    pub actor: Actor,
    /// Time when the result was stored.
    pub created: Timestamp,
}
