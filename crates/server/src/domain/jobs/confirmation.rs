//! Confirms suspected events before the server notifies: requests a job that compares the versions before and after an event, and
//! decides by its pairs. An event that cannot be confirmed is notified with the reason.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tidemark_api::{
    Actor, ActorKind, Benchmark, ConfirmationState, EventStatus, JobBase, JobConfig, JobEvent, NonEmpty,
    Timestamp, Url, VerdictComparison,
    job::{JOB_ROUNDS_DEFAULT, JobSecret},
};
use tidemark_stats::{Criteria, Verdict as Outcome};
use tidemark_store::{
    Dimension, Lock, ReportId, SpecId, Tx, VersionId, WriteContext,
    confirmation::{self, Commit, CommitImage, EventToConfirm, PendingConfirmation, Suspect},
    delivery, event, job,
    project::{self, ProjectRow},
    report::{self, ReportDimensions},
    series::SeriesKey,
};

use super::{Signal, tier::Tier};
use crate::domain::{
    app::App,
    error::{Error, Result},
    quota::Quota,
    verdict::paired::{PairedComparison, compare_pairs},
};

/// Maximum number of confirmations that are processed at a time.
const MAX_PER_ROUND: i64 = 16;
/// Maximum number of suspected series of an event that a job has to decide, the largest changes first.
const MAX_SUSPECTS: usize = 64;
/// Smallest difference that a job has to resolve.
const MIN_CHANGE: f64 = 0.001;
/// Environment variable of the job with the names of the suspected benchmarks, one per line.
const BENCHMARKS_VARIABLE: &str = "TIDEMARK_BENCHMARKS";
/// Length of a short commit hash.
const SHORT_HASH: usize = 10;
const TIMED_OUT: &str = "The comparison did not end in time.";
const REFUTED: &str = "Measured again: the versions before and after do not differ.";

/// Settings of the server for the jobs that confirm events.
#[derive(Clone)]
struct Settings {
    registry: Url,
    queue_timeout: i64,
    quota: Quota,
}

/// Requests the jobs of new confirmations, and ends the confirmations whose jobs ended without results or take too long. Returns
/// whether any confirmation is pending.
pub(super) async fn advance(app: &App) -> Result<bool> {
    let now = app.clock.now();
    let read = move |tx: &mut Tx<'_>| {
        if !confirmation::is_any_pending(tx)? {
            return Ok::<_, Error>(None);
        }
        Ok(Some(confirmation::due(tx, now, MAX_PER_ROUND)?))
    };
    let Some(due) = app.db.read(read).await? else { return Ok(false) };
    let settings = Settings {
        registry: app.config.registry_url().clone(),
        queue_timeout: app.config.plus.runners.queue_timeout.into(),
        quota: Quota::new(&app.config),
    };
    for pending in due {
        let (fresh, settings) = (app.fresh(), settings.clone());
        // An error with one confirmation must not block the others.
        match app.db.write(move |tx| step(tx, &fresh, &settings, &pending)).await {
            Ok(signal) => {
                if let Some(signal) = signal {
                    app.jobs.signal(signal);
                }
                app.background.wake();
            }
            Err(error) => {
                let cause = error.cause();
                tracing::warn!(cause, "processing a confirmation failed; retrying");
            }
        }
    }
    Ok(true)
}

