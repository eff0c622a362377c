//! What an operator can set about detection.

use serde::{Deserialize, Serialize};

/// Detection of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Detection {
    /// The most memory for the state of series, in bytes.
    pub memory_bytes: usize,
}

impl Default for Detection {
    fn default() -> Self {
        Self { memory_bytes: 128 << 20 }
    }
}
