//! Export of all metrics of a project, each once, in batches, so that memory use does not depend on the size of the
//! project.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{
    AlertStatus, Benchmark, BranchName, Measure, Metric, MetricBoundary, ReportUuid, ResourceName, Shared,
    Timestamp, Variant, Version,
};
use uuid::Uuid;

use crate::{
    BenchmarkId, Error, MeasureId, ProjectId, ReportId, Result, Tx, VariantId, alert,
    columns::columns,
    dimension::Dimension,
    metric::{self, PackedMetric},
    series::{self, SeriesKey},
    value::distinct,
    variant,
};

/// Maximum number of reports per batch.
const MAX_REPORTS: i64 = 1_024;
/// Maximum number of metrics per batch, unless a single report has more.
const MAX_METRICS: i64 = 65_536;

/// Filter of the metrics to export. `None` matches all metrics.
#[derive(Clone, Debug, Default)]
pub struct ExportFilter {
    /// Only metrics of these branches.
    pub branches: Option<Vec<Uuid>>,
    /// Only metrics of these testbeds.
    pub testbeds: Option<Vec<Uuid>>,
    /// Only metrics of these benchmarks.
    pub benchmarks: Option<Vec<Uuid>>,
    /// Only metrics of these measures.
    pub measures: Option<Vec<Uuid>>,
    /// Only metrics of runs that started at this time or later.
    pub start_time: Option<Timestamp>,
    /// Only metrics of runs that ended at this time or earlier.
    pub end_time: Option<Timestamp>,
}

columns! {
    /// A report in an export.
    #[derive(Clone, Debug)]
    pub struct ExportedReport {
        id: ReportId = "report.id",
        metrics: i64 = "report.metrics",
        /// UUID.
        pub uuid: ReportUuid = "report.uuid",
        /// Start time of the run.
        pub start_time: Timestamp = "report.start_time",
        /// End time of the run.
        pub end_time: Timestamp = "report.end_time",
        /// Branch.
        pub branch: BranchName = "branch.name",
        /// Version of the head.
        pub version: Version,
        /// Testbed.
        pub testbed: ResourceName = "testbed.name",
    }
}

/// A metric in an export.
#[derive(Clone, Copy, Debug)]
pub struct ExportedMetric<'a> {
    /// Report.
    pub report: &'a ExportedReport,
    /// Iteration of the report.
    pub iteration: u32,
    /// Benchmark.
    pub benchmark: &'a Benchmark,
    /// Variant of the benchmark, if it has parameters.
    pub variant: Option<&'a Variant>,
    /// Measure.
    pub measure: &'a Measure,
    /// Metric.
    pub metric: Metric,
    /// Baseline and limits; all absent if no threshold checked the metric.
    pub boundary: MetricBoundary,
    /// Status of the alert of the metric, if any.
    pub alert: Option<AlertStatus>,
}

/// Reports with their matching metrics.
#[derive(Debug, Default)]
pub struct ExportBatch {
    reports: Vec<ExportedReport>,
    metrics: Vec<(ReportId, u32, PackedMetric)>,
    series_keys: HashMap<u32, SeriesKey>,
    benchmarks: HashMap<BenchmarkId, Arc<Benchmark>>,
    variants: HashMap<VariantId, Arc<Variant>>,
    measures: HashMap<MeasureId, Shared<Measure>>,
    alerts: HashMap<(ReportId, u32), AlertStatus>,
}

