//! Records reports: parses the output of tools first, then writes the report and its metrics in one transaction. The number of
//! statements does not depend on the size of the report.

mod events;
mod judge;
mod pairs;
mod resolve;
mod sample;

use std::collections::BTreeMap;

use tidemark_adapters::{Results, effective_average};
use tidemark_api::{
    Adapter, Average, BranchName, DEFAULT_MAX_VERSIONS, Fold, GitHash, Measure, NameId, NewReport,
    ReportThresholds, ResourceName, StartPointPatch, Timestamp, Visibility,
};
use tidemark_stats::Model;
use tidemark_store::{
    BranchId, Dimension, Lock, MeasureId, OrganizationId, ProjectId, ReportId, SpecId, TestbedId, Tx, UserId,
    WriteContext, branch, head, project, quota::QuotaScope, report, testbed, threshold,
    unclaimed::StoredData, version,
};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use self::{
    judge::ReportContext,
    resolve::{ResolvedResults, ensure_measures},
};
use crate::domain::{
    error::{Error, Result},
    quota::Quota,
};

/// Maximum number of results in a report without a fold. Each result is compared with the previous ones, so the number must be
/// limited.
const MAX_ITERATIONS: usize = 1_000;
/// Maximum number of threshold models in a report.
const MAX_MODELS: usize = 1_000;

/// Bytes that a report counts in addition to its results, so that quotas also limit empty reports.
const REPORT_BYTES: usize = 1024;

/// A parsed report to record.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The user who sends it.
    pub user: Option<UserId>,
    /// The measured branch.
    pub branch: NameId,
    /// The measured commit.
    pub hash: Option<GitHash>,
    /// The start point of the branch.
    pub start_point: Option<StartPointPatch>,
    /// The testbed.
    pub testbed: NameId,
    /// Whether to remove the spec of the testbed.
    pub spec_reset: bool,
    /// The spec of the job that produces the results. The testbed gets it, too.
    pub spec: Option<SpecId>,
    /// The thresholds for the branch and the testbed.
    pub thresholds: Option<ReportThresholds>,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// The requested adapter.
    pub adapter: Adapter,
    /// The parsed results, one per iteration.
    pub results: Vec<Results>,
    /// Size of the input of the adapter in bytes.
    pub bytes: usize,
    /// How the iterations are folded into one.
    pub fold: Option<Fold>,
    /// Average that the values are, if the tool provides several.
    pub average: Option<Average>,
    /// Hash of the measured binary.
    pub binary_hash: Option<String>,
    /// The host of the run, if known. The host of a job is known when the job is done.
    pub host: Option<String>,
    /// Identifies the report if a client sends it again.
    pub idempotency_key: Option<Uuid>,
}

impl Submission {
    /// Parses the output of tools. The time depends on the size of the texts, so do not call this on a thread of the async
    /// runtime.
    pub fn read(new: NewReport, user: Option<UserId>, spec_reset: bool) -> Result<Self> {
        let settings = new.settings.unwrap_or_default();
        let adapter = settings.adapter.unwrap_or_default();
        if new.results.len() > MAX_ITERATIONS && settings.fold.is_none() {
            return Err(Error::Invalid(format!(
                "`results` has {} entries; the maximum without `settings.fold` is {MAX_ITERATIONS}. Send \
                 several reports, or set `settings.fold` to combine the entries.",
                new.results.len()
            )));
        }
        let models = new.thresholds.as_ref().map_or(0, ReportThresholds::count);
        if models > MAX_MODELS {
            return Err(Error::Invalid(format!(
                "`thresholds.models` has {models} models; the maximum is {MAX_MODELS}."
            )));
        }
        let read = |(index, text): (usize, &String)| {
            tidemark_adapters::parse(adapter, text, settings.average)
                .map_err(|error| Error::Invalid(format!("`results[{index}]` could not be read: {error}")))
        };
        let results: Vec<Results> = new.results.iter().enumerate().map(read).collect::<Result<_>>()?;
        Ok(Self {
            user,
            branch: new.branch,
            hash: new.hash,
            start_point: new.start_point,
            testbed: new.testbed,
            spec_reset,
            spec: None,
            thresholds: new.thresholds,
            start_time: new.start_time,
            end_time: new.end_time,
            adapter,
            average: average_of(&results, settings.average),
            results,
            bytes: new.results.iter().map(String::len).sum(),
            fold: settings.fold,
            binary_hash: None,
            host: None,
            idempotency_key: new.idempotency_key.map(|key| key.0),
        })
    }

