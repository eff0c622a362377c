//! Confirms suspected events before the server notifies: requests a job that compares the versions before and after an event, and
//! decides by its pairs. An event that cannot be confirmed is notified with the reason.

mod decision;

use std::collections::{BTreeSet, HashMap, HashSet};

use tidemark_api::{
    Actor, ActorKind, Benchmark, ConfirmMode, ConfirmationState, EventStatus, JobEvent, NonEmpty,
    VerdictComparison, job::JOB_ROUNDS_DEFAULT,
};
use tidemark_stats::Criteria;
use tidemark_store::{
    Dimension, Lock, TestbedId, Tx, VersionId, WriteContext,
    commit::{self, Commit, CommitImage},
    confirmation::{self, EventToConfirm, PendingConfirmation, Suspect},
    delivery, detection, event, job, report,
    series::{self, SeriesKey},
    vector,
    version::{self, VersionRange},
};

use super::{
    CANCELED_ON_REQUEST, Signal, bisection,
    event_job::{CommitPair, EventJobSettings, EventJobs, EventQueue},
};
use crate::domain::{error::Result, verdict::paired::compare_pairs};

/// Maximum number of suspected series of an event that a job has to decide, the largest changes first.
const MAX_SUSPECTS: usize = 64;
/// Maximum number of earlier reports among which the level before an alert is searched.
const MAX_EARLIER_REPORTS: i64 = 64;
const TIMED_OUT: &str = "The comparison did not end in time.";
const CANCELED: &str = "A user canceled the job that compares the versions.";
const REFUTED: &str = "Measured again: the versions before and after do not differ.";
const IDENTICAL: &str = "The images or the binaries of the versions before and after are identical.";

/// Requests the jobs of new confirmations, and ends the confirmations whose jobs ended without results or take too long.
pub(super) const CONFIRMATIONS: EventQueue<PendingConfirmation> = EventQueue {
    error: "processing a confirmation failed",
    is_any_pending: confirmation::is_any_pending,
    due: confirmation::due,
    event: |pending| (pending.event, pending.attempts),
    step,
    postpone: confirmation::postpone,
};

/// Advances a confirmation. Returns the signal to send at this server after the commit.
fn step(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    settings: &EventJobSettings,
    pending: &PendingConfirmation,
) -> Result<Option<Signal>> {
    tx.lock(Lock::Project(pending.project.get()))?;
    // Another server may have advanced it.
    let current = confirmation::pending(tx, pending.event)?;
    let Some(current) = current.filter(|current| current.state == pending.state) else { return Ok(None) };
    let pending = &current;
    if pending.state == ConfirmationState::Confirmed {
        // The search for the commit of the event was deleted, or did not end in time.
        return bisection::give_up(tx, fresh, pending);
    }
    let is_late = pending.deadline <= fresh.now;
    if pending.state == ConfirmationState::Suspected && !is_late {
        let reason = match plan(tx, pending)? {
            Plan::Compare(request) => {
                request.enqueue(tx, fresh, settings, pending)?;
                Signal::Queued.announce(tx)?;
                return Ok(Some(Signal::Queued));
            }
            Plan::Identical => {
                end(tx, fresh, pending, ConfirmationState::Refuted, Some(IDENTICAL), &[])?;
                return Ok(None);
            }
            Plan::Impossible(reason) => reason,
        };
        return end(tx, fresh, pending, ConfirmationState::Suspected, Some(&reason), &[]).map(|()| None);
    }
    let change = job::JobUpdate { error: Some(TIMED_OUT), ..job::JobUpdate::default() };
    let canceled = match (pending.job, pending.job_uuid) {
        (Some(id), Some(uuid)) if job::advance(tx, id, JobEvent::Cancel, change, fresh.now)? => Some(uuid),
        _ => None,
    };
    let is_confirming = pending.state == ConfirmationState::Confirming;
    let reason = match (canceled, &pending.error, pending.job) {
        (None, Some(error), _) if error == CANCELED_ON_REQUEST => CANCELED.to_owned(),
        (None, Some(error), _) => format!("The job that compares the versions failed: {error}"),
        (None, None, None) if is_confirming => "The job that compares the versions was deleted.".to_owned(),
        _ => TIMED_OUT.to_owned(),
    };
    end(tx, fresh, pending, ConfirmationState::Suspected, Some(&reason), &[])?;
    let Some(uuid) = canceled else { return Ok(None) };
    Signal::Canceled(uuid).announce(tx)?;
    Ok(Some(Signal::Canceled(uuid)))
}

