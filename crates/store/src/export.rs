//! What an export is made of: every metric of a project once, batch by batch, so that no project is too long for it.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{
    AlertStatus, Benchmark, BranchName, Measure, Metric, MetricBoundary, ReportUuid, ResourceName, Shared,
    Timestamp, Variant, Version,
};
use uuid::Uuid;

use crate::{
    BenchmarkId, Error, MeasureId, ProjectId, ReportId, Result, Tx, VariantId, alert, benchmark, measure,
    metric::{self, Packed},
    series::{self, Subject},
    value::distinct,
    variant,
};

/// How many reports a batch has at most.
const REPORTS: i64 = 1_024;
/// How many metrics a batch has at most, unless a single report has more.
const METRICS: i64 = 65_536;

/// Which metrics to export; what is not given is not asked.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Those of these branches.
    pub branches: Option<Vec<Uuid>>,
    /// Those of these testbeds.
    pub testbeds: Option<Vec<Uuid>>,
    /// Those of these benchmarks.
    pub benchmarks: Option<Vec<Uuid>>,
    /// Those of these measures.
    pub measures: Option<Vec<Uuid>>,
    /// Those whose run began at this time or later.
    pub start_time: Option<Timestamp>,
    /// Those whose run ended at this time or earlier.
    pub end_time: Option<Timestamp>,
}

/// A report as an export shows it.
#[derive(Clone, Debug)]
pub struct Report {
    id: ReportId,
    metrics: i64,
    /// The id.
    pub uuid: ReportUuid,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// The branch that was measured.
    pub branch: BranchName,
    /// The version of the branch's head at the time.
    pub version: Version,
    /// Where it was measured.
    pub testbed: ResourceName,
}

/// A metric with all that an export tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The report that brought it.
    pub report: &'a Report,
    /// The result of the report that it is from.
    pub iteration: u32,
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// The variant of the benchmark, if it was run with parameters.
    pub variant: Option<&'a Variant>,
    /// The measure.
    pub measure: &'a Measure,
    /// The metric itself.
    pub metric: Metric,
    /// What it was held against; all absent when it was not judged.
    pub boundary: MetricBoundary,
    /// What became of the alert it raised, if it did.
    pub alert: Option<AlertStatus>,
}

/// Some reports with those of their metrics that were asked for.
#[derive(Debug, Default)]
pub struct Batch {
    reports: Vec<Report>,
    metrics: Vec<(ReportId, u32, Packed)>,
    subjects: HashMap<u32, Subject>,
    benchmarks: HashMap<BenchmarkId, Arc<Benchmark>>,
    variants: HashMap<VariantId, Arc<Variant>>,
    measures: HashMap<MeasureId, Shared<Measure>>,
    alerts: HashMap<(ReportId, u32), AlertStatus>,
}

/// Reads the next reports after the one with this key, with their metrics; an empty batch when there are no more.
pub fn batch(tx: &mut Tx<'_>, project: ProjectId, filter: &Filter, after: ReportId) -> Result<Batch> {
    let reports = reports(tx, project, filter, after)?;
    if reports.is_empty() {
        return Ok(Batch::default());
    }
    let ids: Vec<i64> = reports.iter().map(|report| report.id.get()).collect();
    let mut metrics = Vec::new();
    metric::of_reports(tx, &ids, |report, place, metric| {
        metrics.push((report, place, metric));
        Ok(())
    })?;
    let series = distinct(metrics.iter().map(|(_, _, metric)| i64::from(metric.series)));
    let mut subjects = series::subjects(tx, &series)?;
    if subjects.len() < series.len() {
        return Err(gone());
    }
    let of = |subject: fn(&Subject) -> i64| distinct(subjects.values().map(subject));
    let benchmarks = benchmark::by_ids(tx, &of(|subject| subject.benchmark.get()))?;
    let measures = measure::by_ids(tx, &of(|subject| subject.measure.get()))?;
    if filter.benchmarks.is_some() || filter.measures.is_some() {
        subjects.retain(|_, subject| {
            let benchmark = benchmarks.get(&subject.benchmark).map(|benchmark| benchmark.uuid.uuid());
            let measure = measures.get(&subject.measure).map(|measure| measure.uuid.uuid());
            is_wanted(filter.benchmarks.as_deref(), benchmark)
                && is_wanted(filter.measures.as_deref(), measure)
        });
        metrics.retain(|(_, _, metric)| subjects.contains_key(&metric.series));
    }
    let with_parameters = subjects.values().map(|subject| subject.variant).filter(|variant| *variant > 0);
    let variants = variant::by_ids(tx, &distinct(with_parameters))?;
    let alerts = if metrics.iter().any(|(_, _, metric)| metric.judged.is_some()) {
        alert::of_metrics(tx, &ids)?
    } else {
        Vec::new()
    };
    let alerts = alerts.into_iter().map(|(place, alert)| (place, alert.status)).collect();
    Ok(Batch { reports, metrics, subjects, benchmarks, variants, measures, alerts })
}