    /// Calls `read` on a blocking thread.
    pub(crate) async fn read_on_blocking_thread(
        new: NewReport,
        user: Option<UserId>,
        spec_reset: bool,
    ) -> Result<Self> {
        let read = spawn_blocking(move || Self::read(new, user, spec_reset));
        read.await.map_err(|error| Error::Internal(error.into()))?
    }
}

/// The project of a report.
#[derive(Clone, Copy, Debug)]
pub struct TargetProject {
    /// The project.
    pub project: ProjectId,
    /// The organization of the project.
    pub organization: OrganizationId,
    /// Whether the organization is claimed.
    pub claimed: bool,
    /// The visibility of the project.
    pub visibility: Visibility,
}

impl TargetProject {
    /// Creates the target from a project row.
    pub fn of(found: &project::ProjectRow) -> Self {
        Self {
            project: found.id,
            organization: found.organization,
            claimed: found.project.claimed.is_some(),
            visibility: found.project.visibility,
        }
    }
}

/// Result of recording a report.
#[derive(Clone, Debug)]
pub struct RecordedReport {
    /// The report.
    pub report: ReportId,
    /// Whether a notification was enqueued, or waits for a confirmation.
    pub is_enqueued: bool,
    /// Warnings about the results.
    pub warnings: Vec<String>,
}

/// Records a report completely or not at all. Returns the existing report if one with the same idempotency key was recorded
/// before.
pub fn record(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    quota: Quota,
    target_project: TargetProject,
    new: &Submission,
) -> Result<RecordedReport> {
    let TargetProject { project, organization, claimed, visibility } = target_project;
    if !claimed {
        // The quota is checked at the end. A claim acquires the locks in the same order.
        tx.lock(Lock::Organization(organization.get()))?;
    }
    tx.lock(Lock::Project(project.get()))?;
    if let Some(key) = new.idempotency_key
        && let Some(first) = report::by_idempotency_key(tx, project, key)?
    {
        return Ok(RecordedReport { report: first, is_enqueued: false, warnings: Vec::new() });
    }
    let billing_status = quota.billing_status(tx, organization)?;
    billing_status.check(visibility)?;
    quota.check(tx, QuotaScope::Reports(project), claimed, fresh.now)?;
    quota.check_metrics(tx, organization, claimed, billing_status, fresh.now)?;
    let branch = ensure_branch(tx, fresh, project, new)?;
    let name = valid::<ResourceName>("testbed", &new.testbed)?;
    let testbed = testbed::ensure(tx, fresh, project, &new.testbed, &name)
        .map_err(|error| unknown(error, "testbed", &new.testbed))?;
    if new.spec_reset || new.spec.is_some() {
        testbed::set_spec(tx, testbed, new.spec, fresh.now)?;
    }
    let head = head::current(tx, branch)?.id;
    let ResolvedResults { items, warnings } = resolve::resolve(tx, fresh, project, &new.results, new.fold)?;
    // The results define the units and the direction of a new measure, and the direction defines the default boundary.
    if let Some(thresholds) = &new.thresholds {
        set_thresholds(tx, fresh, project, (branch, testbed), thresholds)?;
    }
    let version = version::ensure(tx, fresh, head, new.hash.as_ref())?;
    let new_report = report::NewReportRow {
        project,
        user: new.user,
        branch,
        head,
        version,
        testbed,
        spec: new.spec,
        adapter: new.adapter.plain(),
        start_time: new.start_time,
        end_time: new.end_time,
        binary_hash: new.binary_hash.as_deref(),
        host: new.host.as_deref(),
        idempotency_key: new.idempotency_key,
        counts: &resolve::count(&items),
        metrics: items.len(),
    };
    let (report, uuid) = report::insert(tx, fresh, &new_report)?;
    if let Some(average) = new.average {
        report::record_average(tx, report, average)?;
    }
    if !claimed {
        // A model creates a threshold, and possibly a measure, which need as much space as a metric.
        let models = new.thresholds.as_ref().map_or(0, ReportThresholds::count);
        quota.store_unclaimed(tx, organization, stored(items.len() + models, new.bytes), fresh.now)?;
    }
    quota.meter(tx, organization, items.len(), uuid, fresh.now)?;
    let mut is_enqueued = false;
    // The results of a job are compared with the thresholds when they arrive.
    if new.spec.is_none() {
        let start_time = new.start_time;
        let context = ReportContext {
            project,
            branch,
            head,
            testbed,
            version,
            spec: None,
            report,
            before: report,
            start_time,
        };
        is_enqueued = judge::write(tx, fresh, &context, items)?;
    }
    let made = [
        QuotaScope::Branches(project),
        QuotaScope::Heads(branch),
        QuotaScope::Testbeds(project),
        QuotaScope::Benchmarks(project),
        QuotaScope::Measures(project),
        QuotaScope::Thresholds(project),
    ];
    quota.check_created(tx, &made, claimed, fresh.now)?;
    if !claimed {
        quota.check_total(tx)?;
    }
    Ok(RecordedReport { report, is_enqueued, warnings })
}

