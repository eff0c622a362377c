//! Searches for the commits of events with jobs: each job compares the image of a commit with the image of the commit before the
//! event, and `tidemark-stats` chooses the next commit. A search is a row that each transaction advances by one step, so that it goes
//! on after a restart. Its end releases the notification that waits for it.

mod progress;

use std::collections::BTreeSet;

use tidemark_api::{Actor, ActorKind, Benchmark, BisectionStatus, JobEvent};
use tidemark_stats::Criteria;
use tidemark_store::{
    Dimension, EventId, HeadId, Lock, ProjectId, ReportId, Tx, VersionId, WriteContext, bisection,
    bisection_search::{self, NewSearch, PendingSearch},
    commit::{self, Commit, CommitImage},
    confirmation::{self, PendingConfirmation},
    delivery, job, pair,
    series::SeriesKey,
};

use self::progress::{Progress, SearchCommit};
use super::{
    CANCELED_ON_REQUEST, Signal,
    event_job::{CommitPair, EventJobSettings, EventJobs, EventQueue},
};
use crate::domain::error::Result;

/// Maximum number of commits of a search.
const MAX_COMMITS: i64 = 1_000;
/// Maximum number of jobs of a search.
const MAX_JOBS: u32 = 64;
/// Maximum rounds of a job.
const ROUNDS: u32 = 5;
/// Maximum duration of a search, in seconds.
const TIMEOUT_SECONDS: i64 = 6 * 60 * 60;
/// Probability with which a search is decided.
const PROBABILITY: f64 = 0.97;
const CANCELED: &str = "A user canceled a job of the search.";
const TIMED_OUT: &str = "The search for the commit did not end in time.";

/// Requests the next jobs of searches, and ends the searches that are decided or take too long.
pub(super) const SEARCHES: EventQueue<PendingSearch> = EventQueue {
    error: "advancing the search for a commit failed",
    is_any_pending: bisection_search::is_any_pending,
    due: bisection_search::due,
    event: |pending| (pending.event, pending.attempts),
    step,
    postpone: bisection_search::postpone,
};

/// Range of a search: the series that changed, and the versions before and after the event.
struct SearchRange {
    project: ProjectId,
    event: EventId,
    head: HeadId,
    /// Report that shows how to measure the commits again.
    report: ReportId,
    series_key: SeriesKey,
    good: VersionId,
    bad: VersionId,
}

/// Starts the search for the commit of an event that a job has just confirmed, with the values of the job. Returns whether there is
/// a search.
pub(super) fn start_confirmed(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    pending: &PendingConfirmation,
    found: &job::JobRow,
    series_key: SeriesKey,
) -> Result<bool> {
    let Some(event) = confirmation::events(tx, &[pending.event])?.pop() else { return Ok(false) };
    let (Some(good), Some(bad)) = (pending.base, pending.head) else { return Ok(false) };
    let range = SearchRange {
        project: pending.project,
        event: pending.event,
        head: event.head,
        report: pending.report,
        series_key,
        good,
        bad,
    };
    let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
    match start(tx, fresh, &range, Some(found.report), &actor)? {
        Ok(()) => Ok(true),
        Err(reason) => {
            bisection_search::refuse(tx, pending.event, &reason, &actor, fresh.now)?;
            Ok(false)
        }
    }
}

/// Starts the search for the commit of an event on request, for its largest change of a benchmark; of any benchmark by default. The
/// inner error is the reason why there is no search; the event has it, too.
pub(crate) fn start_requested(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    (project, event): (ProjectId, EventId),
    benchmark: Option<&str>,
    actor: &Actor,
) -> Result<Result<(), String>> {
    let started = match requested_range(tx, (project, event), benchmark)? {
        Ok(range) => start(tx, fresh, &range, None, actor)?,
        Err(reason) => Err(reason),
    };
    if let Err(reason) = &started {
        bisection_search::refuse(tx, event, reason, actor, fresh.now)?;
    }
    Ok(started)
}

/// Returns the range of a search for the commit of an event.
fn requested_range(
    tx: &mut Tx<'_>,
    (project, event): (ProjectId, EventId),
    benchmark: Option<&str>,
) -> Result<Result<SearchRange, String>> {
    let Some(found) = confirmation::events(tx, &[event])?.pop() else {
        return Ok(Err("The event was deleted.".to_owned()));
    };
    let mut suspects = confirmation::suspects(tx, event)?;
    if let Some(benchmark) = benchmark {
        let keys: BTreeSet<i64> = suspects.iter().map(|one| one.series_key.benchmark.get()).collect();
        let keys: Vec<i64> = keys.into_iter().collect();
        let named = Benchmark::by_ids::<Benchmark>(tx, &keys)?;
        suspects.retain(|one| {
            named.get(&one.series_key.benchmark).is_some_and(|found| found.name.as_str() == benchmark)
        });
    }
    let Some(suspect) = suspects.first() else {
        return Ok(Err("The event has no series that changed.".to_owned()));
    };
    let Some(report) = commit::report(tx, suspect.last, suspect.testbed)? else {
        return Ok(Err("The report of the event was deleted.".to_owned()));
    };
    let versions = super::confirmation::versions(tx, &found, suspect.testbed, &suspects[..1])?;
    Ok(versions.map(|(good, bad)| SearchRange {
        project,
        event,
        head: found.head,
        report,
        series_key: suspect.series_key,
        good: good.version,
        bad: bad.version,
    }))
}

