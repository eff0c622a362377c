//! A series that is watched while it grows. It knows where its level changed as far as that can be told so far; it does
//! not know what the values are, nor when they were measured.
//!
//! The newest [`BLOCK`] to [`BLOCK`] + [`WINDOW`] values are held, on a scale and with a partition of their own. Each time
//! a block is full, older values are forgotten, the changes among them are settled for good, and scale and partition are
//! made anew from those that remain. So a value costs the same however long the series is, and what comes out depends
//! on nothing but the values, in whatever portions they came.

use super::{
    Change, Settings,
    calm::{self, Calm},
    dependence::{Dependence, Inflation},
    extent,
    judge::{self, Judge, distance, scatter},
    partition::Partition,
    sample::{first, last, median},
    scale::Scale,
    watch,
};

/// How many values come in before the older ones are looked at for the last time.
const BLOCK: usize = 128;
/// How many values are held at the beginning of a block.
const WINDOW: usize = 512;
/// How many values at the beginning of a window only show the way: what changed among them is settled already.
const GUARD: usize = 128;
/// The shortest series that is looked at.
const SHORTEST: usize = 8;
/// How many values on both sides the levels of a change are taken from.
const REACH: usize = 48;

/// A series, value by value.
#[derive(Clone, Debug)]
pub struct Monitor {
    settings: Settings,
    /// How many values there have been.
    count: usize,
    /// The newest of them.
    values: Vec<f64>,
    /// The same in units of noise, once there is a scale.
    scaled: Vec<f64>,
    scale: Option<Scale>,
    partition: Partition,
    inflation: Inflation,
    settled: Vec<Change>,
    /// Where the newest level begins, by the last alarm.
    alarm: usize,
    /// That alarm, as it was raised since the monitor was made.
    raised: Option<Change>,
    dependence: Dependence,
    judge: Judge,
    calm: Calm,
    cuts: Vec<usize>,
    buffer: Vec<f64>,
}

impl Monitor {
    /// The most values of the past that [`resume`](Self::resume) needs.
    pub const KEPT: usize = WINDOW + BLOCK;
    /// How many values come in before the older ones are looked at for the last time.
    pub const BLOCK: usize = BLOCK;
    /// How many of the oldest values that are held only show the way: what changed among them is settled.
    pub const GUARD: usize = GUARD;
    /// How many values of a new level it takes to be sure of it.
    pub const UNSURE: usize = 12;

    /// An empty series.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            count: 0,
            values: Vec::new(),
            scaled: Vec::new(),
            scale: None,
            partition: Partition::default(),
            inflation: Inflation::NONE,
            settled: Vec::new(),
            alarm: 0,
            raised: None,
            dependence: Dependence::default(),
            judge: Judge::default(),
            calm: Calm::default(),
            cuts: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// A series that goes on where another monitor stopped. What has to be kept for that: how many values there have
    /// been, the newest [`KEPT`](Self::KEPT) of them (or all, if they are fewer), the settled changes and the place of
    /// the last alarm, if there was one.
    pub fn resume(
        settings: Settings,
        count: usize,
        newest: &[f64],
        settled: Vec<Change>,
        alarm: Option<usize>,
    ) -> Self {
        let mut monitor = Self { settled, alarm: alarm.unwrap_or(0), ..Self::new(settings) };
        let boundary = last_boundary(count).unwrap_or(0);
        // The place in the whole series of the first of the newest.
        let offset = count - newest.len().min(count);
        let start = boundary.saturating_sub(WINDOW).max(offset);
        monitor.count = boundary.max(start);
        monitor.values.extend_from_slice(&newest[start - offset..monitor.count - offset]);
        if boundary > 0 {
            monitor.measure();
        }
        for value in &newest[monitor.count - offset..] {
            monitor.take(*value);
        }
        monitor
    }

    /// Takes the next value, and says if by that value the level has changed: as soon as there are so many later values
    /// as [`Settings::later`] asks for. An alarm comes once and is not taken back; whether the change lasts shows in
    /// [`changes`](Self::changes).
    ///
    /// A number that is not finite says nothing, and counts as if the value before had come again.
    pub fn push(&mut self, value: f64) -> Option<Change> {
        if is_boundary(self.count) {
            self.settle();
        }
        self.take(value);
        let alarm = self.alarm();
        self.raised = alarm.or(self.raised);
        alarm
    }

    /// How many values there have been.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The changes that no later value will alter.
    pub fn settled(&self) -> &[Change] {
        &self.settled
    }

    /// The place of the last alarm.
    pub fn last_alarm(&self) -> Option<usize> {
        (self.alarm > 0).then_some(self.alarm)
    }

    /// All changes as far as can be told now, in ascending order: the settled ones, then those among the newest values,
    /// which later values may move, drop or join.
    pub fn changes(&mut self) -> Vec<Change> {
        let mut changes = self.settled.clone();
        self.judge_newest(&mut changes);
        changes
    }

    /// The changes as people are told of them: all, and the newest alarm while there are too few values after it to be sure.
    /// It is gone later if they do not bear it out.
    pub fn known(&mut self) -> Vec<Change> {
        let mut changes = self.changes();
        let count = self.count;
        changes.extend(self.raised.filter(|alarm| {
            count - alarm.at < Self::UNSURE && !changes.iter().any(|change| change.is_close(alarm.at))
        }));
        changes
    }

