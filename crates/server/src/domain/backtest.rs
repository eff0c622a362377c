//! Backtest: the alarms that other detection settings would have raised over the whole history of a project, compared with the
//! status that users set for its changes.

mod replay;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tidemark_api::{
    Backtest, BacktestAlarm, BacktestVerdict, Benchmark, Branch, ChangeUuid, EventStatus, Measure, NewModel,
    ReportUuid, Shared, Testbed, Timestamp, Variant,
};
use tidemark_stats::{
    Change, DetectionSettings, FalseAlarmBudget, Monitor, PreparedModel, Scratch, Worse, is_exact,
};
use tidemark_store::{
    BenchmarkId, Dimension, MeasureId, Tx, VariantId,
    change::{self, StoredChange},
    lane::Lane,
    series::{self, SeriesKey},
    series_filter::SeriesFilter,
    variant,
    version::VersionRange,
};

use self::replay::Replay;
use crate::domain::{
    changes::{History, MONTH_SECONDS, Values, hosts},
    error::{Error, Result},
};

/// Maximum number of alarms in the response.
const MAX_ALARMS: usize = 256;
/// Maximum number of reports per lane, the newest ones.
const MAX_REPORTS: usize = 100_000;
/// Maximum number of earlier values in the sample of a threshold.
const MAX_EARLIER_VALUES: usize = 512;

/// The detection settings of a backtest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detector {
    /// Change detection.
    Changes(DetectionSettings),
    /// Change detection, with notifications within a false-alarm budget.
    Budget(FalseAlarmBudget),
    /// A threshold.
    Threshold(NewModel),
}

/// The data of a lane.
pub(crate) struct LaneData {
    branch: Branch,
    testbed: Testbed,
    history: History,
    /// Number of series at each report, without the filter.
    series_counts: Vec<usize>,
    series_keys: HashMap<u32, SeriesKey>,
    stored: Vec<StoredChange>,
    benchmarks: HashMap<BenchmarkId, Arc<Benchmark>>,
    variants: HashMap<VariantId, Arc<Variant>>,
    measures: HashMap<MeasureId, Shared<Measure>>,
}

impl LaneData {
    /// Reads the series of a lane that match a filter.
    pub(crate) fn read(tx: &mut Tx<'_>, lane: &Lane, part: &SeriesFilter) -> Result<Self> {
        let mut history = History::read(tx, &[VersionRange::of_head(lane.head)], lane.testbed, MAX_REPORTS)?;
        let series_counts = replay::series_counts(history.reports.len(), history.series.values());
        let ids: Vec<i64> = history.series.keys().map(|series| i64::from(*series)).collect();
        let mut series_keys = series::series_keys(tx, &ids)?;
        series_keys.retain(|_, series_key| {
            part.benchmark.is_none_or(|wanted| series_key.benchmark == wanted)
                && part.measure.is_none_or(|wanted| series_key.measure == wanted)
        });
        history.series.retain(|series, _| series_keys.contains_key(series));
        let keys = |key: fn(&SeriesKey) -> i64| -> Vec<i64> {
            let keys: HashSet<i64> = series_keys.values().map(key).collect();
            keys.into_iter().collect()
        };
        Ok(Self {
            branch: Branch::view(tx, lane.branch)?,
            testbed: Testbed::view(tx, lane.testbed)?,
            stored: change::of_heads(tx, &[lane.head], lane.testbed)?,
            benchmarks: Benchmark::by_ids(tx, &keys(|series_key| series_key.benchmark.get()))?,
            variants: variant::by_ids(tx, &keys(|series_key| series_key.variant))?,
            measures: Measure::by_ids(tx, &keys(|series_key| series_key.measure.get()))?,
            history,
            series_counts,
            series_keys,
        })
    }
}

/// An alarm in a series.
struct Alarm {
    at: usize,
    raised: usize,
    before: Option<f64>,
    after: f64,
}

/// The results so far.
#[derive(Default)]
pub(crate) struct BacktestResult {
    series: usize,
    values: usize,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    raised: usize,
    runs: HashSet<ReportUuid>,
    found: usize,
    missed: usize,
    false_alarms: usize,
    unknown: usize,
    alarms: Vec<BacktestAlarm>,
}

