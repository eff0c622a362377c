//! From the output of a tool to a report with its verdict: read everything first, then write everything in one
//! transaction, at a number of statements that does not grow with the report.

mod judge;
mod resolve;
mod sample;

use std::collections::BTreeMap;

use tidemark_adapters::Results;
use tidemark_api::{
    Adapter, BranchName, DEFAULT_MAX_VERSIONS, Fold, GitHash, NameId, NewReport, ReportThresholds,
    ResourceName, StartPointPatch, Timestamp, Visibility,
};
use tidemark_stats::Model;
use tidemark_store::{
    BranchId, Fresh, Lock, MeasureId, OrganizationId, ProjectId, ReportId, SpecId, TestbedId, Tx, UserId,
    branch, head, measure, project, quota::Scope, report, testbed, threshold, unclaimed::Stored, version,
};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use self::{judge::Place, resolve::ensure_measures};
use crate::domain::{
    error::{Error, Result},
    quota::Quota,
};

/// The most results that a report keeps apart. Each is judged by the ones before it, so that their number must have an
/// end.
const MAX_ITERATIONS: usize = 1_000;
/// Maximum number of threshold models in a report.
const MAX_MODELS: usize = 1_000;

/// Bytes that a report counts besides its results, so that empty reports have an end, too.
const REPORT_BYTES: usize = 1024;

/// A report that has been read and is to be recorded.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Who sends it.
    pub user: Option<UserId>,
    /// The branch that was measured.
    pub branch: NameId,
    /// The commit that was measured.
    pub hash: Option<GitHash>,
    /// Where the branch starts from.
    pub start_point: Option<StartPointPatch>,
    /// Where it was measured.
    pub testbed: NameId,
    /// Whether the testbed loses its spec.
    pub spec_reset: bool,
    /// The spec of the job that will bring the results; the testbed gets it, too.
    pub spec: Option<SpecId>,
    /// The thresholds for the branch and the testbed.
    pub thresholds: Option<ReportThresholds>,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// The tool that was named.
    pub adapter: Adapter,
    /// What was read, one for each iteration.
    pub results: Vec<Results>,
    /// How many bytes it was read from.
    pub bytes: usize,
    /// How the iterations become one.
    pub fold: Option<Fold>,
    /// What was measured, by its content.
    pub binary_hash: Option<String>,
    /// The machine that it was measured on, if that is known. Of a job it is known when the job is done.
    pub host: Option<String>,
    /// By what it is known when it is sent again.
    pub idempotency_key: Option<Uuid>,
}

impl Submission {
    /// Reads what tools printed. That takes as long as the texts are, so that it is not for a thread that others wait
    /// for.
    pub fn read(new: NewReport, user: Option<UserId>, spec_reset: bool) -> Result<Self> {
        let settings = new.settings.unwrap_or_default();
        let adapter = settings.adapter.unwrap_or_default();
        if new.results.len() > MAX_ITERATIONS && settings.fold.is_none() {
            return Err(Error::Invalid(format!(
                "`results` has {} texts, and a report keeps at most {MAX_ITERATIONS} apart; send several reports, or \
                 set `settings.fold` to make one of them.",
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
            results: new.results.iter().enumerate().map(read).collect::<Result<_>>()?,
            bytes: new.results.iter().map(String::len).sum(),
            fold: settings.fold,
            binary_hash: None,
            host: None,
            idempotency_key: new.idempotency_key.map(|key| key.0),
        })
    }

    /// The same on a thread of its own.
    pub(crate) async fn read_aside(new: NewReport, user: Option<UserId>, spec_reset: bool) -> Result<Self> {
        let read = spawn_blocking(move || Self::read(new, user, spec_reset));
        read.await.map_err(|error| Error::Internal(error.into()))?
    }
}

/// The project that a report goes to.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// The project.
    pub project: ProjectId,
    /// The organization it belongs to.
    pub organization: OrganizationId,
    /// Whether somebody owns that.
    pub claimed: bool,
    /// Who may see the project.
    pub visibility: Visibility,
}

impl Home {
    /// A project as it was found.
    pub fn of(found: &project::ProjectRow) -> Self {
        Self {
            project: found.id,
            organization: found.organization,
            claimed: found.project.claimed.is_some(),
            visibility: found.project.visibility,
        }
    }
}

/// What became of a report that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// The report.
    pub report: ReportId,
    /// Whether the outbox promises to tell somebody of it.
    pub is_told: bool,
}

