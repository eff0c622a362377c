//! Settings of detection.

use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Detection of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Detection {
    /// Maximum memory for the state of series, in bytes.
    #[serde(deserialize_with = "memory")]
    pub memory_bytes: usize,
}

impl Detection {
    /// Minimum memory. With less, a large branch would be read too often.
    const LEAST: usize = 16 << 20;
}

impl Default for Detection {
    fn default() -> Self {
        Self { memory_bytes: 128 << 20 }
    }
}

fn memory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let bytes = usize::deserialize(deserializer)?;
    if bytes < Detection::LEAST {
        return Err(Error::custom(format_args!("it must be at least {} (16 MiB)", Detection::LEAST)));
    }
    Ok(bytes)
}