/// Returns the average that the values of results are, if a tool provides several.
fn average_of(results: &[Results], requested: Option<Average>) -> Option<Average> {
    results.iter().find_map(|results| effective_average(results.adapter, requested))
}

/// The results of a job for its report.
#[derive(Clone, Debug)]
pub(crate) struct JobResults {
    /// The parsed results, one per iteration.
    pub(crate) results: Vec<Results>,
    /// Results of complete rounds of a comparison: those of the base, then those of the image, of each round.
    pub(crate) pairs: Vec<Results>,
    /// Whether the results stay out of the history, because the job confirms an event or belongs to a search for a commit. Then only
    /// the pairs are stored, so that the job does not affect the history that raised the event.
    pub(crate) is_isolated: bool,
    /// Size of the input of the adapter in bytes.
    pub(crate) bytes: usize,
    /// How the iterations are folded into one.
    pub(crate) fold: Option<Fold>,
    /// Requested average.
    pub(crate) average: Option<Average>,
    /// When the run began.
    pub(crate) start_time: Timestamp,
    /// When the run ended.
    pub(crate) end_time: Timestamp,
    /// The host of the run.
    pub(crate) host: Option<String>,
}

/// Fills the report of a job, which was recorded without results when the job was created. The thresholds use the runs that began
/// earlier, regardless of when they were sent. Returns warnings about the results.
pub(crate) fn fill_report(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    quota: Quota,
    target_project: TargetProject,
    report: ReportId,
    job_results: &JobResults,
) -> Result<Vec<String>> {
    let report::ReportDimensions { project, branch, head, testbed, spec, version } =
        report::dimensions(tx, report)?;
    if !target_project.claimed {
        tx.lock(Lock::Organization(target_project.organization.get()))?;
    }
    tx.lock(Lock::Project(project.get()))?;
    let billing_status = quota.billing_status(tx, target_project.organization)?;
    quota.check_metrics(
        tx,
        target_project.organization,
        target_project.claimed,
        billing_status,
        fresh.now,
    )?;
    let JobResults { start_time, end_time, .. } = *job_results;
    let host = job_results.host.as_deref();
    if job_results.is_isolated {
        report::record_results(tx, report, (start_time, end_time), host, &[], 0)?;
        pairs::store(tx, fresh, project, report, &job_results.pairs)?;
        return Ok(Vec::new());
    }
    let ResolvedResults { items, warnings } =
        resolve::resolve(tx, fresh, project, &job_results.results, job_results.fold)?;
    let uuid = report::record_results(
        tx,
        report,
        (start_time, end_time),
        host,
        &resolve::count(&items),
        items.len(),
    )?;
    if !target_project.claimed {
        quota.store_unclaimed(
            tx,
            target_project.organization,
            stored(items.len(), job_results.bytes),
            fresh.now,
        )?;
    }
    if let Some(average) = average_of(&job_results.results, job_results.average) {
        report::record_average(tx, report, average)?;
    }
    quota.meter(tx, target_project.organization, items.len(), uuid, fresh.now)?;
    let before = ReportId::from(i64::MAX);
    let context = ReportContext { project, branch, head, testbed, version, spec, report, before, start_time };
    judge::write(tx, fresh, &context, items)?;
    pairs::store(tx, fresh, project, report, &job_results.pairs)?;
    let made = [QuotaScope::Benchmarks(project), QuotaScope::Measures(project)];
    quota.check_created(tx, &made, target_project.claimed, fresh.now)?;
    if !target_project.claimed {
        quota.check_total(tx)?;
    }
    Ok(warnings)
}