impl BacktestResult {
    /// Runs the backtest on a lane. The time depends on the number of values.
    pub(crate) fn add(&mut self, lane: &LaneData, detector: Detector) -> Result<()> {
        let reports = &lane.history.reports;
        let times = || reports.iter().map(|report| report.start_time);
        self.since = self.since.into_iter().chain(times()).min();
        self.until = self.until.into_iter().chain(times()).max();
        let hosts = hosts(&lane.history.reports);
        let mut replay = Replay::default();
        for (series, values) in &lane.history.series {
            let Some(series_key) = lane.series_keys.get(series) else { continue };
            let Some(measure) = lane.measures.get(&series_key.measure) else { continue };
            self.series += 1;
            self.values += values.values.len();
            let is_exact = is_exact(&values.values);
            let value = |index: usize| {
                let (place, value) = (values.places[index], values.values[index]);
                let factor = if is_exact { 1.0 } else { reports[place].factor(series_key.measure) };
                (hosts[place], value / factor)
            };
            let alarms = match detector {
                Detector::Changes(settings) => change_alarms(values, value, settings),
                Detector::Budget(_) => {
                    replay.add(*series, values, reports, value);
                    continue;
                }
                Detector::Threshold(model) => {
                    let times: Vec<Timestamp> =
                        values.places.iter().map(|place| reports[*place].start_time).collect();
                    threshold_alarms(&values.values, &times, model, measure.worse())?
                }
            };
            self.score(lane, *series_key, values, &alarms);
        }
        if let Detector::Budget(budget) = detector {
            let alarms = replay.finish(&lane.history.series, reports, &lane.series_counts, budget);
            for (series, values) in &lane.history.series {
                let Some(series_key) = lane.series_keys.get(series) else { continue };
                self.score(lane, *series_key, values, alarms.get(series).map_or(&[], Vec::as_slice));
            }
        }
        self.alarms.sort_by_key(|alarm| std::cmp::Reverse(alarm.start_time));
        self.alarms.truncate(MAX_ALARMS);
        Ok(())
    }

    /// Compares the alarms of a series with the status that users set for its changes.
    fn score(&mut self, lane: &LaneData, series_key: SeriesKey, values: &Values, alarms: &[Alarm]) {
        let reports = &lane.history.reports;
        let place = |one: &StoredChange| {
            values.places.iter().position(|place| reports[*place].report == one.found.at)
        };
        let reviewed: Vec<(usize, &StoredChange)> = lane
            .stored
            .iter()
            .filter(|one| {
                one.series_key == series_key
                    && !matches!(one.status, EventStatus::Open | EventStatus::Recovered)
            })
            .filter_map(|one| Some((place(one)?, one)))
            .collect();
        let mut found: HashSet<ChangeUuid> = HashSet::new();
        self.raised += alarms.len();
        for alarm in alarms {
            let close = reviewed.iter().filter(|(place, _)| place.abs_diff(alarm.at) <= Change::TOLERANCE);
            let one = close.min_by_key(|(place, _)| place.abs_diff(alarm.at)).map(|(_, one)| *one);
            let verdict = match one.map(|one| one.status) {
                Some(EventStatus::FalseAlarm) => BacktestVerdict::FalseAlarm,
                Some(_) => BacktestVerdict::Real,
                None => BacktestVerdict::Unknown,
            };
            match verdict {
                BacktestVerdict::Real => found.extend(one.map(|one| one.uuid)),
                BacktestVerdict::FalseAlarm => self.false_alarms += 1,
                BacktestVerdict::Unknown => self.unknown += 1,
            }
            let (at, raised) = (&reports[values.places[alarm.at]], &reports[values.places[alarm.raised]]);
            self.runs.insert(raised.uuid);
            let (Some(benchmark), Some(measure)) =
                (lane.benchmarks.get(&series_key.benchmark), lane.measures.get(&series_key.measure))
            else {
                continue;
            };
            self.alarms.push(BacktestAlarm {
                branch: lane.branch.clone(),
                testbed: lane.testbed.clone(),
                benchmark: (**benchmark).clone(),
                variant: lane.variants.get(&series_key.variant.into()).map(|variant| (**variant).clone()),
                measure: (**measure).clone(),
                at: at.uuid,
                raised: raised.uuid,
                start_time: at.start_time,
                before: alarm.before,
                after: alarm.after,
                verdict,
                change: one.map(|one| one.uuid),
            });
        }
        // Limits the memory, because there may be many more alarms than the response has.
        if self.alarms.len() > 16 * MAX_ALARMS {
            self.alarms.sort_by_key(|alarm| std::cmp::Reverse(alarm.start_time));
            self.alarms.truncate(MAX_ALARMS);
        }
        let real = reviewed.iter().filter(|(_, one)| one.status != EventStatus::FalseAlarm).count();
        self.found += found.len();
        self.missed += real - found.len();
    }

