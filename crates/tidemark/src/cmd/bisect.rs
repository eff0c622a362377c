//! `tidemark bisect`: finds the commit that changed a benchmark, despite noise. It measures the commits where a measurement is most
//! informative, until one commit has the requested probability. `tidemark-stats` has the computation.

mod checkouts;
mod commits;
mod earlier;
mod job;
mod search;
mod series;
mod show;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use tidemark_api::{EventUuid, NameId, NewBisection, Project, ResourceId};
use tidemark_client::{projects, store_bisection};

use self::{
    checkouts::CheckoutSource,
    commits::CommitRange,
    earlier::EarlierResults,
    job::{JobSource, JobSourceFlags},
    search::{End, Search, Source},
    series::SeriesChoice,
};
use super::run::{command::BenchmarkCommand, synthetic::SyntheticFlags};
use crate::{
    connection::Connection,
    context::{Context, Environment},
    failure::{Exit, Failure, Result, print_before},
    input::ParseFlags,
    manifest,
    measurement::Measurement,
    output, project,
    resource::Session,
};

/// Arguments of `tidemark bisect`.
#[derive(clap::Args)]
pub(crate) struct Bisect {
    #[command(flatten)]
    connection: Connection,
    /// Commit before the change
    #[arg(long, value_name = "COMMIT")]
    good: String,
    /// Commit since the change
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    bad: String,
    /// Store the result with this event, whose page and notifications show it
    #[arg(long, value_name = "UUID")]
    event: Option<EventUuid>,
    /// Output format
    #[arg(long, value_enum, default_value_t = BisectFormat::Human)]
    format: BisectFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    flags: BisectFlags,
}

/// Output format of the result.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BisectFormat {
    /// Commit and plot
    Human,
    /// All data as JSON
    Json,
}

/// Flags that `tidemark bisect` and `tidemark change bisect` share.
#[derive(Clone, clap::Args)]
pub(crate) struct BisectFlags {
    /// Project UUID or slug [default: tidemark.toml, or the project of this repository or folder]
    #[arg(long, env = "TIDEMARK_PROJECT")]
    pub(crate) project: Option<ResourceId>,
    /// Branch of the earlier results to use: UUID, slug or name [default: the current git branch]
    #[arg(long, env = "TIDEMARK_BRANCH")]
    pub(crate) branch: Option<NameId>,
    /// Testbed of the earlier results to use: UUID, slug or name [default: the type of this machine]
    #[arg(long, env = "TIDEMARK_TESTBED")]
    pub(crate) testbed: Option<NameId>,
    /// Benchmark that changed [default: the benchmark that differs most between the good and the bad commit]
    #[arg(long, value_name = "NAME")]
    pub(crate) benchmark: Option<String>,
    /// Measure that changed [default: the measure that differs most]
    #[arg(long, value_name = "NAME")]
    pub(crate) measure: Option<String>,
    /// Probability of the culprit at which the search ends
    #[arg(long, default_value_t = 0.97, value_parser = probability)]
    probability: f64,
    /// Maximum duration in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = clap::value_parser!(u64).range(1..))]
    max_time: u64,
    /// Number of runs of the command per measurement, whose mean is one value
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    iter: u32,
    /// Shell command that prepares each commit once, for example a build; a commit for which it fails is skipped
    #[arg(long, value_name = "COMMAND", conflicts_with = "jobs")]
    setup: Option<String>,
    /// Number of checkouts to keep; a commit that is measured again after its checkout was removed is prepared again
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    checkouts: u32,
    /// Do not use earlier results of the server
    #[arg(long)]
    no_reuse: bool,
    #[command(flatten)]
    parsing: ParseFlags,
    /// Read results from this file in each checkout instead of the output of the command; repeat the flag for several
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    synthetic: SyntheticFlags,
    /// Print only the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    command: BenchmarkCommand,
    #[command(flatten, next_help_heading = "Jobs")]
    jobs: JobSourceFlags,
}

/// What to search, and what to do with the result.
pub(crate) struct BisectTarget<'a> {
    pub(crate) good: &'a str,
    pub(crate) bad: &'a str,
    /// Event to store the result with.
    pub(crate) event: Option<EventUuid>,
    pub(crate) format: BisectFormat,
}

/// The series of a change, where flags do not name another one.
pub(crate) struct BisectSeries {
    pub(crate) branch: Option<NameId>,
    pub(crate) testbed: Option<NameId>,
    pub(crate) benchmark: String,
    pub(crate) measure: String,
}

fn probability(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.5..1.0).contains(number));
    number.ok_or_else(|| "it must be a number of at least 0.5 and less than 1".to_owned())
}

impl Bisect {
    pub(crate) fn run(mut self) -> Result {
        let format = if self.json { BisectFormat::Json } else { self.format };
        let uses_server = self.event.is_some()
            || self.flags.jobs.is_given()
            || (!self.flags.no_reuse
                && (self.flags.project.is_some() || self.connection.target()?.host.is_some()));
        let session = match uses_server {
            true => Some(Session { client: self.connection.client()?, json: false }),
            false => None,
        };
        if let Some(session) = &session {
            project::load_from_key(&self.connection, &session.client);
        }
        self.flags.apply_manifest()?;
        let target = BisectTarget { good: &self.good, bad: &self.bad, event: self.event, format };
        self.flags.run(session.as_ref(), &target)
    }
}

