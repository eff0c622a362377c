//! Where levels changed: after each report the series of its branch and testbed are looked at, behind the scenes. What was
//! found before keeps its identity while detection learns more about it. Which steps are changes is for `stats` to say.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tidemark_api::Timestamp;
use tidemark_stats::{Change, Monitor, Settings, Worse};
use tidemark_store::{
    Lock, ReportId, Tx,
    change::{self, Found, Stale, Stored, Written},
    measure,
    series::{self, Subject},
    vector,
};
use tokio::{
    sync::{Notify, watch},
    task::spawn_blocking,
    time::sleep,
};

use crate::{
    App,
    http::error::{Error, Result},
};

/// How many lanes are taken up at once.
const LANES: i64 = 16;
/// How long to sleep at the most where other servers write to the same database, and otherwise.
const SHARED_PAUSE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_secs(60);
/// How many values a change may move without becoming another one.
const TOLERANCE: usize = 5;

/// How many values of a new level it takes to be sure of it.
const UNSURE: usize = 12;

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

async fn run(app: App) {
    let mut stopped = app.changes.stop.subscribe();
    let pause = if app.db.is_shared() { SHARED_PAUSE } else { PAUSE };
    loop {
        let looked = tokio::select! {
            looked = round(&app) => looked,
            _ = stopped.wait_for(|stop| *stop) => return,
        };
        let is_done = looked.unwrap_or_else(|error| {
            let cause = error.cause();
            tracing::warn!(cause, "series could not be looked at for changes; will try again");
            true
        });
        if is_done {
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => return,
                () = app.changes.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }
}

/// Looks at some lanes that have new reports; answers whether there were none.
async fn round(app: &App) -> Result<bool> {
    let lanes = app.db.read(|tx| change::stale(tx, LANES)).await?;
    let mut is_done = lanes.is_empty();
    for lane in lanes {
        // One that cannot be looked at must not keep the others waiting, nor the processor busy.
        if let Err(error) = look(app, lane).await {
            let cause = error.cause();
            tracing::warn!(cause, "a branch could not be looked at for changes; will try again");
            is_done = true;
        }
    }
    Ok(is_done)
}

/// Looks at all series of a lane and writes what changed.
async fn look(app: &App, lane: Stale) -> Result<()> {
    let read = move |tx: &mut Tx<'_>| {
        let mut history = History::default();
        vector::newest(
            tx,
            lane.head,
            lane.testbed,
            window(lane.reports),
            |report, start, series, values| {
                history.add(report, start, series, values);
            },
        )?;
        let ids: Vec<i64> = history.series.keys().map(|series| i64::from(*series)).collect();
        let subjects = series::subjects(tx, &ids)?;
        Ok::<_, Error>((history, subjects))
    };
    let (history, subjects) = app.db.read(read).await?;
    let is_whole = lane.reports <= kept();
    let seen = spawn_blocking(move || history.look(&subjects)).await;
    let seen = seen.map_err(|error| Error::Internal(error.into()))?;
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(lane.project.get()))?;
        let stored = change::of_lane(tx, lane.head, lane.testbed)?;
        let mut measures: Vec<i64> = seen.found.keys().map(|subject| subject.measure.get()).collect();
        measures.sort_unstable();
        measures.dedup();
        let measures = measure::by_ids(tx, &measures)?;
        let worse =
            |subject: &Subject| measures.get(&subject.measure).map_or(Worse::Unknown, |one| one.worse());
        let written = seen.reconcile(&stored, is_whole, worse, fresh.now);
        if !written.is_empty() {
            change::write(tx, &fresh, &lane, &written)?;
        }
        Ok::<_, Error>(change::settle(tx, &lane)?)
    };
    app.db.write(write).await
}

fn kept() -> i64 {
    i64::try_from(Monitor::KEPT).unwrap_or(i64::MAX)
}

/// How many of the newest reports to read: all, or so many that the first is the same for a whole block of new ones.
fn window(reports: i64) -> i64 {
    let (kept, block) = (kept(), i64::try_from(Monitor::BLOCK).unwrap_or(i64::MAX));
    if reports <= kept { kept } else { kept - block + 1 + (reports - 1) % block }
}

/// The newest values of the series of a lane, the newest first.
#[derive(Default)]
struct History {
    reports: Vec<(ReportId, Timestamp)>,
    /// Of each series its values, with the place of their reports.
    series: HashMap<u32, Vec<(usize, f64)>>,
}

/// What was seen of a lane.
struct Seen {
    found: BTreeMap<Subject, Course>,
}

/// What was seen of a series: the reports that it has values in, oldest first, and its changes.
struct Course {
    reports: Vec<(ReportId, Timestamp)>,
    changes: Vec<Change>,
}

impl History {
    fn add(&mut self, report: ReportId, start: Timestamp, series: &[u8], values: &[u8]) {
        let place = self.reports.len();
        self.reports.push((report, start));
        let mut iterations: Vec<f64> = Vec::new();
        let pairs: Vec<(u32, f64)> = vector::series(series)
            .zip(vector::values(values).iter().map(|bytes| f64::from_le_bytes(*bytes)))
            .collect();
        for of_series in pairs.chunk_by(|left, right| left.0 == right.0) {
            iterations.clear();
            iterations.extend(of_series.iter().map(|pair| pair.1));
            iterations.sort_by(f64::total_cmp);
            // One value a report: its iterations were made at the same time, and do not confirm each other.
            let middle = iterations.len() / 2;
            let median = match iterations.len() % 2 {
                0 => f64::midpoint(iterations[middle - 1], iterations[middle]),
                _ => iterations[middle],
            };
            self.series.entry(of_series[0].0).or_default().push((place, median));
        }
    }

