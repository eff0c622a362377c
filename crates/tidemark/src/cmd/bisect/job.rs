//! Measurements by jobs on runners: one job per measurement, with the image of the commit.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use tidemark_adapters::Results;
use tidemark_api::{Fold, Job, NewJob, NewRun, Project, ReportSettings, ResourceId};
use tidemark_client::{jobs, run};
use tidemark_server::infra::clock::Clock;

use super::{
    commits::CommitRange,
    search::{Attempt, Source},
};
use crate::{
    cmd::run::job::{DEFAULT_POLL_INTERVAL, DEFAULT_TIMEOUT, wait_for_end},
    failure::{Exit, Failure, Result},
    input::{ParseFlags, ToolOutput},
    resource::Session,
};

/// Flags of jobs.
#[derive(Clone, clap::Args)]
pub(crate) struct JobSourceFlags {
    /// Measure on runners: run the image of each commit, whose tag is the hash of the commit
    #[arg(long)]
    jobs: bool,
    /// Name of the images without a tag [default: the slug of the project]
    #[arg(long, value_name = "NAME", requires = "jobs")]
    image: Option<String>,
    /// Spec to run on: UUID or slug
    #[arg(long, requires = "jobs")]
    spec: Option<ResourceId>,
    /// Time limit of a job in seconds [default: 3600]
    #[arg(long, value_name = "SECONDS", requires = "jobs",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    job_timeout: Option<u32>,
    /// Interval in seconds at which a job is polled, from 1 to 900 [default: 5]
    #[arg(long, value_name = "SECONDS", requires = "jobs", value_parser = clap::value_parser!(u64).range(1..=900))]
    job_poll_interval: Option<u64>,
}

impl JobSourceFlags {
    /// Whether to measure on runners.
    pub(super) fn is_given(&self) -> bool {
        self.jobs
    }
}

/// Measures commits by jobs.
pub(super) struct JobSource<'a> {
    pub(super) session: &'a Session,
    pub(super) project: &'a Project,
    pub(super) flags: &'a JobSourceFlags,
    pub(super) command: &'a [String],
    pub(super) files: &'a [PathBuf],
    pub(super) parsing: &'a ParseFlags,
    pub(super) iter: u32,
    pub(super) quiet: bool,
    pub(super) deadline: Instant,
    pub(super) range: &'a CommitRange,
}

impl Source for JobSource<'_> {
    fn measure(&mut self, commit: usize, _: &str) -> Result<Attempt> {
        let found = &self.range.commits[commit];
        let name = self.flags.image.as_deref().unwrap_or(self.project.slug.as_str());
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let job = NewJob {
            image: format!("{name}:{}", found.hash.as_str()),
            spec: self.flags.spec.clone(),
            cmd: Some(self.command.to_vec()).filter(|command| !command.is_empty()),
            timeout: self.flags.job_timeout,
            file_paths: Some(files).filter(|files| !files.is_empty()),
            iter: Some(self.iter),
            // The measurements of a search are not a history: they must not raise events.
            isolated: Some(true),
            ..NewJob::default()
        };
        let now = Clock::System.now();
        // The reports of a search are not those of a branch.
        let bad = self.range.commits[self.range.count()].short();
        let branch = format!("bisect-{}-{bad}", self.range.commits[0].short());
        let new = NewRun {
            project: Some(ResourceId::Slug(self.project.slug.clone())),
            branch: branch.parse().ok(),
            hash: Some(found.hash.clone()),
            start_point: None,
            testbed: None,
            spec_reset: None,
            thresholds: None,
            start_time: now,
            end_time: now,
            results: Vec::new(),
            settings: Some(ReportSettings {
                adapter: Some(self.parsing.adapter.on_server()),
                average: self.parsing.average,
                fold: self.parsing.fold,
            }),
            job: Some(job),
            context: None,
            idempotency_key: None,
        };
        let client = &self.session.client;
        let report = match run::create(client, new).map_err(Failure::from) {
            Ok(report) => report,
            Err(failure) if is_missing(&failure) => return Ok(Attempt::Failed(failure.to_string())),
            Err(failure) => return Ok(Attempt::Unavailable(failure)),
        };
        let Some(id) = report.job else {
            return Err(Failure::new("The server created no job; --jobs requires a server with runners."));
        };
        let interval = Duration::from_secs(self.flags.job_poll_interval.unwrap_or(DEFAULT_POLL_INTERVAL));
        let limit = Duration::from_secs(2 * u64::from(self.flags.job_timeout.unwrap_or(DEFAULT_TIMEOUT)));
        let limit = limit.min(self.deadline.saturating_duration_since(Instant::now()));
        let project = ResourceId::Slug(report.project.slug.clone());
        match wait_for_end(client, &project, id, (interval, limit), self.quiet) {
            Ok(job) => self.results(job),
            // The command of the commit failed.
            Err(failure) if failure.is(Exit::Benchmark) => Ok(Attempt::Failed(failure.to_string())),
            Err(failure) => {
                // Otherwise a job that has not ended keeps a runner busy. A job that has ended cannot be canceled.
                let _ = client.send(&jobs(&project).delete(&id));
                Ok(Attempt::Unavailable(failure))
            }
        }
    }
}

impl JobSource<'_> {
    /// Reads the results from the output of a job.
    fn results(&self, job: Job) -> Result<Attempt> {
        let name = format!("The job {}", job.uuid);
        let iterations = job.output.into_iter().flat_map(|output| output.results);
        let texts = iterations.flat_map(|iteration| match iteration.output {
            Some(files) => files.into_values().collect(),
            None => iteration.stdout.into_iter().collect::<Vec<String>>(),
        });
        let mut outputs: Vec<ToolOutput> =
            texts.map(|text| ToolOutput::of_text(name.clone(), text)).collect();
        let results = match self.parsing.parse(&mut outputs) {
            Ok(results) => results,
            Err(failure) => return Ok(Attempt::Failed(failure.to_string())),
        };
        Ok(match Results::fold(&results, self.parsing.fold.unwrap_or(Fold::Mean)) {
            Some(results) => Attempt::Measured(results),
            None => Attempt::Failed("the job has no results".to_owned()),
        })
    }
}

/// Whether the server refused the job because the image does not exist.
fn is_missing(failure: &Failure) -> bool {
    failure.is(Exit::Refused) && failure.to_string().contains("image does not exist")
}