/// Advances a confirmation. Returns the signal to send at this server after the commit.
fn step(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    settings: &Settings,
    pending: &PendingConfirmation,
) -> Result<Option<Signal>> {
    tx.lock(Lock::Project(pending.project.get()))?;
    // Another server may have advanced it.
    let current = confirmation::pending(tx, pending.event)?;
    let Some(current) = current.filter(|current| current.state == pending.state) else { return Ok(None) };
    let pending = &current;
    if pending.state == ConfirmationState::Suspected {
        return match plan(tx, settings, pending, fresh.now)? {
            Ok(plan) => {
                plan.enqueue(tx, fresh, pending)?;
                Signal::Queued.announce(tx)?;
                Ok(Some(Signal::Queued))
            }
            Err(reason) => {
                end(tx, fresh, pending, ConfirmationState::Suspected, Some(&reason), &[]).map(|()| None)
            }
        };
    }
    let change = job::JobUpdate { error: Some(TIMED_OUT), ..job::JobUpdate::default() };
    let canceled = match (pending.job, pending.job_uuid) {
        (Some(id), Some(uuid)) if job::advance(tx, id, JobEvent::Cancel, change, fresh.now)? => Some(uuid),
        _ => None,
    };
    let reason = match (canceled, &pending.error, pending.job) {
        (None, Some(error), _) => format!("The job that compares the versions failed: {error}"),
        (None, None, None) => "The job that compares the versions was deleted.".to_owned(),
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
    let testbed = report::dimensions(tx, pending.report)?.testbed;
    let suspects = confirmation::suspects(tx, &[pending.event], testbed)?;
    let suspected: HashMap<SeriesKey, f64> =
        suspects.iter().take(MAX_SUSPECTS).map(|one| (one.series_key, one.change)).collect();
    let criteria = match &found.config.base {
        Some(base) => Criteria { smallest_change: base.min_change, same_within: base.same_within },
        None => Criteria::DEFAULT,
    };
    let compared = compare_pairs(tx, found.report, |series| suspected.contains_key(series), &criteria)?;
    let (state, reason) = decide(&suspected, &compared);
    let comparisons: Vec<VerdictComparison> = compared.into_iter().map(|one| one.comparison).collect();
    end(tx, fresh, &pending, state, reason.as_deref(), &comparisons)
}

/// Decides by the comparisons of the suspected series: an event is confirmed if any series changed in the suspected direction, and
/// refuted if none did and no comparison is inconclusive.
fn decide(
    suspected: &HashMap<SeriesKey, f64>,
    compared: &[PairedComparison],
) -> (ConfirmationState, Option<String>) {
    let is_changed = |one: &PairedComparison| {
        let is_different =
            matches!(one.outcome, Outcome::Regression | Outcome::Improvement | Outcome::Difference);
        let is_higher = one.comparison.base.is_none_or(|base| one.comparison.head > base);
        is_different && suspected.get(&one.series_key).is_some_and(|change| (*change > 0.0) == is_higher)
    };
    if compared.is_empty() {
        let reason = "The job did not measure the suspected benchmarks of both versions in pairs.";
        (ConfirmationState::Suspected, Some(reason.to_owned()))
    } else if compared.iter().any(is_changed) {
        (ConfirmationState::Confirmed, None)
    } else if compared.iter().any(|one| one.outcome == Outcome::Inconclusive) {
        let rounds = compared.iter().map(|one| one.comparison.head_runs).max().unwrap_or_default();
        let reason = format!("The comparison was inconclusive after {rounds} rounds.");
        (ConfirmationState::Suspected, Some(reason))
    } else {
        (ConfirmationState::Refuted, None)
    }
}

/// Ends a confirmation: a refuted event becomes a false alarm. Enqueues the notification when the last confirmation of its report
/// ends, unless all events of the report are refuted.
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
    if state == ConfirmationState::Refuted {
        let note: Option<NonEmpty> = REFUTED.parse().ok();
        let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
        let status = Some(EventStatus::FalseAlarm);
        event::update(tx, fresh, pending.project, pending.uuid, status, Some(note.as_ref()), &actor)?;
    }
    if confirmation::is_notifiable(tx, pending.report)? {
        delivery::enqueue(tx, fresh, pending.project, pending.report)?;
    }
    Ok(())
}

/// A job that confirms an event.
struct Plan {
    place: ReportDimensions,
    found: ProjectRow,
    spec: SpecId,
    /// Report whose adapter parses the results.
    model: ReportId,
    base: VersionId,
    head: VersionId,
    config: JobConfig,
    tier: Tier,
    concurrency: Option<u32>,
    expires: Timestamp,
}

