//! A series of a lane: a monitor of its values, the reports that they are of, and what is known of its changes.

use tidemark_stats::{Change, Monitor, Scratch, Settings};
use tidemark_store::series::SeriesKey;

use super::{places::Places, seen::Noted};

/// A change is notified before this many values follow it.
const RECENT: usize = 64;
/// How many values on both sides of a change its level is taken from.
const REACH: usize = 24;

/// A series, and what is known of it.
pub(super) struct Series {
    pub(super) id: u32,
    pub(super) subject: SeriesKey,
    /// The number of the report that it is watched from.
    pub(super) start: usize,
    /// The numbers of the reports that its values are of.
    pub(super) places: Places,
    pub(super) monitor: Monitor,
    /// Its changes.
    pub(super) changes: Vec<Seen>,
    /// Whether its values are counted rather than timed, so that no machine moves them.
    pub(super) is_exact: bool,
    /// What was last written of its changes; none before the first time.
    pub(super) written: Option<Vec<Noted>>,
}

/// A change that is there now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) change: Change,
    /// How likely noise alone is to make it.
    pub(super) p_value: f64,
    /// Whether the common factor changed, rather than the values without it.
    pub(super) is_common: bool,
}

impl Series {
    /// About how many bytes of memory one with as many values as are looked at takes.
    pub(super) const BYTES: usize = 12 << 10;

    pub(super) fn new(id: u32, subject: SeriesKey) -> Self {
        Self {
            id,
            subject,
            start: 0,
            places: Places::default(),
            monitor: Monitor::new(Settings::default()),
            changes: Vec::new(),
            is_exact: false,
            written: None,
        }
    }

    /// Takes the value of a report, if it is watched that far back.
    pub(super) fn take(
        &mut self,
        number: usize,
        host: Option<u16>,
        value: f64,
        reports: usize,
        scratch: &mut Scratch,
    ) {
        self.renew(reports.max(number + 1), scratch);
        if number >= self.start {
            self.places.push(number);
            self.monitor.push_with_host(host, value, scratch);
        }
    }

    /// Looks for its changes. Answers whether it is still there: one that no report has had for so long is over.
    pub(super) fn look(&mut self, reports: usize, scratch: &mut Scratch) -> bool {
        self.renew(reports, scratch);
        let mut changes = self.monitor.known(scratch);
        // Numbers at the end of their range leave nothing to say.
        changes.retain(|change| {
            let numbers = [change.before, change.after, change.sigma, change.confidence, change.margin];
            numbers.iter().all(|number| number.is_finite())
        });
        let seen = |change: Change| Seen { change, p_value: 1.0, is_common: false };
        self.changes = changes.into_iter().map(seen).collect();
        self.is_exact = self.monitor.is_exact();
        !self.places.is_empty()
    }

    /// Whether a change is recent enough to be notified.
    pub(super) fn is_recent(&self, change: &Change) -> bool {
        self.places.len() < change.at + RECENT
    }

    /// Computes the p-values of the recent changes; the causes of some changes are known.
    pub(super) fn weigh(&mut self, is_explained: impl Fn(&Change) -> bool, scratch: &mut Scratch) {
        let known: Vec<Change> = self.changes.iter().map(|seen| seen.change).collect();
        let mut changes = std::mem::take(&mut self.changes);
        for seen in changes.iter_mut().filter(|seen| !seen.is_common && self.is_recent(&seen.change)) {
            seen.p_value = self.monitor.p_value(&seen.change, &known, &is_explained, scratch);
        }
        self.changes = changes;
    }

    /// Adds the changes of the common factor, by which its values were divided.
    pub(super) fn add_common(&mut self, factors: &Self) {
        let Some(last) = self.places.len().checked_sub(1).filter(|_| !self.is_exact) else { return };
        for seen in &factors.changes {
            let place = |place: usize| self.places.place(factors.places.number(place)).min(last);
            let at = place(seen.change.at);
            let is_there = self.changes.iter().any(|own| own.change.at == at);
            let Some(level) = self.level(at).filter(|_| at > 0 && !is_there) else { continue };
            let change = Change {
                at,
                earliest: place(seen.change.earliest).clamp(1, at),
                latest: place(seen.change.latest).max(at),
                before: level * seen.change.before,
                after: level * seen.change.after,
                ..seen.change
            };
            self.changes.push(Seen { change, is_common: true, ..*seen });
        }
        self.changes.sort_by_key(|seen| seen.change.at);
    }

    /// Returns the level around a place, without the common factor.
    fn level(&self, place: usize) -> Option<f64> {
        let values = self.monitor.values();
        let place = place.checked_sub(self.places.len() - values.len())?;
        tidemark_stats::median(&values[place.saturating_sub(REACH)..values.len().min(place + REACH)])
    }

    /// Begins later, if there are so many reports that it should.
    fn renew(&mut self, reports: usize, scratch: &mut Scratch) {
        let start = start(self.id, reports);
        if start <= self.start {
            return;
        }
        self.start = start;
        let old = self.places.split_off(start);
        if old > 0 {
            let mut monitor = Monitor::new(Settings::default());
            for (host, value) in self.monitor.values_with_hosts().skip(old) {
                monitor.push_with_host(host, value, scratch);
            }
            self.monitor = monitor;
        }
    }

    /// How many bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let written = self.written.as_ref().map_or(0, Vec::capacity);
        size_of::<Self>() - size_of::<Monitor>()
            + self.monitor.bytes()
            + self.places.bytes()
            + self.changes.capacity() * size_of::<Seen>()
            + written * size_of::<Noted>()
    }
}

/// The number of the report from which on a series is watched in a lane with so many reports. It moves on by a block at a
/// time, and with each report for other series, so that no report has all of them begin anew.
fn start(series: u32, reports: usize) -> usize {
    let shift = series as usize % Monitor::BLOCK;
    let ended = (reports + shift).saturating_sub(1) / Monitor::BLOCK * Monitor::BLOCK;
    ended.saturating_sub(Monitor::KEPT - Monitor::BLOCK + shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_report_has_many_series_begin_anew() {
        for reports in [1, 128, 640, 641, 700, 5_000] {
            let begun = (0..1_280).filter(|id| start(*id, reports) != start(*id, reports + 1)).count();
            assert!(begun <= 10, "{begun} with report {reports}");
            let kept = |id: u32| reports - start(id, reports);
            assert!((0..1_280).all(|id| kept(id) <= Monitor::KEPT && kept(id) >= reports.min(513)));
        }
    }
}
