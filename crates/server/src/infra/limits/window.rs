//! Sliding windows as pure functions of times and counts.
//!
//! A window has sixty slots and one slot before them. The window covers the oldest slot only partly, but the slot counts in
//! full: the limit is never exceeded in any period of the window's length, and a counted request expires up to a sixtieth of
//! that length late.

use std::{collections::VecDeque, fmt};

use serde::{Deserialize, Serialize};
use tidemark_api::Timestamp;

use crate::infra::config::Rate;

/// Length of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowName {
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// 24 hours.
    Day,
}

impl WindowName {
    /// Returns the name of the window.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    const fn seconds(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => LONGEST_WINDOW_SECONDS,
        }
    }
}

impl fmt::Display for WindowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowExceeded {
    /// The window that stays full the longest.
    pub window: WindowName,
    /// Seconds until a request fits into all windows.
    pub retry_after_seconds: u64,
}

/// Length of the longest window, in seconds.
const LONGEST_WINDOW_SECONDS: i64 = 24 * 3600;
/// Seconds after which a counted request no longer limits anything.
pub(super) const EXPIRY_SECONDS: i64 = LONGEST_WINDOW_SECONDS + LONGEST_WINDOW_SECONDS / SLOTS;

const SLOTS: i64 = 60;
const SECOND: i64 = 1_000_000;

impl Rate {
    /// Returns the time after which a state that was last used now no longer limits anything.
    pub(super) fn expires(self, now: Timestamp) -> Timestamp {
        let windows = self.windows().into_iter().filter(|(_, limit)| limit.is_some());
        let longest = windows.map(|(name, _)| name.seconds()).max().unwrap_or_default();
        now.plus_seconds(longest + longest / SLOTS)
    }

    fn windows(self) -> [(WindowName, Option<u32>); 3] {
        [(WindowName::Minute, self.minute), (WindowName::Hour, self.hour), (WindowName::Day, self.day)]
    }
}

/// Counts of one caller under one rule.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct State([Window; 3]);

impl State {
    /// Checks that a request fits into every window, without counting it.
    pub(super) fn check_windows(&mut self, rate: Rate, now: Timestamp) -> Result<(), WindowExceeded> {
        let mut exceeded: Option<WindowExceeded> = None;
        for (window, (name, limit)) in self.0.iter_mut().zip(rate.windows()) {
            let Some(limit) = limit else { continue };
            window.advance(name, now);
            if let Some(retry_after_seconds) = window.full(name, limit, now)
                && exceeded.is_none_or(|exceeded| exceeded.retry_after_seconds < retry_after_seconds)
            {
                exceeded = Some(WindowExceeded { window: name, retry_after_seconds });
            }
        }
        exceeded.map_or(Ok(()), Err)
    }

    /// Counts a request that fits.
    pub(super) fn count(&mut self, rate: Rate) {
        for (window, (_, limit)) in self.0.iter_mut().zip(rate.windows()) {
            if limit.is_some() {
                window.count();
            }
        }
    }

    /// Counts a request if it fits.
    #[cfg(test)]
    pub(super) fn admit(&mut self, rate: Rate, now: Timestamp) -> Result<(), WindowExceeded> {
        self.check_windows(rate, now).inspect(|()| self.count(rate))
    }

    /// Returns the start of the slot in which a request was last counted or rejected.
    pub(super) fn last(&self) -> Option<Timestamp> {
        let names = Rate::NONE.windows().map(|(name, _)| name);
        let used = self.0.iter().zip(names).filter(|(window, _)| !window.counts.is_empty());
        used.map(|(window, name)| Timestamp::from_micros(window.newest * slot(name))).max()
    }
}

/// Returns the length of a slot, in microseconds.
const fn slot(name: WindowName) -> i64 {
    name.seconds() * SECOND / SLOTS
}

/// Counts per slot, oldest first.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
struct Window {
    /// Number of the newest slot, counted from 1970.
    #[serde(rename = "n")]
    newest: i64,
    /// Counts of the slots. The first slot, if any, is not empty unless it is the last.
    #[serde(rename = "c")]
    counts: VecDeque<u32>,
}

impl Window {
    /// Advances to the slot of `now` and removes expired slots.
    fn advance(&mut self, name: WindowName, now: Timestamp) {
        let current = now.micros().div_euclid(slot(name));
        if self.counts.is_empty() {
            self.newest = current;
        }
        // If the clock is behind the clock of another server, or was set back, counted requests must not expire early.
        let steps = (current - self.newest).clamp(0, SLOTS + 1);
        self.newest = self.newest.max(current);
        for _ in 0..steps {
            self.counts.push_back(0);
        }
        if self.counts.is_empty() {
            self.counts.push_back(0);
        }
        let kept = usize::try_from(SLOTS + 1).unwrap_or_default();
        while self.counts.len() > kept || (self.counts.len() > 1 && self.counts.front() == Some(&0)) {
            self.counts.pop_front();
        }
    }

    /// Returns the seconds until another request fits, or `None` if it fits now.
    fn full(&self, name: WindowName, limit: u32, now: Timestamp) -> Option<u64> {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let excess = (total + 1).checked_sub(u64::from(limit)).filter(|excess| *excess > 0)?;
        let mut leaving = 0;
        let oldest = self.newest + 1 - i64::try_from(self.counts.len()).unwrap_or_default();
        let free = self.counts.iter().zip(oldest..).find_map(|(count, number)| {
            leaving += u64::from(*count);
            (leaving >= excess).then_some(number)
        });
        // With a limit of zero, no request ever fits; the start of the next window is an arbitrary choice.
        let room = free
            .map_or(now.plus_seconds(name.seconds()).micros(), |number| (number + SLOTS + 1) * slot(name));
        let micros = u64::try_from(room - now.micros()).unwrap_or_default();
        Some(micros.div_ceil(1_000_000).max(1))
    }