impl BisectFlags {
    /// Takes the command and its files from `tidemark.toml`, unless the flags say what to measure.
    fn apply_manifest(&mut self) -> Result {
        let manifest = manifest::current()?;
        let is_given = self.command.is_given() || !self.file.is_empty() || self.synthetic.is_given();
        if !is_given && !self.jobs.is_given() {
            if let Some(given) = manifest.command() {
                self.command.take(&given);
            }
            self.file = manifest.files();
        }
        Ok(())
    }

    /// Returns the flags of a search for a change.
    pub(crate) fn for_change(&self, series: BisectSeries) -> Result<Self> {
        let mut flags = self.clone();
        flags.apply_manifest()?;
        flags.branch = flags.branch.or(series.branch);
        flags.testbed = flags.testbed.or(series.testbed);
        flags.benchmark.get_or_insert(series.benchmark);
        flags.measure.get_or_insert(series.measure);
        Ok(flags)
    }

    /// Searches, prints the result and stores it with the event.
    pub(crate) fn run(&self, session: Option<&Session>, target: &BisectTarget<'_>) -> Result {
        self.check()?;
        let folder = self.command.folder();
        let range = CommitRange::read(folder, target.good, target.bad)?;
        let project = session.map(|session| self.project(session)).transpose();
        let project = match project {
            // Earlier results are optional.
            Err(failure) if target.event.is_none() && !self.jobs.is_given() => {
                message!("warning: Earlier results are not used: {failure}");
                None
            }
            project => project?,
        };
        let server = session.zip(project.as_ref());
        let context = Context::detect(&Environment::of_process(), folder);
        let earlier = server.filter(|_| !self.no_reuse).map(|(session, project)| EarlierResults {
            session,
            project,
            branch: self.branch.clone().or_else(|| context.branch.as_ref()?.as_str().parse().ok()),
            testbed: self.testbed.clone().or_else(|| context.testbed().parse().ok()),
        });
        let deadline = Instant::now() + Duration::from_secs(self.max_time);
        let search = Search {
            range: &range,
            choice: SeriesChoice { benchmark: self.benchmark.as_deref(), measure: self.measure.as_deref() },
            probability: self.probability,
            deadline,
            earlier: earlier.as_ref(),
            quiet: self.quiet,
        };
        let result = match server.filter(|_| self.jobs.is_given()) {
            Some((session, project)) => {
                let flags = &self.jobs;
                let command = self.command.words();
                let files = &self.file;
                let parsing = &self.parsing;
                let (iter, quiet) = (self.iter, self.quiet);
                let mut source = JobSource {
                    session,
                    project,
                    flags,
                    command,
                    files,
                    parsing,
                    iter,
                    quiet,
                    deadline,
                    range: &range,
                };
                search.run(&mut source)?
            }
            None => {
                let measurement = Measurement {
                    setup: self.setup.as_deref(),
                    benchmark: &self.command,
                    files: &self.file,
                    synthetic: Some(&self.synthetic).filter(|synthetic| synthetic.is_given()),
                    parsing: &self.parsing,
                    allow_failure: true,
                    deadline: Some(deadline),
                    quiet: self.quiet,
                };
                let mut source =
                    CheckoutSource::open(folder, measurement, self.iter, self.checkouts, &range)?;
                let result = search.run(&mut source as &mut dyn Source)?;
                drop(source);
                result
            }
        };
        let stored = match (target.event, server) {
            (Some(event), Some((session, project))) => {
                let project = ResourceId::Slug(project.slug.clone());
                session.client.send(&store_bisection(&project, event, &result.document)).map(drop)
            }
            _ => Ok(()),
        };
        let stored = stored.map_err(|error| {
            let failure = Failure::from(error);
            Failure::with(Exit::NotReported, format!("The result is not stored with the event: {failure}"))
        });
        let text = match target.format {
            BisectFormat::Json => output::json("The result", &result.document)?,
            BisectFormat::Human => show::show(&result, &range),
        };
        let verdict = verdict(result.end, &result.document);
        if let (Err(_), Err(failure)) = (&verdict, &stored) {
            message!("warning: {failure}");
        }
        print_before(verdict.and(stored), &text)
    }

    fn check(&self) -> Result {
        if !self.command.is_given() && self.synthetic.file_size.is_empty() && !self.jobs.is_given() {
            return Err(Failure::usage("There is no command to run; give the command as the last argument."));
        }
        if self.jobs.is_given() && (self.command.names_shell() || self.synthetic.is_given()) {
            return Err(Failure::usage(
                "Jobs start their command without a shell and measure its output; omit --shell, --flag, \
                 --build-time and --file-size.",
            ));
        }
        self.synthetic.check(self.command.is_given())
    }

    /// Returns the project, which must exist.
    fn project(&self, session: &Session) -> Result<Project> {
        Ok(session.client.send(&projects().view(project::select(self.project.as_ref())?))?)
    }
}

/// Returns a failure if no commit was found.
fn verdict(end: End, result: &NewBisection) -> Result {
    match end {
        End::Found => Ok(()),
        End::NoDifference => Err(Failure::with(
            Exit::NoDifference,
            format!(
                "No difference between good and bad in {} ({}).",
                output::plain(result.benchmark.as_str()),
                output::plain(result.measure.as_str())
            ),
        )),
        End::Undecided => Err(Failure::with(
            Exit::Undecided,
            "The search ended before a commit was found; give it more time with --max-time, or repeat the command \
             within a measurement with --iter.",
        )),
    }
}
