//! Settings of retention.

use serde::{Deserialize, Serialize};

/// Retention of records and files. Zero keeps them forever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Days after which an entry of the audit log is deleted.
    pub audit_days: u32,
    /// Days after which an accepted, revoked or expired invitation is deleted.
    pub invitation_days: u32,
    /// Days after which a message in the folder `outbox` is deleted.
    pub mail_days: u32,
    /// Number of backups to keep in the folder `backups`. Older backups are deleted.
    pub backups: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { audit_days: 730, invitation_days: 90, mail_days: 30, backups: 30 }
    }
}
