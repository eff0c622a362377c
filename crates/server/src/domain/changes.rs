//! Change detection: after each report, a background task analyzes the series of its branch and testbed. `stats` decides which
//! shifts are changes and which changes fit the false-alarm budget.

mod cache;
mod events;
mod factors;
mod history;
mod hosts;
mod monitors;
mod reconciliation;
mod report_numbers;
mod series;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tidemark_api::{ChangeCause, FalseAlarms, Measure, Notifies, Timestamp};
use tidemark_stats::{FalseAlarmBudget, Scratch, Worse};
use tidemark_store::{
    BranchId, Dimension, EventId, Lock, MeasureId, ProjectId, TestbedId, Tx, change, delivery, detection,
    event,
    lane::{self, Lane},
    series::series_keys,
    vector::{self, ReportPosition},
    version::VersionRange,
};
use tokio::{
    sync::{Notify, watch},
    task::spawn_blocking,
    time::sleep,
};

use self::{
    cache::Cache,
    monitors::{Monitors, Vector},
    reconciliation::ReconciledChange,
    series::Series,
};
pub(crate) use self::{
    history::{History, Spread, Values, hosts},
    series::MAX_RECENT_VALUES,
};
use crate::domain::{
    app::App,
    confirmation,
    error::{Error, Result},
    mute::Mutes,
};

/// Maximum number of lanes per round.
const LANES_PER_ROUND: i64 = 16;
/// Maximum pause between rounds: with a database that other servers write to, and otherwise.
const SHARED_POLL_INTERVAL: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum age of a change that is notified.
pub(crate) const MAX_NOTIFICATION_AGE_SECONDS: i64 = 14 * 24 * 60 * 60;
/// Seconds in a month of 30 days.
pub(crate) const MONTH_SECONDS: i64 = 30 * 24 * 60 * 60;
/// Minimum number of runs per month that the false-alarm budget is divided by. A project with fewer runs in the last month may be
/// new and have this many in the next month.
const MIN_RUNS_PER_MONTH: i64 = 300;
/// Maximum number of reports per read.
const REPORTS_PER_READ: i64 = 64;

/// Handle of the background task that detects changes.
pub struct Changes {
    wake: Arc<Notify>,
    stop: watch::Sender<bool>,
    cache: Mutex<Cache>,
}

impl Changes {
    /// Creates a handle whose monitors use at most `max_bytes` bytes of memory.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let cache = Mutex::new(Cache::new(max_bytes));
        Self { wake: Arc::default(), stop: watch::Sender::new(false), cache }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the background task.
    pub(crate) fn start(app: &App) {
        tokio::spawn(run(app.clone()));
    }

