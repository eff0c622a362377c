//! Origin of a request: user and address, for the audit log and the rate limits. `access.rs` checks the rights.

use std::net::IpAddr;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use tidemark_api::Actor;
use tidemark_store::{OrganizationId, Tx, WriteContext, audit};

use super::error::{Error, Result};
use crate::{
    domain::{app::App, auth::caller::Caller},
    infra::limits::address_key,
};

/// Address of the client, set by the middleware: the peer, or the address that a trusted proxy forwarded.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub Option<IpAddr>);

/// Origin of a request, for the audit log and the rate limits.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The caller.
    pub actor: Actor,
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// User agent of the client.
    pub agent: Option<String>,
}

/// Maximum stored length of a user agent, in characters.
const AGENT_MAX: usize = 256;

impl Origin {
    /// Returns the origin of a request of this caller.
    pub fn of(parts: &Parts, actor: Actor) -> Self {
        let address = parts.extensions.get::<ClientAddress>().and_then(|address| address.0);
        let agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        let agent = agent.map(|agent| agent.chars().take(AGENT_MAX).collect());
        Self { actor, address, agent }
    }

    /// Writes an entry to the audit log, in the transaction of the change.
    pub fn audit(
        &self,
        tx: &mut Tx<'_>,
        fresh: &WriteContext,
        action: &str,
        target: &str,
        organization: Option<OrganizationId>,
        detail: &[(&str, &str)],
    ) -> Result<()> {
        let address = self.address.map(|address| address.to_string());
        let entry = audit::NewAuditRow {
            actor: &self.actor,
            address: address.as_deref(),
            action,
            target,
            organization,
            detail,
        };
        Ok(audit::add(tx, fresh, &entry)?)
    }

    /// Returns the address as the key of a rate limit.
    pub fn key(&self) -> String {
        self.address.map_or_else(|| "unknown".into(), address_key)
    }
}

impl FromRequestParts<App> for Origin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        Ok(Self::of(parts, Caller::Anonymous.actor()))
    }
}
