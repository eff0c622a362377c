//! Incremental change detection on a growing series. A monitor knows the changes detected so far. It does not know the
//! meaning of the values or the time of their measurement.
//!
//! A monitor holds the newest [`BLOCK`] to [`BLOCK`] + [`WINDOW`] values, with their own scale and partition. When a block is
//! full, it removes the oldest values, makes the changes among them final, and recomputes scale and partition from the
//! remaining values. The cost per value is therefore independent of the length of the series, and the result depends only on
//! the values, not on the batches in which they arrived.

use std::borrow::Cow;

use super::{
    Change, DetectionSettings, alarm,
    autocorrelation::{Autocorrelation, VarianceInflation},
    batch_means::BatchMeans,
    elimination::{self, BackwardElimination, Proposal, RankedSeries, SeriesNoise, step_and_scatter},
    hosts::{Estimation, Hosts},
    interval,
    partition::Partition,
    pettitt::{self, PettittTest},
    sample::{first, last, median},
    scale::Scale,
    sort_order::SortOrder,
};
use crate::level::count_repeated;

/// Number of values per block; the oldest values are removed when a block is full.
const BLOCK: usize = 128;
/// Number of values held at the start of a block.
const WINDOW: usize = 512;
/// Number of values at the start of a window that only provide context: the changes among them are final.
const GUARD: usize = 128;
/// Minimum length of a series to analyze.
const MIN_LENGTH: usize = 8;
/// Maximum number of estimations of the host effects per block, to limit the cost for a fleet of many hosts.
const MAX_ESTIMATIONS: u8 = 32;
/// Number of values on each side from which the levels of a change are estimated.
pub(super) const LEVEL_WINDOW: usize = 48;
/// Rate per value at which independent noise raises an alarm with a margin of zero.
const ALARM_RATE: f64 = 2e-4;

/// Incremental change detector of one series. It holds only the state that cannot be recomputed quickly, because a server may
/// have thousands of monitors.
#[derive(Clone, Debug)]
pub struct Monitor {
    settings: DetectionSettings,
    /// Number of values received.
    count: usize,
    /// Newest values.
    values: Vec<f64>,
    /// Number of the newest values that equal their predecessor.
    repeated: usize,
    hosts: Hosts,
    /// Number of estimations of the host effects in the current block.
    estimated: u8,
    order: SortOrder,
    scale: Option<Scale>,
    partition: Partition,
    inflation: VarianceInflation,
    final_changes: Vec<Change>,
    /// Start of the newest level according to the last alarm.
    level_start: usize,
    /// Last alarm.
    last_alarm: Option<Change>,
    /// Minimum number of values at which a slight change is possible.
    next_pettitt_test: usize,
}

/// Buffers that are reused for the next value and the next series.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Values converted to the reference host.
    adjusted: Vec<f64>,
    /// Values in units of noise.
    scaled: Vec<f64>,
    /// Twice the ranks of the values.
    ranks: Vec<i16>,
    estimation: Estimation,
    autocorrelation: Autocorrelation,
    elimination: BackwardElimination,
    pettitt: PettittTest,
    batch_means: BatchMeans,
    cuts: Vec<usize>,
    buffer: Vec<f64>,
}

impl Monitor {
    /// Maximum number of values held.
    pub const MAX_VALUES: usize = WINDOW + BLOCK;
    /// Number of values per block; the oldest values are removed when a block is full.
    pub const BLOCK: usize = BLOCK;
    /// Number of the oldest values held that only provide context: the changes among them are final.
    pub const GUARD: usize = GUARD;
    /// Number of values of a new level from which on a change is confirmed or withdrawn.
    pub const CONFIRMED_AFTER: usize = 12;

    /// Creates a monitor of an empty series.
    pub fn new(settings: DetectionSettings) -> Self {
        Self {
            settings,
            count: 0,
            values: Vec::new(),
            repeated: 0,
            hosts: Hosts::default(),
            estimated: 0,
            order: SortOrder::default(),
            scale: None,
            partition: Partition::default(),
            inflation: VarianceInflation::NONE,
            final_changes: Vec::new(),
            level_start: 0,
            last_alarm: None,
            next_pettitt_test: 0,
        }
    }

