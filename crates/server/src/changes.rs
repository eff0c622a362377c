//! Where levels changed: after each report the series of its branch and testbed are looked at, behind the scenes. Which steps
//! are changes, and which of them are worth a false alarm, is for `stats` to say.

mod history;
mod seen;

use std::{sync::Arc, time::Duration};

use tidemark_api::{ChangeCause, Notifies, Timestamp};
use tidemark_stats::{Budget, Evidence, Monitor, Worse};
use tidemark_store::{
    BranchId, Fresh, Lock, TestbedId, Tx, change, delivery, detection,
    lane::{self, Lane, Noise},
    measure,
    series::{self, Subject},
    version::Stretch,
};
use tokio::{
    sync::{Notify, watch},
    task::spawn_blocking,
    time::sleep,
};

pub(crate) use self::history::{History, Spread, Values};
use self::seen::{Known, Seen};
use crate::{
    App,
    http::error::{Error, Result},
};

/// How many lanes are taken up at once.
const LANES: i64 = 16;
/// How long to sleep at the most where other servers write to the same database, and otherwise.
const SHARED_PAUSE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_secs(60);
/// A change that began so long ago is not told any more.
const HORIZON_SECONDS: i64 = 14 * 24 * 60 * 60;
/// A month.
pub(crate) const MONTH_SECONDS: i64 = 30 * 24 * 60 * 60;
/// With how many reports a lane is first looked at for what noise it has.
const NOISY: i64 = 32;

/// The handle on the work.
pub struct Changes {
    wake: Arc<Notify>,
    stop: watch::Sender<bool>,
}

impl Default for Changes {
    fn default() -> Self {
        Self { wake: Arc::default(), stop: watch::Sender::new(false) }
    }
}

impl Changes {
    /// Begins to look at what comes.
    pub(crate) fn start(app: &App) {
        tokio::spawn(run(app.clone()));
    }

    /// Tells that there is a new report.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Ends the work.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Looks at all that was not looked at, now: for a server that does nothing behind the scenes.
pub(crate) async fn catch_up(app: &App) -> Result<()> {
    let mut next = Some(lane::before_all());
    while let Some(from) = next {
        next = round(app, from).await?.next;
    }
    Ok(())
}

async fn run(app: App) {
    let mut stopped = app.changes.stop.subscribe();
    let pause = if app.db.is_shared() { SHARED_PAUSE } else { PAUSE };
    let (mut from, mut has_worked) = (lane::before_all(), false);
    loop {
        let looked = tokio::select! {
            looked = round(&app, from) => looked,
            _ = stopped.wait_for(|stop| *stop) => return,
        };
        let Round { next, is_useful } = looked.unwrap_or_else(|error| {
            let cause = error.cause();
            tracing::warn!(cause, "series could not be looked at for changes; will try again");
            Round { next: None, is_useful: false }
        });
        has_worked |= is_useful;
        // All lanes have their turn before the first has another one, and those that fail wait for the next pass.
        from = next.unwrap_or(lane::before_all());
        if next.is_none() && !std::mem::take(&mut has_worked) {
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => return,
                () = app.changes.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }
}

/// What came of looking at some lanes.
struct Round {
    /// The last of them, if there may be more.
    next: Option<(BranchId, TestbedId)>,
    /// Whether any could be looked at.
    is_useful: bool,
}

/// Looks at some lanes after this one that have new reports.
async fn round(app: &App, from: (BranchId, TestbedId)) -> Result<Round> {
    let lanes = app.db.read(move |tx| lane::stale(tx, from, LANES)).await?;
    let mut round = Round { next: lanes.last().map(|last| (last.branch, last.testbed)), is_useful: false };
    for lane in lanes {
        // One that cannot be looked at must not keep the others waiting, nor the processor busy.
        match look(app, lane).await {
            Ok(()) => round.is_useful = true,
            Err(error) => {
                let cause = error.cause();
                tracing::warn!(cause, "a branch could not be looked at for changes; will try again");
            }
        }
    }
    Ok(round)
}

/// Looks at all series of a lane, writes what changed, and promises to tell what is worth it.
async fn look(app: &App, lane: Lane) -> Result<()> {
    let window = window(lane.reports);
    let read = move |tx: &mut Tx<'_>| {
        let history = History::read(tx, &[Stretch::whole(lane.head)], lane.testbed, window)?;
        let ids: Vec<i64> = history.series.keys().map(|series| i64::from(*series)).collect();
        let subjects = series::subjects(tx, &ids)?;
        Ok::<_, Error>((history, subjects))
    };
    let (history, subjects) = app.db.read(read).await?;
    let is_whole = history.reports.len() < window;
    let block = i64::try_from(Monitor::BLOCK).unwrap_or(i64::MAX);
    let due = if lane.noise.sampled == 0 { NOISY } else { lane.noise.sampled.saturating_add(block) };
    let shuffle = lane.reports >= due;
    let seen = spawn_blocking(move || Seen::of(history, &subjects, shuffle)).await;
    let (seen, evidence) = seen.map_err(|error| Error::Internal(error.into()))?;
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(lane.project.get()))?;
        let stored = change::of_heads(tx, &[lane.head], lane.testbed)?;
        let measures = measure::by_ids(tx, &seen.measures())?;
        let worse =
            |subject: &Subject| measures.get(&subject.measure).map_or(Worse::Unknown, |one| one.worse());
        let (mut known, mut written) = seen.reconcile(&stored, is_whole, worse, fresh.now);
        let noise = evidence.map_or(lane.noise, |evidence| noise(evidence, lane.reports));
        let is_event = raise(tx, &lane, &noise, seen.series(), &mut known, fresh.now)?;
        let news = known.into_iter().filter(|one| !one.is_stored || one.written.is_raised);
        written.extend(news.map(|one| one.written));
        if !written.is_empty() {
            change::write(tx, &fresh, &lane, seen.newest(), &written)?;
        }
        lane::settle(tx, &lane, &noise)?;
        if is_event { tell(tx, &fresh, &lane, &seen) } else { Ok(false) }
    };
    if app.db.write(write).await? {
        app.background.poke();
    }
    Ok(())
}

