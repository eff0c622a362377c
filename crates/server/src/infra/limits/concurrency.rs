//! Concurrency limits: maximum number of expensive operations at a time, in total and per client address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::address_key;

/// Maximum number of analyses (verdicts, backtests, comparisons) at a time. Each takes a core, and the memory for many values.
const ANALYSES: usize = 2;
/// Bytes of a request body per permit.
const BODY_UNIT: usize = 64 << 10;
/// Bytes of request bodies in memory, in total and per address; at least a few bodies of the largest size.
const BODIES: (usize, usize) = (256 << 20, 64 << 20);
/// Maximum time that an analysis, an image or a request body waits for a permit.
const QUEUE_TIME: Duration = Duration::from_secs(20);
/// Maximum time that a streamed response waits for a permit. Most streams take a fraction of this time; if none has ended by
/// then, their clients are slow and the wait could be long.
const STREAM_QUEUE_TIME: Duration = Duration::from_secs(2);

/// Error: no permit was available in time. Contains the reason for the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Busy(&'static str);

/// Limits the number of concurrent operations of one kind.
pub struct ConcurrencyLimit {
    total: Arc<Semaphore>,
    /// Total number of permits.
    permits: usize,
    per_address: usize,
    by_address: Mutex<HashMap<Option<String>, Arc<Semaphore>>>,
    queue_time: Duration,
    /// Reason in the log if no permit is available.
    busy: &'static str,
}

/// All permits of a limit, until it is dropped.
pub struct AllPermits<'a> {
    limit: &'a ConcurrencyLimit,
    _permits: OwnedSemaphorePermit,
}

impl AllPermits<'_> {
    /// Whether an operation is waiting for a permit.
    pub fn are_awaited(&self) -> bool {
        let by_address = self.limit.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        by_address.values().any(|permits| Arc::strong_count(permits) > 1)
    }
}

/// The exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// The limit per address.
    PerAddress,
    /// The limit for all addresses.
    Total,
}

/// Permission to run one operation, released when it is dropped. Clones share it: the blocking thread that does the work also
/// holds a clone, because it can run longer than a canceled request.
pub(crate) type Permit = Arc<(OwnedSemaphorePermit, OwnedSemaphorePermit)>;

impl ConcurrencyLimit {
    fn new(total: usize, per_address: usize, queue_time: Duration, busy: &'static str) -> Self {
        // A semaphore cannot have more permits; a higher number would not limit anything.
        let (total, per_address) =
            (total.min(Semaphore::MAX_PERMITS), per_address.min(Semaphore::MAX_PERMITS));
        Self {
            total: Arc::new(Semaphore::new(total)),
            permits: total,
            per_address,
            by_address: Mutex::default(),
            queue_time,
            busy,
        }
    }

    /// Limits operations that analyze long histories.
    pub(crate) fn for_analyses() -> Self {
        Self::new(ANALYSES, ANALYSES.div_ceil(2), QUEUE_TIME, "too many analyses are running")
    }

    /// Limits the rendering of images, to one image per core.
    pub(crate) fn for_pictures(cores: usize) -> Self {
        Self::new(cores, cores.div_ceil(2), QUEUE_TIME, "too many pictures are being drawn")
    }

    /// Limits responses that hold a database connection while their clients read, to half of the connections.
    pub(crate) fn for_streams(connections: usize) -> Self {
        let total = (connections / 2).max(1);
        Self::new(total, total.div_ceil(2), STREAM_QUEUE_TIME, "too many long responses are being written")
    }

    /// Limits the bytes of request bodies in memory. `largest` is the maximum size of one body.
    pub(crate) fn for_bodies(largest: usize) -> Self {
        let (total, per_address) =
            (BODIES.0.max(largest.saturating_mul(4)), BODIES.1.max(largest.saturating_mul(2)));
        let busy = "too many bytes of request bodies are in memory";
        Self::new(total / BODY_UNIT, per_address / BODY_UNIT, QUEUE_TIME, busy)
    }

    /// Limits uploads to the registry.
    pub(crate) fn for_uploads(total: u32, per_address: u32) -> Self {
        let count = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        Self::new(count(total), count(per_address), Duration::ZERO, "too many uploads are in progress")
    }