    fn look(self, subjects: &HashMap<u32, Subject>) -> Seen {
        let (settings, mut values) = (Settings::default(), Vec::new());
        let mut found = BTreeMap::new();
        for (series, points) in self.series {
            let Some(subject) = subjects.get(&series) else { continue };
            values.clear();
            values.extend(points.iter().rev().map(|point| point.1));
            let reports = points.iter().rev().map(|point| self.reports[point.0]).collect();
            found.insert(*subject, Course { reports, changes: known_by_now(&values, settings) });
        }
        Seen { found }
    }
}

/// The changes of a series, and the newest step if there are too few values after it to be sure of it: an alarm comes with
/// the fourth of them, and is withdrawn if the others do not bear it out.
fn known_by_now(values: &[f64], settings: Settings) -> Vec<Change> {
    let mut monitor = Monitor::new(settings);
    let mut alarm = None;
    for value in values {
        alarm = monitor.push(*value).or(alarm);
    }
    let mut changes = monitor.changes();
    let is_open = |alarm: &Change| {
        values.len() - alarm.at < UNSURE
            && changes.iter().all(|change| change.at.abs_diff(alarm.at) > TOLERANCE)
    };
    changes.extend(alarm.filter(is_open));
    changes
}

impl Seen {
    /// What is to be written, so that what is stored is what was seen: changes that are known keep their identity, and what
    /// is not seen any more is withdrawn, unless people have said something of it.
    fn reconcile(
        &self,
        stored: &[Stored],
        is_whole: bool,
        worse: impl Fn(&Subject) -> Worse,
        now: Timestamp,
    ) -> Vec<Written> {
        let mut known: HashMap<Subject, Vec<&Stored>> = HashMap::new();
        for one in stored {
            known.entry(one.subject).or_default().push(one);
        }
        let mut written = Vec::new();
        // What lies at the beginning of a part of the history was settled when there was more of it to see.
        let settled = if is_whole { 0 } else { Monitor::GUARD };
        for (subject, Course { reports, changes }) in &self.found {
            let places: HashMap<ReportId, usize> =
                reports.iter().enumerate().map(|(place, report)| (report.0, place)).collect();
            let worse = worse(subject);
            let mut left: Vec<(usize, &Stored)> = known
                .get(subject)
                .into_iter()
                .flatten()
                .filter_map(|one| Some((*places.get(&one.found.at)?, *one)))
                .filter(|(place, _)| *place >= settled)
                .collect();
            for change in changes.iter().filter(|change| change.at >= settled) {
                let found = found(change, reports, worse);
                let same = left
                    .iter()
                    .enumerate()
                    .filter(|(_, (place, one))| is_same(change, *place, one, &places))
                    .min_by_key(|(_, (place, one))| (place.abs_diff(change.at), one.is_withdrawn))
                    .map(|(index, _)| index);
                match same.map(|index| left.remove(index).1) {
                    Some(one) if one.found == found && !one.is_withdrawn => {}
                    Some(one) => {
                        written.push(Written {
                            uuid: Some(one.uuid),
                            subject: *subject,
                            found,
                            withdrawn: None,
                        });
                    }
                    None => written.push(Written { uuid: None, subject: *subject, found, withdrawn: None }),
                }
            }
            for (_, gone) in left.into_iter().filter(|(_, one)| !one.is_withdrawn && !one.is_touched) {
                written.push(Written {
                    uuid: Some(gone.uuid),
                    subject: *subject,
                    found: gone.found,
                    withdrawn: Some(now),
                });
            }
        }
        written
    }
}

fn found(change: &Change, reports: &[(ReportId, Timestamp)], worse: Worse) -> Found {
    let goes_up = change.after > change.before;
    Found {
        at: reports[change.at].0,
        earliest: reports[change.earliest].0,
        latest: reports[change.latest].0,
        start_time: reports[change.at].1,
        before: change.before,
        after: change.after,
        effect: change.effect,
        sigma: change.sigma,
        confidence: change.confidence,
        worse: match worse {
            Worse::Unknown => 0,
            Worse::Up if goes_up => 1,
            Worse::Down if !goes_up => 1,
            Worse::Up | Worse::Down => -1,
        },
    }
}

/// Whether a change is the one that is stored: it goes the same way, and begins where that one may.
fn is_same(change: &Change, place: usize, stored: &Stored, places: &HashMap<ReportId, usize>) -> bool {
    let one = &stored.found;
    if (change.after > change.before) != (one.after > one.before) {
        return false;
    }
    let earliest = places.get(&one.earliest).copied().unwrap_or(place);
    let latest = places.get(&one.latest).copied().unwrap_or(place);
    place.abs_diff(change.at) <= TOLERANCE
        || (earliest..=latest).contains(&change.at)
        || (change.earliest..=change.latest).contains(&place)
}
