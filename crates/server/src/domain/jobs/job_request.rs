//! Creates a job from the `job` of a run. Everything is checked before anything is written.

use std::{collections::BTreeMap, net::IpAddr};

use tidemark_api::{
    JobBase, JobCallback, JobConfig, NameId, NewJob, ReportSettings, ResourceId, Testbed, Timestamp, Url,
    job::{JOB_ENTRIES_MAX, JOB_ITERATIONS_MAX, JOB_ROUNDS_DEFAULT, JOB_ROUNDS_MAX, JOB_WORDS_MAX},
};
use tidemark_stats::Criteria;
use tidemark_store::{Dimension, Lock, ReportId, SpecId, Tx, WriteContext, job, project, report, spec};

use super::{
    callback,
    image::Image,
    tier::{TIMEOUT_MAX, Tier},
};
use crate::{
    domain::{
        app::App,
        error::{Error, Result},
        ingest::Submission,
        quota::Quota,
    },
    infra::{config::Config, limits::address_key},
};

/// The part of the configuration that requested jobs depend on.
#[derive(Clone, Debug)]
pub(crate) struct JobSettings {
    /// Public URL of the registry.
    pub(crate) registry: Url,
    /// Time in seconds after which an unclaimed job expires.
    pub(crate) queue_timeout: i64,
    /// Whether callbacks to addresses that are not public are allowed.
    pub(crate) private_callbacks: bool,
}

impl JobSettings {
    /// Reads the settings from the configuration.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            registry: config.registry_url().clone(),
            queue_timeout: config.plus.runners.queue_timeout.into(),
            private_callbacks: config.plus.runners.private_callbacks,
        }
    }
}

/// A requested job.
pub(crate) struct JobRequest {
    new: NewJob,
    image: Image,
    base: Option<Image>,
    settings: ReportSettings,
    /// The testbed that the run names, if any.
    testbed: Option<NameId>,
    address: String,
    registry: Url,
    queue_timeout: i64,
}

/// Result of the check of a requested job.
pub(crate) enum JobCheck {
    /// A job with the same idempotency key exists.
    Existing(ReportId),
    /// The job can be created after its report.
    Validated(Box<ValidatedJob>),
}

/// A requested job that has been checked.
pub(crate) struct ValidatedJob {
    config: JobConfig,
    callback: Option<JobCallback>,
    spec: SpecId,
    rank: i64,
    address: Option<String>,
    concurrency: Option<u32>,
    expires: Timestamp,
}

impl JobRequest {
    /// Reads the requested job from a run.
    pub(crate) fn read(
        app: &App,
        new: NewJob,
        settings: Option<ReportSettings>,
        testbed: Option<NameId>,
        address: Option<IpAddr>,
    ) -> Result<Self> {
        if app.embedded {
            return Err(Error::Unavailable(
                "Jobs require a server with runners; select a server with --host.".into(),
            ));
        }
        Self::new(JobSettings::of(&app.config), new, settings, testbed, address)
    }

    /// Same as [`JobRequest::read`], for a server that is not embedded.
    pub(crate) fn new(
        JobSettings { registry, queue_timeout, private_callbacks }: JobSettings,
        new: NewJob,
        settings: Option<ReportSettings>,
        testbed: Option<NameId>,
        address: Option<IpAddr>,
    ) -> Result<Self> {
        check(&new)?;
        if let Some(callback) = &new.callback {
            callback::check(callback, private_callbacks)?;
        }
        Ok(Self {
            image: Image::parse(&new.image, &registry)?,
            base: new
                .base
                .as_deref()
                .map(|base| Image::parse(base, &registry).map_err(of_base))
                .transpose()?,
            new,
            settings: settings.unwrap_or_default(),
            testbed,
            address: address.map_or_else(|| "unknown".into(), address_key),
            registry,
            queue_timeout,
        })
    }

    /// Returns the project of the image.
    pub(crate) fn project(&self) -> ResourceId {
        self.image.project.clone()
    }

    /// Checks the requested job and completes the submission of its report.
    pub(crate) fn check(
        &self,
        tx: &mut Tx<'_>,
        found: &project::ProjectRow,
        submission: &mut Submission,
        quota: Quota,
        now: Timestamp,
    ) -> Result<JobCheck> {
        if let Some(key) = submission.idempotency_key {
            tx.lock(Lock::Project(found.id.get()))?;
            if let Some(first) = report::by_idempotency_key(tx, found.id, key)? {
                return Ok(JobCheck::Existing(first));
            }
        }
        let digest = self.image.resolve(tx, found)?;
        let base = match &self.base {
            Some(base) => {
                Some((base.resolve(tx, found).map_err(of_base)?, base.repository(found.project.uuid)))
            }
            None => None,
        };
        let chosen = self.spec(tx, found)?;
        if self.testbed.is_none() {
            submission.testbed = chosen.spec.name.as_str().parse().map_err(|error| {
                Error::Invalid(format!("The name of the spec is not valid for a testbed: {error}."))
            })?;
        }
        submission.spec = Some(chosen.id);
        if let Some(backdate) = self.new.backdate {
            (submission.start_time, submission.end_time) = (backdate, backdate);
        }
        let claimed = found.project.claimed.is_some();
        let tier = Tier::of(claimed, quota.billing_status(tx, found.organization)?);
        let timeout = self.new.timeout.unwrap_or(tier.timeout_default).min(tier.timeout_max);
        let new = self.new.clone();
        let uuid = found.project.uuid;
        let repository = self.image.repository(uuid);
        let criteria = Criteria::DEFAULT;
        let base = base.map(|(digest, repository)| JobBase {
            repository: Some(repository),
            digest,
            image: new.base,
            adapter: self.settings.adapter.unwrap_or_default(),
            duet: new.duet == Some(true),
            rounds: new.iter.unwrap_or(JOB_ROUNDS_DEFAULT),
            benchmarks: Vec::new(),
            min_change: criteria.smallest_change,
            same_within: criteria.same_within,
        });
        let config = JobConfig {
            registry: self.registry.clone(),
            project: uuid,
            repository: Some(repository),
            digest,
            image: Some(new.image),
            entrypoint: new.entrypoint,
            cmd: new.cmd,
            env: new.env,
            timeout,
            file_paths: new.file_paths,
            build_time: new.build_time,
            file_size: new.file_size,
            average: self.settings.average,
            // A runner that does not know `base` measures only the image.
            iter: Some(new.iter.filter(|_| base.is_none()).unwrap_or(1)),
            fold: self.settings.fold,
            allow_failure: new.allow_failure,
            backdate: new.backdate,
            isolated: new.isolated,
            base,
        };
        // The stored configuration of the job counts toward the size of the report.
        submission.bytes += serde_json::to_string(&config).map_or(0, |text| text.len());
        Ok(JobCheck::Validated(Box::new(ValidatedJob {
            config,
            callback: new.callback,
            spec: chosen.id,
            rank: tier.rank,
            address: (!claimed).then(|| self.address.clone()),
            concurrency: tier.concurrency.or(quota.concurrent_jobs()),
            expires: now.plus_seconds(self.queue_timeout),
        })))
    }

