//! The verdict of a report: compares it with the runs of the start point of its branch, or with earlier runs of its own branch.
//! It needs no threshold. `stats` decides which differences are significant.

mod baseline;
pub(crate) mod paired;
mod summary;

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use tidemark_api::{
    Benchmark, Change, ChangeCause, ChangeDirection, EventStatus, Measure, Page, ProjChangesSort, Project,
    Report, Shared, Timestamp, Variant, Verdict, VerdictAnswer, VerdictBaseline, VerdictComparison,
    VerdictFactor, Version,
};
use tidemark_stats::{
    Baseline, BaselineRange, CommonFactor, Comparison, Criteria, HostSpeeds, LevelChange, LevelChangeStatus,
    Monitor, PeerNoise, Verdict as Outcome, Worse, is_exact, median, select_baseline, verdicts,
};
use tidemark_store::{
    BenchmarkId, Dimension, MeasureId, ProjectId, ReportId, Tx, VariantId, VersionId, change, lane, metric,
    report,
    series::{self, SeriesKey},
    variant,
    vector::MeasuredReport,
    version::{self, VersionRange},
};

use self::{
    baseline::BaselineReports,
    summary::{answer, count, counts_answer, number, sort_key},
};
use crate::{
    domain::{
        changes::{History, Spread, Values, hosts},
        error::{Error, Result},
        mute::Mutes,
    },
    infra::parallel,
};

/// Confidence level of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Limits for a change and for no change, the same as in `tidemark compare`.
const CRITERIA: Criteria = Criteria::DEFAULT;

/// The input of a verdict.
pub(crate) struct VerdictInput {
    report: Report,
    base: History,
    head: History,
    series_keys: HashMap<u32, SeriesKey>,
    /// Versions of the baseline.
    versions: HashMap<VersionId, Version>,
    /// Reports with a change of level by series, with the status of the change.
    changed: HashMap<SeriesKey, Vec<(ReportId, LevelChangeStatus)>>,
    /// The newest report of the baseline.
    newest_base: Option<Report>,
    /// Whether the baseline was measured on the testbed of the report.
    is_same_testbed: bool,
    /// Whether the baseline excludes the runs after an open regression.
    excludes_regressions: bool,
    /// Spread of a single run by series, as its tool reports it; empty if the baseline has enough runs to estimate it.
    reported_spread: HashMap<u32, f64>,
    benchmarks: HashMap<BenchmarkId, Arc<Benchmark>>,
    variants: HashMap<VariantId, Arc<Variant>>,
    measures: HashMap<MeasureId, Shared<Measure>>,
    settled: bool,
    changes: Vec<Change>,
    mutes: Mutes,
    /// Comparisons of the pairs of a job with a base; the baseline does not matter then.
    paired: Vec<VerdictComparison>,
}