/// Returns the next reports after the report with this primary key, with their metrics; an empty batch at the end.
pub fn batch(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &ExportFilter,
    after: ReportId,
) -> Result<ExportBatch> {
    let reports = reports(tx, project, filter, after)?;
    if reports.is_empty() {
        return Ok(ExportBatch::default());
    }
    let ids: Vec<i64> = reports.iter().map(|report| report.id.get()).collect();
    let mut metrics = Vec::new();
    metric::of_reports(tx, &ids, |report, place, metric| {
        metrics.push((report, place, metric));
        Ok(())
    })?;
    let series = distinct(metrics.iter().map(|(_, _, metric)| i64::from(metric.series)));
    let mut series_keys = series::series_keys(tx, &series)?;
    if series_keys.len() < series.len() {
        return Err(missing_row());
    }
    let of = |series_key: fn(&SeriesKey) -> i64| distinct(series_keys.values().map(series_key));
    let benchmarks: HashMap<_, Arc<Benchmark>> =
        Benchmark::by_ids(tx, &of(|series_key| series_key.benchmark.get()))?;
    let measures: HashMap<_, Shared<Measure>> =
        Measure::by_ids(tx, &of(|series_key| series_key.measure.get()))?;
    if filter.benchmarks.is_some() || filter.measures.is_some() {
        series_keys.retain(|_, series_key| {
            let benchmark = benchmarks.get(&series_key.benchmark).map(|benchmark| benchmark.uuid.uuid());
            let measure = measures.get(&series_key.measure).map(|measure| measure.uuid.uuid());
            matches_filter(filter.benchmarks.as_deref(), benchmark)
                && matches_filter(filter.measures.as_deref(), measure)
        });
        metrics.retain(|(_, _, metric)| series_keys.contains_key(&metric.series));
    }
    let with_parameters =
        series_keys.values().map(|series_key| series_key.variant).filter(|variant| *variant > 0);
    let variants = variant::by_ids(tx, &distinct(with_parameters))?;
    let alerts = if metrics.iter().any(|(_, _, metric)| metric.judged.is_some()) {
        alert::of_metrics(tx, &ids)?
    } else {
        Vec::new()
    };
    let alerts = alerts.into_iter().map(|(place, alert)| (place, alert.status)).collect();
    Ok(ExportBatch { reports, metrics, series_keys, benchmarks, variants, measures, alerts })
}

impl ExportBatch {
    /// Returns the primary key of the last report, after which the next batch begins; `None` if the batch is empty.
    pub fn last(&self) -> Option<ReportId> {
        self.reports.last().map(|report| report.id)
    }

    /// Returns the metrics, ordered by report, series and iteration.
    pub fn entries(&self) -> impl Iterator<Item = Result<ExportedMetric<'_>>> {
        let mut reports = self.reports.iter().peekable();
        self.metrics.iter().map(move |(id, place, metric)| {
            // Both lists are in the order of primary keys.
            while reports.next_if(|report| report.id < *id).is_some() {}
            let report = *reports.peek().ok_or_else(missing_row)?;
            let series_key = self.series_keys.get(&metric.series).ok_or_else(missing_row)?;
            Ok(ExportedMetric {
                report,
                iteration: metric.iteration,
                benchmark: self.benchmarks.get(&series_key.benchmark).ok_or_else(missing_row)?,
                variant: self.variants.get(&series_key.variant.into()).map(|variant| &**variant),
                measure: self.measures.get(&series_key.measure).ok_or_else(missing_row)?,
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

fn reports(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &ExportFilter,
    after: ReportId,
) -> Result<Vec<ExportedReport>> {
    let (branches, testbeds) = (filter.branches.as_deref(), filter.testbeds.as_deref());
    let mut reports: Vec<ExportedReport> = tx.fetch_all(
        "select {columns}
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
            &MAX_REPORTS,
        ],
    )?;
    let mut metrics = 0_i64;
    let fitting = reports.iter().take_while(|report| {
        metrics = metrics.saturating_add(report.metrics);
        metrics <= MAX_METRICS
    });
    let fitting = fitting.count().max(1);
    reports.truncate(fitting);
    Ok(reports)
}

fn matches_filter(list: Option<&[Uuid]>, uuid: Option<Uuid>) -> bool {
    list.is_none_or(|list| uuid.is_some_and(|uuid| list.contains(&uuid)))
}

fn missing_row() -> Error {
    Error::engine("a metric lacks what it is of")
}
