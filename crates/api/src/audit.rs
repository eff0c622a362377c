//! Audit log: which user changed what, when and from which address.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{AuditUuid, OrganizationUuid, Timestamp, scalar::fixed_string};

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAuditEntry)]
pub struct AuditEntry {
    /// UUID of the entry.
    pub uuid: AuditUuid,
    /// Time of the action.
    pub created: Timestamp,
    /// Actor that performed the action.
    pub actor: Actor,
    /// Stable identifier of the action, for example `member.role`.
    pub action: String,
    /// Resource that the action changed.
    pub target: String,
    /// UUID of the organization of the resource; omitted if the action belongs to no organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<OrganizationUuid>,
    /// IP address of the client; omitted if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Details of the action, by stable keys.
    pub detail: BTreeMap<String, String>,
}

/// User, key or server that performed an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonActor)]
pub struct Actor {
    /// Kind of actor.
    pub kind: ActorKind,
    /// UUID of the actor; omitted if the actor has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    /// Name of the actor; omitted if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

fixed_string! {
    /// Kind of actor.
    ActorKind {
        /// A user, authenticated by a session, a key or a token.
        User = "user",
        /// A project key.
        ProjectKey = "project_key",
        /// The server.
        System = "system",
    }
}