impl VerdictInput {
    /// Reads the input for a report. The baseline ends with the report `base`, or with the report before. The mutes are those
    /// that have effect at `now`.
    pub(crate) fn read(
        tx: &mut Tx<'_>,
        project: ProjectId,
        project_view: &Project,
        report: ReportId,
        base: Option<ReportId>,
        now: Timestamp,
    ) -> Result<Self> {
        let base_report = base;
        let found = report::summary(tx, project_view, report)?.report;
        let place = report::dimensions(tx, report)?;
        let own = VersionRange { head: place.head, first: place.version, last: place.version };
        let mut head = History::read(tx, &[own], place.testbed, Monitor::MAX_VALUES)?;
        let BaselineReports { history: mut base, mut heads, testbed, excludes_regressions } = match base {
            Some(base) => BaselineReports::until(tx, &place, base)?,
            None => BaselineReports::before(tx, &place)?,
        };
        if base.reports.is_empty() {
            // There are only runs of this version: the report is compared with the earlier ones.
            let place = head.reports.iter().position(|one| one.report == report);
            (base, head) = head.split_at(place.unwrap_or_default());
        }
        heads.dedup();
        let newest_base = match base.reports.last() {
            Some(newest) => Some(report::summary(tx, project_view, newest.report)?.report),
            None => None,
        };
        let reported_spread = match base.reports.len() {
            1..Baseline::SHORT_HISTORY => reported_spread(tx, base.reports.iter().chain(&head.reports))?,
            _ => HashMap::new(),
        };
        let mut changed: HashMap<SeriesKey, Vec<(ReportId, LevelChangeStatus)>> = HashMap::new();
        for one in change::of_heads(tx, &heads, testbed)? {
            if !one.is_withdrawn {
                changed.entry(one.series_key).or_default().push((one.found.at, level_change_status(&one)));
            }
        }
        let ids: Vec<i64> = head.series.keys().map(|series| i64::from(*series)).collect();
        let series_keys = series::series_keys(tx, &ids)?;
        let is_same_testbed = testbed == place.testbed;
        if !is_same_testbed {
            rename_series(tx, &mut base, &series_keys)?;
        }
        let keys = |key: fn(&SeriesKey) -> i64| -> Vec<i64> {
            let mut keys: Vec<i64> = series_keys.values().map(key).collect();
            keys.sort_unstable();
            keys.dedup();
            keys
        };
        let which = change::ChangeFilter { report: Some(report), ..Default::default() };
        let mutes = Mutes::read(tx, project, now)?;
        let (mut changes, _) = change::list(tx, project, &which, ProjChangesSort::Size, &Page::default())?;
        mutes.mark_changes(&mut changes);
        let paired = match (base_report, found.job) {
            (None, Some(_)) => paired::compare_pairs(tx, report, |_| true, |_| CRITERIA)?,
            _ => Vec::new(),
        };
        Ok(Self {
            paired: paired.into_iter().map(|one| one.comparison).collect(),
            benchmarks: Benchmark::by_ids(tx, &keys(|series_key| series_key.benchmark.get()))?,
            variants: variant::by_ids(tx, &keys(|series_key| series_key.variant))?,
            measures: Measure::by_ids(tx, &keys(|series_key| series_key.measure.get()))?,
            versions: version::by_ids(tx, base.reports.iter().map(|report| report.version))?,
            settled: lane::is_analyzed(tx, place.branch, place.testbed)?,
            changes,
            mutes,
            report: found,
            base,
            head,
            series_keys,
            changed,
            newest_base,
            is_same_testbed,
            excludes_regressions,
            reported_spread,
        })
    }

    /// Computes the verdict. The time depends on the number of series.
    pub(crate) fn judge(self) -> Result<Verdict> {
        if !self.paired.is_empty() {
            return Ok(self.paired_verdict());
        }
        let hosts = Hosts::of(&self.base, &self.head);
        let series: Vec<u32> = self.head.series.keys().copied().collect();
        let mut pairs: Vec<Pair> =
            parallel::map(&series, |series| self.pair(*series, &hosts)).into_iter().flatten().collect();
        pairs.sort_by_key(|pair| pair.series_key);
        let (factors, shifts) = self.factors(&pairs);
        let shift = |pair: &Pair| match shifts.get(&pair.series_key.measure) {
            Some(shift) if pair.is_affected_by_machine() => *shift,
            _ => 0.0,
        };
        let peers = peer_noise(&pairs);
        let compare = |pair: &Pair| {
            let (baseline, peers) = (pair.baseline.as_ref()?, peers.get(&pair.series_key.measure)?);
            Some((baseline.compare(CONFIDENCE, shift(pair), peers), self.worse(pair.series_key.measure)))
        };
        let compared: Vec<_> = parallel::map(&pairs, compare).into_iter().flatten().collect();
        let mut judged = compared
            .iter()
            .zip(verdicts(&compared, &CRITERIA))
            .map(|((comparison, _), (outcome, p))| JudgedComparison { comparison, outcome, p });
        let is_same_code = match (self.base.reports.last(), self.head.reports.last()) {
            (Some(base), Some(head)) => self.is_same_testbed && is_same_binary(base, head),
            _ => false,
        };
        let mut comparisons = Vec::with_capacity(pairs.len());
        for pair in &pairs {
            let judged = pair.baseline.as_ref().and_then(|_| judged.next());
            comparisons.push(self.comparison(pair, judged, is_same_code)?);
        }
        comparisons.sort_by(|left, right| sort_key(left).total_cmp(&sort_key(right)));
        let counts = count(&comparisons);
        let cause = match () {
            () if is_same_code => ChangeCause::Noise,
            () if factors.iter().any(|factor| factor.is_host) => ChangeCause::Host,
            () => ChangeCause::Code,
        };
        Ok(Verdict {
            report: self.report.uuid,
            branch: self.report.branch,
            testbed: self.report.testbed,
            baseline: self.newest_base.map(|newest| VerdictBaseline {
                report: newest.uuid,
                branch: newest.branch,
                testbed: newest.testbed,
                reports: number(self.base.reports.len()),
            }),
            answer: counts_answer(&counts),
            pairs: None,
            counts,
            cause,
            factors,
            comparisons,
            settled: self.settled,
            changes: self.changes,
        })
    }

