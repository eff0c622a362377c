//! Metrics over time: the series of a query and their points, one series after the other, so that the whole response is never in
//! memory.

mod lane;
mod query;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use tidemark_api::{
    Benchmark, Branch, Iteration, MAX_PERMUTATIONS, MAX_SERIES, Measure, Metric, MetricAlert, PerfMetric,
    PerfMetrics, Shared, Testbed, ThresholdModel,
};
use tidemark_store::{
    BranchId, Dimension, HeadId, ModelId, ProjectId, ReportId, SpecId, TestbedId, Tx, alert, branch, head,
    metric::{self, PackedMetric},
    perf::PerfReport,
    series, spec, threshold, variant,
};
use uuid::Uuid;

use self::lane::{Lane, LaneKey, Lanes};
pub use self::query::Query;
pub(crate) use self::query::list;
use crate::domain::error::Result;

/// Maximum number of points per read.
const MAX_POINTS_PER_READ: u64 = 65_536;
/// Number of the newest reports of a lane in which missing series are searched first.
const NEWEST_REPORTS: usize = 8;

/// The series of a query in its order, read one after the other.
pub struct PerfResult {
    truncated: Option<usize>,
    rest: VecDeque<RequestedSeries>,
    lanes: Lanes,
    batch: VecDeque<(RequestedSeries, Lane)>,
    points: Points,
    thresholds: HashMap<ModelId, Shared<ThresholdModel>>,
}

/// One requested series.
struct RequestedSeries {
    lane: LaneKey,
    series: u32,
    /// The key of the variant, or 0.
    variant: i64,
    metrics: PerfMetrics,
}

/// A branch with the requested head.
type BranchHead = (HeadId, Arc<Branch>);
/// A testbed with the requested spec.
type TestbedSpec = (TestbedId, Option<SpecId>, Arc<Testbed>);

/// Finds the series of a query. It does not read their metrics.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, query: &Query) -> Result<PerfResult> {
    let branches = branches(tx, project, query)?;
    let testbeds = testbeds(tx, project, query)?;
    let (rest, series) = requested_series(tx, project, query, &branches, &testbeds)?;
    let heads: Vec<i64> = branches.iter().flatten().map(|(head, _)| head.get()).collect();
    let testbeds: Vec<i64> = testbeds.iter().flatten().map(|(id, ..)| id.get()).collect();
    let lanes = Lanes::read(tx, &heads, &testbeds, query.start_time, query.end_time)?;
    let truncated = if query.requested_count > MAX_PERMUTATIONS {
        Some(query.requested_count)
    } else {
        (series > MAX_SERIES).then_some(series)
    };
    Ok(PerfResult {
        truncated,
        rest: rest.into(),
        lanes,
        batch: VecDeque::new(),
        points: Points::default(),
        thresholds: HashMap::new(),
    })
}

impl PerfResult {
    /// Returns the requested number if it exceeds the limit: of permutations, or of series if only the variants exceed the limit.
    pub fn truncated(&self) -> Option<usize> {
        self.truncated
    }

    /// Reads the next series that has metrics.
    pub fn next(&mut self, tx: &mut Tx<'_>) -> Result<Option<PerfMetrics>> {
        self.next_of(tx, usize::MAX)
    }

    /// Reads the next series that has metrics, for a caller that reads at most `most` series.
    pub fn next_of(&mut self, tx: &mut Tx<'_>, most: usize) -> Result<Option<PerfMetrics>> {
        loop {
            if self.batch.is_empty() {
                self.fill_batch(most);
                if self.batch.is_empty() {
                    return Ok(None);
                }
                self.points = Points::read(tx, self.batch.make_contiguous(), &mut self.thresholds)?;
            }
            while let Some((one, lane)) = self.batch.pop_front() {
                let metrics = self.points.of(one.series, &lane, &self.thresholds);
                if !metrics.is_empty() {
                    return Ok(Some(PerfMetrics { metrics, ..one.metrics }));
                }
            }
        }
    }

    /// Counts the series with metrics that have not been read yet. The newest reports of a lane usually have all series; older
    /// reports are searched only for the missing ones.
    pub fn count_rest(mut self, tx: &mut Tx<'_>) -> Result<usize> {
        self.rest.extend(std::mem::take(&mut self.batch).into_iter().map(|(one, _)| one));
        let same = self.rest.make_contiguous().chunk_by(|left, right| left.lane == right.lane);
        let lanes: Vec<Lane> = same.clone().map(|same| self.lanes.get(same[0].lane)).collect();
        let mut missing: Vec<HashSet<u32>> =
            same.map(|same| same.iter().map(|one| one.series).collect()).collect();
        search(tx, &lanes, &mut missing, |lane| &lane[lane.len().saturating_sub(NEWEST_REPORTS)..])?;
        search(tx, &lanes, &mut missing, |lane| &lane[..lane.len().saturating_sub(NEWEST_REPORTS)])?;
        let same = self.rest.make_contiguous().chunk_by(|left, right| left.lane == right.lane);
        let found = same
            .zip(&missing)
            .map(|(same, missing)| same.iter().filter(|one| !missing.contains(&one.series)).count());
        Ok(found.sum())
    }

