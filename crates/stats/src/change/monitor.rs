//! A series that is watched while it grows. It knows where its level changed as far as that can be told so far; it does
//! not know what the values are, nor when they were measured.
//!
//! The newest [`BLOCK`] to [`BLOCK`] + [`WINDOW`] values are held, on a scale and with a partition of their own. Each time
//! a block is full, older values are forgotten, the changes among them are settled for good, and scale and partition are
//! made anew from those that remain. So a value costs the same however long the series is, and what comes out depends
//! on nothing but the values, in whatever portions they came.

use std::borrow::Cow;

use super::{
    Change, Settings,
    batches::Batches,
    calm::{self, Calm},
    dependence::{Dependence, Inflation},
    extent,
    hosts::{Estimation, Hosts},
    judge::{self, Judge, Noise, Ranked, apart},
    order::Order,
    partition::Partition,
    sample::{first, last, median},
    scale::Scale,
    watch,
};
use crate::level::alike;

/// How many values come in before the older ones are looked at for the last time.
const BLOCK: usize = 128;
/// How many values are held at the beginning of a block.
const WINDOW: usize = 512;
/// How many values at the beginning of a window only show the way: what changed among them is settled already.
const GUARD: usize = 128;
/// The shortest series that is looked at.
const SHORTEST: usize = 8;
/// How often the effects of hosts are estimated within a block at the most, so that a fleet of many hosts costs little.
const ESTIMATIONS: u8 = 32;
/// How many values on both sides the levels of a change are taken from.
pub(super) const REACH: usize = 48;
/// How often independent noise raises an alarm for which just enough speaks, per value.
const USUAL: f64 = 2e-4;

/// A series, value by value. It holds what cannot be computed again at once, as there may be thousands.
#[derive(Clone, Debug)]
pub struct Monitor {
    settings: Settings,
    /// How many values there have been.
    count: usize,
    /// The newest of them.
    values: Vec<f64>,
    /// How many of these equal the one before.
    alike: usize,
    hosts: Hosts,
    /// How often the effects of hosts were estimated since the last block ended.
    estimated: u8,
    order: Order,
    scale: Option<Scale>,
    partition: Partition,
    inflation: Inflation,
    settled: Vec<Change>,
    /// Where the newest level begins, by the last alarm.
    alarm: usize,
    /// That alarm.
    raised: Option<Change>,
    /// With fewer values than this there cannot be a slight change.
    calm: usize,
}

/// Memory that is reused from one value, and one series, to the next.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Values as they would have been on the reference host.
    adjusted: Vec<f64>,
    /// Values in units of noise.
    scaled: Vec<f64>,
    /// Twice their ranks.
    ranks: Vec<i16>,
    estimation: Estimation,
    dependence: Dependence,
    judge: Judge,
    calm: Calm,
    batches: Batches,
    cuts: Vec<usize>,
    buffer: Vec<f64>,
}

