//! Quotas of the registry: bytes moved per day, bytes stored per organization, and concurrent uploads. The first two are off
//! unless an operator sets them, except for the bytes that unclaimed organizations store.

use axum::{
    body::{Body, HttpBody},
    http::request::Parts,
};
use tidemark_api::Timestamp;
use tidemark_store::{Lock, OrganizationId, Tx, repository, unclaimed};

use super::{
    access::Place,
    error::{Error, Result},
};
use crate::{
    domain::{app::App, error::Error as House},
    infra::limits::{Exceeded, Permit},
    transport::http::origin::ClientAddress,
};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// Seconds after which a client may ask again for a slot.
const UPLOAD_WAIT: u64 = 5;

/// The start of the hour that a time is in.
fn hour(now: Timestamp) -> Timestamp {
    Timestamp::from_micros(now.seconds().div_euclid(HOUR) * HOUR * 1_000_000)
}

/// The limit on traffic that a place is under, if any.
fn limit(app: &App, place: &Place) -> Option<u64> {
    let limits = app.config.plus.rate_limiting.as_ref()?.oci_bandwidth;
    Some(if place.claimed { limits.free } else { limits.unclaimed })
}

/// Refuses when as many bytes as allowed went in and out within a day. Whatever has begun may end, so that the last
/// transfer may go beyond.
pub(super) async fn admit(app: &App, place: &Place) -> Result<()> {
    let Some(limit) = limit(app, place) else { return Ok(()) };
    let (now, organization) = (app.clock.now(), place.organization);
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
    Err(Error::Other(House::Limited(
        format!(
            "The images of this organization moved {limit} bytes within a day, and more are not allowed; try again in \
             {wait} seconds."
        ),
        u64::try_from(wait).unwrap_or(1),
    )))
}

/// Acquires a permit for a request with a body, or refuses when the client or all clients together have too many.
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
    Err(Error::Other(House::Limited(message, UPLOAD_WAIT)))
}

/// Counts bytes that went in or out.
pub(super) async fn count(app: &App, place: &Place, bytes: u64) -> Result<()> {
    if limit(app, place).is_none() || bytes == 0 {
        return Ok(());
    }
    let (hour, organization) = (hour(app.clock.now()), place.organization);
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    Ok(app.db.write(move |tx| repository::count_traffic(tx, organization, hour, bytes)).await?)
}

/// What images may take, and since when the place counts as active.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage {
    organization: Option<u64>,
    /// The quotas of an unclaimed place, of the organization and of all unclaimed ones together; zero is no limit.
    unclaimed: Option<(u64, u64)>,
    now: Timestamp,
}

impl Storage {
    /// The same without the total of all unclaimed organizations.
    pub(super) fn without_total(mut self) -> Self {
        if let Some((_, total)) = &mut self.unclaimed {
            *total = 0;
        }
        self
    }
}

/// The limits on storage that a place is under.
pub(super) fn storage(app: &App, place: &Place) -> Storage {
    let quotas = app.config.access.unclaimed;
    Storage {
        organization: app.config.plus.registry.max_organization_size,
        unclaimed: (!place.claimed).then_some((quotas.image_bytes, quotas.total_image_bytes)),
        now: app.clock.now(),
    }
}

/// Refuses when an organization keeps more than it may, inside the transaction that adds to it.
pub(super) fn check_stored(tx: &mut Tx<'_>, organization: OrganizationId, storage: Storage) -> Result<()> {
    if storage.organization.is_none() && storage.unclaimed.is_none() {
        return Ok(());
    }
    // Of two pushes at once, the second counts what the first has stored.
    tx.lock(Lock::Organization(organization.get()))?;
    if let Some(most) = storage.organization
        && repository::stored(tx, organization)? > most
    {
        return Err(Error::Denied(format!(
            "The images of an organization may take {most} bytes on this server, and this one is too many; delete others \
             first."
        )));
    }
    let Some((most, total)) = storage.unclaimed else { return Ok(()) };
    if most > 0 && repository::stored_with_rows(tx, organization, repository::ROW_BYTES)? > most {
        return Err(Error::Denied(format!(
            "Quota exceeded: the images of an unclaimed project may take {most} bytes; sign in and claim the project."
        )));
    }
    unclaimed::touch(tx, organization, storage.now)?;
    check_total(tx, total)
}

/// Refuses when the images of all unclaimed organizations together take more than they may; zero is no limit.
pub(super) fn check_total(tx: &mut Tx<'_>, total: u64) -> Result<()> {
    if total == 0 {
        return Ok(());
    }
    tx.lock(Lock::Unclaimed)?;
    if unclaimed::image_bytes(tx)? > total {
        return Err(Error::Denied(format!(
            "Quota exceeded: the images of all unclaimed projects of this server may take {total} bytes; sign in and \
             claim the project."
        )));
    }
    Ok(())
}
