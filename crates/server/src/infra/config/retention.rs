//! What an operator can set about how long the server keeps records and files that only grow.

use serde::{Deserialize, Serialize};

/// How long records and files are kept. Zero keeps them forever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Days after which an entry of the audit log is deleted.
    pub audit_days: u32,
    /// Days after which an invitation is deleted that was accepted, was revoked or has expired.
    pub invitation_days: u32,
    /// Days after which a message in the folder `outbox` is deleted.
    pub mail_days: u32,
    /// How many backups in the folder `backups` are kept: the newest.
    pub backups: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { audit_days: 730, invitation_days: 90, mail_days: 30, backups: 30 }
    }
}
