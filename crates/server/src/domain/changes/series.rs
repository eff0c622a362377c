//! A series of a lane: a monitor of its values, the reports of these values, and its changes.

use tidemark_stats::{Change, DetectionSettings, Monitor, Scratch};
use tidemark_store::series::SeriesKey;

use super::{reconciliation::WrittenChange, report_numbers::ReportNumbers};

/// Number of values after a change from which on it is not notified.
pub(crate) const MAX_RECENT_VALUES: usize = 64;
/// Number of values on each side of a change from which its level is estimated.
const LEVEL_WINDOW: usize = 24;

/// A series and its changes.
pub(super) struct Series {
    pub(super) id: u32,
    pub(super) series_key: SeriesKey,
    /// Number of the first analyzed report.
    pub(super) start: usize,
    /// Numbers of the reports that have a value.
    pub(super) places: ReportNumbers,
    pub(super) monitor: Monitor,
    /// The current changes.
    pub(super) changes: Vec<CurrentChange>,
    /// Whether the values are counts rather than times. The machine does not affect counts.
    pub(super) is_exact: bool,
    /// The changes as last written; `None` before the first write.
    pub(super) written: Option<Vec<WrittenChange>>,
}

/// A current change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurrentChange {
    pub(super) change: Change,
    /// Probability that noise alone produces the change.
    pub(super) p_value: f64,
    /// Whether the common factor changed, rather than the values without it.
    pub(super) is_common: bool,
}

impl Series {
    /// Approximate memory use in bytes of a series with the maximum number of values.
    pub(super) const BYTES: usize = 12 << 10;

    pub(super) fn new(id: u32, series_key: SeriesKey) -> Self {
        Self {
            id,
            series_key,
            start: 0,
            places: ReportNumbers::default(),
            monitor: Monitor::new(DetectionSettings::default()),
            changes: Vec::new(),
            is_exact: false,
            written: None,
        }
    }

    /// Adds the value of a report, unless the report is before the first analyzed one.
    pub(super) fn add_value(
        &mut self,
        number: usize,
        host: Option<u16>,
        value: f64,
        reports: usize,
        scratch: &mut Scratch,
    ) {
        self.advance_start(reports.max(number + 1), scratch);
        if number >= self.start {
            self.places.push(number);
            self.monitor.push_with_host(host, value, scratch);
        }
    }

    /// Finds the changes. Returns whether the series still exists: a series without a value in any analyzed report has ended.
    pub(super) fn detect_changes(&mut self, reports: usize, scratch: &mut Scratch) -> bool {
        self.advance_start(reports, scratch);
        let mut changes = self.monitor.changes_and_alarm(scratch);
        // A change with a number that is not finite cannot be reported.
        changes.retain(|change| {
            let numbers = [change.before, change.after, change.sigma, change.confidence, change.margin];
            numbers.iter().all(|number| number.is_finite())
        });
        let seen = |change: Change| CurrentChange { change, p_value: 1.0, is_common: false };
        self.changes = changes.into_iter().map(seen).collect();
        self.is_exact = self.monitor.is_exact();
        !self.places.is_empty()
    }

    /// Whether a change is recent enough to be notified.
    pub(super) fn is_recent(&self, change: &Change) -> bool {
        self.places.len() < change.at + MAX_RECENT_VALUES
    }

    /// Computes the p-values of the recent changes. `is_explained` says which changes have a known cause.
    pub(super) fn compute_p_values(&mut self, is_explained: impl Fn(&Change) -> bool, scratch: &mut Scratch) {
        let known: Vec<Change> = self.changes.iter().map(|seen| seen.change).collect();
        let mut changes = std::mem::take(&mut self.changes);
        for seen in changes.iter_mut().filter(|seen| !seen.is_common && self.is_recent(&seen.change)) {
            seen.p_value = self.monitor.p_value(&seen.change, &known, &is_explained, scratch);
        }
        self.changes = changes;
    }

    /// Adds the changes of the common factor by which the values were divided.
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
            self.changes.push(CurrentChange { change, is_common: true, ..*seen });
        }
        self.changes.sort_by_key(|seen| seen.change.at);
    }

    /// Returns the level around an index, without the common factor.
    fn level(&self, place: usize) -> Option<f64> {
        let values = self.monitor.values();
        let place = place.checked_sub(self.places.len() - values.len())?;
        tidemark_stats::median(
            &values[place.saturating_sub(LEVEL_WINDOW)..values.len().min(place + LEVEL_WINDOW)],
        )
    }

    /// Moves the start forward if the lane has enough reports, and rebuilds the monitor.
    fn advance_start(&mut self, reports: usize, scratch: &mut Scratch) {
        let start = start(self.id, reports);
        if start <= self.start {
            return;
        }
        self.start = start;
        let old = self.places.split_off(start);
        if old > 0 {
            let mut monitor = Monitor::new(DetectionSettings::default());
            for (host, value) in self.monitor.values_with_hosts().skip(old) {
                monitor.push_with_host(host, value, scratch);
            }
            self.monitor = monitor;
        }
    }

    /// Returns the memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        let written = self.written.as_ref().map_or(0, Vec::capacity);
        size_of::<Self>() - size_of::<Monitor>()
            + self.monitor.bytes()
            + self.places.bytes()
            + self.changes.capacity() * size_of::<CurrentChange>()
            + written * size_of::<WrittenChange>()
    }
}

/// Returns the number of the first analyzed report of a series in a lane with `reports` reports. It advances by one block at a
/// time, with different reports for different series, so that no report causes all series to be rebuilt.
fn start(series: u32, reports: usize) -> usize {
    let shift = series as usize % Monitor::BLOCK;
    let ended = (reports + shift).saturating_sub(1) / Monitor::BLOCK * Monitor::BLOCK;
    ended.saturating_sub(Monitor::MAX_VALUES - Monitor::BLOCK + shift)
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
            assert!((0..1_280).all(|id| kept(id) <= Monitor::MAX_VALUES && kept(id) >= reports.min(513)));
        }
    }
}