    /// Moves the series of the next read into the batch.
    fn fill_batch(&mut self, most: usize) {
        let mut size = 0;
        while let Some(next) = self.rest.front() {
            let lane = self.lanes.get(next.lane);
            let points: u64 = lane.iter().map(|report| report.iterations).sum();
            if size > 0 && (size + points > MAX_POINTS_PER_READ || self.batch.len() >= most) {
                break;
            }
            size += points;
            self.batch.extend(self.rest.pop_front().map(|next| (next, lane)));
        }
    }
}

/// Searches a part of each lane for its missing series.
fn search(
    tx: &mut Tx<'_>,
    lanes: &[Lane],
    missing: &mut [HashSet<u32>],
    part: fn(&Lane) -> &[Arc<PerfReport>],
) -> Result<()> {
    let mut reports: HashMap<ReportId, Vec<usize>> = HashMap::new();
    for (number, lane) in lanes.iter().enumerate().filter(|(number, _)| !missing[*number].is_empty()) {
        for report in part(lane) {
            reports.entry(report.id).or_default().push(number);
        }
    }
    let ids: Vec<i64> = reports.keys().map(|report| report.get()).collect();
    let series: HashSet<u32> = missing.iter().flatten().copied().collect();
    metric::of_series(tx, &ids, &series.into_iter().collect::<Vec<_>>(), |report, _, metric| {
        for number in reports.get(&report).into_iter().flatten() {
            missing[*number].remove(&metric.series);
        }
        Ok(())
    })?;
    Ok(())
}

fn branches(tx: &mut Tx<'_>, project: ProjectId, query: &Query) -> Result<Vec<Option<BranchHead>>> {
    let uuids = distinct(query.branches.iter().map(|(branch, _)| *branch));
    let known: HashMap<Uuid, (BranchId, HeadId, Branch)> = branch::with_heads(tx, project, &uuids)?;
    let heads = distinct(query.branches.iter().filter_map(|(_, head)| *head));
    let heads = head::by_uuids(tx, &heads)?;
    let resolve = |(branch, head): &(Uuid, Option<Uuid>)| {
        let (id, current, branch) = known.get(branch)?;
        let mut branch = branch.clone();
        let Some(head) = head else { return Some((*current, Arc::new(branch))) };
        let (head, _, shown) = heads.get(head).filter(|(_, owner, _)| owner == id)?;
        branch.head = shown.clone();
        Some((*head, Arc::new(branch)))
    };
    Ok(query.branches.iter().map(resolve).collect())
}

fn testbeds(tx: &mut Tx<'_>, project: ProjectId, query: &Query) -> Result<Vec<Option<TestbedSpec>>> {
    let uuids = distinct(query.testbeds.iter().map(|(testbed, _)| *testbed));
    let known = Testbed::by_uuids::<Testbed>(tx, project, &uuids)?;
    let specs = distinct(query.testbeds.iter().filter_map(|(_, spec)| *spec));
    let specs = spec::by_uuids(tx, &specs)?;
    let resolve = |(testbed, spec): &(Uuid, Option<Uuid>)| {
        let (id, testbed) = known.get(testbed)?;
        let mut testbed = Testbed { spec: None, ..testbed.clone() };
        let Some(spec) = spec else { return Some((*id, None, Arc::new(testbed))) };
        let (spec, shown) = specs.get(spec)?;
        testbed.spec = Some(shown.clone());
        Some((*id, Some(*spec), Arc::new(testbed)))
    };
    Ok(query.testbeds.iter().map(resolve).collect())
}

