//! Connections of clients: counts them, tracks which of them wait for a request, and selects which one to close when there are
//! too many. [`Listener`] accepts connections; `stream.rs` enforces the timeouts of each.

mod listener;
mod stream;

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::Duration,
};

use ipnet::IpNet;
use tokio::time::Instant;

pub use self::{
    listener::{Listener, Peer},
    stream::{Connection, Tracked, TrackedBody, Tracking},
};
use crate::infra::{config::Server, limits::address_key};

/// Minimum interval between two log messages about refused connections or failed accepts.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// All open connections. Clones share them.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Table>);

#[derive(Debug)]
struct Table {
    /// Maximum number of connections.
    total: usize,
    /// Maximum number of connections per address. Trusted proxies are exempt, because they forward requests of many clients.
    per_address: usize,
    trusted: Vec<IpNet>,
    header_timeout: Duration,
    keep_alive_timeout: Duration,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// The connections by address, each with a unique number.
    by_address: HashMap<String, HashMap<u64, Arc<Activity>>>,
    count: usize,
    next: u64,
    /// Whether a message that the server is close to its maximum was logged.
    is_near_logged: bool,
    refused: Throttle,
    failed: Throttle,
}

/// Limits how often a message is logged.
#[derive(Debug, Default)]
struct Throttle {
    last: Option<Instant>,
    suppressed: u64,
}

