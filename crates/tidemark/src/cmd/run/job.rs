//! Jobs: runs on a runner instead of this machine, and polling until they end.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use tidemark_api::{
    Job, JobStatus, JobUuid, NewJob, Report, ResourceId, Timestamp,
    job::{JOB_ENTRIES_MAX, JOB_WORDS_MAX, JobSecret},
    name::MASK,
};
use tidemark_client::{Client, jobs, reports};

use super::Run;
use crate::{
    failure::{Exit, Failure, Result, write_message},
    output,
    progress::{self, Progress},
};

/// Default time limit of a job, in seconds.
pub(crate) const DEFAULT_TIMEOUT: u32 = 3_600;
/// Default interval of polling, in seconds.
pub(crate) const DEFAULT_POLL_INTERVAL: u64 = 5;

/// Flags of a job.
#[derive(clap::Args)]
pub(crate) struct JobFlags {
    /// Run this image on a runner instead of a command on this machine
    #[arg(long, value_name = "REFERENCE")]
    pub(crate) image: Option<String>,
    /// Compare the image with this one: the runner measures both in pairs, for at most --iter rounds [default: 100]
    #[arg(long, value_name = "REFERENCE", requires = "image")]
    pub(super) base_image: Option<String>,
    /// Spec to run on: UUID or slug
    #[arg(long, requires = "image")]
    spec: Option<ResourceId>,
    /// Program to start instead of the entrypoint of the image
    #[arg(long, value_name = "PROGRAM", requires = "image", allow_hyphen_values = true)]
    entrypoint: Option<String>,
    /// Environment variable of the job, as NAME=VALUE; repeat the flag for several
    #[arg(long, value_name = "NAME=VALUE", requires = "image", allow_hyphen_values = true)]
    env: Vec<String>,
    /// Time limit of the job in seconds [default: 3600]
    #[arg(long, value_name = "SECONDS", requires = "image",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    job_timeout: Option<u32>,
    /// Interval in seconds at which the job is polled, from 1 to 900 [default: 5]
    #[arg(long, alias = "poll-interval", value_name = "SECONDS", requires = "image", conflicts_with = "detach",
        value_parser = clap::value_parser!(u64).range(1..=900))]
    job_poll_interval: Option<u64>,
    /// Do not wait for the end of the job
    #[arg(long, requires = "image")]
    pub(crate) detach: bool,
}

impl JobFlags {
    /// Returns the job of the flags, if they describe one.
    pub(crate) fn job(&self, run: &Run) -> Result<Option<NewJob>> {
        let Some(image) = self.image.clone() else { return Ok(None) };
        if image.trim().is_empty() {
            return Err(Failure::usage("--image is empty; name the image to run."));
        }
        if run.benchmark.names_shell() {
            return Err(Failure::usage("A job starts its command without a shell; omit --shell and --flag."));
        }
        let command = run.benchmark.words();
        if command.len() > JOB_WORDS_MAX {
            return Err(Failure::usage(format!(
                "The command of the job has {} words; the maximum is {JOB_WORDS_MAX}.",
                command.len()
            )));
        }
        let files = if run.file.is_empty() { &run.synthetic.file_size } else { &run.file };
        if files.len() > JOB_ENTRIES_MAX {
            return Err(Failure::usage(format!(
                "The job has {} files; the maximum is {JOB_ENTRIES_MAX}.",
                files.len()
            )));
        }
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        Ok(Some(NewJob {
            image,
            base: self.base_image.clone(),
            duet: run.ab.is_duet().then_some(true),
            spec: self.spec.clone(),
            entrypoint: self.entrypoint.clone().map(|program| vec![program]),
            cmd: Some(command.to_vec()).filter(|command| !command.is_empty()),
            env: self.variables()?,
            timeout: self.job_timeout,
            file_paths: Some(files).filter(|files| !files.is_empty()),
            build_time: run.synthetic.build_time.then_some(true),
            file_size: (!run.synthetic.file_size.is_empty()).then_some(true),
            iter: if self.base_image.is_some() { run.iter } else { Some(run.iterations()) },
            allow_failure: run.allow_failure.then_some(true),
            backdate: run.backdate.map(|seconds| Timestamp::from_micros(0).plus_seconds(seconds)),
            isolated: None,
            callback: None,
        }))
    }