/// Returns the series of the permutations in the order of the query, and their total number. A benchmark with variants has
/// several series.
fn requested_series(
    tx: &mut Tx<'_>,
    project: ProjectId,
    query: &Query,
    branches: &[Option<BranchHead>],
    testbeds: &[Option<TestbedSpec>],
) -> Result<(Vec<RequestedSeries>, usize)> {
    let benchmarks = Benchmark::by_uuids(tx, project, &distinct(query.benchmarks.iter().copied()))?;
    let measures = Measure::by_uuids(tx, project, &distinct(query.measures.iter().copied()))?;
    let testbed_ids: Vec<i64> = testbeds.iter().flatten().map(|(id, ..)| id.get()).collect();
    let benchmark_ids: Vec<i64> = benchmarks.values().map(|(id, _)| id.get()).collect();
    let measure_ids: Vec<i64> = measures.values().map(|(id, _)| id.get()).collect();
    let mut known: HashMap<_, Vec<(i64, u32)>> = HashMap::new();
    for (testbed, series_key, series) in series::find(tx, &testbed_ids, &benchmark_ids, &measure_ids)? {
        known
            .entry((testbed, series_key.benchmark, series_key.measure))
            .or_default()
            .push((series_key.variant, series));
    }

    let mut requested = Vec::new();
    let mut count = 0;
    for [branch, testbed, benchmark, measure] in query.permutations() {
        let (Some((head, branch)), Some((testbed_id, spec, testbed))) =
            (&branches[branch], &testbeds[testbed])
        else {
            continue;
        };
        let benchmark = benchmarks.get(&query.benchmarks[benchmark]);
        let measure = measures.get(&query.measures[measure]);
        let (Some((benchmark_id, benchmark)), Some((measure_id, measure))) = (benchmark, measure) else {
            continue;
        };
        let Some(variants) = known.get(&(*testbed_id, *benchmark_id, *measure_id)) else { continue };
        count += variants.len();
        for (variant, series) in variants.iter().take(MAX_SERIES.saturating_sub(requested.len())) {
            requested.push(RequestedSeries {
                lane: LaneKey { head: *head, testbed: *testbed_id, spec: *spec },
                series: *series,
                variant: *variant,
                metrics: PerfMetrics {
                    branch: Arc::clone(branch),
                    testbed: Arc::clone(testbed),
                    benchmark: Arc::clone(benchmark),
                    variant: None,
                    measure: Arc::clone(measure),
                    metrics: Vec::new(),
                },
            });
        }
    }

    let with_parameters: HashSet<i64> =
        requested.iter().map(|one| one.variant).filter(|variant| *variant > 0).collect();
    let variants = variant::by_ids(tx, &with_parameters.into_iter().collect::<Vec<_>>())?;
    for one in &mut requested {
        one.metrics.variant = variants.get(&one.variant.into()).map(Arc::clone);
    }
    Ok((requested, count))
}

/// Returns the distinct UUIDs, because a list may contain duplicates.
fn distinct(uuids: impl Iterator<Item = Uuid>) -> Vec<Uuid> {
    uuids.collect::<HashSet<_>>().into_iter().collect()
}

/// The metrics of the series in a batch.
#[derive(Default)]
struct Points {
    /// By series, ordered by the key of the report.
    metrics: HashMap<u32, Vec<(ReportId, u32, PackedMetric)>>,
    alerts: HashMap<(ReportId, u32), MetricAlert>,
}

impl Points {
    fn read(
        tx: &mut Tx<'_>,
        batch: &[(RequestedSeries, Lane)],
        thresholds: &mut HashMap<ModelId, Shared<ThresholdModel>>,
    ) -> Result<Self> {
        let mut metrics: HashMap<u32, Vec<(ReportId, u32, PackedMetric)>> = batch
            .iter()
            .map(|(requested, lane)| (requested.series, Vec::with_capacity(lane.len())))
            .collect();
        let series: Vec<u32> = metrics.keys().copied().collect();
        let reports: HashSet<i64> =
            batch.iter().flat_map(|(_, lane)| &**lane).map(|report| report.id.get()).collect();
        let mut reports: Vec<i64> = reports.into_iter().collect();
        reports.sort_unstable();
        let mut models: HashSet<ModelId> = HashSet::new();
        metric::of_series(tx, &reports, &series, |report, place, metric| {
            if let Some(found) = metrics.get_mut(&metric.series) {
                models.extend(metric.judged.map(|judged| judged.model));
                found.push((report, place, metric));
            }
            Ok(())
        })?;
        for found in metrics.values_mut() {
            found.sort_by_key(|(report, ..)| *report);
        }
        let unknown: Vec<i64> =
            models.iter().filter(|model| !thresholds.contains_key(model)).map(|model| model.get()).collect();
        thresholds.extend(threshold::by_models(tx, &unknown)?);
        let alerts = if models.is_empty() { Vec::new() } else { alert::of_metrics(tx, &reports)? };
        Ok(Self { metrics, alerts: alerts.into_iter().collect() })
    }

    /// Returns the points of a series in a lane.
    fn of(
        &self,
        series: u32,
        lane: &[Arc<PerfReport>],
        thresholds: &HashMap<ModelId, Shared<ThresholdModel>>,
    ) -> Vec<PerfMetric> {
        let Some(found) = self.metrics.get(&series) else { return Vec::new() };
        let mut points = Vec::with_capacity(found.len().min(lane.len()));
        for report in lane {
            let first = found.partition_point(|(other, ..)| *other < report.id);
            let of_report = found[first..].iter().take_while(|(other, ..)| *other == report.id);
            for (_, place, metric) in of_report {
                points.push(PerfMetric {
                    report: report.uuid,
                    iteration: Iteration::new(metric.iteration),
                    start_time: report.start_time,
                    end_time: report.end_time,
                    version: Arc::clone(&report.version),
                    metric: Metric {
                        uuid: metric::uuid(report.uuid, *place),
                        value: metric.value,
                        lower_value: metric.lower_value,
                        upper_value: metric.upper_value,
                    },
                    threshold: metric.judged.and_then(|judged| thresholds.get(&judged.model)).cloned(),
                    boundary: metric.judged.map(|judged| judged.boundary()),
                    alert: self.alerts.get(&(report.id, *place)).copied(),
                });
            }
        }
        points
    }
}
