//! Metrics over time: which series a query asks for, and their points, one series after the other, so that an answer
//! never has to be held as a whole.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tidemark_api::{
    Branch, Iteration, MAX_PERMUTATIONS, Metric, MetricAlert, PerfMetric, PerfMetrics, PerfQuery, Testbed,
    ThresholdModel, Timestamp,
};
use tidemark_store::{
    BranchId, HeadId, ModelId, ProjectId, ReportId, SpecId, TestbedId, Tx, alert, benchmark, branch, head,
    measure,
    metric::{self, Packed},
    report::{self, Placed},
    series, spec, testbed, threshold, variant,
    version::{self, Stretch},
};
use uuid::Uuid;

use crate::http::error::{Error, Result};

/// How many points are read in one go.
const BATCH: usize = 65_536;

/// What a query asks for, read and counted.
#[derive(Clone, Debug)]
pub struct Query {
    branches: Vec<(Uuid, Option<Uuid>)>,
    testbeds: Vec<(Uuid, Option<Uuid>)>,
    benchmarks: Vec<Uuid>,
    measures: Vec<Uuid>,
    /// Only runs that began at this time or later.
    pub start_time: Option<Timestamp>,
    /// Only runs that ended at this time or earlier.
    pub end_time: Option<Timestamp>,
}

impl Query {
    /// Reads the lists of a query.
    pub fn read(query: &PerfQuery) -> Result<Self> {
        Ok(Self {
            branches: paired(list("branches", &query.branches)?, "heads", query.heads.as_deref())?,
            testbeds: paired(list("testbeds", &query.testbeds)?, "specs", query.specs.as_deref())?,
            benchmarks: list("benchmarks", &query.benchmarks)?,
            measures: list("measures", &query.measures)?,
            start_time: query.start_time.map(Into::into),
            end_time: query.end_time.map(Into::into),
        })
    }

    /// How the current heads and any specs of these dimensions are asked for, as a pinned plot does.
    pub fn of(
        branches: Vec<Uuid>,
        testbeds: Vec<Uuid>,
        benchmarks: Vec<Uuid>,
        measures: Vec<Uuid>,
        start_time: Timestamp,
    ) -> Self {
        let alone = |uuids: Vec<Uuid>| uuids.into_iter().map(|uuid| (uuid, None)).collect();
        Self {
            branches: alone(branches),
            testbeds: alone(testbeds),
            benchmarks,
            measures,
            start_time: Some(start_time),
            end_time: None,
        }
    }

    /// How many permutations were asked for, if they are more than are answered.
    pub fn truncated(&self) -> Option<usize> {
        let sizes = [self.branches.len(), self.testbeds.len(), self.benchmarks.len(), self.measures.len()];
        let asked = sizes.into_iter().fold(1_usize, usize::saturating_mul);
        (asked > MAX_PERMUTATIONS).then_some(asked)
    }

    /// The permutations that are answered, as places in the lists.
    fn permutations(&self) -> impl Iterator<Item = [usize; 4]> {
        let (branches, testbeds) = (self.branches.len(), self.testbeds.len());
        let (benchmarks, measures) = (self.benchmarks.len(), self.measures.len());
        let all = (0..branches).flat_map(move |branch| {
            (0..testbeds).flat_map(move |testbed| {
                (0..benchmarks).flat_map(move |benchmark| {
                    (0..measures).map(move |measure| [branch, testbed, benchmark, measure])
                })
            })
        });
        all.take(MAX_PERMUTATIONS)
    }
}

/// Reads a list of UUIDs that stands in the query under this name.
pub(crate) fn list(name: &str, text: &str) -> Result<Vec<Uuid>> {
    text.split(',').map(|item| uuid(name, item)).collect()
}

fn uuid(name: &str, text: &str) -> Result<Uuid> {
    Uuid::parse_str(text.trim()).map_err(|_| {
        Error::Invalid(format!("`{name}` in the query must be a list of UUIDs, separated by commas."))
    })
}

/// Pairs each UUID with what stands in the same place of another list, if anything does.
fn paired(uuids: Vec<Uuid>, name: &str, others: Option<&str>) -> Result<Vec<(Uuid, Option<Uuid>)>> {
    let mut others = others.filter(|text| !text.is_empty()).into_iter().flat_map(|text| text.split(','));
    uuids
        .into_iter()
        .map(|first| match others.next().map(str::trim) {
            None | Some("") => Ok((first, None)),
            Some(second) => Ok((first, Some(uuid(name, second)?))),
        })
        .collect()
}

/// One series that was asked for.
struct Wanted {
    branch: usize,
    testbed: usize,
    series: u32,
    metrics: PerfMetrics,
}

/// A branch with the head that was asked for.
type Headed = (HeadId, Arc<Branch>);
/// A testbed with the spec that was asked for.
type Specced = (TestbedId, Option<SpecId>, Arc<Testbed>);