    /// Returns the spec of the job: the named one, the one of the testbed, or the fallback.
    fn spec(&self, tx: &mut Tx<'_>, found: &project::ProjectRow) -> Result<spec::SpecRow> {
        if let Some(wanted) = &self.new.spec {
            let id = spec::find(tx, wanted)?;
            return Ok(spec::by_id(tx, id)?);
        }
        if let Some(named) = &self.testbed
            && let Some(testbed) = Testbed::resolve(tx, found.id, named)?
            && let Some(spec) = Testbed::view(tx, testbed)?.spec
        {
            return Ok(spec::get(tx, &ResourceId::Uuid(spec.uuid.uuid()))?);
        }
        spec::fallback(tx)?.ok_or_else(|| {
            Error::Invalid(
                "The job names no spec and this server has no fallback spec; send `job.spec`, or ask an \
                 administrator to set a fallback spec."
                    .into(),
            )
        })
    }
}

impl ValidatedJob {
    /// Enqueues the job.
    pub(crate) fn enqueue(
        &self,
        tx: &mut Tx<'_>,
        fresh: &WriteContext,
        found: &project::ProjectRow,
        report: ReportId,
    ) -> Result<()> {
        let new = job::NewJobRow {
            project: found.id,
            report,
            spec: self.spec,
            rank: self.rank,
            address: self.address.as_deref(),
            concurrency: self.concurrency,
            config: &self.config,
            callback: self.callback.as_ref(),
            expires: self.expires,
        };
        job::create(tx, fresh, &new)?;
        Ok(())
    }
}

/// Names the field of the base in the error about its image.
fn of_base(error: Error) -> Error {
    match error {
        Error::Invalid(reason) => Error::Invalid(reason.replace("`job.image`", "`job.base`")),
        error => error,
    }
}

/// Rejects values that no runner supports.
fn check(new: &NewJob) -> Result<()> {
    let too_many = |name: &str, count: Option<usize>, most: usize| match count {
        Some(count) if count > most => {
            Err(Error::Invalid(format!("`job.{name}` has {count} entries; the maximum is {most}.")))
        }
        _ => Ok(()),
    };
    too_many("entrypoint", new.entrypoint.as_ref().map(Vec::len), JOB_WORDS_MAX)?;
    too_many("cmd", new.cmd.as_ref().map(Vec::len), JOB_WORDS_MAX)?;
    too_many("file_paths", new.file_paths.as_ref().map(Vec::len), JOB_ENTRIES_MAX)?;
    too_many("env", new.env.as_ref().map(BTreeMap::len), JOB_ENTRIES_MAX)?;
    // Arguments and variables of a process are NUL-terminated strings, and the name of a variable ends at `=`.
    for (name, words) in [("entrypoint", &new.entrypoint), ("cmd", &new.cmd), ("file_paths", &new.file_paths)]
    {
        if words.iter().flatten().any(|word| word.contains('\0')) {
            return Err(Error::Invalid(format!("`job.{name}` contains a NUL character.")));
        }
    }
    for (name, value) in new.env.iter().flatten() {
        if name.is_empty() || name.contains(|character: char| character == '=' || character.is_control()) {
            return Err(Error::Invalid(format!(
                "{name:?} in `job.env` is not a valid variable name: a name must not be empty or contain `=` \
                 or control characters."
            )));
        }
        if value.0.contains('\0') {
            return Err(Error::Invalid(format!(
                "The value of `{name}` in `job.env` contains a NUL character."
            )));
        }
    }
    if new.timeout.is_some_and(|timeout| !(1..=TIMEOUT_MAX).contains(&timeout)) {
        return Err(Error::Invalid(format!("`job.timeout` must be from 1 to {TIMEOUT_MAX} seconds.")));
    }
    if new.duet.is_some() && new.base.is_none() {
        return Err(Error::Invalid("`job.duet` requires `job.base`, the image to compare with.".into()));
    }
    let (most, of) = match new.base {
        Some(_) => (JOB_ROUNDS_MAX, " with `job.base`"),
        None => (JOB_ITERATIONS_MAX, ""),
    };
    if new.iter.is_some_and(|iter| !(1..=most).contains(&iter)) {
        return Err(Error::Invalid(format!("`job.iter`{of} must be from 1 to {most}.")));
    }
    Ok(())
}