/// Plans the job of a confirmation; the inner error is the reason why the event cannot be confirmed.
fn plan(
    tx: &mut Tx<'_>,
    settings: &Settings,
    pending: &PendingConfirmation,
    now: Timestamp,
) -> Result<Result<Plan, String>> {
    let found = project::by_id(tx, pending.project)?;
    let place = report::dimensions(tx, pending.report)?;
    if found.project.claimed.is_none() {
        return Ok(Err("The project is unclaimed.".to_owned()));
    }
    let spec = match confirmation::spec(tx, place.testbed)? {
        None => {
            return Ok(Err("The testbed has no spec, so that no runner can measure it again.".to_owned()));
        }
        Some((_, false)) => return Ok(Err("No runner serves the spec of the testbed.".to_owned())),
        Some((spec, true)) => spec,
    };
    let Some(event) = confirmation::events(tx, &[pending.event])?.pop() else {
        return Ok(Err("The event was deleted.".to_owned()));
    };
    let (base, head) = match versions(tx, &event)? {
        Ok(versions) => versions,
        Err(reason) => return Ok(Err(reason)),
    };
    let [base_image, head_image] = match images(tx, &found, [&base, &head])? {
        Ok(images) => images,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut suspects = confirmation::suspects(tx, &[pending.event], place.testbed)?;
    suspects.truncate(MAX_SUSPECTS);
    if suspects.is_empty() {
        return Ok(Err("No benchmark of the testbed is suspected any more.".to_owned()));
    }
    let benchmarks = names(tx, &suspects)?;
    let smallest = suspects.iter().map(|one| one.change.abs() / 2.0).fold(f64::INFINITY, f64::min);
    let limit = |default: f64| default.min(smallest).max(MIN_CHANGE);
    let template = confirmation::newest_config(tx, pending.project, place.testbed)?;
    let tier = Tier::of(true, settings.quota.billing_status(tx, found.organization)?);
    let uuid = found.project.uuid;
    let repository = |image: &CommitImage| match image.path.as_str() {
        "" => uuid.to_string(),
        path => format!("{uuid}/{path}"),
    };
    let name = |commit: &Commit, image: &CommitImage| match image.path.as_str() {
        "" => format!("{}:{}", found.project.slug, commit.hash),
        path => format!("{}/{path}:{}", found.project.slug, commit.hash),
    };
    let variable = (BENCHMARKS_VARIABLE.to_owned(), JobSecret(benchmarks.join("\n")));
    let config = JobConfig {
        registry: settings.registry.clone(),
        project: uuid,
        repository: Some(repository(&head_image)),
        image: Some(name(&head, &head_image)),
        digest: head_image.digest,
        entrypoint: template.as_ref().and_then(|template| template.entrypoint.clone()),
        cmd: template.as_ref().and_then(|template| template.cmd.clone()),
        env: Some(BTreeMap::from([variable])),
        timeout: tier.timeout_default.min(tier.timeout_max),
        file_paths: template.as_ref().and_then(|template| template.file_paths.clone()),
        build_time: template.as_ref().and_then(|template| template.build_time),
        file_size: template.as_ref().and_then(|template| template.file_size),
        average: template.as_ref().and_then(|template| template.average),
        iter: Some(1),
        fold: None,
        allow_failure: None,
        backdate: None,
        isolated: None,
        base: Some(JobBase {
            repository: Some(repository(&base_image)),
            image: Some(name(&base, &base_image)),
            digest: base_image.digest,
            adapter: report::adapter(tx, pending.report)?,
            duet: template.and_then(|template| template.base).is_some_and(|base| base.duet),
            rounds: JOB_ROUNDS_DEFAULT,
            benchmarks,
            min_change: limit(Criteria::DEFAULT.smallest_change),
            same_within: limit(Criteria::DEFAULT.same_within),
        }),
    };
    Ok(Ok(Plan {
        place,
        spec,
        model: pending.report,
        base: base.version,
        head: head.version,
        config,
        concurrency: tier.concurrency.or(settings.quota.concurrent_jobs()),
        tier,
        expires: now.plus_seconds(settings.queue_timeout),
        found,
    }))
}

/// Returns the versions to compare: the last one before the event, and the last one with which the event may have begun.
fn versions(tx: &mut Tx<'_>, event: &EventToConfirm) -> Result<Result<(Commit, Commit), String>> {
    let Some(head) = confirmation::commit(tx, event.last)? else {
        return Ok(Err("The report has no commit hash.".to_owned()));
    };
    Ok(match confirmation::commit_before(tx, event.head, event.first)? {
        Some(base) => Ok((base, head)),
        None => Err("No earlier version has a commit hash.".to_owned()),
    })
}

/// Returns the images of commits.
fn images(
    tx: &mut Tx<'_>,
    found: &ProjectRow,
    [base, head]: [&Commit; 2],
) -> Result<Result<[CommitImage; 2], String>> {
    let missing = |commit: &Commit| {
        let hash: String = commit.hash.as_str().chars().take(SHORT_HASH).collect();
        format!("The registry has no image of the commit {hash}. Push it with the full hash as its tag.")
    };
    let Some(base_image) = confirmation::image(tx, found.id, base)? else { return Ok(Err(missing(base))) };
    let Some(head_image) = confirmation::image(tx, found.id, head)? else { return Ok(Err(missing(head))) };
    Ok(Ok([base_image, head_image]))
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

impl Plan {
    /// Creates the job with its report, which receives only pairs.
    fn enqueue(&self, tx: &mut Tx<'_>, fresh: &WriteContext, pending: &PendingConfirmation) -> Result<()> {
        let new_report = report::NewReportRow {
            project: self.found.id,
            user: None,
            branch: self.place.branch,
            head: self.place.head,
            version: self.head,
            testbed: self.place.testbed,
            spec: Some(self.spec),
            adapter: report::adapter(tx, self.model)?,
            start_time: fresh.now,
            end_time: fresh.now,
            binary_hash: None,
            host: None,
            idempotency_key: None,
            counts: &[],
            metrics: 0,
        };
        let (report, _) = report::insert(tx, fresh, &new_report)?;
        let new = job::NewJobRow {
            project: self.found.id,
            report,
            spec: self.spec,
            rank: self.tier.rank,
            address: None,
            concurrency: self.concurrency,
            config: &self.config,
            callback: None,
            expires: self.expires,
        };
        let job = job::create(tx, fresh, &new)?;
        Ok(confirmation::start(tx, pending.event, job, (self.base, self.head), fresh.now)?)
    }
}
