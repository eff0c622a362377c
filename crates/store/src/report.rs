//! Reports: their content and their position in the history of a head.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use tidemark_api::{
    Adapter, Alert, AlertCounts, Average, Benchmark, Branch, GitHashPrefix, Iteration, IterationCounts,
    JobNoise, JobUuid, Measure, Metric, Page, Project, PubUser, Report, ReportCounts, ReportMeasure,
    ReportResult, ReportUuid, Shared, Testbed, Timestamp, Version, page::Direction,
};
use uuid::Uuid;

use crate::{
    BranchId, Error, HeadId, ProjectId, ReportId, Result, SpecId, TestbedId, Tx, UserId, VersionId,
    WriteContext, alert, change,
    columns::columns,
    dimension::Dimension,
    head, lane, metric, pair, series,
    sql::{Conditions, direction},
    threshold,
    value::{Param, distinct},
    variant, version,
};

/// A report to insert.
#[derive(Clone, Debug)]
pub struct NewReportRow<'a> {
    /// Project.
    pub project: ProjectId,
    /// User who sent the report.
    pub user: Option<UserId>,
    /// Branch.
    pub branch: BranchId,
    /// Head of the branch.
    pub head: HeadId,
    /// Version.
    pub version: VersionId,
    /// Testbed.
    pub testbed: TestbedId,
    /// Spec of the job of the report.
    pub spec: Option<SpecId>,
    /// Adapter that parsed the output.
    pub adapter: Adapter,
    /// Start time of the run.
    pub start_time: Timestamp,
    /// End time of the run.
    pub end_time: Timestamp,
    /// Hash of the measured binary.
    pub binary_hash: Option<&'a str>,
    /// Host of the run.
    pub host: Option<&'a str>,
    /// Idempotency key, which identifies the report if a client sends it again.
    pub idempotency_key: Option<Uuid>,
    /// Counts of each iteration.
    pub counts: &'a [IterationCounts],
    /// Number of metrics.
    pub metrics: usize,
}

/// Filter of the reports to list.
#[derive(Clone, Debug, Default)]
pub struct ReportFilter {
    /// Only reports of this branch.
    pub branch: Option<BranchId>,
    /// Only reports of this testbed.
    pub testbed: Option<TestbedId>,
    /// Only reports of runs that started at this time or later.
    pub start_time: Option<Timestamp>,
    /// Only reports of runs that ended at this time or earlier.
    pub end_time: Option<Timestamp>,
    /// Only reports of commits whose hash starts with these digits.
    pub hash: Option<GitHashPrefix>,
    /// Only reports with an archived branch or testbed, instead of the others.
    pub archived: bool,
}

/// A report with its primary key.
#[derive(Clone, Debug)]
pub struct ReportRow {
    /// Primary key.
    pub id: ReportId,
    /// Number of metrics.
    pub metrics: u64,
    /// Representation in the API.
    pub report: Report,
}

columns! {
    struct ReportColumns {
        id: ReportId = "report.id",
        uuid: ReportUuid = "report.uuid",
        user: Option<PubUser>,
        branch: Branch,
        version: Version,
        testbed: Testbed,
        start_time: Timestamp = "report.start_time",
        end_time: Timestamp = "report.end_time",
        adapter: Adapter = "report.adapter",
        average: Option<Average> = "report.average",
        counts: String = "report.counts",
        metrics: u64 = "report.metrics",
        job: Option<JobUuid> = "job.uuid",
        noise_before: Option<f64> = "job.noise_before",
        noise_after: Option<f64> = "job.noise_after",
        warnings: Option<String> = "job.warnings",
        created: Timestamp = "report.created",
    }
}

impl ReportColumns {
    fn complete(mut self, project: &Project) -> Result<ReportRow> {
        self.branch.head.version = Some(self.version);
        let results = serde_json::from_str(&self.counts).map_err(|error| Error::Engine(error.into()))?;
        let noise = self.noise_before.zip(self.noise_after);
        let warnings = self.warnings.map(|warnings| serde_json::from_str(&warnings)).transpose();
        let report = Report {
            uuid: self.uuid,
            user: self.user,
            project: project.clone(),
            branch: self.branch,
            testbed: self.testbed,
            start_time: self.start_time,
            end_time: self.end_time,
            adapter: self.adapter.plain(),
            average: self.average,
            results: None,
            alerts: None,
            counts: ReportCounts { results, alerts: AlertCounts::default() },
            job: self.job,
            noise: noise.map(|(before, after)| JobNoise { before, after }),
            pairs: Vec::new(),
            warnings: warnings.map_err(|error| Error::Engine(error.into()))?.unwrap_or_default(),
            created: self.created,
        };
        Ok(ReportRow { id: self.id, metrics: self.metrics, report })
    }
}

