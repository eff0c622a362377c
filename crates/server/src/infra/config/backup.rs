//! Settings of scheduled backups.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::registry::DataStore;

/// Scheduled backups: how often, how many, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackupSettings {
    /// Hours between two backups. Zero disables scheduled backups.
    pub interval_hours: u32,
    /// Number of backups to keep at the destination. Zero keeps all.
    pub keep: u32,
    /// Folder of the backups; default: `backups/scheduled` in the data folder.
    pub directory: Option<PathBuf>,
    /// S3 instead of the folder.
    pub data_store: DataStore,
}

impl Default for BackupSettings {
    fn default() -> Self {
        Self { interval_hours: 0, keep: 14, directory: None, data_store: DataStore::default() }
    }
}