/// Decides the confirmation of a job whose results were just stored, if it is still pending.
pub(super) fn conclude(tx: &mut Tx<'_>, fresh: &WriteContext, found: &job::JobRow) -> Result<()> {
    let Some(pending) = confirmation::of_job(tx, found.id)? else { return Ok(()) };
    let testbed = report::dimensions(tx, found.report)?.testbed;
    let suspects = confirmation::suspects(tx, pending.event)?;
    let criteria: HashMap<SeriesKey, Criteria> = suspects
        .iter()
        .filter(|suspect| suspect.testbed == testbed)
        .map(|suspect| (suspect.series_key, decision::criteria(suspect)))
        .collect();
    let compared = compare_pairs(
        tx,
        found.report,
        |series| criteria.contains_key(series),
        |series| criteria.get(series).copied().unwrap_or(Criteria::DEFAULT),
    )?;
    let (state, reason) = decision::decide(&suspects, testbed, &compared);
    if state == ConfirmationState::Confirmed && is_open(pending.status) {
        let confirm = detection::settings(tx, pending.project)?.confirm;
        let is_confirmed = |key: &SeriesKey, one| {
            let of = |suspect: &&Suspect| suspect.testbed == testbed && suspect.series_key == *key;
            suspects.iter().find(of).is_some_and(|suspect| decision::is_confirmed(suspect, one))
        };
        let culprits = compared.iter().filter(|one| is_confirmed(&one.series_key, one));
        let size = |change: Option<f64>| change.map_or(f64::INFINITY, f64::abs);
        let largest = culprits
            .max_by(|left, right| size(left.comparison.change).total_cmp(&size(right.comparison.change)))
            .map(|one| one.series_key);
        let comparisons: Vec<VerdictComparison> = compared.iter().map(|one| one.comparison.clone()).collect();
        if confirm == ConfirmMode::Bisect
            && let Some(series_key) = largest
            && bisection::start_confirmed(tx, fresh, &pending, found, series_key)?
        {
            // The notification waits for the commit.
            return Ok(confirmation::hold(tx, pending.event, &comparisons, fresh.now)?);
        }
    }
    let comparisons: Vec<VerdictComparison> = compared.into_iter().map(|one| one.comparison).collect();
    end(tx, fresh, &pending, state, reason.as_deref(), &comparisons)
}

/// Whether no user has closed an event.
pub(super) fn is_open(status: EventStatus) -> bool {
    matches!(status, EventStatus::Open | EventStatus::Recovered)
}

/// Ends a confirmation: a refuted event that no user has closed becomes a false alarm. Enqueues the notification when the last
/// confirmation of its report ends, unless there is nothing left to notify about.
fn end(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    pending: &PendingConfirmation,
    state: ConfirmationState,
    reason: Option<&str>,
    comparisons: &[VerdictComparison],
) -> Result<()> {
    if !confirmation::end(tx, pending.event, state, reason, comparisons, fresh.now)? {
        return Ok(());
    }
    if state == ConfirmationState::Refuted && is_open(pending.status) {
        let note: Option<NonEmpty> = reason.unwrap_or(REFUTED).parse().ok();
        let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
        let status = Some(EventStatus::FalseAlarm);
        event::update(tx, fresh, pending.project, pending.uuid, status, Some(note.as_ref()), &actor)?;
    }
    if confirmation::is_notifiable(tx, pending.report)? {
        delivery::enqueue(tx, fresh, pending.project, pending.report)?;
    }
    Ok(())
}

/// How to confirm an event.
enum Plan {
    /// Compare two commits.
    Compare(Box<Request>),
    /// The versions before and after have the same image or binary.
    Identical,
    /// The event cannot be confirmed, with the reason.
    Impossible(String),
}

/// A job that confirms an event.
struct Request {
    jobs: EventJobs,
    base: (Commit, CommitImage),
    head: (Commit, CommitImage),
    benchmarks: Vec<String>,
    criteria: Criteria,
}

/// Plans the job of a confirmation.
fn plan(tx: &mut Tx<'_>, pending: &PendingConfirmation) -> Result<Plan> {
    let impossible = |reason: &str| Ok(Plan::Impossible(reason.to_owned()));
    let Some(event) = confirmation::events(tx, &[pending.event])?.pop() else {
        return impossible("The event was deleted.");
    };
    let jobs = match EventJobs::read(tx, pending.project, event.head, pending.report)? {
        Ok(jobs) => jobs,
        Err(reason) => return Ok(Plan::Impossible(reason)),
    };
    let testbed = jobs.place.testbed;
    let all = confirmation::suspects(tx, pending.event)?;
    let suspects: Vec<Suspect> =
        all.into_iter().filter(|suspect| suspect.testbed == testbed).take(MAX_SUSPECTS).collect();
    if suspects.is_empty() {
        return impossible("No benchmark of the testbed is suspected any more.");
    }
    let (base, head) = match versions(tx, &event, testbed, &suspects)? {
        Ok(versions) => versions,
        Err(reason) => return Ok(Plan::Impossible(reason)),
    };
    let commits = [base, head];
    let mut images = match jobs.images(tx, &commits)? {
        Ok(images) => images,
        Err(reason) => return Ok(Plan::Impossible(reason)),
    };
    let [base, head] = commits;
    let (Some(base_image), Some(head_image)) = (images.remove(&base.version), images.remove(&head.version))
    else {
        return impossible("The registry has no image of the commits.");
    };
    if base_image.digest == head_image.digest
        || commit::is_same_binary(tx, testbed, [base.version, head.version])?
    {
        return Ok(Plan::Identical);
    }
    // The runner measures until the smallest of the differences is decided; each series has criteria of its own.
    let criteria = suspects.iter().map(decision::criteria).reduce(|left, right| Criteria {
        smallest_change: left.smallest_change.min(right.smallest_change),
        same_within: left.same_within.min(right.same_within),
    });
    Ok(Plan::Compare(Box::new(Request {
        benchmarks: names(tx, &suspects)?,
        criteria: criteria.unwrap_or(Criteria::DEFAULT),
        jobs,
        base: (base, base_image),
        head: (head, head_image),
    })))
}

