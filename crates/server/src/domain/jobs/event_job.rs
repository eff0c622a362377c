//! Jobs that measure commits of an event again: each compares the images of two commits in pairs, in the way in which the testbed of
//! the event is usually measured. Confirmations and searches for commits request them.

use std::collections::{BTreeMap, HashMap};

use tidemark_api::{Adapter, JobBase, JobConfig, JobUuid, Timestamp, Url, job::JobSecret};
use tidemark_store::{
    EventId, HeadId, ProjectId, ReportId, SpecId, Tx, VersionId, WriteContext,
    commit::{self, Commit, CommitImage},
    job,
    project::{self, ProjectRow},
    report::{self, ReportDimensions},
};

use super::{Signal, tier::Tier};
use crate::domain::{
    app::App,
    error::{Error, Result},
    quota::Quota,
};

/// Environment variable of the job with the names of the benchmarks, one per line.
const BENCHMARKS_VARIABLE: &str = "TIDEMARK_BENCHMARKS";
/// Length of a short commit hash.
const SHORT_HASH: usize = 10;
/// Maximum number of rows of a queue that are processed at a time.
const MAX_PER_ROUND: i64 = 16;

/// Rows of events that wait for jobs. Each transaction advances a row by one step, so that it goes on after a restart.
pub(super) struct EventQueue<T> {
    /// Log message of an error of a step.
    pub(super) error: &'static str,
    pub(super) is_any_pending: fn(&mut Tx<'_>) -> tidemark_store::Result<bool>,
    /// Reads the rows whose next attempt is due, at most as many as the limit.
    pub(super) due: fn(&mut Tx<'_>, Timestamp, i64) -> tidemark_store::Result<Vec<T>>,
    /// Returns the event of a row and the number of failed attempts.
    pub(super) event: fn(&T) -> (EventId, u32),
    /// Advances a row. Returns the signal to send at this server after the commit.
    pub(super) step: fn(&mut Tx<'_>, &WriteContext, &EventJobSettings, &T) -> Result<Option<Signal>>,
    /// Delays the next attempt after an error of the server.
    pub(super) postpone: fn(&mut Tx<'_>, EventId, Timestamp) -> tidemark_store::Result<()>,
}

impl<T: Send + 'static> EventQueue<T> {
    /// Advances the rows that are due. Returns whether any row is pending.
    pub(super) async fn advance(&self, app: &App) -> Result<bool> {
        let (now, is_any_pending, find_due) = (app.clock.now(), self.is_any_pending, self.due);
        let read = move |tx: &mut Tx<'_>| {
            if !is_any_pending(tx)? {
                return Ok::<_, Error>(None);
            }
            Ok(Some(find_due(tx, now, MAX_PER_ROUND)?))
        };
        let Some(due) = app.db.read(read).await? else { return Ok(false) };
        let settings = EventJobSettings::new(app);
        for row in due {
            let (fresh, settings, step) = (app.fresh(), settings.clone(), self.step);
            let (event, attempts) = (self.event)(&row);
            let next = fresh.now.plus_seconds(retry_delay(attempts));
            match app.db.write(move |tx| step(tx, &fresh, &settings, &row)).await {
                Ok(signal) => {
                    if let Some(signal) = signal {
                        app.jobs.signal(signal);
                    }
                    app.background.wake();
                }
                // An error with one row must not block the others.
                Err(error) => {
                    let (cause, postpone) = (error.cause(), self.postpone);
                    tracing::warn!(cause, "{}; retrying", self.error);
                    app.db.write(move |tx| postpone(tx, event, next)).await?;
                }
            }
        }
        Ok(true)
    }
}

/// Settings of the server for the jobs that measure commits again.
#[derive(Clone)]
pub(super) struct EventJobSettings {
    registry: Url,
    queue_timeout: i64,
    quota: Quota,
}

impl EventJobSettings {
    pub(super) fn new(app: &App) -> Self {
        Self {
            registry: app.config.registry_url().clone(),
            queue_timeout: app.config.plus.runners.queue_timeout.into(),
            quota: Quota::new(&app.config),
        }
    }
}

/// What the jobs of an event have in common: the place of its report, and the model of the job.
pub(super) struct EventJobs {
    pub(super) place: ReportDimensions,
    found: ProjectRow,
    spec: SpecId,
    adapter: Adapter,
    model: Option<JobConfig>,
}

/// A comparison of the images of two commits.
pub(super) struct CommitPair<'a> {
    pub(super) base: (&'a Commit, &'a CommitImage),
    pub(super) head: (&'a Commit, &'a CommitImage),
    /// Names of the benchmarks that need a verdict.
    pub(super) benchmarks: Vec<String>,
    pub(super) rounds: u32,
    pub(super) min_change: f64,
    pub(super) same_within: f64,
}

impl EventJobs {
    /// Reads how to measure the testbed of a report again; the inner error is the reason why this is not possible.
    pub(super) fn read(
        tx: &mut Tx<'_>,
        project: ProjectId,
        head: HeadId,
        report: ReportId,
    ) -> Result<Result<Self, String>> {
        let found = project::by_id(tx, project)?;
        let place = report::dimensions(tx, report)?;
        if found.project.claimed.is_none() {
            return Ok(Err("The project is unclaimed.".to_owned()));
        }
        let spec = match commit::spec(tx, place.testbed)? {
            None => {
                let reason = "The testbed has no spec, and not exactly one spec is served by runners, so that no runner can \
                              measure it again. Set it with `tidemark testbed update --spec`.";
                return Ok(Err(reason.to_owned()));
            }
            Some((_, false)) => return Ok(Err("No runner serves the spec of the testbed.".to_owned())),
            Some((spec, true)) => spec,
        };
        let model = commit::model_config(tx, project, head, place.testbed, report)?;
        Ok(Ok(Self { adapter: report::adapter(tx, report)?, place, found, spec, model }))
    }

