//! Rate limits: sliding windows that never allow more requests than configured.
//!
//! A single server counts in memory. Servers that share a database count in the database, so that a limit applies to all of
//! them together. The callers decide what to count and when.

mod concurrency;
mod window;

use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use sha2::{Digest, Sha256};
use tidemark_api::Timestamp;
use tidemark_store::{self as store, Db, rate_window};

pub use self::concurrency::{AllPermits, Busy, ConcurrencyLimit};
pub(crate) use self::concurrency::{Exceeded, Permit};
use self::window::State;
pub use self::window::{WindowExceeded, WindowName};
use crate::infra::config::{Rate, RateLimiting};

/// A rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Anonymous requests, per address.
    PublicRequests,
    /// Attempts to sign up or sign in, per address.
    PublicAttempts,
    /// Anonymous runs, per address.
    PublicRuns,
    /// Requests with a credential, per user.
    UserRequests,
    /// Attempts to sign up or sign in to one account, per address and e-mail address: attempts from other addresses do not lock
    /// the user out.
    UserAttempts,
    /// New keys, per user.
    UserCredentials,
    /// New organizations, per user.
    UserOrganizations,
    /// Invitations, per inviting user.
    UserInvites,
    /// Runs, per user.
    UserRuns,
    /// Requests on a project, per project.
    ProjectRequests,
    /// Runs in a project, per project.
    ProjectRuns,
    /// Connections of runners, per runner.
    RunnerRequests,
}

impl Rule {
    /// Returns the name of the rule in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PublicRequests => "public.requests",
            Self::PublicAttempts => "public.attempts",
            Self::PublicRuns => "public.runs",
            Self::UserRequests => "user.requests",
            Self::UserAttempts => "user.attempts",
            Self::UserCredentials => "user.credentials",
            Self::UserOrganizations => "user.organizations",
            Self::UserInvites => "user.invites",
            Self::UserRuns => "user.runs",
            Self::ProjectRequests => "project.requests",
            Self::ProjectRuns => "project.runs",
            Self::RunnerRequests => "runner.requests",
        }
    }
}

/// Returns the configured rate of a rule.
fn rate(limits: &RateLimiting, rule: Rule) -> Rate {
    match rule {
        Rule::PublicRequests => limits.public.requests,
        Rule::PublicAttempts => limits.public.attempts,
        Rule::PublicRuns => limits.public.runs,
        Rule::UserRequests => limits.user.requests,
        Rule::UserAttempts => limits.user.attempts,
        Rule::UserCredentials => limits.user.credentials,
        Rule::UserOrganizations => limits.user.organizations,
        Rule::UserInvites => limits.user.invites,
        Rule::UserRuns => limits.user.runs,
        Rule::ProjectRequests => limits.project.requests,
        Rule::ProjectRuns => limits.project.runs,
        Rule::RunnerRequests => limits.runner.requests,
    }
}

/// Why a request is rejected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rate limit is exceeded.
    #[error("{0}")]
    Limited(RateLimitExceeded),
    /// The shared counters are unavailable.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A request above a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitExceeded {
    /// The exceeded rule.
    pub rule: Rule,
    /// The exceeded window.
    pub window: WindowName,
    /// Seconds until a request can be allowed, for `Retry-After`.
    pub retry_after_seconds: u64,
}

impl fmt::Display for RateLimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { window, retry_after_seconds, .. } = self;
        let unit = if *retry_after_seconds == 1 { "second" } else { "seconds" };
        write!(f, "too many requests within a {window}; try again in {retry_after_seconds} {unit}")
    }
}

/// Maximum number of callers in memory, of all rules together: about 60 MB if all of them are busy.
const MAX_CALLERS: usize = 65_536;

/// Hash of a rule and a caller: of fixed size, and without storing the address.
type Key = [u8; 16];

/// The counters of all rate limits.
pub struct Limits {
    limits: RateLimiting,
    counters: Counters,
}

enum Counters {
    Memory(Mutex<HashMap<Key, State>>),
    Shared(Db),
}

impl Limits {
    /// Creates counters with the given limits: in the database if several servers share it, otherwise in memory.
    pub fn new(limits: RateLimiting, db: &Db) -> Self {
        let counters =
            if db.is_shared() { Counters::Shared(db.clone()) } else { Counters::Memory(Mutex::default()) };
        Self { limits, counters }
    }

    /// Counts a request, or rejects it without counting it.
    pub async fn check(&self, rule: Rule, key: &str, now: Timestamp) -> Result<(), Error> {
        self.check_all(&[(rule, key)], now).await
    }

