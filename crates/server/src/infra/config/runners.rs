//! Settings of runners and jobs.

use serde::{Deserialize, Deserializer, Serialize, de};

/// Runners and their jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Runners {
    /// Seconds without a message after which a runner counts as lost.
    #[serde(deserialize_with = "seconds")]
    pub heartbeat_timeout: u32,
    /// Seconds between the timeout of a job and its cancellation.
    #[serde(deserialize_with = "seconds")]
    pub job_timeout_grace_period: u32,
    /// Maximum number of seconds that a job waits for a runner.
    pub queue_timeout: u32,
    /// Maximum number of active jobs per organization; default: no limit.
    pub organization_concurrency: Option<u32>,
    /// Whether callbacks may have destinations that are not on the public network.
    pub private_callbacks: bool,
}

impl Default for Runners {
    fn default() -> Self {
        Self {
            heartbeat_timeout: 90,
            job_timeout_grace_period: 60,
            queue_timeout: 86_400,
            organization_concurrency: None,
            private_callbacks: false,
        }
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let seconds = u32::deserialize(deserializer)?;
    if (1..=900).contains(&seconds) {
        return Ok(seconds);
    }
    Err(de::Error::custom("it must be from 1 to 900 seconds"))
}