/// Starts a search. `measured` is the report of a job that compared the versions before and after the event. The inner error is the
/// reason why there is no search.
fn start(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    range: &SearchRange,
    measured: Option<ReportId>,
    actor: &Actor,
) -> Result<Result<(), String>> {
    let (Some(good), Some(bad)) = (commit::find(tx, range.good)?, commit::find(tx, range.bad)?) else {
        return Ok(Err("The versions before and after the event have no commit hashes.".to_owned()));
    };
    let mut commits = vec![good];
    commits.extend(commit::between(tx, range.head, (range.good, range.bad), MAX_COMMITS)?);
    if commits.last().is_none_or(|last| last.version != bad.version) {
        return Ok(Err(format!("The range has more than {MAX_COMMITS} commits.")));
    }
    if commits.len() < 3 {
        return Ok(Err("The range has only one commit.".to_owned()));
    }
    let jobs = match EventJobs::read(tx, range.project, range.head, range.report)? {
        Ok(jobs) => jobs,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut images = match jobs.images(tx, &commits)? {
        Ok(images) => images,
        Err(reason) => return Ok(Err(reason)),
    };
    if images.len() < 3 {
        return Ok(Err("The registry has no image of a commit within the range.".to_owned()));
    }
    let commits: Vec<SearchCommit> = commits
        .into_iter()
        .map(|commit| SearchCommit::new(&commit, images.remove(&commit.version)))
        .collect();
    let mut progress = Progress::new(range.series_key, commits);
    if let Some(report) = measured {
        let last = progress.commits.len() - 1;
        progress.record(last, &pairs(tx, report, range.series_key)?);
    }
    let new = NewSearch {
        event: range.event,
        report: range.report,
        progress: &progress.to_json()?,
        deadline: fresh.now.plus_seconds(TIMEOUT_SECONDS),
        actor,
    };
    match bisection_search::start(tx, &new, fresh.now)? {
        true => Ok(Ok(())),
        false => Ok(Err("The server already searches for the commit of the event.".to_owned())),
    }
}

/// Returns the pairs of a series in the report of a job.
fn pairs(tx: &mut Tx<'_>, report: ReportId, series_key: SeriesKey) -> Result<Vec<(f64, f64)>> {
    let all = pair::of_report(tx, report)?;
    Ok(all.into_iter().find(|one| one.series_key == series_key).map(|one| one.pairs).unwrap_or_default())
}

/// Advances a search by one step. Returns the signal to send at this server after the commit.
fn step(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    settings: &EventJobSettings,
    search: &PendingSearch,
) -> Result<Option<Signal>> {
    tx.lock(Lock::Project(search.project.get()))?;
    // Another server may have advanced it.
    let current = bisection_search::pending(tx, search.event)?;
    let Some(search) = current.filter(|current| current.job == search.job) else { return Ok(None) };
    let mut progress = Progress::from_json(&search.progress)?;
    if search.deadline <= fresh.now {
        return stop(tx, fresh, &search, &progress);
    }
    if let Some(commit) = progress.current.take() {
        if search.error.as_deref() == Some(CANCELED_ON_REQUEST) {
            return end(tx, fresh, &search, CANCELED).map(|()| None);
        }
        let reason = search.error.as_deref().unwrap_or("The job was deleted.");
        if let Err(reason) = progress.fail(commit, reason) {
            return end(tx, fresh, &search, &reason).map(|()| None);
        }
    }
    let (assessment, culprit, next) = progress.assess();
    let decided = if culprit.probability >= PROBABILITY {
        Some(BisectionStatus::Found)
    } else if assessment.no_change >= PROBABILITY {
        Some(BisectionStatus::NoDifference)
    } else if progress.jobs >= MAX_JOBS {
        Some(BisectionStatus::Undecided)
    } else {
        None
    };
    if let Some(status) = decided {
        return finish(tx, fresh, &search, &progress, status).map(|()| None);
    }
    // A job measures the commit before the event in any case.
    let commit = if next == 0 { progress.commits.len() - 1 } else { next };
    let Some(event) = confirmation::events(tx, &[search.event])?.pop() else { return Ok(None) };
    let jobs = match EventJobs::read(tx, search.project, event.head, search.report)? {
        Ok(jobs) => jobs,
        Err(reason) => return end(tx, fresh, &search, &reason).map(|()| None),
    };
    let side = |commit: usize| -> Result<(Commit, CommitImage)> { progress.commits[commit].side() };
    let (base, head) = (side(0)?, side(commit)?);
    let pair = CommitPair {
        base: (&base.0, &base.1),
        head: (&head.0, &head.1),
        benchmarks: vec![progress.benchmark(tx)?.name.as_str().to_owned()],
        rounds: ROUNDS,
        min_change: Criteria::DEFAULT.smallest_change,
        same_within: Criteria::DEFAULT.same_within,
    };
    let job = jobs.enqueue(tx, fresh, settings, pair)?;
    progress.current = Some(commit);
    progress.jobs += 1;
    bisection_search::update(tx, search.event, Some(job), &progress.to_json()?, fresh.now)?;
    Signal::Queued.announce(tx)?;
    Ok(Some(Signal::Queued))
}

/// Records the values of a job whose results were just stored. The next step follows.
pub(super) fn conclude(tx: &mut Tx<'_>, fresh: &WriteContext, found: &job::JobRow) -> Result<()> {
    let Some(search) = bisection_search::of_job(tx, found.id)? else { return Ok(()) };
    let mut progress = Progress::from_json(&search.progress)?;
    let Some(commit) = progress.current.take() else { return Ok(()) };
    let pairs = pairs(tx, found.report, progress.series_key())?;
    if pairs.is_empty()
        && let Err(reason) = progress.fail(commit, "The job did not measure the benchmark.")
    {
        return end(tx, fresh, &search, &reason);
    }
    progress.record(commit, &pairs);
    Ok(bisection_search::update(tx, search.event, None, &progress.to_json()?, fresh.now)?)
}

/// Ends the wait of a notification for a search that was deleted or did not end in time.
pub(super) fn give_up(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    pending: &PendingConfirmation,
) -> Result<Option<Signal>> {
    match bisection_search::pending(tx, pending.event)? {
        Some(search) => {
            let progress = Progress::from_json(&search.progress)?;
            stop(tx, fresh, &search, &progress)
        }
        None => notify(tx, fresh, (pending.project, pending.event), None).map(|()| None),
    }
}

/// Ends a search at its deadline, with what is known so far.
fn stop(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    search: &PendingSearch,
    progress: &Progress,
) -> Result<Option<Signal>> {
    let change = job::JobUpdate { error: Some(TIMED_OUT), ..job::JobUpdate::default() };
    let canceled = match (search.job, search.job_uuid) {
        (Some(id), Some(uuid)) if job::advance(tx, id, JobEvent::Cancel, change, fresh.now)? => Some(uuid),
        _ => None,
    };
    if progress.is_measured() {
        finish(tx, fresh, search, progress, BisectionStatus::Undecided)?;
    } else {
        end(tx, fresh, search, TIMED_OUT)?;
    }
    let Some(uuid) = canceled else { return Ok(None) };
    Signal::Canceled(uuid).announce(tx)?;
    Ok(Some(Signal::Canceled(uuid)))
}

/// Ends a search with a result.
fn finish(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    search: &PendingSearch,
    progress: &Progress,
    status: BisectionStatus,
) -> Result<()> {
    let result = progress.result(tx, status)?;
    let actor = Actor { kind: search.actor_kind, uuid: search.actor_uuid, name: search.actor_name.clone() };
    bisection::store(tx, fresh, search.project, search.uuid, result, &actor)?;
    bisection_search::end(tx, search.event, None, fresh.now)?;
    let found = (status == BisectionStatus::Found).then_some(search);
    notify(tx, fresh, (search.project, search.event), found)
}

/// Ends a search without a result.
fn end(tx: &mut Tx<'_>, fresh: &WriteContext, search: &PendingSearch, reason: &str) -> Result<()> {
    bisection_search::end(tx, search.event, Some(reason), fresh.now)?;
    notify(tx, fresh, (search.project, search.event), None)
}

/// Enqueues the notification that waits for a search. If it was delivered before, the server sends it again with the commit that was
/// found.
fn notify(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    (project, event): (ProjectId, EventId),
    found: Option<&PendingSearch>,
) -> Result<()> {
    let report = match (confirmation::release(tx, event, fresh.now)?, found) {
        (Some(report), _) if confirmation::is_notifiable(tx, report)? => Some(report),
        (None, Some(search)) => bisection::notified_report(tx, project, search.uuid)?,
        _ => None,
    };
    if let Some(report) = report {
        delivery::enqueue(tx, fresh, project, report)?;
    }
    Ok(())
}