    /// Counts a request under several rules. If one rule rejects it, it counts under none.
    pub async fn check_all(&self, rules: &[(Rule, &str)], now: Timestamp) -> Result<(), Error> {
        let checks: Vec<_> = rules
            .iter()
            .map(|(rule, key)| RuleCheck {
                rule: *rule,
                rate: rate(&self.limits, *rule),
                key: hash(*rule, key),
            })
            .filter(|check| check.rate != Rate::NONE)
            .collect();
        if checks.is_empty() {
            return Ok(());
        }
        match &self.counters {
            Counters::Memory(states) => {
                // A panic in another thread cannot leave an inconsistent state: each entry is changed in one step.
                let mut states = states.lock().unwrap_or_else(PoisonError::into_inner);
                for check in &checks {
                    if states.len() >= MAX_CALLERS && !states.contains_key(&check.key) {
                        prune(&mut states, now);
                    }
                    check.check_windows(states.entry(check.key).or_default(), now)?;
                }
                for check in &checks {
                    states.entry(check.key).or_default().count(check.rate);
                }
                Ok(())
            }
            Counters::Shared(db) => {
                db.write(move |tx| {
                    for check in &checks {
                        let name = hex::encode(check.key);
                        let state = rate_window::load_for_update(tx, &name, "", check.rate.expires(now))?;
                        // State that cannot be parsed is from another release; counting starts again.
                        let mut state: State = serde_json::from_str(&state).unwrap_or_default();
                        // A rejection rolls the transaction back, including the counts of the previous rules.
                        check.check_windows(&mut state, now)?;
                        state.count(check.rate);
                        let state = serde_json::to_string(&state)
                            .map_err(|error| store::Error::Engine(error.into()))?;
                        rate_window::save(tx, &name, &state)?;
                    }
                    Ok(())
                })
                .await
            }
        }
    }
}

/// One request under one rule.
struct RuleCheck {
    rule: Rule,
    rate: Rate,
    key: Key,
}

impl RuleCheck {
    fn check_windows(&self, state: &mut State, now: Timestamp) -> Result<(), Error> {
        state.check_windows(self.rate, now).map_err(|WindowExceeded { window, retry_after_seconds }| {
            Error::Limited(RateLimitExceeded { rule: self.rule, window, retry_after_seconds })
        })
    }
}

/// Returns the key of limits per address: the IPv4 address, or the /64 network with IPv6, which one household gets.
pub fn address_key(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

fn hash(rule: Rule, key: &str) -> Key {
    let digest = Sha256::new().chain_update(rule.as_str()).chain_update([0]).chain_update(key).finalize();
    let mut short = Key::default();
    short.copy_from_slice(&digest[..16]);
    short
}

/// Removes expired entries and, if that is not enough, the half that was idle the longest.
fn prune(states: &mut HashMap<Key, State>, now: Timestamp) {
    states.retain(|_, state| {
        state.last().is_some_and(|last| last >= now.plus_seconds(-window::EXPIRY_SECONDS))
    });
    if states.len() < MAX_CALLERS * 3 / 4 {
        return;
    }
    let mut times: Vec<_> = states.values().filter_map(State::last).collect();
    let middle = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(middle);
    let median = *median;
    states.retain(|_, state| state.last().is_some_and(|last| last > median));
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

    #[tokio::test]
    async fn each_rule_and_each_caller_is_counted_apart() {
        let once = Rate { minute: Some(1), ..Rate::NONE };
        let mut limits = RateLimiting::default();
        (limits.user.runs, limits.user.invites) = (once, once);
        let limits = Limits { limits, counters: Counters::Memory(Mutex::default()) };
        assert!(limits.check(Rule::UserRuns, "ada", NOW).await.is_ok());
        assert!(limits.check(Rule::UserRuns, "grace", NOW).await.is_ok());
        assert!(limits.check(Rule::UserInvites, "ada", NOW).await.is_ok());
        let Err(Error::Limited(limited)) = limits.check(Rule::UserRuns, "ada", NOW).await else {
            panic!("a second call within the minute was let through");
        };
        let expected =
            RateLimitExceeded { rule: Rule::UserRuns, window: WindowName::Minute, retry_after_seconds: 61 };
        assert_eq!(limited, expected);
        assert_eq!(limited.to_string(), "too many requests within a minute; try again in 61 seconds");
    }

    #[test]
    fn memory_stays_bounded_and_keeps_the_busy() {
        let rate = Rate { day: Some(2), ..Rate::NONE };
        let mut states = HashMap::new();
        for caller in 0..MAX_CALLERS {
            let later = NOW.plus_seconds(i64::try_from(caller).unwrap());
            let mut state = State::default();
            state.admit(rate, later).unwrap();
            states.insert(hash(Rule::UserRuns, &caller.to_string()), state);
        }
        let newest = hash(Rule::UserRuns, &(MAX_CALLERS - 1).to_string());
        prune(&mut states, NOW.plus_seconds(i64::try_from(MAX_CALLERS).unwrap()));
        assert!(states.len() <= MAX_CALLERS / 2, "{}", states.len());
        assert!(states.contains_key(&newest));
        prune(&mut states, NOW.plus_seconds(10 * 24 * 3600));
        assert!(states.is_empty());
    }

    #[test]
    fn neighbors_in_one_network_count_together() {
        let key = |address: &str| address_key(address.parse().unwrap());
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(key("2001:db8:1:2:aaaa::1"), key("2001:db8:1:2:bbbb::2"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    }
}
