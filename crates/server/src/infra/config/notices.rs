//! Settings of notices.

use serde::{Deserialize, Serialize};

/// Notices of projects and users.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notices {
    /// Whether notices may have destinations that are not on the public network.
    pub private_addresses: bool,
}