/// Inserts a report, without its metrics.
pub fn insert(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    new: &NewReportRow<'_>,
) -> Result<(ReportId, ReportUuid)> {
    let uuid = ReportUuid::from(context.uuid());
    let counts = serde_json::to_string(new.counts).map_err(|error| Error::Engine(error.into()))?;
    let iterations = i64::try_from(new.counts.len()).unwrap_or(i64::MAX);
    let metrics = i64::try_from(new.metrics).unwrap_or(i64::MAX);
    let id = tx.fetch_one(
        "report",
        "insert into report (uuid, project_id, account_id, branch_id, head_id, version_id, testbed_id, spec_id, adapter,
                             start_time, end_time, idempotency_key, counts, iterations, metrics, created, binary_hash,
                             host)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
         returning id",
        &[
            &uuid,
            &new.project,
            &new.user,
            &new.branch,
            &new.head,
            &new.version,
            &new.testbed,
            &new.spec,
            &new.adapter,
            &new.start_time,
            &new.end_time,
            &new.idempotency_key,
            &counts,
            &iterations,
            &metrics,
            &context.now,
            &new.binary_hash,
            &new.host,
        ]
    )?;
    Ok((id, uuid))
}

/// Returns the report with this idempotency key.
pub fn by_idempotency_key(tx: &mut Tx<'_>, project: ProjectId, key: Uuid) -> Result<Option<ReportId>> {
    tx.fetch_optional(
        "select id from report where project_id = $1 and idempotency_key = $2",
        &[&project, &key],
    )
}

columns! {
    /// Project, branch, head, testbed, spec and version of a report.
    #[derive(Clone, Copy, Debug)]
    pub struct ReportDimensions {
        /// Project.
        pub project: ProjectId = "project_id",
        /// Branch.
        pub branch: BranchId = "branch_id",
        /// Head of the branch.
        pub head: HeadId = "head_id",
        /// Testbed.
        pub testbed: TestbedId = "testbed_id",
        /// Spec of the job of the report.
        pub spec: Option<SpecId> = "spec_id",
        /// Version.
        pub version: VersionId = "version_id",
    }
}

/// Returns the project, branch, head, testbed, spec and version of a report.
pub fn dimensions(tx: &mut Tx<'_>, report: ReportId) -> Result<ReportDimensions> {
    tx.fetch_one("report", "select {columns} from report where id = $1", &[&report])
}

/// Returns the adapter of a report.
pub fn adapter(tx: &mut Tx<'_>, report: ReportId) -> Result<Adapter> {
    tx.fetch_one("report", "select adapter from report where id = $1", &[&report])
}

/// Updates the times, the host and the counts of a report when its results arrive. Returns the UUID of the report.
pub fn record_results(
    tx: &mut Tx<'_>,
    report: ReportId,
    (start_time, end_time): (Timestamp, Timestamp),
    host: Option<&str>,
    counts: &[IterationCounts],
    metrics: usize,
) -> Result<ReportUuid> {
    let counts = serde_json::to_string(counts).map_err(|error| Error::Engine(error.into()))?;
    let metrics = i64::try_from(metrics).unwrap_or(i64::MAX);
    tx.fetch_one(
        "report",
        "update report set start_time = $2, end_time = $3, counts = $4, metrics = $5, host = $6
         where id = $1 returning uuid",
        &[&report, &start_time, &end_time, &counts, &metrics, &host],
    )
}

/// Records the average that the values of a report are.
pub fn record_average(tx: &mut Tx<'_>, report: ReportId, average: Average) -> Result<()> {
    tx.execute("update report set average = $2 where id = $1", &[&report, &average])?;
    Ok(())
}

/// Returns the primary key of the report with this UUID.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, report: ReportUuid) -> Result<ReportId> {
    tx.fetch_one("report", "select id from report where project_id = $1 and uuid = $2", &[&project, &report])
}

fn joins() -> String {
    format!(
        "join project on project.id = report.project_id
         left join account on account.id = report.account_id
         left join job on job.report_id = report.id
         join branch on branch.id = report.branch_id
         join head on head.id = report.head_id {}
         join version on version.id = report.version_id
         join testbed on testbed.id = report.testbed_id left join spec on spec.id = report.spec_id",
        head::JOINS
    )
}

/// Returns a report with its results and alerts.
pub fn complete(tx: &mut Tx<'_>, found: ReportRow) -> Result<Report> {
    let mut found = [found];
    expand(tx, &mut found)?;
    let [mut found] = found;
    if found.report.job.is_some() {
        found.report.pairs = pair::view(tx, found.id)?;
    }
    Ok(found.report)
}