    fn take(&mut self, value: f64) {
        let value = if value.is_finite() { value } else { self.values.last().copied().unwrap_or(0.0) };
        self.count += 1;
        self.values.push(value);
        match self.scale {
            Some(scale) if scale.takes(value) => {
                let scaled = scale.apply(value);
                self.scaled.push(scaled);
                self.partition.push(scaled);
            }
            Some(_) => self.measure(),
            None => {}
        }
    }

    /// Where the values held begin.
    fn offset(&self) -> usize {
        self.count - self.values.len()
    }

    /// Ends a block.
    fn settle(&mut self) {
        let mut changes = Vec::new();
        self.judge_newest(&mut changes);
        let forgotten = self.values.len().saturating_sub(WINDOW);
        if forgotten > 0 {
            self.values.drain(..forgotten);
            let limit = self.offset() + GUARD;
            self.settled.extend(changes.into_iter().filter(|change| change.at < limit));
        }
        self.measure();
    }

    /// Makes the scale and the partition anew, and estimates how much values depend on each other.
    fn measure(&mut self) {
        let scale = Scale::of(&self.values, &mut self.buffer);
        self.scale = Some(scale);
        self.scaled.clear();
        self.scaled.extend(self.values.iter().map(|value| scale.apply(*value)));
        self.partition.reset(&self.scaled);
        self.partition.cuts(&mut self.cuts);
        self.inflation = self.dependence.inflation(&self.scaled, &self.cuts);
    }

    /// Adds the changes among the newest values.
    fn judge_newest(&mut self, changes: &mut Vec<Change>) {
        let offset = self.offset();
        let settled = self.settled.last().map_or(0, |change| change.at);
        let start = settled.saturating_sub(offset);
        let guard = if offset > 0 { GUARD } else { 0 };
        let tolerance = self.settings.sensitivity.tolerance();
        self.partition.cuts(&mut self.cuts);
        self.cuts.retain(|cut| *cut >= guard && *cut > start);
        let judged = self.judge.judge(&self.scaled, start, &self.cuts, self.inflation.changes, tolerance);
        let first_new = changes.len();
        if judged.is_empty() {
            // A slight change is believed only where it is all that ever seemed to happen.
            let is_calm = settled <= offset && self.cuts.len() <= 1;
            let found = self.calm.find(&self.scaled, tolerance).filter(|(at, _)| is_calm && *at >= guard);
            if let Some((at, margin)) = found {
                let (before, after) = (last(&self.scaled[..at], REACH), first(&self.scaled[at..], REACH));
                let step = distance(before, after, &mut self.buffer);
                let sigma = step / scatter(before, after, &mut self.buffer);
                changes.push(self.describe(start, at, self.scaled.len(), margin, calm::PER_ALARM, sigma));
            }
            return;
        }
        for place in 0..judged.len() {
            let judged = &self.judge.judged()[place..];
            let start = changes[first_new..].last().map_or(start, |change| change.at - offset);
            let end = judged.get(1).map_or(self.scaled.len(), |next| next.at);
            let (at, margin, sigma) = (judged[0].at, judged[0].margin, judged[0].sigma);
            changes.push(self.describe(start, at, end, margin, judge::PER_ALARM, sigma));
        }
    }

    /// Whether the level has changed just as many values ago as there must be.
    fn alarm(&mut self) -> Option<Change> {
        let at = self.scaled.len().checked_sub(self.settings.later.saturating_add(1))?;
        let start = self.alarm.saturating_sub(self.offset());
        let before = self.scaled.get(start..at)?;
        let tolerance = self.settings.sensitivity.tolerance();
        let fresh =
            watch::look(before, &self.scaled[at..], self.inflation.alarms, tolerance, &mut self.buffer)?;
        self.alarm = self.offset() + at;
        Some(self.describe(start, at, self.scaled.len(), fresh.margin, 1.0, fresh.sigma))
    }

    /// The change at a place of the values held, between two levels of which one begins at `start` and the other ends
    /// before `end`. `per_alarm` is by how much the margin grows where false alarms are e times rarer.
    fn describe(
        &mut self,
        start: usize,
        at: usize,
        end: usize,
        margin: f64,
        per_alarm: f64,
        sigma: f64,
    ) -> Change {
        let offset = self.offset();
        let (earliest, latest) =
            extent::around(&self.scaled[start..at], &self.scaled[at..end], &mut self.buffer);
        let before = median(last(&self.values[start..at], REACH), &mut self.buffer);
        let after = median(first(&self.values[at..end], REACH), &mut self.buffer);
        Change {
            at: offset + at,
            earliest: offset + start + earliest,
            latest: offset + start + latest,
            before,
            after,
            effect: (before != 0.0).then(|| (after - before) / before.abs()),
            sigma,
            confidence: super::confidence(margin),
            margin: margin / per_alarm,
        }
    }
}

/// Whether a block ends with so many values. The first ones are short, so that a young series is looked at too.
fn is_boundary(count: usize) -> bool {
    if count < BLOCK { count >= SHORTEST && count.is_power_of_two() } else { count.is_multiple_of(BLOCK) }
}

/// Where the last block ended that a series with so many values has gone past.
fn last_boundary(count: usize) -> Option<usize> {
    (0..count).rev().take(BLOCK).find(|count| is_boundary(*count))
}