    /// Acquires all permits, or returns `None` if one is in use, so that a test can check which operations need a permit.
    pub fn try_acquire_all(&self) -> Option<AllPermits<'_>> {
        let count = u32::try_from(self.permits).ok()?;
        let permits = Arc::clone(&self.total).try_acquire_many_owned(count).ok()?;
        Some(AllPermits { limit: self, _permits: permits })
    }

    /// Waits for a permit, for a limited time.
    pub(crate) async fn acquire(&self, address: Option<IpAddr>) -> Result<Permit, Busy> {
        self.acquire_many(address, 1).await
    }

    /// Waits for the permits for this number of bytes of a body.
    pub(crate) async fn acquire_bytes(&self, address: Option<IpAddr>, bytes: usize) -> Result<Permit, Busy> {
        self.acquire_many(address, u32::try_from(bytes.div_ceil(BODY_UNIT)).unwrap_or(u32::MAX)).await
    }

    async fn acquire_many(&self, address: Option<IpAddr>, count: u32) -> Result<Permit, Busy> {
        let own = self.own(address);
        let total = Arc::clone(&self.total);
        let both = async move {
            let own = own.acquire_many_owned(count).await.ok()?;
            Some(Arc::new((own, total.acquire_many_owned(count).await.ok()?)))
        };
        match timeout(self.queue_time, both).await {
            Ok(Some(permit)) => Ok(permit),
            _ => Err(Busy(self.busy)),
        }
    }

    /// Acquires a permit if one is available.
    pub(crate) fn try_acquire(&self, address: Option<IpAddr>) -> Result<Permit, Exceeded> {
        let own = self.own(address).try_acquire_owned().map_err(|_| Exceeded::PerAddress)?;
        let total = Arc::clone(&self.total).try_acquire_owned().map_err(|_| Exceeded::Total)?;
        Ok(Arc::new((own, total)))
    }

    /// Returns the semaphore of an address.
    fn own(&self, address: Option<IpAddr>) -> Arc<Semaphore> {
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        // Remove addresses without permits and waiting operations.
        by_address.retain(|_, permits| Arc::strong_count(permits) > 1);
        let own = by_address.entry(address.map(address_key));
        Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(self.per_address))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn streams_leave_half_of_the_connections_to_others() {
        let permits = |connections| ConcurrencyLimit::for_streams(connections).total.available_permits();
        assert_eq!([1, 2, 4, 5, 16].map(permits), [1, 1, 2, 2, 8]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_address_gets_all_permits() {
        let limit = ConcurrencyLimit::for_streams(8);
        // Two addresses of one IPv6 network count as one client.
        let (greedy, neighbor) = (address("2001:db8::1"), address("2001:db8::2"));
        let first = limit.acquire(greedy).await.unwrap();
        let _second = limit.acquire(neighbor).await.unwrap();
        assert!(matches!(limit.acquire(greedy).await, Err(Busy(_))));
        let _third = limit.acquire(address("192.0.2.2")).await.unwrap();
        drop(first);
        let _fourth = limit.acquire(greedy).await.unwrap();
        assert_eq!(limit.total.available_permits(), 1);
        assert_eq!(limit.by_address.lock().unwrap().len(), 2);
    }

    #[test]
    fn permits_are_counted_by_network_and_in_total() {
        let limit = ConcurrencyLimit::for_uploads(3, 1);
        let acquire = |text: &str| limit.try_acquire(address(text)).map(drop as fn(Permit)).err();
        let first = limit.try_acquire(address("2001:db8:1:2:aaaa::1")).ok();
        assert_eq!(acquire("2001:db8:1:2:bbbb::2"), Some(Exceeded::PerAddress));
        let _second = limit.try_acquire(address("2001:db8:1:3::1")).ok();
        let _third = limit.try_acquire(address("192.0.2.1")).ok();
        assert_eq!(acquire("::ffff:192.0.2.1"), Some(Exceeded::PerAddress));
        assert_eq!(acquire("192.0.2.2"), Some(Exceeded::Total));
        drop(first);
        assert_eq!(acquire("2001:db8:1:2:bbbb::2"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_are_counted_in_bytes() {
        let limit = ConcurrencyLimit::for_bodies(4 << 20);
        let (greedy, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let held = limit.acquire_bytes(greedy, 64 << 20).await.unwrap();
        assert!(limit.acquire_bytes(greedy, 1).await.is_err());
        assert!(limit.acquire_bytes(other, 64 << 20).await.is_ok());
        drop(held);
        assert!(limit.acquire_bytes(greedy, 1).await.is_ok());
        // A server that accepts larger bodies has permits for two of them.
        assert!(ConcurrencyLimit::for_bodies(1 << 30).acquire_bytes(greedy, 2 << 30).await.is_ok());
        assert!(ConcurrencyLimit::for_bodies(usize::MAX).acquire_bytes(greedy, 1 << 30).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_is_free_when_its_last_holder_drops_it() {
        let limit = ConcurrencyLimit::for_pictures(1);
        let permit = limit.acquire(None).await.unwrap();
        let worker = Arc::clone(&permit);
        drop(permit);
        assert!(limit.acquire(None).await.is_err());
        drop(worker);
        assert!(limit.acquire(None).await.is_ok());
    }
}