/// Marks the changes that are worth to be told, within the false alarms that the project takes. Answers whether there is an
/// event among them that nobody was told of before.
fn raise(
    tx: &mut Tx<'_>,
    lane: &Lane,
    noise: &Noise,
    series: usize,
    known: &mut [Known],
    now: Timestamp,
) -> Result<bool> {
    let horizon = now.plus_seconds(-HORIZON_SECONDS);
    let is_open = |one: &&mut Known| {
        let found = &one.written.found;
        one.is_open && found.cause != ChangeCause::Noise && found.start_time >= horizon
    };
    let open: Vec<&mut Known> = known.iter_mut().filter(is_open).collect();
    if open.is_empty() {
        return Ok(false);
    }
    let settings = detection::settings(tx, lane.project)?;
    let runs = detection::runs(tx, lane.project, now.plus_seconds(-MONTH_SECONDS))?;
    let evidence = evidence(noise);
    let chances: Vec<f64> = open.iter().map(|one| evidence.chance(one.margin)).collect();
    let budget = Budget::new(f64::from(settings.budget.get()), runs as f64);
    let limit = budget.limit(&chances, series);
    let told = change::raised_since(tx, lane.head, horizon)?;
    let mut is_event = false;
    for (one, chance) in open.into_iter().zip(chances) {
        if chance > limit {
            continue;
        }
        one.written.is_raised = true;
        let (first, last) = (one.span.0.version, one.span.1.version);
        one.written.is_told = !told.iter().any(|(earliest, latest, worse)| {
            *worse == one.written.found.worse && *earliest <= last && first <= *latest
        });
        is_event |= one.written.is_told;
    }
    Ok(is_event && settings.notifies == Notifies::Changes)
}

fn tell(tx: &mut Tx<'_>, fresh: &Fresh, lane: &Lane, seen: &Seen) -> Result<bool> {
    match seen.newest() {
        Some(report) => Ok(delivery::promise(tx, fresh, lane.project, report)?),
        None => Ok(false),
    }
}

/// What shuffled values tell of noise, as it is counted.
pub(crate) fn evidence(noise: &Noise) -> Evidence {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    Evidence { values: number(noise.values), alarms: number(noise.alarms), margins: noise.margins }
}

fn noise(evidence: Evidence, sampled: i64) -> Noise {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let Evidence { values, alarms, margins } = evidence;
    Noise { values: number(values), alarms: number(alarms), margins, sampled }
}

/// How many of the newest reports to read: all, or so many that the first is the same for a whole block of new ones.
fn window(reports: i64) -> usize {
    let reports = usize::try_from(reports).unwrap_or_default();
    let (kept, block) = (Monitor::KEPT, Monitor::BLOCK);
    if reports <= kept { kept + 1 } else { kept - block + 1 + (reports - 1) % block }
}
