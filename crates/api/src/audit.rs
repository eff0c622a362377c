//! The audit log: who did what to whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{AuditUuid, OrganizationUuid, Timestamp, scalar::word};

/// One deed in the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAuditEntry)]
pub struct AuditEntry {
    /// Its identifier.
    pub uuid: AuditUuid,
    /// When it was done.
    pub created: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// What was done, as a stable word such as `member.role`.
    pub action: String,
    /// What it was done to.
    pub target: String,
    /// The organization it was done in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<OrganizationUuid>,
    /// The network address it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// More about it, by stable words.
    pub detail: BTreeMap<String, String>,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonActor)]
pub struct Actor {
    /// What kind of actor it is.
    pub kind: ActorKind,
    /// Its identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

word! {
    /// The kinds of actors.
    ActorKind {
        /// A person, by session, key or token.
        User = "user",
        /// A key of a project.
        ProjectKey = "project_key",
        /// The server itself.
        System = "system",
    }
}