    /// Returns the variables. An error message does not contain the value.
    fn variables(&self) -> Result<Option<BTreeMap<String, JobSecret>>> {
        let mut variables = BTreeMap::new();
        for given in &self.env {
            let Some((name, value)) = given.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                return Err(Failure::usage("A variable of --env is not of the form NAME=VALUE."));
            };
            variables.insert(name.to_owned(), JobSecret(value.to_owned()));
        }
        if variables.len() > JOB_ENTRIES_MAX {
            return Err(Failure::usage(format!(
                "The job has {} variables; the maximum is {JOB_ENTRIES_MAX}.",
                variables.len()
            )));
        }
        Ok(Some(variables).filter(|variables| !variables.is_empty()))
    }

    /// Waits for the job of a report, and returns the report with its results.
    pub(crate) fn wait(&self, client: &Client, sent: Report, quiet: bool) -> Result<Report> {
        if self.detach {
            return Ok(sent);
        }
        let interval = Duration::from_secs(self.job_poll_interval.unwrap_or(DEFAULT_POLL_INTERVAL));
        let limit = Duration::from_secs(2 * u64::from(self.job_timeout.unwrap_or(DEFAULT_TIMEOUT)));
        wait_for_job(client, sent, interval, limit, quiet)
    }
}

/// Waits for the job of a report, and returns the report with its results; a report without a job is returned at once.
pub(crate) fn wait_for_job(
    client: &Client,
    sent: Report,
    interval: Duration,
    limit: Duration,
    quiet: bool,
) -> Result<Report> {
    let Some(id) = sent.job else { return Ok(sent) };
    let project = ResourceId::Slug(sent.project.slug.clone());
    wait_for_end(client, &project, id, (interval, limit), quiet)?;
    Ok(client.send(&reports(&project).view(&sent.uuid))?)
}

/// Waits for a job and returns it with its output; fails if the job failed, or has not ended within the limit.
pub(crate) fn wait_for_end(
    client: &Client,
    project: &ResourceId,
    id: JobUuid,
    (interval, limit): (Duration, Duration),
    quiet: bool,
) -> Result<Job> {
    let is_drawn = !quiet && progress::is_possible();
    let progress = Progress::start("The job is sent", is_drawn);
    let (started, mut known) = (Instant::now(), None);
    loop {
        let found = client.send(&jobs(project).view(&id))?;
        if known != Some(found.status) {
            known = Some(found.status);
            let label = format!("The job is {}", status_label(found.status));
            if !quiet && !is_drawn {
                message!("{label}.");
            }
            progress.set(label);
        }
        match found.status {
            JobStatus::Processed => return Ok(found),
            JobStatus::Failed | JobStatus::Canceled | JobStatus::Unknown => {
                progress.end();
                return Err(failed(&found));
            }
            JobStatus::Pending | JobStatus::Claimed | JobStatus::Running | JobStatus::Completed => {}
        }
        if started.elapsed() + interval > limit {
            return Err(not_ended(id, limit));
        }
        thread::sleep(interval);
    }
}

/// Returns a job as JSON, without the values of its variables.
pub(crate) fn show(job: &NewJob) -> Result<String> {
    let env = job.env.as_ref().map(|variables| {
        let hidden = |name: &String| (name.clone(), JobSecret(MASK.to_owned()));
        variables.keys().map(hidden).collect()
    });
    let shown = NewJob { env, ..job.clone() };
    output::json("The job", &shown)
}

fn status_label(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Pending => "waiting for a runner",
        JobStatus::Claimed => "about to start",
        JobStatus::Completed => "done, its results are being read",
        status => status.as_str(),
    }
}

/// Prints the output of a failed job, and returns the failure.
fn failed(job: &Job) -> Failure {
    for iteration in job.output.iter().flat_map(|output| &output.results) {
        for text in [&iteration.stdout, &iteration.stderr].into_iter().flatten() {
            write_message(text.as_bytes());
            if !text.is_empty() && !text.ends_with('\n') {
                write_message(b"\n");
            }
        }
    }
    failure(job)
}

/// Returns the failure of a job with its reason.
pub(crate) fn failure(job: &Job) -> Failure {
    let output = job.output.clone().unwrap_or_default();
    let reason = output.error.map_or_else(String::new, |error| format!(": {}", error.trim_end_matches('.')));
    let code = output.results.iter().map(|iteration| iteration.exit_code).find(|code| *code != 0);
    let ended = code.map_or_else(String::new, |code| format!(" after its command exited with status {code}"));
    let uuid = job.uuid;
    match job.status {
        JobStatus::Canceled => Failure::new(format!("The job {uuid} was canceled; nothing was measured.")),
        JobStatus::Unknown => {
            Failure::new(format!("The runner of the job {uuid} was lost{reason}; run it again."))
        }
        _ => Failure::with(Exit::Benchmark, format!("The job {uuid} failed{ended}{reason}.")),
    }
}

fn not_ended(job: JobUuid, limit: Duration) -> Failure {
    Failure::new(format!(
        "The job {job} has not ended after {} s; it continues. --job-timeout sets its time limit.",
        limit.as_secs()
    ))
}