/// Returns the commits to compare: the last one before all suspected series, and the first one since which all may have changed.
pub(super) fn versions(
    tx: &mut Tx<'_>,
    event: &EventToConfirm,
    testbed: TestbedId,
    suspects: &[Suspect],
) -> Result<Result<(Commit, Commit), String>> {
    let first = suspects.iter().map(|suspect| suspect.first).min().unwrap_or(event.first);
    let last = suspects.iter().map(|suspect| suspect.last).max().unwrap_or(event.last);
    let Some(head) = commit::find(tx, last)? else {
        return Ok(Err("The report has no commit hash.".to_owned()));
    };
    let alerted: Vec<Suspect> = suspects.iter().filter(|suspect| !suspect.is_change).copied().collect();
    let base = match commit_at_level(tx, event, testbed, first, &alerted)? {
        Some(base) => Some(base),
        None => commit::before(tx, event.head, first)?,
    };
    Ok(match base {
        Some(base) => Ok((base, head)),
        None => Err("No earlier version has a commit hash.".to_owned()),
    })
}

/// Returns the newest commit before a version whose values of the alerted series all have the level before the alerts. An alert
/// shows when a limit was crossed, which may be later than the change.
fn commit_at_level(
    tx: &mut Tx<'_>,
    event: &EventToConfirm,
    testbed: TestbedId,
    first: VersionId,
    alerted: &[Suspect],
) -> Result<Option<Commit>> {
    if alerted.is_empty() {
        return Ok(None);
    }
    let keys = |key: fn(&SeriesKey) -> i64| -> Vec<i64> {
        let keys: BTreeSet<i64> = alerted.iter().map(|suspect| key(&suspect.series_key)).collect();
        keys.into_iter().collect()
    };
    let by_key: HashMap<SeriesKey, &Suspect> =
        alerted.iter().map(|suspect| (suspect.series_key, suspect)).collect();
    let (benchmarks, measures) = (keys(|key| key.benchmark.get()), keys(|key| key.measure.get()));
    let numbered: HashMap<u32, &Suspect> = series::find(tx, &[testbed.get()], &benchmarks, &measures)?
        .into_iter()
        .filter_map(|(_, key, number)| Some((number, *by_key.get(&key)?)))
        .collect();
    let own = VersionRange {
        head: event.head,
        first: VersionId::from(0),
        last: VersionId::from(first.get().saturating_sub(1)),
    };
    let inherited = version::history(tx, event.head)?.into_iter().nth(1);
    for range in [Some(own), inherited].into_iter().flatten() {
        let mut versions = HashSet::new();
        vector::newest(tx, &range, testbed, MAX_EARLIER_REPORTS, |measured, series, values| {
            let mut is_measured = false;
            let is_before = vector::series(series).zip(vector::values(values)).all(|(number, value)| {
                let Some(suspect) = numbered.get(&number) else { return true };
                is_measured = true;
                suspect.is_before(f64::from_le_bytes(*value))
            });
            if is_measured && is_before {
                versions.insert(measured.version);
            }
        })?;
        let versions: Vec<VersionId> = versions.into_iter().collect();
        if let Some(found) = commit::newest(tx, &versions)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the names of the suspected benchmarks.
fn names(tx: &mut Tx<'_>, suspects: &[Suspect]) -> Result<Vec<String>> {
    let keys: BTreeSet<i64> = suspects.iter().map(|one| one.series_key.benchmark.get()).collect();
    let keys: Vec<i64> = keys.into_iter().collect();
    let benchmarks = Benchmark::by_ids::<Benchmark>(tx, &keys)?;
    let mut names: Vec<String> =
        benchmarks.into_values().map(|benchmark| benchmark.name.as_str().to_owned()).collect();
    names.sort_unstable();
    Ok(names)
}

impl Request {
    /// Creates the job, and records it with the versions that it compares.
    fn enqueue(
        self,
        tx: &mut Tx<'_>,
        fresh: &WriteContext,
        settings: &EventJobSettings,
        pending: &PendingConfirmation,
    ) -> Result<()> {
        let ((base, base_image), (head, head_image)) = (&self.base, &self.head);
        let pair = CommitPair {
            base: (base, base_image),
            head: (head, head_image),
            benchmarks: self.benchmarks,
            rounds: JOB_ROUNDS_DEFAULT,
            min_change: self.criteria.smallest_change,
            same_within: self.criteria.same_within,
        };
        let job = self.jobs.enqueue(tx, fresh, settings, pair)?;
        Ok(confirmation::start(tx, pending.event, job, (base.version, head.version), fresh.now)?)
    }
}