    /// Wakes the background task because of a new report.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Stops the background task.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Analyzes all pending lanes and returns when done. Used by servers without a background worker.
pub async fn catch_up(app: &App) -> Result<()> {
    let mut next = Some(lane::start_cursor());
    while let Some(from) = next {
        next = analyze_lanes(app, from).await?.next;
    }
    Ok(())
}

async fn run(app: App) {
    let mut stopped = app.changes.stop.subscribe();
    let pause = if app.db.is_shared() { SHARED_POLL_INTERVAL } else { POLL_INTERVAL };
    let (mut from, mut has_worked) = (lane::start_cursor(), false);
    loop {
        let result = tokio::select! {
            result = analyze_lanes(&app, from) => result,
            _ = stopped.wait_for(|stop| *stop) => return,
        };
        let RoundResult { next, made_progress } = result.unwrap_or_else(|error| {
            let cause = error.cause();
            tracing::warn!(cause, "change detection failed; retrying");
            RoundResult { next: None, made_progress: false }
        });
        has_worked |= made_progress;
        // Each lane is analyzed once before any lane is analyzed again. A lane that failed is retried in the next pass.
        from = next.unwrap_or(lane::start_cursor());
        if next.is_none() && !std::mem::take(&mut has_worked) {
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => return,
                () = app.changes.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }
}

/// Result of the analysis of some lanes.
struct RoundResult {
    /// The last analyzed lane, if there may be more.
    next: Option<(BranchId, TestbedId)>,
    /// Whether the analysis of at least one lane succeeded.
    made_progress: bool,
}

/// Analyzes up to `LANES_PER_ROUND` lanes after `from` that have new reports.
async fn analyze_lanes(app: &App, from: (BranchId, TestbedId)) -> Result<RoundResult> {
    let lanes = app.db.read(move |tx| lane::pending(tx, from, LANES_PER_ROUND)).await?;
    let mut round =
        RoundResult { next: lanes.last().map(|last| (last.branch, last.testbed)), made_progress: false };
    for lane in lanes {
        // A lane that fails must neither block the others nor keep the processor busy.
        match analyze(app, lane).await {
            Ok(()) => round.made_progress = true,
            Err(error) => {
                let cause = error.cause();
                tracing::warn!(cause, "change detection of a lane failed; retrying");
            }
        }
    }
    Ok(round)
}

/// Analyzes all series of a lane, writes the changes and enqueues the notifications.
async fn analyze(app: &App, lane: Lane) -> Result<()> {
    let kept = app.changes.cache().take(&lane);
    let mut current = match kept {
        Some(monitors) => extend_monitors(app, &lane, monitors).await?,
        None => None,
    };
    if current.is_none() {
        current = Some(build_monitors(app, &lane).await?);
    }
    let Some(mut monitors) = current else { return Ok(()) };
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let measures = Measure::by_ids::<Measure>(tx, &monitors.measures())?;
        let worse = |measure: MeasureId| measures.get(&measure).map_or(Worse::Unknown, Measure::worse);
        let changed_series = reconciliation::changed_series(&monitors, worse);
        let (mut is_enqueued, mut is_suspected) = (false, false);
        if !changed_series.is_empty() {
            tx.lock(Lock::Project(lane.project.get()))?;
            let stored = change::of_heads(tx, &[lane.head], lane.testbed)?;
            let (mut known, mut written) =
                reconciliation::reconcile(&monitors, &changed_series, &stored, fresh.now);
            let is_event = select_notifications(tx, &lane, monitors.series().len(), &mut known, fresh.now)?;
            let open = known.iter().filter(|one| is_open(one, fresh.now) && !one.written.is_raised);
            let open = open.map(|one| (one.written.series_key, one.written.found.at)).collect();
            reconciliation::record_written(&mut monitors, &changed_series, &open);
            events::find_alert_events(tx, &lane, &mut known)?;
            known.retain(|one| !one.is_stored || one.written.is_raised);
            events::assign(tx, &fresh, &lane, &mut known)?;
            written.extend(known.iter().map(|one| one.written));
            let newest = monitors.newest().map(|newest| newest.report);
            if !written.is_empty() {
                change::write(tx, &fresh, &lane, newest, &written)?;
                let events: Vec<EventId> = written.iter().map(|one| one.event).collect();
                event::update_recovery(tx, &fresh, &events)?;
            }
            if let Some(newest) = newest.filter(|_| is_event) {
                let new = written.iter().filter(|one| one.starts_event);
                let events: Vec<EventId> = new.map(|one| one.event).collect();
                let confirm = detection::settings(tx, lane.project)?.confirm;
                is_suspected = confirmation::suspect(tx, &fresh, confirm, newest, &events)?;
                is_enqueued = !is_suspected && delivery::enqueue(tx, &fresh, lane.project, newest)?;
            }
        }
        // Locks the lane before the reports, as the deletion of a report does.
        lane::mark_analyzed(tx, &lane)?;
        vector::insert_factors(tx, &monitors.take_unstored_factors())?;
        Ok::<_, Error>((monitors, is_enqueued, is_suspected))
    };
    let (monitors, is_enqueued, is_suspected) = app.db.write(write).await?;
    app.changes.cache().put(&lane, monitors);
    if is_enqueued {
        app.background.wake();
    }
    if is_suspected {
        app.jobs.wake();
    }
    Ok(())
}

/// Adds the new reports to cached monitors. Returns `None` if a report arrived out of order.
async fn extend_monitors(app: &App, lane: &Lane, monitors: Monitors) -> Result<Option<Monitors>> {
    let Some(mark) = monitors.mark() else { return Ok(None) };
    let monitors = read_reports(app, lane, monitors, mark, |_| true).await?;
    if monitors.count() < report_count(lane) {
        return Ok(None);
    }
    Ok(Some(run_blocking(move || detect_changes(monitors)).await?))
}

/// Creates monitors from the newest reports of a lane. If the series of the lane need more memory than allowed, the monitors
/// process the series in parts and discard their values.
async fn build_monitors(app: &App, lane: &Lane) -> Result<Monitors> {
    let (head, testbed) = (lane.head, lane.testbed);
    let most = i64::try_from(Monitors::MAX_REPORTS).unwrap_or(i64::MAX);
    let (mark, given, series) = app
        .db
        .read(move |tx| {
            let (mark, given) = vector::newest_from(tx, head, testbed, most)?;
            let mut series = 0;
            vector::newest(tx, &VersionRange::of_head(head), testbed, 1, |_, bytes, _| {
                series = vector::series(bytes).count();
            })?;
            Ok::<_, Error>((mark, given, series))
        })
        .await?;
    let parts = (series * Series::BYTES).div_ceil(app.changes.cache().max_bytes().max(1)).max(1);
    let given = usize::try_from(given).unwrap_or_default();
    let (from, is_all) = (mark.unwrap_or_else(vector::start_cursor), mark.is_none());
    let mut all: Option<Monitors> = None;
    for part in 0..parts {
        let empty = Monitors::new(report_count(lane), given, is_all, lane.deleted);
        let is_wanted = move |series: u32| series as usize % parts == part;
        let monitors = read_reports(app, lane, empty, from, is_wanted).await?;
        let mut monitors = run_blocking(move || detect_changes(monitors)).await?;
        if parts > 1 {
            monitors.discard_values();
        }
        all = Some(match all {
            Some(mut all) => {
                all.merge(monitors);
                all
            }
            None => monitors,
        });
    }
    all.ok_or_else(|| Error::Internal("a lane has no parts".into()))
}

/// Adds the reports after `mark` to monitors, in batches.
async fn read_reports(
    app: &App,
    lane: &Lane,
    mut monitors: Monitors,
    mut mark: ReportPosition,
    is_wanted: impl Fn(u32) -> bool + Clone + Send + 'static,
) -> Result<Monitors> {
    let (head, testbed, reports) = (lane.head, lane.testbed, report_count(lane));
    loop {
        let known = monitors.series_keys();
        let read = move |tx: &mut Tx<'_>| {
            let mut vectors = Vec::new();
            vector::after(tx, head, testbed, mark, REPORTS_PER_READ, |measured, series, values| {
                vectors.push(Vector::new(measured, series, values));
            })?;
            let mut unknown: Vec<i64> = vectors
                .iter()
                .flat_map(|vector| &vector.series)
                .filter(|id| !known.contains_key(id))
                .map(|id| i64::from(*id))
                .collect();
            unknown.sort_unstable();
            unknown.dedup();
            let named = if unknown.is_empty() { HashMap::new() } else { series_keys(tx, &unknown)? };
            Ok::<_, Error>((vectors, named))
        };
        let (vectors, named) = app.db.read(read).await?;
        monitors.add_series_keys(named);
        let Some(last) = vectors.last() else { return Ok(monitors) };
        mark = last.measured.position();
        let is_last = (vectors.len() as i64) < REPORTS_PER_READ;
        let is_wanted = is_wanted.clone();
        monitors = run_blocking(move || {
            monitors.add_reports(vectors, reports, is_wanted, &mut Scratch::default());
            monitors
        })
        .await?;
        if is_last {
            return Ok(monitors);
        }
    }
}