impl Throttle {
    /// Returns the number of suppressed messages since the last one, or `None` if this message must be suppressed.
    fn pass(&mut self) -> Option<u64> {
        let now = Instant::now();
        if self.last.is_some_and(|last| now < last + LOG_INTERVAL) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

impl Connections {
    /// Creates an empty table. `total` is the maximum number of connections of the process.
    pub fn new(settings: &Server, total: usize) -> Self {
        Self(Arc::new(Table {
            total: total.max(1),
            per_address: settings.max_connections_per_address.get().try_into().unwrap_or(usize::MAX),
            trusted: settings.trusted_proxies.clone(),
            header_timeout: settings.header_timeout(),
            keep_alive_timeout: settings.keep_alive_timeout(),
            open: Mutex::default(),
        }))
    }

    /// Counts a new connection, and closes another one if necessary. Returns `None` if every connection that it could replace
    /// has a request in progress.
    fn admit(&self, peer: IpAddr) -> Option<Slot> {
        let Table { total, per_address, trusted, .. } = &*self.0;
        let peer = peer.to_canonical();
        let is_trusted = trusted.iter().any(|net| net.contains(&peer));
        let key = address_key(peer);
        let mut open = self.open();
        let own = open.by_address.get(&key).map_or(0, HashMap::len);
        let has_room = (is_trusted || own < *per_address || open.evict(Some(&key)))
            && (open.count < *total || open.evict(None));
        if !has_room {
            if let Some(suppressed) = open.refused.pass() {
                tracing::warn!(
                    address = %peer,
                    connections = open.count,
                    max_connections = total,
                    max_connections_per_address = per_address,
                    suppressed,
                    "connection refused: too many connections have a request in progress"
                );
            }
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.count += 1;
        if open.count * 5 >= total * 4 && !open.is_near_logged {
            open.is_near_logged = true;
            tracing::warn!(
                connections = open.count,
                max_connections = total,
                "close to the maximum number of connections; raise the limit of open files or server.max_connections"
            );
        }
        let activity = Arc::new(Activity::new(self.0.header_timeout, self.0.keep_alive_timeout));
        open.by_address.entry(key.clone()).or_default().insert(number, Arc::clone(&activity));
        drop(open);
        Some(Slot { connections: self.clone(), key, number, activity })
    }

    /// Closes the connection that has waited longest for a request, after the system refused to open another.
    fn handle_accept_error(&self, error: &std::io::Error) {
        let mut open = self.open();
        open.evict(None);
        if let Some(suppressed) = open.failed.pass() {
            tracing::error!(
                %error,
                connections = open.count,
                suppressed,
                "cannot accept connections; retrying"
            );
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        // Each change is complete before the lock is released.
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Closes the connection that has waited longest for a request, of one address or of all. Returns `false` if none is
    /// waiting.
    fn evict(&mut self, key: Option<&str>) -> bool {
        let groups = self.by_address.iter().filter(|(group, _)| key.is_none_or(|key| key == *group));
        let waiting = groups.flat_map(|(group, members)| {
            members.iter().filter_map(move |(number, activity)| Some((activity.waiting()?, *number, group)))
        });
        let Some((_, number, group)) = waiting.min() else { return false };
        let group = group.clone();
        if let Some(activity) = self.remove(&group, number) {
            activity.evict();
        }
        true
    }

    fn remove(&mut self, key: &str, number: u64) -> Option<Arc<Activity>> {
        let members = self.by_address.get_mut(key)?;
        let removed = members.remove(&number)?;
        if members.is_empty() {
            self.by_address.remove(key);
        }
        self.count -= 1;
        Some(removed)
    }
}

/// The entry of one connection, removed when it is dropped.
#[derive(Debug)]
struct Slot {
    connections: Connections,
    key: String,
    number: u64,
    activity: Arc<Activity>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let total = self.connections.0.total;
        let mut open = self.connections.open();
        open.remove(&self.key, self.number);
        if open.count * 2 < total {
            open.is_near_logged = false;
        }
    }
}

/// State of one connection.
#[derive(Debug)]
struct Activity {
    header_timeout: Duration,
    keep_alive_timeout: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Requests in progress, until the last byte of their responses.
    requests: usize,
    /// When the connection was opened, or the last response ended.
    since: Instant,
    /// Responses in progress, and when the client last received data of each. HTTP/2 has several on one connection, and a
    /// client that grants no window keeps a response in memory without blocking a write.
    responses: BTreeMap<u64, Instant>,
    next_response: u64,
    /// Whether the server has sent a response.
    is_used: bool,
    /// Whether the connection was upgraded to another protocol, which has separate timeouts.
    is_upgraded: bool,
    is_evicted: bool,
    waker: Option<Waker>,
}

/// When a connection has to close.
enum CloseTime {
    /// Now, because another connection replaces it.
    Now,
    /// At this time, unless a request arrives before.
    At(Instant),
    /// No limit.
    Never,
}

impl Activity {
    fn new(header_timeout: Duration, keep_alive_timeout: Duration) -> Self {
        let state = State {
            requests: 0,
            since: Instant::now(),
            responses: BTreeMap::new(),
            next_response: 0,
            is_used: false,
            is_upgraded: false,
            is_evicted: false,
            waker: None,
        };
        Self { header_timeout, keep_alive_timeout, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the connection started to wait for a request, or `None` if a request is in progress.
    fn waiting(&self) -> Option<Instant> {
        let state = self.state();
        (state.requests == 0 && !state.is_upgraded && !state.is_evicted).then_some(state.since)
    }

    /// Closes the connection.
    fn evict(&self) {
        let mut state = self.state();
        state.is_evicted = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Returns when the connection has to close. The task is woken when this changes.
    fn close_time(&self, waker: &Waker) -> CloseTime {
        let mut state = self.state();
        if state.is_upgraded {
            return CloseTime::Never;
        }
        if state.is_evicted && state.requests == 0 {
            return CloseTime::Now;
        }
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            None => state.waker = Some(waker.clone()),
        }
        let timeout = if state.is_used { self.keep_alive_timeout } else { self.header_timeout };
        match state.responses.values().min() {
            Some(taken) => CloseTime::At(*taken + stream::WRITE_TIMEOUT),
            None if state.requests == 0 => CloseTime::At(state.since + timeout),
            None => CloseTime::Never,
        }
    }

    /// Counts a response and returns its number.
    fn begin_response(&self) -> u64 {
        let mut state = self.state();
        let number = state.next_response;
        state.next_response += 1;
        state.responses.insert(number, Instant::now());
        // The reading task must start the timeout of this response.
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        number
    }

    /// Records that the client has received data of a response.
    fn record_received(&self, number: u64) {
        self.state().responses.insert(number, Instant::now());
    }

    fn end_response(&self, number: u64) {
        self.state().responses.remove(&number);
    }

    fn begin(&self) {
        self.state().requests += 1;
    }

    fn end(&self) {
        let mut state = self.state();
        state.requests -= 1;
        state.is_used = true;
        state.since = Instant::now();
        // Responses of HTTP/2 end in separate tasks: wake the reading task, so that it starts its timeout.
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    fn upgrade(&self) {
        self.state().is_upgraded = true;
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::infra::config::{Config, Flags};

    fn connections(total: usize, per_address: u32) -> Connections {
        let folder = tempfile::tempdir().unwrap();
        let flags = Flags { data_dir: Some(folder.path().to_owned()), ..Flags::default() };
        let mut config = Config::load(None, [], &flags).unwrap();
        config.server.max_connections_per_address = NonZeroU32::new(per_address).unwrap();
        config.server.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        Connections::new(&config.server, total)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_not_taken_closes_its_connection() {
        let all = connections(1, 1);
        let slot = all.admit(address("192.0.2.1")).unwrap();
        let due = || match slot.activity.close_time(Waker::noop()) {
            CloseTime::At(moment) => Some(moment),
            CloseTime::Now | CloseTime::Never => None,
        };
        slot.activity.begin();
        assert_eq!(due(), None, "a handler may take its time");
        let first = slot.activity.begin_response();
        tokio::time::advance(Duration::from_secs(10)).await;
        slot.activity.begin();
        let second = slot.activity.begin_response();
        let start = Instant::now();
        assert_eq!(due(), Some(start + Duration::from_secs(50)), "the answer that has waited longest counts");
        slot.activity.record_received(first);
        assert_eq!(due(), Some(start + Duration::from_secs(60)));
        slot.activity.end_response(first);
        slot.activity.end_response(second);
        assert_eq!(due(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_replaces_the_one_that_waited_longest() {
        let all = connections(3, 2);
        let first = all.admit(address("192.0.2.1")).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = all.admit(address("192.0.2.1")).unwrap();
        assert!(first.activity.waiting().is_some());
        let third = all.admit(address("192.0.2.1")).unwrap();
        assert!(matches!(first.activity.close_time(Waker::noop()), CloseTime::Now));
        assert!(matches!(second.activity.close_time(Waker::noop()), CloseTime::At(_)));
        // A connection with a request in progress is not replaced.
        second.activity.begin();
        third.activity.begin();
        assert!(all.admit(address("192.0.2.1")).is_none());
        let other = all.admit(address("192.0.2.2")).unwrap();
        let last = all.admit(address("192.0.2.3")).unwrap();
        assert!(matches!(other.activity.close_time(Waker::noop()), CloseTime::Now));
        last.activity.begin();
        assert!(all.admit(address("192.0.2.4")).is_none());
        drop(last);
        assert!(all.admit(address("192.0.2.4")).is_some());
        drop((first, second, third, other));
        let open = all.open();
        assert_eq!((open.count, open.by_address.len()), (0, 0));
    }

    #[tokio::test]
    async fn networks_count_together_and_trusted_proxies_not_at_all() {
        let all = connections(9, 1);
        let busy = |text: &str| {
            let slot = all.admit(address(text));
            slot.inspect(|slot| slot.activity.begin())
        };
        let _first = busy("2001:db8:1:2:aaaa::1").unwrap();
        assert!(busy("2001:db8:1:2:bbbb::2").is_none());
        let _second = busy("2001:db8:1:3::1").unwrap();
        let _third = busy("192.0.2.1").unwrap();
        assert!(busy("::ffff:192.0.2.1").is_none());
        let _proxy = [busy("10.0.0.1").unwrap(), busy("10.0.0.1").unwrap(), busy("::ffff:10.0.0.1").unwrap()];
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_waits_for_its_first_request_and_for_the_next() {
        let all = connections(9, 9);
        let slot = all.admit(address("192.0.2.1")).unwrap();
        let wait = |slot: &Slot| match slot.activity.close_time(Waker::noop()) {
            CloseTime::At(moment) => Some((moment - Instant::now()).as_secs()),
            CloseTime::Now | CloseTime::Never => None,
        };
        assert_eq!(wait(&slot), Some(30));
        slot.activity.begin();
        assert_eq!(wait(&slot), None);
        slot.activity.end();
        assert_eq!(wait(&slot), Some(75));
        slot.activity.upgrade();
        assert_eq!(wait(&slot), None);
    }
}