/// Returns a report with the counts of its results and alerts, but without the results and alerts.
pub fn summary(tx: &mut Tx<'_>, project: &Project, report: ReportId) -> Result<ReportRow> {
    let sql = format!("select {{columns}} from report {} where report.id = $1", joins());
    let found: ReportColumns = tx.fetch_one("report", &sql, &[&report])?;
    let mut found = [found.complete(project)?];
    count_alerts(tx, &mut found)?;
    let [found] = found;
    Ok(found)
}

/// Returns reports of a project in the order of their primary keys, without results and alerts.
pub fn summaries(tx: &mut Tx<'_>, project: &Project, reports: &[ReportId]) -> Result<Vec<ReportRow>> {
    let ids: Vec<i64> = reports.iter().map(|report| report.get()).collect();
    let sql = format!(
        "select {{columns}} from report {} where report.id in {{ints $1}} order by report.id",
        joins()
    );
    let found: Vec<ReportColumns> = tx.fetch_all(&sql, &[&ids])?;
    found.into_iter().map(|found| found.complete(project)).collect()
}

/// Lists the reports of a project by the start time of their runs, without results and alerts.
pub fn list(
    tx: &mut Tx<'_>,
    (id, project): (ProjectId, &Project),
    filter: &ReportFilter,
    page: &Page,
) -> Result<(Vec<ReportRow>, i64)> {
    let state = if filter.archived {
        "(branch.archived is not null or testbed.archived is not null)"
    } else {
        "branch.archived is null and testbed.archived is null"
    };
    let mut lanes = Conditions::new(format!("branch.project_id = $1 and {state}"), vec![&id]);
    lanes.and("branch.id =", &filter.branch);
    lanes.and("testbed.id =", &filter.testbed);
    let mut reports = Conditions::new(format!("report.project_id = $1 and {state}"), vec![&id]);
    reports.and("report.branch_id =", &filter.branch);
    reports.and("report.testbed_id =", &filter.testbed);
    reports.and("report.start_time >=", &filter.start_time);
    reports.and("report.end_time <=", &filter.end_time);
    let hashes = filter.hash.as_ref().map(hashes_starting_with);
    if let Some((first, last)) = &hashes {
        let place = reports.params.len();
        reports.params.extend([first as &dyn Param, last]);
        // Per head, the index of the versions by hash yields the range.
        reports.sql = format!(
            "{} and report.version_id in (select version.id from version join head on head.id = version.head_id
             join branch as of_hash on of_hash.id = head.branch_id
             where of_hash.project_id = $1 and version.hash between ${} and ${})",
            reports.sql,
            place + 1,
            place + 2
        );
    }
    let from = format!(
        "report join branch on branch.id = report.branch_id join testbed on testbed.id = report.testbed_id
         where {}",
        reports.sql
    );
    let total: i64 = if filter.start_time.is_none() && filter.end_time.is_none() && hashes.is_none() {
        tx.value(
            &format!(
                "select cast(coalesce(sum(lane.reports), 0) as bigint) from lane
                 join branch on branch.id = lane.branch_id join testbed on testbed.id = lane.testbed_id
                 where {}",
                lanes.sql
            ),
            &lanes.params,
        )?
    } else {
        tx.value(&format!("select count(*) from {from}"), &reports.params)?
    };
    let (limit, offset) = (page.limit(), page.offset());
    if limit == 0 || offset >= total {
        return Ok((Vec::new(), total));
    }
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let order = ["start_time", "end_time", "created", "id"]
        .map(|column| format!("report.{column} {direction}"))
        .join(", ");
    let size = reports.page(limit, &offset);
    // Selects the primary keys of the page from the index first, so that the joins read only the rows of the page.
    let sql = format!(
        "select {{columns}} from (select report.id as page_id from {from} order by {order} {size}) as page
         join report on report.id = page.page_id {} order by {order}",
        joins()
    );
    let found: Vec<ReportColumns> = tx.fetch_all(&sql, &reports.params)?;
    let found = found.into_iter().take(usize::try_from(limit).unwrap_or_default());
    let mut found = found.map(|found| found.complete(project)).collect::<Result<Vec<_>>>()?;
    count_alerts(tx, &mut found)?;
    Ok((found, total))
}

/// Returns the first and the last hash that start with a text.
fn hashes_starting_with(text: &GitHashPrefix) -> (String, String) {
    (format!("{:0<40}", text.as_str()), format!("{:f<40}", text.as_str()))
}

columns!(AlertCounts {
    total: "count(*)",
    active: "count(case when status = 'active' then 1 end)",
    muted: "count(case when status = 'active' then mute_id end)",
});

/// Counts the alerts of reports.
fn count_alerts(tx: &mut Tx<'_>, reports: &mut [ReportRow]) -> Result<()> {
    let ids: Vec<i64> = reports.iter().map(|found| found.id.get()).collect();
    let counts: Vec<(ReportId, AlertCounts)> = tx.fetch_all(
        "select report_id, {columns} from alert where report_id in {ints $1} group by report_id",
        &[&ids],
    )?;
    let counts: HashMap<ReportId, AlertCounts> = counts.into_iter().collect();
    for found in reports {
        found.report.counts.alerts = counts.get(&found.id).copied().unwrap_or_default();
    }
    Ok(())
}