/// Finds changes and computes their p-values.
fn detect_changes(mut monitors: Monitors) -> Monitors {
    let mut scratch = Scratch::default();
    monitors.detect_changes(&mut scratch);
    reconciliation::compute_p_values(&mut monitors, &mut scratch);
    monitors
}

async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.map_err(|error| Error::Internal(error.into()))
}

fn report_count(lane: &Lane) -> usize {
    usize::try_from(lane.reports).unwrap_or_default()
}

/// Returns the budget for a number of false alarms per month, divided among the runs of the last month.
pub(crate) fn false_alarm_budget(
    tx: &mut Tx<'_>,
    project: ProjectId,
    per_month: FalseAlarms,
    now: Timestamp,
) -> Result<FalseAlarmBudget> {
    let runs = detection::runs(tx, project, now.plus_seconds(-MONTH_SECONDS))?;
    Ok(FalseAlarmBudget::new(f64::from(per_month.get()), runs.max(MIN_RUNS_PER_MONTH) as f64))
}

/// Whether a change can still be notified.
fn is_open(one: &ReconciledChange, now: Timestamp) -> bool {
    let found = &one.written.found;
    one.is_open
        && found.cause != ChangeCause::Noise
        && found.start_time >= now.plus_seconds(-MAX_NOTIFICATION_AGE_SECONDS)
}

/// Selects the changes to notify about, within the project's false-alarm budget. Returns whether they include an event that was
/// not notified before.
fn select_notifications(
    tx: &mut Tx<'_>,
    lane: &Lane,
    series: usize,
    known: &mut [ReconciledChange],
    now: Timestamp,
) -> Result<bool> {
    let mut open: Vec<&mut ReconciledChange> = known.iter_mut().filter(|one| is_open(one, now)).collect();
    if open.is_empty() {
        return Ok(false);
    }
    let mutes = Mutes::read(tx, lane.project, now)?;
    let benchmarks = open.iter().map(|one| one.written.series_key.benchmark);
    let muted = mutes.of_benchmarks(tx, lane.branch, lane.testbed, benchmarks)?;
    // A muted change can be notified later, when the mute ends before the change is too old.
    open.retain(|one| !muted.contains_key(&one.written.series_key.benchmark));
    let settings = detection::settings(tx, lane.project)?;
    // A change that the machine caused in all benchmarks is not a regression of any of them.
    open.retain(|one| settings.notifies_host || one.written.found.cause != ChangeCause::Host);
    let notified_since = now.plus_seconds(-MAX_NOTIFICATION_AGE_SECONDS);
    let budget = false_alarm_budget(tx, lane.project, settings.budget, now)?;
    let p_values: Vec<(usize, f64)> = open.iter().map(|one| (one.number, one.p_value)).collect();
    let selected = budget.select(&p_values, series);
    let notified = change::raised_since(tx, lane.head, notified_since)?;
    let mut is_event = false;
    for (one, _) in open.into_iter().zip(selected).filter(|(_, is_selected)| *is_selected) {
        one.written.is_raised = true;
        let (first, last) = one.span;
        one.written.starts_event = !notified.iter().any(|(earliest, latest, worse)| {
            *worse == one.written.found.worse && *earliest <= last && first <= *latest
        });
        is_event |= one.written.starts_event;
    }
    Ok(is_event && settings.notifies == Notifies::Changes)
}