    fn worse(&self, measure: MeasureId) -> Worse {
        self.measures.get(&measure).map_or(Worse::Unknown, |measure| measure.worse())
    }

    fn pair(&self, series: u32, hosts: &Hosts) -> Option<Pair> {
        let series_key = *self.series_keys.get(&series)?;
        let head = self.head.series.get(&series)?;
        let mut pair = Pair {
            series_key,
            new: head.values.clone(),
            baseline: None,
            runs: 0,
            newest_base: None,
            is_exact: false,
        };
        if let Some(base) = self.base.series.get(&series) {
            let (values, new) = hosts.convert_to_newest_host(base, head);
            let changed = self.changed.get(&series_key).map(Vec::as_slice).unwrap_or_default();
            let level_changes: Vec<LevelChange> = (1..base.values.len())
                .filter_map(|at| {
                    let report = &self.base.reports[base.places[at]];
                    let (_, kind) = changed.iter().find(|(changed, _)| *changed == report.report)?;
                    let is_noise = is_same_binary(&self.base.reports[base.places[at - 1]], report);
                    Some(LevelChange {
                        at,
                        status: if is_noise { LevelChangeStatus::Accepted } else { *kind },
                    })
                })
                .collect();
            let BaselineRange { count, changes } = match self.excludes_regressions {
                true => select_baseline(&values, &level_changes, &new),
                // A branch is not responsible for changes on the branch that it starts from or is compared with.
                false => BaselineRange {
                    count: base.values.len(),
                    changes: level_changes
                        .iter()
                        .filter(|change| change.status != LevelChangeStatus::Dismissed)
                        .map(|change| change.at)
                        .collect(),
                },
            };
            let (before, between) = values.split_at(count);
            pair.runs = count - changes.last().copied().unwrap_or(0);
            // The newest run may have the suspected change already, although it alone was not far enough from the others.
            let level = median(&before[changes.last().copied().unwrap_or(0)..]);
            let is_at_level = |value: &f64| {
                let (level, new) = (level.unwrap_or_default(), median(&new).unwrap_or_default());
                (value - level).abs() < (value - new).abs()
            };
            let newest = before.iter().rposition(is_at_level).or(count.checked_sub(1));
            pair.newest_base = newest.map(|run| self.base.reports[base.places[run]].version);
            pair.is_exact = is_exact(before);
            let sampling = Spread::sampling(&base.spread, &head.spread);
            pair.baseline = Baseline::new(before, &changes, &new).map(|baseline| {
                let reported_spread = self.reported_spread.get(&series).copied().unwrap_or(0.0);
                let baseline = baseline.with_persisting_runs(between).with_reported_spread(reported_spread);
                match &sampling {
                    Some(sampling) => baseline.with_sampling(sampling),
                    None => baseline,
                }
            });
        }
        Some(pair)
    }

    /// Returns the common factor by measure, and the shift by measure if the machine caused it.
    fn factors(&self, pairs: &[Pair]) -> (Vec<VerdictFactor>, HashMap<MeasureId, f64>) {
        let mut steps: HashMap<MeasureId, Vec<(f64, f64)>> = HashMap::new();
        for pair in pairs.iter().filter(|pair| pair.is_affected_by_machine()) {
            let step = pair.baseline.as_ref().and_then(|baseline| Some((baseline.step()?, baseline.noise())));
            if let Some(step) = step {
                steps.entry(pair.series_key.measure).or_default().push(step);
            }
        }
        let (mut factors, mut shifts) = (Vec::new(), HashMap::new());
        for (id, steps) in steps {
            let (Some(common), Some(measure)) = (CommonFactor::of(&steps), self.measures.get(&id)) else {
                continue;
            };
            let is_host = common.is_machine_effect();
            if is_host {
                shifts.insert(id, common.step);
            }
            factors.push(VerdictFactor {
                measure: (**measure).clone(),
                change: common.step.exp_m1(),
                lower: common.interval.0.exp_m1(),
                upper: common.interval.1.exp_m1(),
                benchmarks: number(common.count),
                together: common.together,
                is_host,
            });
        }
        factors.sort_by(|left, right| left.measure.slug.cmp(&right.measure.slug));
        (factors, shifts)
    }