    /// Returns the result.
    pub(crate) fn finish(self) -> Backtest {
        let seconds = match (self.since, self.until) {
            (Some(since), Some(until)) => until.seconds() - since.seconds(),
            _ => 0,
        };
        let months = (seconds as f64 / MONTH_SECONDS as f64).max(1.0);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Backtest {
            series: number(self.series),
            values: self.values as u64,
            since: self.since,
            raised: number(self.raised),
            per_month: self.raised as f64 / months,
            runs: number(self.runs.len()),
            found: number(self.found),
            missed: number(self.missed),
            false_alarms: number(self.false_alarms),
            unknown: number(self.unknown),
            alarms: self.alarms,
        }
    }
}

/// Returns the alarms of change detection in a series: the immediate ones, and the changes that raised no immediate alarm.
fn change_alarms(
    series: &Values,
    value: impl Fn(usize) -> (Option<u16>, f64),
    settings: DetectionSettings,
) -> Vec<Alarm> {
    let (mut monitor, mut scratch) = (Monitor::new(settings), Scratch::default());
    let mut alarms: Vec<Alarm> = Vec::new();
    for raised in 0..series.values.len() {
        let (host, value) = value(raised);
        if let Some(change) = monitor.push_with_host(host, value, &mut scratch) {
            alarms.push(Alarm { at: change.at, raised, before: Some(change.before), after: change.after });
        }
    }
    let immediate: Vec<usize> = alarms.iter().map(|alarm| alarm.at).collect();
    for change in monitor.changes(&mut scratch) {
        if !immediate.iter().any(|at| change.is_close(*at)) {
            let raised = (change.at + Monitor::CONFIRMED_AFTER).min(series.values.len() - 1);
            alarms.push(Alarm { at: change.at, raised, before: Some(change.before), after: change.after });
        }
    }
    alarms
}

/// Returns the values of a series outside the limits of a threshold.
fn threshold_alarms(
    values: &[f64],
    times: &[Timestamp],
    model: NewModel,
    worse: Worse,
) -> Result<Vec<Alarm>> {
    let model =
        model.complete(worse).map_err(|error| Error::Invalid(format!("`model` is invalid: {error}")))?;
    let mut prepared = PreparedModel::new(&model);
    let (mut alarms, mut sample) = (Vec::new(), Vec::new());
    for (at, value) in values.iter().enumerate() {
        let from = model.window.map(|window| times[at].plus_seconds(-i64::from(window)));
        sample.clear();
        let is_wanted =
            |earlier: &usize| times[*earlier] <= times[at] && from.is_none_or(|from| times[*earlier] >= from);
        let earlier = (at.saturating_sub(MAX_EARLIER_VALUES)..at).rev().filter(is_wanted);
        sample.extend(earlier.take(prepared.max_sample_size()).map(|earlier| values[earlier]));
        let Some(limits) = prepared.limits(&sample) else { continue };
        if tidemark_stats::crossed_limit(*value, &limits).is_some() {
            alarms.push(Alarm { at, raised: at, before: limits.baseline, after: *value });
        }
    }
    Ok(alarms)
}