impl Monitor {
    /// The most values that are held.
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
            alike: 0,
            hosts: Hosts::default(),
            estimated: 0,
            order: Order::default(),
            scale: None,
            partition: Partition::default(),
            inflation: Inflation::NONE,
            settled: Vec::new(),
            alarm: 0,
            raised: None,
            calm: 0,
        }
    }

    /// Takes the next value, and says if by that value the level has changed: as soon as there are so many later values
    /// as [`Settings::later`] asks for. An alarm comes once and is not taken back; whether the change lasts shows in
    /// [`changes`](Self::changes).
    ///
    /// A number that is not finite says nothing, and counts as if the value before had come again.
    pub fn push(&mut self, value: f64, scratch: &mut Scratch) -> Option<Change> {
        self.push_on(None, value, scratch)
    }

    /// The same for a value that was measured on a host, if that is known. Hosts of different speed are no changes: values are
    /// looked at as they would have been on the host with the most values. Any number will do for a host but the greatest.
    pub fn push_on(&mut self, host: Option<u16>, value: f64, scratch: &mut Scratch) -> Option<Change> {
        if is_boundary(self.count) {
            self.settle(scratch);
        }
        self.take(host, value, scratch);
        let alarm = self.alarm(scratch);
        self.raised = alarm.or(self.raised);
        alarm
    }

    /// The newest values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The newest values, each with its host if that is known.
    pub fn values_with_hosts(&self) -> impl Iterator<Item = (Option<u16>, f64)> {
        self.values.iter().enumerate().map(|(place, value)| (self.hosts.get(place), *value))
    }

    /// The newest values as they would have been on the host with the most of them.
    pub fn adjusted(&self) -> Cow<'_, [f64]> {
        let mut adjusted = Vec::new();
        if self.hosts.differ() {
            self.adjust(0, &mut adjusted);
            return adjusted.into();
        }
        Cow::Borrowed(&self.values)
    }

    /// All changes as far as they are known now, in ascending order: the settled ones, which no later value will alter, then
    /// those among the newest values, which later values may move, drop or join.
    pub fn changes(&mut self, scratch: &mut Scratch) -> Vec<Change> {
        let mut changes = self.settled.clone();
        self.judge_newest(&mut changes, scratch);
        changes
    }

    /// The changes that people may be notified of: all, and the newest alarm while there are too few values after it to be
    /// sure. It is gone later if they do not confirm it.
    pub fn known(&mut self, scratch: &mut Scratch) -> Vec<Change> {
        let mut changes = self.changes(scratch);
        let count = self.count;
        changes.extend(self.raised.filter(|alarm| {
            count - alarm.at < Self::UNSURE && !changes.iter().any(|change| change.is_close(alarm.at))
        }));
        changes
    }

    /// How likely noise alone is to move the level as far as a change did. Earlier changes that did not last are noise, too,
    /// unless `is_explained` says that their cause is known.
    pub fn p_value(
        &self,
        change: &Change,
        known: &[Change],
        is_explained: impl Fn(&Change) -> bool,
        scratch: &mut Scratch,
    ) -> f64 {
        let Scratch { adjusted, scaled, buffer, batches, .. } = scratch;
        let (Some(scale), Some(at)) = (self.scale, change.at.checked_sub(self.offset())) else { return 1.0 };
        scale.apply_all(self.on_reference(0, adjusted), scaled);
        let place = |known: &Change| Some((known.at.checked_sub(self.offset())?, is_explained(known)));
        let cuts: Vec<(usize, bool)> = known.iter().filter_map(place).collect();
        let p_value = batches.p_value(scaled, at, &cuts, scale.log_unit(), buffer);
        p_value.max(USUAL * (-change.margin).exp())
    }

    /// Whether the newest values are counted rather than timed, so that no machine moves them: most equal the one before.
    pub fn is_exact(&self) -> bool {
        self.alike * 2 >= self.values.len()
    }

    /// How many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.values.capacity() * size_of::<f64>()
            + self.settled.capacity() * size_of::<Change>()
            + self.hosts.bytes()
            + self.order.bytes()
            + self.partition.bytes()
    }

    fn take(&mut self, host: Option<u16>, value: f64, scratch: &mut Scratch) {
        let value = if value.is_finite() { value } else { self.values.last().copied().unwrap_or(0.0) };
        let place = self.values.len();
        self.alike += usize::from(self.values.last() == Some(&value));
        let is_due = self.hosts.push(host, place) && self.estimated < ESTIMATIONS;
        self.count += 1;
        self.values.push(value);
        match self.scale {
            Some(scale) if scale.takes(value) && !is_due => {
                self.partition.push(scale.apply(self.hosts.adjust(place, value)));
            }
            Some(_) => {
                self.estimated += u8::from(is_due);
                self.measure(scratch);
            }
            None => {}
        }
    }

    /// The values from a place on, as they would have been on the reference host.
    fn on_reference<'a>(&'a self, from: usize, buffer: &'a mut Vec<f64>) -> &'a [f64] {
        if !self.hosts.differ() {
            return &self.values[from..];
        }
        self.adjust(from, buffer);
        buffer
    }

    fn adjust(&self, from: usize, adjusted: &mut Vec<f64>) {
        let values = self.values.iter().enumerate().skip(from);
        adjusted.clear();
        adjusted.extend(values.map(|(place, value)| self.hosts.adjust(place, *value)));
    }

    /// Where the values held begin.
    fn offset(&self) -> usize {
        self.count - self.values.len()
    }

    /// Ends a block.
    fn settle(&mut self, scratch: &mut Scratch) {
        let forgotten = self.values.len().saturating_sub(WINDOW);
        if forgotten > 0 {
            let mut changes = Vec::new();
            self.judge_newest(&mut changes, scratch);
            self.values.drain(..forgotten);
            self.alike = alike(&self.values);
            self.hosts.forget(forgotten);
            let limit = self.offset() + GUARD;
            self.settled.extend(changes.into_iter().filter(|change| change.at < limit));
        }
        self.estimated = 0;
        self.measure(scratch);
    }

    /// Makes the scale and the partition anew, and estimates how much values depend on each other.
    fn measure(&mut self, scratch: &mut Scratch) {
        let more = block(self.count);
        self.calm = 0;
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
        self.inflation = scratch.dependence.inflation(&scratch.scaled, &scratch.cuts);
    }

    /// Adds the changes among the newest values.
    fn judge_newest(&mut self, changes: &mut Vec<Change>, scratch: &mut Scratch) {
        let Scratch { adjusted, scaled, ranks, judge, calm, cuts, buffer, .. } = scratch;
        let Some(scale) = self.scale else { return };
        let offset = self.offset();
        let settled = self.settled.last().map_or(0, |change| change.at);
        let start = settled.saturating_sub(offset);
        let guard = if offset > 0 { GUARD } else { 0 };
        let tolerance = self.settings.sensitivity.tolerance();
        self.partition.cuts(cuts);
        cuts.retain(|cut| *cut >= guard && *cut > start);
        // A slight change is believed only where it is all that ever seemed to happen.
        let may_be_calm = settled <= offset && cuts.len() <= 1 && self.count >= self.calm;
        if cuts.is_empty() && !may_be_calm {
            return;
        }
        let mut order = std::mem::take(&mut self.order);
        let values = self.on_reference(0, adjusted);
        order.update(values);
        let mut judged: &[judge::Judged] = &[];
        if let Some((low, high)) = order.tenths(values).filter(|_| !cuts.is_empty()) {
            scale.apply_all(values, scaled);
            order.rank(values, ranks);
            let spread = (scale.apply(high) - scale.apply(low)).max(1.0);
            let noise = Noise { spread, inflation: self.inflation.changes };
            judged = judge.judge(&Ranked { values: scaled, ranks }, start, cuts, noise, tolerance);
        }
        let is_calm = judged.is_empty() && may_be_calm;
        let slight = is_calm.then(|| calm.find(values, &order, tolerance));
        if let Some(Ok((at, margin))) = slight.filter(|slight| slight.is_ok_and(|(at, _)| at >= guard)) {
            scale.apply_all(values, scaled);
            let (before, after) = scaled.split_at(at);
            if !calm.wanders(&[before, after]) {
                let (distance, scatter) = apart(last(before, REACH), first(after, REACH), buffer);
                let (sigma, span) = (distance / scatter, (start, at, scaled.len()));
                changes.push(self.describe((values, scaled), span, margin, calm::PER_ALARM, sigma, buffer));
            }
        }
        let mut start = start;
        for (place, one) in judged.iter().enumerate() {
            let end = judged.get(place + 1).map_or(scaled.len(), |next| next.at);
            let span = (start, one.at, end);
            changes.push(self.describe(
                (values, scaled),
                span,
                one.margin,
                judge::PER_ALARM,
                one.sigma,
                buffer,
            ));
            start = one.at;
        }
        if let Some(Err(further)) = slight {
            self.calm = self.count + further;
        }
        self.order = order;
    }

    /// Whether the level has changed just as many values ago as there must be.
    fn alarm(&mut self, scratch: &mut Scratch) -> Option<Change> {
        let scale = self.scale?;
        let at = self.values.len().checked_sub(self.settings.later.saturating_add(1))?;
        let start = self.alarm.saturating_sub(self.offset());
        let near = start.max(at.saturating_sub(watch::REACH));
        let Scratch { adjusted, scaled, buffer, .. } = scratch;
        let values = self.on_reference(near, adjusted);
        let (before, newest) = values.split_at_checked(at.checked_sub(near)?)?;
        let tolerance = self.settings.sensitivity.tolerance();
        if watch::is_hopeless(before, newest, tolerance) {
            return None;
        }
        scale.apply_all(values, scaled);
        let (before, newest) = scaled.split_at(at - near);
        let fresh = watch::look(before, newest, self.inflation.alarms, tolerance, buffer)?;
        self.alarm = self.offset() + at;
        let values = self.on_reference(0, adjusted);
        scale.apply_all(values, scaled);
        Some(self.describe(
            (values, scaled),
            (start, at, scaled.len()),
            fresh.margin,
            1.0,
            fresh.sigma,
            buffer,
        ))
    }

    /// The change between two levels of values, which are given as they are and in units of noise: where the first begins,
    /// where the second does, and where that ends. `per_alarm` is by how much the margin grows where false alarms are e times
    /// rarer.
    fn describe(
        &self,
        (values, scaled): (&[f64], &[f64]),
        (start, at, end): (usize, usize, usize),
        margin: f64,
        per_alarm: f64,
        sigma: f64,
        buffer: &mut Vec<f64>,
    ) -> Change {
        let offset = self.offset();
        let (earliest, latest) = extent::around(&scaled[start..at], &scaled[at..end], buffer);
        let before = median(last(&values[start..at], REACH), buffer);
        let after = median(first(&values[at..end], REACH), buffer);
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

/// How many values come after so many until a block ends.
fn block(count: usize) -> usize {
    (1..=BLOCK).find(|more| is_boundary(count + more)).unwrap_or(BLOCK)
}