    fn count(&mut self) {
        if let Some(last) = self.counts.back_mut() {
            *last = last.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_767_225_600 * SECOND;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(START + micros)
    }

    /// Reference implementation: the times of all allowed requests.
    #[derive(Default)]
    struct Log(Vec<i64>);

    impl Log {
        fn within(&self, now: Timestamp, seconds: i64) -> usize {
            let from = now.micros() - seconds * SECOND;
            self.0.iter().filter(|time| **time > from && **time <= now.micros()).count()
        }
    }

    fn limits() -> impl Strategy<Value = Rate> {
        let limit = || proptest::option::of(0_u32..12);
        (limit(), limit(), limit()).prop_map(|(minute, hour, day)| Rate { minute, hour, day })
    }

    /// Generates gaps between requests, from bursts to days.
    fn gaps() -> impl Strategy<Value = Vec<i64>> {
        let gap = prop_oneof![
            4 => Just(0),
            4 => 0..2 * SECOND,
            3 => 0..90 * SECOND,
            2 => 0..5000 * SECOND,
            1 => 0..100_000 * SECOND,
        ];
        proptest::collection::vec(gap, 1..160)
    }

    proptest! {
        #[test]
        fn no_window_ever_holds_more_than_its_limit(rate in limits(), gaps in gaps()) {
            let (mut state, mut log, mut elapsed) = (State::default(), Log::default(), 0);
            for gap in gaps {
                elapsed += gap;
                let now = at(elapsed);
                let admitted = state.admit(rate, now).is_ok();
                if admitted {
                    log.0.push(now.micros());
                }
                for (name, limit) in rate.windows() {
                    let Some(limit) = limit else { continue };
                    let limit = usize::try_from(limit).unwrap();
                    prop_assert!(log.within(now, name.seconds()) <= limit);
                }
                // A request is rejected only if it would exceed the limit of a window that is a sixtieth longer.
                let truly_full = rate.windows().into_iter().any(|(name, limit)| {
                    limit.is_some_and(|limit| {
                        let longer = name.seconds() + name.seconds() / SLOTS;
                        log.within(now, longer) >= usize::try_from(limit).unwrap()
                    })
                });
                prop_assert!(admitted || truly_full);
            }
        }

        #[test]
        fn waiting_as_told_suffices(rate in limits(), gaps in gaps()) {
            let nothing = rate.windows().iter().any(|(_, limit)| *limit == Some(0));
            prop_assume!(!nothing);
            let (mut state, mut elapsed) = (State::default(), 0);
            for gap in gaps {
                elapsed += gap;
                if let Err(exceeded) = state.admit(rate, at(elapsed)) {
                    let longest = rate.expires(at(0)).seconds() - at(0).seconds();
                    let wait = i64::try_from(exceeded.retry_after_seconds).unwrap();
                    prop_assert!((1..=longest + 1).contains(&wait));
                    elapsed += wait * SECOND;
                    prop_assert_eq!(state.admit(rate, at(elapsed)), Ok(()));
                }
            }
        }

        #[test]
        fn a_state_survives_being_stored(rate in limits(), gaps in gaps()) {
            let (mut state, mut elapsed) = (State::default(), 0);
            for gap in gaps {
                elapsed += gap;
                let text = serde_json::to_string(&state).unwrap();
                let mut stored: State = serde_json::from_str(&text).unwrap();
                prop_assert!(text.len() < 1500, "{} bytes", text.len());
                prop_assert_eq!(state.admit(rate, at(elapsed)), stored.admit(rate, at(elapsed)));
                prop_assert_eq!(&state, &stored);
            }
        }
    }

    #[test]
    fn steady_calls_just_under_the_limit_are_all_let_through() {
        let rate = Rate { minute: Some(60), ..Rate::NONE };
        let mut state = State::default();
        for call in 0..600 {
            // 61 slots count, so one request every 61/60 seconds always fits.
            assert_eq!(state.admit(rate, at(call * 61 * SECOND / 60)), Ok(()), "call {call}");
        }
    }

    #[test]
    fn refused_calls_do_not_prolong_the_wait() {
        let rate = Rate { minute: Some(1), ..Rate::NONE };
        let mut state = State::default();
        assert_eq!(state.admit(rate, at(0)), Ok(()));
        for second in 1..=60 {
            assert!(state.admit(rate, at(second * SECOND)).is_err(), "second {second}");
        }
        assert_eq!(state.admit(rate, at(61 * SECOND)), Ok(()));
    }

    #[test]
    fn the_longest_wait_is_told() {
        let rate = Rate { minute: Some(1), hour: Some(1), day: None };
        let mut state = State::default();
        assert_eq!(state.admit(rate, at(0)), Ok(()));
        let exceeded = state.admit(rate, at(0)).unwrap_err();
        assert_eq!(exceeded, WindowExceeded { window: WindowName::Hour, retry_after_seconds: 3660 });
    }

    #[test]
    fn a_clock_set_back_brings_no_room() {
        let rate = Rate { minute: Some(1), ..Rate::NONE };
        let mut state = State::default();
        assert_eq!(state.admit(rate, at(3600 * SECOND)), Ok(()));
        assert!(state.admit(rate, at(0)).is_err());
    }
}
