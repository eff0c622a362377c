//! Quotas of the registry: traffic per day, storage per organization, and concurrent uploads. The first two are off by default,
//! except for the storage of unclaimed organizations.

use axum::{
    body::{Body, HttpBody},
    http::request::Parts,
};
use tidemark_api::Timestamp;
use tidemark_store::{Lock, OrganizationId, Tx, repository, unclaimed};

use super::{
    access::Repository,
    error::{Error, Result},
};
use crate::{
    domain::{app::App, error::Error as DomainError},
    infra::limits::{Exceeded, Permit},
    transport::http::origin::ClientAddress,
};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// Seconds after which a client may retry an upload.
const UPLOAD_WAIT: u64 = 5;

/// Returns the start of the hour of a time.
fn hour(now: Timestamp) -> Timestamp {
    Timestamp::from_micros(now.seconds().div_euclid(HOUR) * HOUR * 1_000_000)
}

/// Returns the traffic limit of a repository, if any.
fn traffic_limit(app: &App, opened: &Repository) -> Option<u64> {
    let limits = app.config.plus.rate_limiting.as_ref()?.oci_bandwidth;
    Some(if opened.claimed { limits.free } else { limits.unclaimed })
}

/// Rejects a request if the traffic limit of the day is reached. Active transfers may continue, so that the last transfer can
/// exceed the limit.
pub(super) async fn check_traffic(app: &App, opened: &Repository) -> Result<()> {
    let Some(limit) = traffic_limit(app, opened) else { return Ok(()) };
    let (now, organization) = (app.clock.now(), opened.organization);
    let since = now.plus_seconds(-DAY);
    let hours = app.db.read(move |tx| repository::traffic(tx, organization, since)).await?;
    let mut used: u64 = hours.iter().map(|(_, bytes)| bytes).sum();
    if used < limit {
        return Ok(());
    }
    let free = hours.iter().find(|(_, bytes)| {
        used -= bytes;
        used < limit
    });
    let wait = free.map_or(DAY, |(hour, _)| (hour.plus_seconds(DAY).seconds() - now.seconds()).max(1));
    Err(Error::Other(DomainError::Limited(
        format!(
            "Quota exceeded: this organization may transfer {limit} bytes of images per day; try again in \
             {wait} seconds."
        ),
        u64::try_from(wait).unwrap_or(1),
    )))
}

/// Acquires a permit for a request with a body, or rejects it if the client or all clients together have too many uploads.
pub(super) fn permit_upload(app: &App, parts: &Parts, body: &Body) -> Result<Option<Permit>> {
    if body.is_end_stream() {
        return Ok(None);
    }
    let address = parts.extensions.get::<ClientAddress>().and_then(|address| address.0);
    let settings = &app.config.plus.registry;
    let limit = match app.uploads.try_acquire(address) {
        Ok(permit) => return Ok(Some(permit)),
        Err(Exceeded::PerAddress) => {
            format!("per address are limited to {}", settings.max_uploads_per_address)
        }
        Err(Exceeded::Total) => format!("to this server are limited to {}", settings.max_uploads),
    };
    let message = format!("Concurrent uploads {limit}; try again in {UPLOAD_WAIT} seconds.");
    Err(Error::Other(DomainError::Limited(message, UPLOAD_WAIT)))
}

/// Counts traffic.
pub(super) async fn count_traffic(app: &App, opened: &Repository, bytes: u64) -> Result<()> {
    if traffic_limit(app, opened).is_none() || bytes == 0 {
        return Ok(());
    }
    let (hour, organization) = (hour(app.clock.now()), opened.organization);
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    Ok(app.db.write(move |tx| repository::count_traffic(tx, organization, hour, bytes)).await?)
}

/// Storage limits of a repository, and the current time for its activity.
#[derive(Clone, Copy, Debug)]
pub(super) struct StorageLimits {
    organization: Option<u64>,
    /// Quotas of an unclaimed repository: of the organization and of all unclaimed organizations. Zero means no limit.
    unclaimed: Option<(u64, u64)>,
    now: Timestamp,
}

impl StorageLimits {
    /// Returns the limits without the total of all unclaimed organizations.
    pub(super) fn without_total(mut self) -> Self {
        if let Some((_, total)) = &mut self.unclaimed {
            *total = 0;
        }
        self
    }
}

/// Returns the storage limits of a repository.
pub(super) fn storage_limits(app: &App, opened: &Repository) -> StorageLimits {
    let quotas = app.config.access.unclaimed;
    StorageLimits {
        organization: app.config.plus.registry.max_organization_size,
        unclaimed: (!opened.claimed).then_some((quotas.image_bytes, quotas.total_image_bytes)),
        now: app.clock.now(),
    }
}

/// Rejects a write if an organization exceeds its storage limit, inside the transaction of the write.
pub(super) fn check_storage(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    storage: StorageLimits,
) -> Result<()> {
    if storage.organization.is_none() && storage.unclaimed.is_none() {
        return Ok(());
    }
    // If two pushes run at the same time, the second counts the blobs of the first.
    tx.lock(Lock::Organization(organization.get()))?;
    if let Some(most) = storage.organization
        && repository::stored(tx, organization)? > most
    {
        return Err(Error::Denied(format!(
            "Quota exceeded: the images of an organization may use {most} bytes on this server; delete \
             images first."
        )));
    }
    let Some((most, total)) = storage.unclaimed else { return Ok(()) };
    if most > 0 && repository::stored_with_rows(tx, organization, repository::ROW_BYTES)? > most {
        return Err(Error::Denied(format!(
            "Quota exceeded: the images of an unclaimed project may use {most} bytes; sign in and claim the project."
        )));
    }
    unclaimed::touch(tx, organization, storage.now)?;
    check_total(tx, total)
}

/// Rejects a write if the images of all unclaimed organizations exceed their quota. Zero means no limit.
pub(super) fn check_total(tx: &mut Tx<'_>, total: u64) -> Result<()> {
    if total == 0 {
        return Ok(());
    }
    tx.lock(Lock::Unclaimed)?;
    if unclaimed::image_bytes(tx)? > total {
        return Err(Error::Denied(format!(
            "Quota exceeded: the images of all unclaimed projects of this server may use {total} bytes; sign \
             in and claim the project."
        )));
    }
    Ok(())
}