    /// Adds the next value. Returns an alarm if the level changed and [`DetectionSettings::later`] values have followed the first
    /// value of the new level. An alarm is raised once and not withdrawn; [`changes`](Self::changes) shows whether the change
    /// lasts.
    ///
    /// A value that is not finite is replaced by the previous value.
    pub fn push(&mut self, value: f64, scratch: &mut Scratch) -> Option<Change> {
        self.push_with_host(None, value, scratch)
    }

    /// Adds the next value, measured on a host, if known. Differences between hosts are not changes: values are converted to the
    /// host with the most values. A host can be any number except `u16::MAX`.
    pub fn push_with_host(&mut self, host: Option<u16>, value: f64, scratch: &mut Scratch) -> Option<Change> {
        if is_block_end(self.count) {
            self.end_block(scratch);
        }
        self.append(host, value, scratch);
        let alarm = self.detect_alarm(scratch);
        self.last_alarm = alarm.or(self.last_alarm);
        alarm
    }

    /// Returns the newest values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the newest values, each with its host if known.
    pub fn values_with_hosts(&self) -> impl Iterator<Item = (Option<u16>, f64)> {
        self.values.iter().enumerate().map(|(index, value)| (self.hosts.get(index), *value))
    }

    /// Returns the newest values, converted to the host with the most values.
    pub fn adjusted(&self) -> Cow<'_, [f64]> {
        let mut adjusted = Vec::new();
        if self.hosts.has_effects() {
            self.adjust(0, &mut adjusted);
            return adjusted.into();
        }
        Cow::Borrowed(&self.values)
    }

    /// Returns all changes detected so far, in ascending order: first the final ones, then the changes among the newest values,
    /// which later values can move, remove or merge.
    pub fn changes(&mut self, scratch: &mut Scratch) -> Vec<Change> {
        let mut changes = self.final_changes.clone();
        self.detect_newest(&mut changes, scratch);
        changes
    }

    /// Returns the changes that qualify for a notification: all changes, and the newest alarm until enough values follow it to
    /// confirm or withdraw it.
    pub fn changes_and_alarm(&mut self, scratch: &mut Scratch) -> Vec<Change> {
        let mut changes = self.changes(scratch);
        let count = self.count;
        changes.extend(self.last_alarm.filter(|alarm| {
            count - alarm.at < Self::CONFIRMED_AFTER
                && !changes.iter().any(|change| change.is_close(alarm.at))
        }));
        changes
    }

    /// Returns the p-value of a change: the probability that noise alone moves the level this far. Earlier changes that did not
    /// last count as noise, unless `is_explained` returns that their cause is known.
    pub fn p_value(
        &self,
        change: &Change,
        known: &[Change],
        is_explained: impl Fn(&Change) -> bool,
        scratch: &mut Scratch,
    ) -> f64 {
        let Scratch { adjusted, scaled, buffer, batch_means, .. } = scratch;
        let (Some(scale), Some(at)) = (self.scale, change.at.checked_sub(self.offset())) else { return 1.0 };
        scale.apply_all(self.on_reference(0, adjusted), scaled);
        let cut = |known: &Change| Some((known.at.checked_sub(self.offset())?, is_explained(known)));
        let cuts: Vec<(usize, bool)> = known.iter().filter_map(cut).collect();
        let p_value = batch_means.p_value(scaled, at, &cuts, scale.log_unit(), buffer);
        p_value.max(ALARM_RATE * (-change.margin).exp())
    }

    /// Whether the newest values are counts rather than timings, which the machine does not affect: most equal their predecessor.
    pub fn is_exact(&self) -> bool {
        self.repeated * 2 >= self.values.len()
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.values.capacity() * size_of::<f64>()
            + self.final_changes.capacity() * size_of::<Change>()
            + self.hosts.bytes()
            + self.order.bytes()
            + self.partition.bytes()
    }

    fn append(&mut self, host: Option<u16>, value: f64, scratch: &mut Scratch) {
        let value = if value.is_finite() { value } else { self.values.last().copied().unwrap_or(0.0) };
        let index = self.values.len();
        self.repeated += usize::from(self.values.last() == Some(&value));
        let is_due = self.hosts.push(host, index) && self.estimated < MAX_ESTIMATIONS;
        self.count += 1;
        self.values.push(value);
        match self.scale {
            Some(scale) if scale.can_represent(value) && !is_due => {
                self.partition.push(scale.apply(self.hosts.adjust(index, value)));
            }
            Some(_) => {
                self.estimated += u8::from(is_due);
                self.recompute(scratch);
            }
            None => {}
        }
    }

    /// Returns the values from an index on, converted to the reference host.
    fn on_reference<'a>(&'a self, from: usize, buffer: &'a mut Vec<f64>) -> &'a [f64] {
        if !self.hosts.has_effects() {
            return &self.values[from..];
        }
        self.adjust(from, buffer);
        buffer
    }

    fn adjust(&self, from: usize, adjusted: &mut Vec<f64>) {
        let values = self.values.iter().enumerate().skip(from);
        adjusted.clear();
        adjusted.extend(values.map(|(index, value)| self.hosts.adjust(index, *value)));
    }

    /// Returns the number of values that are no longer held.
    fn offset(&self) -> usize {
        self.count - self.values.len()
    }

    /// Ends a block: removes the oldest values and makes the changes among them final.
    fn end_block(&mut self, scratch: &mut Scratch) {
        let removed = self.values.len().saturating_sub(WINDOW);
        if removed > 0 {
            let mut changes = Vec::new();
            self.detect_newest(&mut changes, scratch);
            self.values.drain(..removed);
            self.repeated = count_repeated(&self.values);
            self.hosts.remove_oldest(removed);
            let limit = self.offset() + GUARD;
            self.final_changes.extend(changes.into_iter().filter(|change| change.at < limit));
        }
        self.estimated = 0;
        self.recompute(scratch);
    }

    /// Recomputes the scale and the partition, and estimates the variance inflation.
    fn recompute(&mut self, scratch: &mut Scratch) {
        let more = values_to_block_end(self.count);
        self.next_pettitt_test = 0;
        self.values.reserve_exact(more);
        self.hosts.reserve(more);
        let is_logarithmic = Scale::is_logarithmic(&self.values);
        self.hosts.estimate(&self.values, is_logarithmic, &mut scratch.estimation);
        let Scratch { adjusted, buffer, scaled, .. } = scratch;
        let mut order = std::mem::take(&mut self.order);
        let values = self.on_reference(0, adjusted);
        order.reset(values, more);
        let scale = Scale::of(values, is_logarithmic, |_| true, buffer);
        scale.apply_all(values, scaled);
        (self.order, self.scale) = (order, Some(scale));
        self.partition.reset(&scratch.scaled, more);
        self.partition.cuts(&mut scratch.cuts);
        self.inflation = scratch.autocorrelation.inflation(&scratch.scaled, &scratch.cuts);
    }

    /// Appends the changes among the newest values.
    fn detect_newest(&mut self, changes: &mut Vec<Change>, scratch: &mut Scratch) {
        let Scratch { adjusted, scaled, ranks, elimination, pettitt, cuts, buffer, .. } = scratch;
        let Some(scale) = self.scale else { return };
        let offset = self.offset();
        let last_final = self.final_changes.last().map_or(0, |change| change.at);
        let start = last_final.saturating_sub(offset);
        let guard = if offset > 0 { GUARD } else { 0 };
        let tolerance = self.settings.sensitivity.tolerance();
        self.partition.cuts(cuts);
        cuts.retain(|cut| *cut >= guard && *cut > start);
        // A slight change is accepted only if the series shows no other change.
        let may_be_slight = last_final <= offset && cuts.len() <= 1 && self.count >= self.next_pettitt_test;
        if cuts.is_empty() && !may_be_slight {
            return;
        }
        let mut order = std::mem::take(&mut self.order);
        let values = self.on_reference(0, adjusted);
        order.update(values);
        let mut accepted: &[Proposal] = &[];
        if let Some((low, high)) = order.deciles(values).filter(|_| !cuts.is_empty()) {
            scale.apply_all(values, scaled);
            order.rank(values, ranks);
            let spread = (scale.apply(high) - scale.apply(low)).max(1.0);
            let noise = SeriesNoise { spread, inflation: self.inflation.changes };
            accepted =
                elimination.run(&RankedSeries { values: scaled, ranks }, start, cuts, noise, tolerance);
        }
        let is_slight = accepted.is_empty() && may_be_slight;
        let slight = is_slight.then(|| pettitt.find(values, &order, tolerance));
        if let Some(Ok((at, margin))) = slight.filter(|slight| slight.is_ok_and(|(at, _)| at >= guard)) {
            scale.apply_all(values, scaled);
            let (before, after) = scaled.split_at(at);
            if !pettitt.is_autocorrelated(&[before, after]) {
                let (distance, scatter) =
                    step_and_scatter(last(before, LEVEL_WINDOW), first(after, LEVEL_WINDOW), buffer);
                let (sigma, span) = (distance / scatter, (start, at, scaled.len()));
                changes.push(self.describe(
                    (values, scaled),
                    span,
                    margin,
                    pettitt::TOLERANCE_WEIGHT,
                    sigma,
                    buffer,
                ));
            }
        }
        let mut start = start;
        for (index, one) in accepted.iter().enumerate() {
            let end = accepted.get(index + 1).map_or(scaled.len(), |next| next.at);
            let span = (start, one.at, end);
            changes.push(self.describe(
                (values, scaled),
                span,
                one.margin,
                elimination::TOLERANCE_WEIGHT,
                one.sigma,
                buffer,
            ));
            start = one.at;
        }
        if let Some(Err(further)) = slight {
            self.next_pettitt_test = self.count + further;
        }
        self.order = order;
    }

    /// Returns an alarm if the level changed exactly [`DetectionSettings::later`] values before the newest one.
    fn detect_alarm(&mut self, scratch: &mut Scratch) -> Option<Change> {
        let scale = self.scale?;
        let at = self.values.len().checked_sub(self.settings.later.saturating_add(1))?;
        let start = self.level_start.saturating_sub(self.offset());
        let near = start.max(at.saturating_sub(alarm::MAX_HISTORY));
        let Scratch { adjusted, scaled, buffer, .. } = scratch;
        let values = self.on_reference(near, adjusted);
        let (before, newest) = values.split_at_checked(at.checked_sub(near)?)?;
        let tolerance = self.settings.sensitivity.tolerance();
        if alarm::is_impossible(before, newest, tolerance) {
            return None;
        }
        scale.apply_all(values, scaled);
        let (before, newest) = scaled.split_at(at - near);
        let alarm = alarm::detect(before, newest, self.inflation.alarms, tolerance, buffer)?;
        self.level_start = self.offset() + at;
        let values = self.on_reference(0, adjusted);
        scale.apply_all(values, scaled);
        Some(self.describe(
            (values, scaled),
            (start, at, scaled.len()),
            alarm.margin,
            1.0,
            alarm.sigma,
            buffer,
        ))
    }

    /// Describes the change between two levels. The values are passed as measured and in units of noise, and the levels by the
    /// start of the first, the start of the second and the end of the second. `tolerance_weight` is the increase of the margin
    /// per factor of e in the rarity of false alarms.
    fn describe(
        &self,
        (values, scaled): (&[f64], &[f64]),
        (start, at, end): (usize, usize, usize),
        margin: f64,
        tolerance_weight: f64,
        sigma: f64,
        buffer: &mut Vec<f64>,
    ) -> Change {
        let offset = self.offset();
        let (earliest, latest) = interval::likelihood_interval(&scaled[start..at], &scaled[at..end], buffer);
        let before = median(last(&values[start..at], LEVEL_WINDOW), buffer);
        let after = median(first(&values[at..end], LEVEL_WINDOW), buffer);
        Change {
            at: offset + at,
            earliest: offset + start + earliest,
            latest: offset + start + latest,
            before,
            after,
            effect: (before != 0.0).then(|| (after - before) / before.abs()),
            sigma,
            confidence: super::confidence(margin),
            margin: margin / tolerance_weight,
        }
    }
}

/// Whether a block ends after `count` values. The first blocks are short, so that a short series is analyzed too.
fn is_block_end(count: usize) -> bool {
    if count < BLOCK { count >= MIN_LENGTH && count.is_power_of_two() } else { count.is_multiple_of(BLOCK) }
}

/// Returns the number of values after `count` until the block ends.
fn values_to_block_end(count: usize) -> usize {
    (1..=BLOCK).find(|more| is_block_end(count + more)).unwrap_or(BLOCK)
}