    fn comparison(
        &self,
        pair: &Pair,
        judged: Option<JudgedComparison<'_>>,
        is_same_code: bool,
    ) -> Result<VerdictComparison> {
        let SeriesKey { benchmark, variant, measure } = pair.series_key;
        let (Some(benchmark), Some(measure)) = (self.benchmarks.get(&benchmark), self.measures.get(&measure))
        else {
            return Err(Error::not_found("benchmark"));
        };
        let (comparison, outcome, p) = match judged {
            Some(JudgedComparison { comparison, outcome, p }) => (Some(comparison), outcome, p),
            None => (None, Outcome::Inconclusive, None),
        };
        let (answer, direction) = match outcome {
            Outcome::Regression | Outcome::Improvement | Outcome::Difference if is_same_code => {
                (VerdictAnswer::Unchanged, ChangeDirection::Unknown)
            }
            outcome => answer(outcome),
        };
        let interval = comparison.and_then(|comparison| comparison.interval);
        Ok(VerdictComparison {
            benchmark: (**benchmark).clone(),
            variant: self.variants.get(&variant.into()).map(|variant| (**variant).clone()),
            measure: (**measure).clone(),
            answer,
            direction,
            muted: self.mutes.of_series(
                self.report.branch.name.as_str(),
                self.report.testbed.name.as_str(),
                benchmark.name.as_str(),
            ),
            base: comparison.map(|comparison| comparison.base),
            base_runs: number(pair.runs),
            base_version: pair.newest_base.and_then(|version| self.versions.get(&version).cloned()),
            head: median(&pair.new).unwrap_or_default(),
            head_runs: number(pair.new.len()),
            change: comparison.and_then(|comparison| comparison.change),
            lower: interval.map(|interval| interval.0),
            upper: interval.map(|interval| interval.1),
            noise: pair.noise(),
            detectable: comparison.and_then(|comparison| comparison.detectable),
            p,
        })
    }
}

/// Gives the series of another testbed the keys of the series of the same benchmark, variant and measure.
fn rename_series(tx: &mut Tx<'_>, history: &mut History, wanted: &HashMap<u32, SeriesKey>) -> Result<()> {
    let ids: Vec<i64> = history.series.keys().map(|series| i64::from(*series)).collect();
    let keys = series::series_keys(tx, &ids)?;
    let wanted: HashMap<SeriesKey, u32> = wanted.iter().map(|(id, key)| (*key, *id)).collect();
    let series = std::mem::take(&mut history.series).into_iter();
    history.series = series.filter_map(|(id, values)| Some((*wanted.get(keys.get(&id)?)?, values))).collect();
    Ok(())
}

/// A comparison, its verdict and its p-value.
#[derive(Clone, Copy)]
struct JudgedComparison<'a> {
    comparison: &'a Comparison,
    outcome: Outcome,
    p: Option<f64>,
}

/// The hosts of the reports of a baseline, and of the reports that are compared with it.
struct Hosts {
    base: Vec<Option<u16>>,
    head: Vec<Option<u16>>,
    /// Whether there are several hosts.
    has_several_hosts: bool,
}

impl Hosts {
    fn of(base: &History, head: &History) -> Self {
        let mut all = hosts(base.reports.iter().chain(&head.reports));
        let has_several_hosts = all.iter().any(|host| *host != all[0]);
        let head = all.split_off(base.reports.len());
        Self { base: all, head, has_several_hosts }
    }