    /// Returns the images of commits, all from one repository: that of the model, otherwise the first one with the images of
    /// the first and of the last commit. The inner error is the reason why there is none.
    pub(super) fn images(
        &self,
        tx: &mut Tx<'_>,
        commits: &[Commit],
    ) -> Result<Result<HashMap<VersionId, CommitImage>, String>> {
        let (Some(first), Some(last)) = (commits.first(), commits.last()) else {
            return Ok(Ok(HashMap::new()));
        };
        let versions: Vec<VersionId> = commits.iter().map(|commit| commit.version).collect();
        let all = commit::images(tx, self.found.id, &versions)?;
        let has = |path: &str, commit: &Commit| {
            all.iter().any(|image| image.path == path && image.version == commit.version)
        };
        let missing = |path: Option<&str>, commit: &Commit| {
            let repository = match path {
                Some("") => format!("The repository `{}`", self.found.project.slug),
                Some(path) => format!("The repository `{}/{path}`", self.found.project.slug),
                None => "The registry".to_owned(),
            };
            let hash: String = commit.hash.as_str().chars().take(SHORT_HASH).collect();
            format!("{repository} has no image of the commit {hash}. Push it with the full hash as its tag.")
        };
        let path = match &self.model {
            Some(model) => {
                let path = commit::path(model);
                if let Some(commit) = [first, last].into_iter().find(|commit| !has(path, commit)) {
                    return Ok(Err(missing(Some(path), commit)));
                }
                path.to_owned()
            }
            None => {
                let both = all.iter().find(|image| has(&image.path, first) && has(&image.path, last));
                match both {
                    Some(image) => image.path.clone(),
                    None => {
                        let is_any =
                            |commit: &Commit| all.iter().any(|image| image.version == commit.version);
                        let absent = [first, last].into_iter().find(|commit| !is_any(commit));
                        return Ok(Err(match absent {
                            Some(commit) => missing(None, commit),
                            None => {
                                "No repository has the images of both commits. Push them to one repository."
                                    .to_owned()
                            }
                        }));
                    }
                }
            }
        };
        let mut images = HashMap::new();
        for image in all.into_iter().filter(|image| image.path == path) {
            images.entry(image.version).or_insert(image);
        }
        Ok(Ok(images))
    }

    /// Creates the job of a comparison with its report, which receives only pairs.
    pub(super) fn enqueue(
        &self,
        tx: &mut Tx<'_>,
        fresh: &WriteContext,
        settings: &EventJobSettings,
        pair: CommitPair<'_>,
    ) -> Result<JobUuid> {
        let tier = Tier::of(true, settings.quota.billing_status(tx, self.found.organization)?);
        let (slug, uuid) = (&self.found.project.slug, self.found.project.uuid);
        let repository = |image: &CommitImage| match image.path.as_str() {
            "" => uuid.to_string(),
            path => format!("{uuid}/{path}"),
        };
        let name = |(commit, image): (&Commit, &CommitImage)| match image.path.as_str() {
            "" => format!("{slug}:{}", commit.hash),
            path => format!("{slug}/{path}:{}", commit.hash),
        };
        let variable = (BENCHMARKS_VARIABLE.to_owned(), JobSecret(pair.benchmarks.join("\n")));
        let model = self.model.as_ref();
        let config = JobConfig {
            registry: settings.registry.clone(),
            project: uuid,
            repository: Some(repository(pair.head.1)),
            image: Some(name(pair.head)),
            digest: pair.head.1.digest.clone(),
            entrypoint: model.and_then(|model| model.entrypoint.clone()),
            cmd: model.and_then(|model| model.cmd.clone()),
            env: Some(BTreeMap::from([variable])),
            timeout: tier.timeout_default.min(tier.timeout_max),
            file_paths: model.and_then(|model| model.file_paths.clone()),
            build_time: model.and_then(|model| model.build_time),
            file_size: model.and_then(|model| model.file_size),
            average: model.and_then(|model| model.average),
            iter: Some(1),
            fold: None,
            allow_failure: None,
            backdate: None,
            isolated: None,
            base: Some(JobBase {
                repository: Some(repository(pair.base.1)),
                image: Some(name(pair.base)),
                digest: pair.base.1.digest.clone(),
                adapter: self.adapter,
                duet: model.and_then(|model| model.base.as_ref()).is_some_and(|base| base.duet),
                rounds: pair.rounds,
                benchmarks: pair.benchmarks,
                min_change: pair.min_change,
                same_within: pair.same_within,
            }),
        };
        let new_report = report::NewReportRow {
            project: self.found.id,
            user: None,
            branch: self.place.branch,
            head: self.place.head,
            version: pair.head.0.version,
            testbed: self.place.testbed,
            spec: Some(self.spec),
            adapter: self.adapter,
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
            rank: tier.rank,
            address: None,
            concurrency: tier.concurrency.or(settings.quota.concurrent_jobs()),
            config: &config,
            callback: None,
            expires: fresh.now.plus_seconds(settings.queue_timeout),
        };
        Ok(job::create(tx, fresh, &new)?)
    }
}

/// Returns the delay before the next attempt after failed attempts, in seconds: it doubles from 10 seconds to about 43 minutes.
fn retry_delay(attempts: u32) -> i64 {
    10 << attempts.min(8)
}