/// Adds the results and the alerts to reports.
pub fn expand(tx: &mut Tx<'_>, reports: &mut [ReportRow]) -> Result<()> {
    let ids: Vec<i64> = reports.iter().map(|found| found.id.get()).collect();
    let mut metrics: HashMap<ReportId, Vec<(u32, metric::PackedMetric)>> = HashMap::new();
    metric::of_reports(tx, &ids, |report, place, metric| {
        metrics.entry(report).or_default().push((place, metric));
        Ok(())
    })?;
    let all = || metrics.values().flatten().map(|(_, metric)| metric);
    let series_keys = series::series_keys(tx, &distinct(all().map(|metric| i64::from(metric.series))))?;
    let of = |series_key: fn(&series::SeriesKey) -> i64| distinct(series_keys.values().map(series_key));
    let benchmarks: HashMap<_, Arc<Benchmark>> =
        Benchmark::by_ids(tx, &of(|series_key| series_key.benchmark.get()))?;
    let measures: HashMap<_, Shared<Measure>> =
        Measure::by_ids(tx, &of(|series_key| series_key.measure.get()))?;
    let variants = variant::by_ids(
        tx,
        &distinct(series_keys.values().map(|series_key| series_key.variant).filter(|id| *id > 0)),
    )?;
    let judges = all().filter_map(|metric| metric.judged).map(|judged| judged.model.get());
    let thresholds = threshold::by_models(tx, &distinct(judges))?;
    let mut alerts: HashMap<ReportId, Vec<Alert>> = HashMap::new();
    for (report, alert) in alert::of_reports(tx, &ids)? {
        alerts.entry(report).or_default().push(alert);
    }
    let gone = || Error::engine("a metric lacks what it is of");
    for found in reports.iter_mut() {
        // Iteration, then benchmark and variant, then measure, each by name.
        let mut results: BTreeMap<u32, BTreeMap<_, Vec<ReportMeasure>>> = BTreeMap::new();
        for (place, metric) in metrics.remove(&found.id).unwrap_or_default() {
            let series_key = series_keys.get(&metric.series).ok_or_else(gone)?;
            let benchmark = benchmarks.get(&series_key.benchmark).ok_or_else(gone)?;
            let variant = variants.get(&series_key.variant.into());
            let judged = metric.judged;
            let key = (
                benchmark.name.as_str(),
                variant.map(|variant| &variant.parameters),
                series_key.benchmark,
                series_key.variant,
            );
            results.entry(metric.iteration).or_default().entry(key).or_default().push(ReportMeasure {
                measure: measures.get(&series_key.measure).ok_or_else(gone)?.clone(),
                metric: Metric {
                    uuid: metric::uuid(found.report.uuid, place),
                    value: metric.value,
                    lower_value: metric.lower_value,
                    upper_value: metric.upper_value,
                },
                threshold: judged.and_then(|judged| thresholds.get(&judged.model)).cloned(),
                boundary: judged.map(|judged| judged.boundary()),
            });
        }
        let results = results.into_iter().map(|(iteration, entries)| {
            let entries = entries.into_iter().map(|((_, _, benchmark, variant), mut measures)| {
                measures.sort_by(|left, right| left.measure.name.cmp(&right.measure.name));
                Ok(ReportResult {
                    iteration: Iteration::new(iteration),
                    benchmark: Arc::clone(benchmarks.get(&benchmark).ok_or_else(gone)?),
                    variant: variants.get(&variant.into()).map(Arc::clone),
                    measures,
                })
            });
            entries.collect::<Result<Vec<_>>>()
        });
        found.report.results = Some(results.collect::<Result<_>>()?);
        found.report.alerts = Some(alerts.remove(&found.id).unwrap_or_default());
    }
    Ok(())
}

/// Deletes a report with its metrics and alerts. Also deletes its version if it was the last report of the version, and
/// renumbers the later versions.
pub fn delete(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    change::reassign_report(tx, report)?;
    let unused = metric::exclusive_series(tx, report)?;
    let mut judged: BTreeMap<i64, i64> = BTreeMap::new();
    metric::of_reports(tx, &[report.get()], |_, _, metric| {
        if let Some(one) = metric.judged {
            *judged.entry(one.model.get()).or_default() += 1;
        }
        Ok(())
    })?;
    threshold::subtract_counts(tx, report, &judged)?;
    lane::remove_report(tx, report)?;
    let version =
        tx.fetch_one("report", "delete from report where id = $1 returning version_id", &[&report])?;
    series::delete(tx, &unused)?;
    version::remove_unused(tx, version)
}