impl Batch {
    /// The key of the last report, after which the next batch begins; none when there are no reports.
    pub fn last(&self) -> Option<ReportId> {
        self.reports.last().map(|report| report.id)
    }

    /// The metrics, by report, series and iteration.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'_>>> {
        let mut reports = self.reports.iter().peekable();
        self.metrics.iter().map(move |(id, place, metric)| {
            // Both are in the order of keys.
            while reports.next_if(|report| report.id < *id).is_some() {}
            let report = *reports.peek().ok_or_else(gone)?;
            let subject = self.subjects.get(&metric.series).ok_or_else(gone)?;
            Ok(Entry {
                report,
                iteration: metric.iteration,
                benchmark: self.benchmarks.get(&subject.benchmark).ok_or_else(gone)?,
                variant: self.variants.get(&subject.variant.into()).map(|variant| &**variant),
                measure: self.measures.get(&subject.measure).ok_or_else(gone)?,
                metric: Metric {
                    uuid: metric::uuid(report.uuid, *place),
                    value: metric.value,
                    lower_value: metric.lower_value,
                    upper_value: metric.upper_value,
                },
                boundary: metric.judged.map(|judged| judged.boundary()).unwrap_or_default(),
                alert: self.alerts.get(&(*id, *place)).copied(),
            })
        })
    }
}

fn reports(tx: &mut Tx<'_>, project: ProjectId, filter: &Filter, after: ReportId) -> Result<Vec<Report>> {
    let (branches, testbeds) = (filter.branches.as_deref(), filter.testbeds.as_deref());
    let mut reports = tx.all(
        "select report.id, report.metrics, report.uuid, report.start_time, report.end_time, branch.name,
                version.number, version.hash, testbed.name
         from report join branch on branch.id = report.branch_id join version on version.id = report.version_id
         join testbed on testbed.id = report.testbed_id
         where report.project_id = $1 and report.id > $2
           and (cast($3 as bigint) is null or report.start_time >= $3)
           and (cast($4 as bigint) is null or report.end_time <= $4)
           and ($5 or branch.uuid in {uuids $6}) and ($7 or testbed.uuid in {uuids $8})
         order by report.id limit $9",
        &[
            &project,
            &after,
            &filter.start_time,
            &filter.end_time,
            &branches.is_none(),
            &branches.unwrap_or_default(),
            &testbeds.is_none(),
            &testbeds.unwrap_or_default(),
            &REPORTS,
        ],
        |row| {
            Ok(Report {
                id: row.get(0)?,
                metrics: row.get(1)?,
                uuid: row.get(2)?,
                start_time: row.get(3)?,
                end_time: row.get(4)?,
                branch: row.get(5)?,
                version: Version { number: row.get(6)?, hash: row.get(7)? },
                testbed: row.get(8)?,
            })
        },
    )?;
    let mut metrics = 0_i64;
    let fitting = reports.iter().take_while(|report| {
        metrics = metrics.saturating_add(report.metrics);
        metrics <= METRICS
    });
    let fitting = fitting.count().max(1);
    reports.truncate(fitting);
    Ok(reports)
}

fn is_wanted(list: Option<&[Uuid]>, uuid: Option<Uuid>) -> bool {
    list.is_none_or(|list| uuid.is_some_and(|uuid| list.contains(&uuid)))
}

fn gone() -> Error {
    Error::engine("a metric lacks what it is of")
}