/// Returns the storage that a report uses of the quota of its organization.
fn stored(metrics: usize, bytes: usize) -> StoredData {
    let number = |number| u64::try_from(number).unwrap_or(u64::MAX);
    StoredData { metrics: number(metrics), report_bytes: number(bytes.saturating_add(REPORT_BYTES)) }
}

fn ensure_branch(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: ProjectId,
    new: &Submission,
) -> Result<BranchId> {
    let name = valid::<BranchName>("branch", &new.branch)?;
    let mut start = None;
    if let Some(wanted) = &new.start_point
        && let Some(source) = &wanted.branch
    {
        start = head::resolve(tx, project, source, wanted.hash.as_ref())?;
    }
    let max_versions =
        new.start_point.as_ref().and_then(|wanted| wanted.max_versions).unwrap_or(DEFAULT_MAX_VERSIONS);
    let start = start.as_ref().map(|start| (start, max_versions));
    let branch = branch::ensure(tx, fresh, project, &new.branch, &name, start)
        .map_err(|error| unknown(error, "branch", &new.branch))?;
    if let Some(wanted) = &new.start_point {
        head::start_from(tx, fresh, project, branch, wanted)?;
    }
    Ok(branch)
}

/// Returns the name for a resource that may have to be created.
fn valid<T: std::str::FromStr<Err: std::fmt::Display>>(field: &str, reference: &NameId) -> Result<T> {
    reference.as_str().parse().map_err(|error| Error::Invalid(format!("`{field}` is invalid: {error}.")))
}

/// Returns an error that names the missing reference. Only a UUID can be missing, because a name or slug creates the resource.
fn unknown(error: tidemark_store::Error, noun: &str, reference: &NameId) -> Error {
    match error {
        tidemark_store::Error::NotFound(_) => Error::NotFound(format!(
            "The project has no {noun} with the UUID {reference}; use a name or slug to create a new one."
        )),
        error => error.into(),
    }
}

fn set_thresholds(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: ProjectId,
    lane: (BranchId, TestbedId),
    thresholds: &ReportThresholds,
) -> Result<()> {
    let empty = BTreeMap::new();
    let models = thresholds.models.as_ref().unwrap_or(&empty);
    let reset = thresholds.reset.unwrap_or(false);
    if models.is_empty() && !reset {
        return Ok(());
    }
    let names = models
        .keys()
        .map(|key| valid::<ResourceName>("thresholds.models", key))
        .collect::<Result<Vec<_>>>()?;
    let wanted: Vec<_> = models.keys().zip(&names).map(|(key, name)| (key, name, None)).collect();
    let measures = ensure_measures(tx, fresh, project, &wanted)?;
    let ids: Vec<i64> = measures.iter().map(|measure| measure.get()).collect();
    let known = Measure::by_ids::<Measure>(tx, &ids)?;
    let mut complete: BTreeMap<MeasureId, (&NameId, Model)> = BTreeMap::new();
    for ((key, model), id) in models.iter().zip(measures) {
        let worse = known.get(&id).map(Measure::worse).ok_or_else(|| Error::not_found("measure"))?;
        let model = model.complete(worse).map_err(|error| {
            Error::Invalid(format!("The model for `{key}` in `thresholds` is invalid: {error}"))
        })?;
        if let Some((other, _)) = complete.insert(id, (key, model)) {
            return Err(Error::Invalid(format!(
                "`{other}` and `{key}` in `thresholds` are the same measure; send one model per measure."
            )));
        }
    }
    let complete: Vec<_> = complete.into_iter().map(|(measure, (_, model))| (measure, model)).collect();
    Ok(threshold::set_models(tx, fresh, project, lane, &complete, reset)?)
}
