//! `tidemark job`

use std::{thread, time::Duration};

use tidemark_api::{Job, JobFilter, JobStatus, JobUuid, ProjJobsSort};
use tidemark_client::jobs;

use crate::{
    cmd::run::job::failure,
    failure::{Result, print_before},
    output,
    resource::{
        Fields, PageFlags, Printable, ProjectArgument, Session, SortFlag, Verb, fixed_string_parser,
        optional, record,
    },
};

/// Interval at which a watched job is polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Verbs of `tidemark job`.
#[derive(clap::Subcommand)]
pub(crate) enum JobVerb {
    /// List the jobs of a project, the newest first
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only jobs with this status
        #[arg(long, value_parser = fixed_string_parser::<JobStatus>())]
        status: Option<JobStatus>,
        #[command(flatten)]
        sort: SortFlag<ProjJobsSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Show a job and, after its end, its output
    #[command(visible_alias = "get")]
    View(JobTarget),
    /// Cancel a job
    #[command(visible_aliases = ["rm", "delete"])]
    Cancel(JobTarget),
    /// Show each status of a job until it ends; exit with the status of a run that waits for it
    Watch(JobTarget),
}

/// A job of a project.
#[derive(clap::Args)]
pub(crate) struct JobTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Job UUID
    job: JobUuid,
}

impl Verb for JobVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, status, sort, page } => {
                let filter = JobFilter { status: *status, sort: sort.sort };
                session.list(jobs(project.id()?).list(&filter), page)
            }
            Self::View(target) => session.show(&jobs(target.project.id()?).view(&target.job)),
            Self::Cancel(target) => {
                session.confirm(&jobs(target.project.id()?).delete(&target.job), "The job is canceled.")
            }
            Self::Watch(target) => watch(session, target),
        }
    }
}

/// Polls a job until it ends.
fn watch(session: &Session, target: &JobTarget) -> Result {
    let view = jobs(target.project.id()?).view(&target.job);
    let mut known = None;
    loop {
        let job = session.client.send(&view)?;
        let step = (job.status, job.position);
        if known != Some(step) {
            known = Some(step);
            let place =
                job.position.map_or_else(String::new, |place| format!(", number {place} in the queue"));
            message!("The job is {}{place}.", job.status);
        }
        match job.status {
            JobStatus::Processed | JobStatus::Failed | JobStatus::Canceled | JobStatus::Unknown => {
                let verdict = if job.status == JobStatus::Processed { Ok(()) } else { Err(failure(&job)) };
                if session.json {
                    let answer = session.client.fetch(&view)?;
                    return print_before(verdict, &format!("{}\n", output::pretty(answer.json()?)));
                }
                return print_before(verdict, &record(&job));
            }
            JobStatus::Pending | JobStatus::Claimed | JobStatus::Running | JobStatus::Completed => {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

impl Printable for Job {
    const DROPPABLE: &'static [&'static str] = &["Created", "Spec"];

    fn fields(&self) -> Fields {
        Fields::default()
            .column("UUID", self.uuid)
            .column("Status", self.status)
            .text("Spec", &self.spec.name)
            .text("Image", optional(self.image.as_ref()))
            .detail("Base image", optional(self.base.as_ref()))
            .detail("Queue position", optional(self.position))
            .detail("Runner", optional(self.runner))
            .detail("Report", self.report)
            .detail("Time limit", format!("{} s", self.timeout))
            .column("Created", output::time(self.created))
            .detail("Claimed", optional(self.claimed.map(output::time)))
            .detail("Started", optional(self.started.map(output::time)))
            .detail("Ended", optional(self.completed.map(output::time)))
            .detail("Error", optional(self.error.as_ref()))
    }

    fn footer(&self) -> String {
        let Some(printed) = &self.output else { return String::new() };
        let texts = printed.results.iter().flat_map(|one| [&one.stdout, &one.stderr]).flatten();
        texts.flat_map(|text| text.lines()).map(|line| format!("{}\n", output::plain(line))).collect()
    }
}
