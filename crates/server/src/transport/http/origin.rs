//! Who asked and from where, as the audit log and the rate limits know it. What they may do is `access.rs`.

use std::net::IpAddr;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use tidemark_api::Actor;
use tidemark_store::{Fresh, OrganizationId, Tx, audit};

use super::error::{Error, Result};
use crate::{
    domain::{app::App, auth::caller::Caller},
    infra::limits::address_key,
};

/// The address a request came from, as far as it can be trusted; put there by the frame.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub Option<IpAddr>);

/// Who asked and from where, for the audit log and for rate limits.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Who asked.
    pub actor: Actor,
    /// From where.
    pub address: Option<IpAddr>,
    /// By which program, as it names itself.
    pub agent: Option<String>,
}

/// The most characters of the name of a program that are kept.
const AGENT_MAX: usize = 256;

impl Origin {
    /// Somebody whose request this is.
    pub fn of(parts: &Parts, actor: Actor) -> Self {
        let address = parts.extensions.get::<ClientAddress>().and_then(|address| address.0);
        let agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        let agent = agent.map(|agent| agent.chars().take(AGENT_MAX).collect());
        Self { actor, address, agent }
    }

    /// Remembers a change in the transaction that makes it.
    pub fn audit(
        &self,
        tx: &mut Tx<'_>,
        fresh: &Fresh,
        action: &str,
        target: &str,
        organization: Option<OrganizationId>,
        detail: &[(&str, &str)],
    ) -> Result<()> {
        let address = self.address.map(|address| address.to_string());
        let entry = audit::New {
            actor: &self.actor,
            address: address.as_deref(),
            action,
            target,
            organization,
            detail,
        };
        Ok(audit::add(tx, fresh, &entry)?)
    }

    /// The address as the key of a rate limit.
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