    /// Converts the values of a series in both to the speed of the host of the newest report, so that a run on a slow host is
    /// compared with the values that earlier runs would have had on that host.
    fn convert_to_newest_host<'a>(
        &self,
        base: &'a Values,
        head: &'a Values,
    ) -> (Cow<'a, [f64]>, Cow<'a, [f64]>) {
        if !self.has_several_hosts {
            return (Cow::Borrowed(&base.values), Cow::Borrowed(&head.values));
        }
        let base_hosts: Vec<Option<u16>> = base.places.iter().map(|place| self.base[*place]).collect();
        let head_hosts: Vec<Option<u16>> = head.places.iter().map(|place| self.head[*place]).collect();
        let speeds = HostSpeeds::of(&base.values, &base_hosts);
        let newest = head_hosts.last().copied().flatten();
        let convert = |values: &[f64], hosts: &[Option<u16>]| -> Vec<f64> {
            values.iter().zip(hosts).map(|(value, host)| speeds.convert(*value, *host, newest)).collect()
        };
        (convert(&base.values, &base_hosts).into(), convert(&head.values, &head_hosts).into())
    }
}

/// A series of a report and its baseline.
struct Pair {
    series_key: SeriesKey,
    new: Vec<f64>,
    baseline: Option<Baseline>,
    /// Number of runs of the baseline since its last change of level.
    runs: usize,
    /// Version of the newest run at the level of the baseline.
    newest_base: Option<VersionId>,
    /// Whether the values are counts rather than times.
    is_exact: bool,
}

impl Pair {
    /// Whether the machine affects the values.
    fn is_affected_by_machine(&self) -> bool {
        !self.is_exact && self.baseline.as_ref().is_some_and(|baseline| baseline.step().is_some())
    }

    /// Returns the standard deviation of a run, as a share of the level.
    fn noise(&self) -> Option<f64> {
        let baseline = self.baseline.as_ref()?;
        baseline.step().map(|_| baseline.noise().exp_m1())
    }
}

/// Returns the status of a change for the selection of the baseline. A change with the cause `host` is open, too, so that all
/// series of a run are compared with the same runs and their common factor can be estimated.
fn level_change_status(change: &change::StoredChange) -> LevelChangeStatus {
    match change.status {
        EventStatus::FalseAlarm | EventStatus::Dismissed => LevelChangeStatus::Dismissed,
        EventStatus::Open | EventStatus::Recovered if change.found.worse == 1 => LevelChangeStatus::Open,
        _ => LevelChangeStatus::Accepted,
    }
}

/// Whether two reports measured the same binary, so that they differ only by noise. The commit is not sufficient, because the
/// measured code may not have been committed.
fn is_same_binary(one: &MeasuredReport, other: &MeasuredReport) -> bool {
    one.binary_hash.is_some() && one.binary_hash == other.binary_hash
}

/// Returns the spread of a single run by series, as its tool reports it: half the distance from the lower to the upper value, as
/// a share of the value. Tools report a standard deviation, a confidence interval or the range of all samples.
fn reported_spread<'a>(
    tx: &mut Tx<'_>,
    reports: impl Iterator<Item = &'a MeasuredReport>,
) -> Result<HashMap<u32, f64>> {
    let reports: Vec<i64> = reports.map(|report| report.report.get()).collect();
    let mut spreads: HashMap<u32, Vec<f64>> = HashMap::new();
    metric::of_reports(tx, &reports, |_, _, metric| {
        if let (Some(lower), Some(upper)) = (metric.lower_value, metric.upper_value) {
            let spread = ((upper - lower) / 2.0 / metric.value).abs();
            spreads.entry(metric.series).or_default().extend(spread.is_finite().then_some(spread));
        }
        Ok(())
    })?;
    Ok(spreads.into_iter().filter_map(|(series, spreads)| Some((series, median(&spreads)?))).collect())
}

/// Returns the noise of each measure, estimated from the histories of all its series.
fn peer_noise(pairs: &[Pair]) -> HashMap<MeasureId, PeerNoise> {
    let mut baselines: HashMap<MeasureId, Vec<&Baseline>> = HashMap::new();
    for pair in pairs {
        baselines.entry(pair.series_key.measure).or_default().extend(&pair.baseline);
    }
    let count = baselines.values().map(Vec::len).sum();
    baselines.into_iter().map(|(measure, baselines)| (measure, PeerNoise::of(baselines, count))).collect()
}