/// Finds what a query asks for and hands the metrics of each permutation that has some to `each`, in the order of the
/// query, until that says no.
pub fn run(
    tx: &mut Tx<'_>,
    project: ProjectId,
    query: &Query,
    mut each: impl FnMut(PerfMetrics) -> Result<bool>,
) -> Result<()> {
    let branches = branches(tx, project, query)?;
    let testbeds = testbeds(tx, project, query)?;
    let wanted = wanted(tx, project, query, &branches, &testbeds)?;
    let lanes = lanes(tx, query, &branches, &testbeds)?;
    let points = |wanted: &Wanted| lanes.get(&(wanted.branch, wanted.testbed)).map_or(0, Vec::len);

    let mut judges: HashMap<ModelId, Arc<ThresholdModel>> = HashMap::new();
    let mut rest = wanted.into_iter().peekable();
    while rest.peek().is_some() {
        let mut batch = Vec::new();
        let mut size = 0;
        while let Some(next) = rest.next_if(|next| size == 0 || size + points(next) <= BATCH) {
            size += points(&next);
            batch.push(next);
        }
        let mut found = Found::read(tx, &batch, &lanes, &mut judges)?;
        for one in batch {
            let Some(lane) = lanes.get(&(one.branch, one.testbed)) else { continue };
            let metrics = found.metrics(one.series, lane, &judges)?;
            if !metrics.is_empty() && !each(PerfMetrics { metrics, ..one.metrics })? {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn branches(tx: &mut Tx<'_>, project: ProjectId, query: &Query) -> Result<Vec<Option<Headed>>> {
    let uuids: Vec<Uuid> = query.branches.iter().map(|(branch, _)| *branch).collect();
    let known: HashMap<Uuid, (BranchId, HeadId, Branch)> = branch::by_uuids(tx, project, &uuids)?;
    let heads: Vec<Uuid> = query.branches.iter().filter_map(|(_, head)| *head).collect();
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

fn testbeds(tx: &mut Tx<'_>, project: ProjectId, query: &Query) -> Result<Vec<Option<Specced>>> {
    let uuids: Vec<Uuid> = query.testbeds.iter().map(|(testbed, _)| *testbed).collect();
    let known = testbed::by_uuids(tx, project, &uuids)?;
    let specs: Vec<Uuid> = query.testbeds.iter().filter_map(|(_, spec)| *spec).collect();
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

/// The series behind the permutations, in the order of the query; a benchmark with variants has several.
fn wanted(
    tx: &mut Tx<'_>,
    project: ProjectId,
    query: &Query,
    branches: &[Option<Headed>],
    testbeds: &[Option<Specced>],
) -> Result<Vec<Wanted>> {
    let benchmarks = benchmark::by_uuids(tx, project, &query.benchmarks)?;
    let measures = measure::by_uuids(tx, project, &query.measures)?;
    let testbed_ids: Vec<i64> = testbeds.iter().flatten().map(|(id, ..)| id.get()).collect();
    let benchmark_ids: Vec<i64> = benchmarks.values().map(|(id, _)| id.get()).collect();
    let measure_ids: Vec<i64> = measures.values().map(|(id, _)| id.get()).collect();
    let mut known: HashMap<_, Vec<(i64, u32)>> = HashMap::new();
    for (testbed, subject, series) in series::find(tx, &testbed_ids, &benchmark_ids, &measure_ids)? {
        known
            .entry((testbed, subject.benchmark, subject.measure))
            .or_default()
            .push((subject.variant, series));
    }
    let with_parameters: HashSet<i64> =
        known.values().flatten().map(|(variant, _)| *variant).filter(|variant| *variant > 0).collect();
    let variants = variant::by_ids(tx, &with_parameters.into_iter().collect::<Vec<_>>())?;

    let mut wanted = Vec::new();
    for [branch_at, testbed_at, benchmark, measure] in query.permutations() {
        let (Some((_, branch)), Some((testbed_id, _, testbed))) =
            (&branches[branch_at], &testbeds[testbed_at])
        else {
            continue;
        };
        let benchmark = benchmarks.get(&query.benchmarks[benchmark]);
        let measure = measures.get(&query.measures[measure]);
        let (Some((benchmark_id, benchmark)), Some((measure_id, measure))) = (benchmark, measure) else {
            continue;
        };
        for (variant, series) in known.get(&(*testbed_id, *benchmark_id, *measure_id)).into_iter().flatten() {
            wanted.push(Wanted {
                branch: branch_at,
                testbed: testbed_at,
                series: *series,
                metrics: PerfMetrics {
                    branch: Arc::clone(branch),
                    testbed: Arc::clone(testbed),
                    benchmark: Arc::clone(benchmark),
                    variant: variants.get(&(*variant).into()).map(Arc::clone),
                    measure: Arc::clone(measure),
                    metrics: Vec::new(),
                },
            });
        }
    }
    Ok(wanted)
}

/// The reports of each branch and testbed, by their places in the query, from the oldest version to the newest.
type Lanes = HashMap<(usize, usize), Vec<Arc<Placed>>>;

fn lanes(
    tx: &mut Tx<'_>,
    query: &Query,
    branches: &[Option<Headed>],
    testbeds: &[Option<Specced>],
) -> Result<Lanes> {
    let heads: Vec<i64> = branches.iter().flatten().map(|(head, _)| head.get()).collect();
    let histories = version::histories(tx, &heads)?;
    let sources: HashSet<i64> = histories.values().flatten().map(|stretch| stretch.head.get()).collect();
    let testbed_ids: Vec<i64> = testbeds.iter().flatten().map(|(id, ..)| id.get()).collect();
    let sources: Vec<i64> = sources.into_iter().collect();
    let reports: Vec<Arc<Placed>> =
        report::placed(tx, &sources, &testbed_ids, query.start_time, query.end_time)?
            .into_iter()
            .map(Arc::new)
            .collect();
    let mut lanes = Lanes::new();
    for (branch_at, branch) in branches.iter().enumerate() {
        let Some(history) = branch.as_ref().and_then(|(head, _)| histories.get(head)) else { continue };
        let stretches: HashMap<HeadId, &Stretch> =
            history.iter().map(|stretch| (stretch.head, stretch)).collect();
        let is_seen = |report: &Placed| {
            stretches
                .get(&report.head)
                .is_some_and(|stretch| (stretch.first..=stretch.last).contains(&report.version_id))
        };
        let seen: Vec<&Arc<Placed>> = reports.iter().filter(|report| is_seen(report)).collect();
        for (testbed_at, testbed) in testbeds.iter().enumerate() {
            let Some((id, spec, _)) = testbed else { continue };
            let lane = seen
                .iter()
                .filter(|report| report.testbed == *id && (spec.is_none() || report.spec == *spec));
            lanes.insert((branch_at, testbed_at), lane.map(|report| Arc::clone(report)).collect());
        }
    }
    Ok(lanes)
}

/// The metrics of some series, as they were read.
struct Found {
    metrics: HashMap<u32, HashMap<ReportId, Vec<(u32, Packed)>>>,
    alerts: HashMap<(ReportId, u32), MetricAlert>,
}

impl Found {
    fn read(
        tx: &mut Tx<'_>,
        batch: &[Wanted],
        lanes: &Lanes,
        judges: &mut HashMap<ModelId, Arc<ThresholdModel>>,
    ) -> Result<Self> {
        let mut metrics: HashMap<u32, HashMap<ReportId, Vec<(u32, Packed)>>> =
            batch.iter().map(|wanted| (wanted.series, HashMap::new())).collect();
        let series: Vec<u32> = metrics.keys().copied().collect();
        let reports: HashSet<i64> = batch
            .iter()
            .filter_map(|wanted| lanes.get(&(wanted.branch, wanted.testbed)))
            .flatten()
            .map(|report| report.id.get())
            .collect();
        let mut reports: Vec<i64> = reports.into_iter().collect();
        reports.sort_unstable();
        let mut models: HashSet<ModelId> = HashSet::new();
        metric::of_series(tx, &reports, &series, |report, place, metric| {
            if let Some(found) = metrics.get_mut(&metric.series) {
                models.extend(metric.judged.map(|judged| judged.model));
                found.entry(report).or_default().push((place, metric));
            }
            Ok(())
        })?;
        let unknown: Vec<i64> =
            models.iter().filter(|model| !judges.contains_key(model)).map(|model| model.get()).collect();
        judges.extend(threshold::by_models(tx, &unknown)?);
        let alerts = if models.is_empty() { Vec::new() } else { alert::of_metrics(tx, &reports)? };
        Ok(Self { metrics, alerts: alerts.into_iter().collect() })
    }

    /// The points of one series on one lane.
    fn metrics(
        &mut self,
        series: u32,
        lane: &[Arc<Placed>],
        judges: &HashMap<ModelId, Arc<ThresholdModel>>,
    ) -> Result<Vec<PerfMetric>> {
        let Some(found) = self.metrics.get(&series) else { return Ok(Vec::new()) };
        let mut points = Vec::with_capacity(lane.len());
        for report in lane {
            for (place, metric) in found.get(&report.id).into_iter().flatten() {
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
                    threshold: metric.judged.and_then(|judged| judges.get(&judged.model)).map(Arc::clone),
                    boundary: metric.judged.map(|judged| judged.boundary()),
                    alert: self.alerts.get(&(report.id, *place)).copied(),
                });
            }
        }
        Ok(points)
    }
}