/// Records a report: all of it, or nothing. One that was sent before with the same key is answered as it was.
pub fn record(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    quota: Quota,
    home: Home,
    new: &Submission,
) -> Result<Recorded> {
    let Home { project, organization, claimed, visibility } = home;
    if !claimed {
        // What it holds is counted at the end; a claim takes the locks in the same order.
        tx.lock(Lock::Organization(organization.get()))?;
    }
    tx.lock(Lock::Project(project.get()))?;
    if let Some(key) = new.idempotency_key
        && let Some(first) = report::by_idempotency_key(tx, project, key)?
    {
        return Ok(Recorded { report: first, is_told: false });
    }
    let standing = quota.standing(tx, organization)?;
    standing.check(visibility)?;
    quota.check(tx, Scope::Reports(project), claimed, fresh.now)?;
    quota.check_metrics(tx, organization, claimed, standing, fresh.now)?;
    let branch = ensure_branch(tx, fresh, project, new)?;
    let name = valid::<ResourceName>("testbed", &new.testbed)?;
    let testbed = testbed::ensure(tx, fresh, project, &new.testbed, &name)
        .map_err(|error| unknown(error, "testbed", &new.testbed))?;
    if new.spec_reset || new.spec.is_some() {
        testbed::set_spec(tx, testbed, new.spec, fresh.now)?;
    }
    if let Some(thresholds) = &new.thresholds {
        set_thresholds(tx, fresh, project, (branch, testbed), thresholds)?;
    }
    let head = head::current(tx, branch)?.id;
    let items = resolve::resolve(tx, fresh, project, &new.results, new.fold)?;
    let version = version::ensure(tx, fresh, head, new.hash.as_ref())?;
    let new_report = report::New {
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
    if !claimed {
        // A model makes a threshold, and maybe a measure, which take as much room as a metric.
        let models = new.thresholds.as_ref().map_or(0, ReportThresholds::count);
        quota.store_unclaimed(tx, organization, stored(items.len() + models, new.bytes), fresh.now)?;
    }
    quota.meter(tx, organization, items.len(), uuid, fresh.now)?;
    let mut is_told = false;
    // What a job brings is judged when it is there.
    if new.spec.is_none() {
        let start_time = new.start_time;
        let place = Place { project, branch, head, testbed, spec: None, report, before: report, start_time };
        is_told = judge::write(tx, fresh, &place, items)?;
    }
    let made = [
        Scope::Branches(project),
        Scope::Heads(branch),
        Scope::Testbeds(project),
        Scope::Benchmarks(project),
        Scope::Measures(project),
        Scope::Thresholds(project),
    ];
    quota.check_made(tx, &made, claimed, fresh.now)?;
    if !claimed {
        quota.check_total(tx)?;
    }
    Ok(Recorded { report, is_told })
}

/// What a job brings for its report.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    /// What was read, one for each iteration.
    pub(crate) results: Vec<Results>,
    /// How many bytes it was read from.
    pub(crate) bytes: usize,
    /// How the iterations become one.
    pub(crate) fold: Option<Fold>,
    /// When the run began.
    pub(crate) start_time: Timestamp,
    /// When the run ended.
    pub(crate) end_time: Timestamp,
    /// The machine that made it.
    pub(crate) host: Option<String>,
}

/// Fills the report of a job, which was recorded without results when the job was asked for. It is judged by the runs
/// that began before its own, whenever they were sent.
pub(crate) fn fill(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    quota: Quota,
    home: Home,
    report: ReportId,
    filling: &Filling,
) -> Result<()> {
    let report::Empty { project, branch, head, testbed, spec, .. } = report::place(tx, report)?;
    if !home.claimed {
        tx.lock(Lock::Organization(home.organization.get()))?;
    }
    tx.lock(Lock::Project(project.get()))?;
    let standing = quota.standing(tx, home.organization)?;
    quota.check_metrics(tx, home.organization, home.claimed, standing, fresh.now)?;
    let items = resolve::resolve(tx, fresh, project, &filling.results, filling.fold)?;
    let Filling { start_time, end_time, .. } = *filling;
    let host = filling.host.as_deref();
    let uuid = report::fill(tx, report, (start_time, end_time), host, &resolve::count(&items), items.len())?;
    if !home.claimed {
        quota.store_unclaimed(tx, home.organization, stored(items.len(), filling.bytes), fresh.now)?;
    }
    quota.meter(tx, home.organization, items.len(), uuid, fresh.now)?;
    let before = ReportId::from(i64::MAX);
    let place = Place { project, branch, head, testbed, spec, report, before, start_time };
    judge::write(tx, fresh, &place, items)?;
    let made = [Scope::Benchmarks(project), Scope::Measures(project)];
    quota.check_made(tx, &made, home.claimed, fresh.now)?;
    if home.claimed { Ok(()) } else { quota.check_total(tx) }
}

/// What a report adds to what its organization stores.
fn stored(metrics: usize, bytes: usize) -> Stored {
    let number = |number| u64::try_from(number).unwrap_or(u64::MAX);
    Stored { metrics: number(metrics), report_bytes: number(bytes.saturating_add(REPORT_BYTES)) }
}

fn ensure_branch(tx: &mut Tx<'_>, fresh: &Fresh, project: ProjectId, new: &Submission) -> Result<BranchId> {
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

/// The name that something gets if it has to be made.
fn valid<T: std::str::FromStr<Err: std::fmt::Display>>(field: &str, reference: &NameId) -> Result<T> {
    reference.as_str().parse().map_err(|error| Error::Invalid(format!("`{field}` is wrong: {error}.")))
}

/// Says which reference was not found: only a UUID can be unknown.
fn unknown(error: tidemark_store::Error, noun: &str, reference: &NameId) -> Error {
    match error {
        tidemark_store::Error::NotFound(_) => Error::NotFound(format!(
            "The project has no {noun} with the UUID {reference}; use a name or slug to make a new one."
        )),
        error => error.into(),
    }
}

fn set_thresholds(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
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
    let known = measure::by_ids(tx, &ids)?;
    let mut complete: BTreeMap<MeasureId, (&NameId, Model)> = BTreeMap::new();
    for ((key, model), id) in models.iter().zip(measures) {
        let worse =
            known.get(&id).map(|measure| measure.worse()).ok_or_else(|| Error::not_found("measure"))?;
        let model = model.complete(worse).map_err(|error| {
            Error::Invalid(format!("The model for `{key}` in `thresholds` is wrong: {error}"))
        })?;
        if let Some((other, _)) = complete.insert(id, (key, model)) {
            return Err(Error::Invalid(format!(
                "`{other}` and `{key}` in `thresholds` are the same measure; give it one model."
            )));
        }
    }
    let complete: Vec<_> = complete.into_iter().map(|(measure, (_, model))| (measure, model)).collect();
    Ok(threshold::set(tx, fresh, project, lane, &complete, reset)?)
}
