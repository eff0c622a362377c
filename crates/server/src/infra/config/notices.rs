//! What an operator can set about notices.

use serde::{Deserialize, Serialize};

/// Notices of projects and users.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notices {
    /// Whether they may be told to addresses that are not public.
    pub private_addresses: bool,
}
