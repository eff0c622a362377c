//! `tidemark run`: runs benchmarks, reads what they print, sends it to a server, or to the store on this machine, and
//! says what it makes of it.

mod ab;
pub(crate) mod command;
pub(crate) mod threshold;
pub(crate) mod verdict;

use std::{
    env,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    time::Instant,
};

use tidemark_api::{GitHash, NameId, NewRun, Report, ReportSettings, ResourceId, StartPointPatch, Timestamp};
use tidemark_client::{run, server};
use tidemark_server::clock::Clock;

use self::{command::Benchmark, threshold::Thresholds};
use crate::{
    cmd::parse,
    connection::Connection,
    context::{Context, Environment},
    failure::{Exit, Failure, Result, print},
    input::{Output, Reading},
    local,
    manifest::{self, Manifest},
};

/// The arguments of `tidemark run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    connection: Connection,
    /// The UUID or slug of the project; a slug that is not known makes a new one
    #[arg(long, env = "TIDEMARK_PROJECT")]
    project: Option<ResourceId>,
    /// On CI, let the server make a project for this repository and kind of machine
    #[arg(long)]
    ci_on_the_fly: bool,
    /// The branch, by UUID, slug or name; found out when not given
    #[arg(long, alias = "if-branch", env = "TIDEMARK_BRANCH")]
    branch: Option<NameId>,
    /// The commit that is measured; found out when not given
    #[arg(long)]
    hash: Option<GitHash>,
    /// The branch that this one starts from; nothing counts as none
    #[arg(long, value_name = "BRANCH", aliases = ["else-if-branch", "branch-start-point"])]
    start_point: Option<String>,
    /// The commit to start from
    #[arg(long, value_name = "HASH", requires = "start_point")]
    start_point_hash: Option<GitHash>,
    /// How many versions to take over from the start point [default: 255]
    #[arg(long, value_name = "COUNT", requires = "start_point")]
    start_point_max_versions: Option<u32>,
    /// Take over the thresholds of the start point, too
    #[arg(long, requires = "start_point")]
    start_point_clone_thresholds: bool,
    /// Put earlier results of the branch aside and start anew
    #[arg(long, alias = "branch-reset")]
    start_point_reset: bool,
    /// The testbed, by UUID, slug or name; named after the machine when not given
    #[arg(long, env = "TIDEMARK_TESTBED")]
    testbed: Option<NameId>,
    #[command(flatten)]
    reading: Reading,
    /// How many times to run the command
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    iter: u32,
    /// When the run began, in seconds since 1970, for results of the past
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    backdate: Option<i64>,
    /// Leave failed runs of the command out instead of stopping
    #[arg(long)]
    allow_failure: bool,
    #[command(flatten)]
    thresholds: Thresholds,
    /// End with 3 if there is an alert
    #[arg(long, alias = "err")]
    error_on_alert: bool,
    /// How to print the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Print nothing but the report
    #[arg(long, short)]
    quiet: bool,
    /// Read results from this file, after the command if there is one; - is standard input; repeat it for several
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Run and read, but send nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    ab: ab::Against,
    #[command(flatten)]
    benchmark: Benchmark,
}

/// How a report is printed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table with a verdict
    Human,
    /// The report as the server has it
    Json,
}

/// What the tools printed, and when.
struct Measured {
    outputs: Vec<Output>,
    start_time: Timestamp,
    end_time: Timestamp,
}

impl Run {
    pub(crate) fn run(mut self) -> Result {
        let manifest = manifest::here()?;
        self.take_command(manifest);
        if !self.benchmark.is_given() && (self.iter > 1 || self.allow_failure) {
            let flag = if self.iter > 1 { "--iter repeats" } else { "--allow-failure is about" };
            return Err(usage(format!("{flag} a command, and there is none; give the command to run.")));
        }
        if let Some(base) = &self.ab.ab {
            return self.compare_with(base);
        }
        let thresholds = self.thresholds.wanted()?.or_else(|| manifest.thresholds());
        let environment = Environment::of_process();
        let context = Context::detect(&environment, Path::new("."));
        // All that can be wrong before the benchmarks is said before them: they may take hours.
        let target = if self.dry_run {
            None
        } else {
            self.check_project(&environment, &context)?;
            let client = self.connection.client()?;
            self.check_branch(&context)?;
            server::version(&client)?;
            Some((client, self.start_point(&context)?))
        };

        let measured = self.measure()?;
        let results = self.reading.read(&measured.outputs)?;
        let Some((client, start_point)) = target else {
            return print(&parse::show(&measured.outputs, &results, self.format == Format::Json)?);
        };
        let settings = ReportSettings {
            adapter: Some(self.reading.adapter),
            average: self.reading.average,
            fold: self.reading.fold,
        };
        let testbed = self.testbed.clone().map_or_else(|| context.testbed().parse(), Ok);
        let new = NewRun {
            project: self.project.clone(),
            branch: self.branch.clone(),
            hash: self.hash.clone(),
            start_point,
            testbed: testbed.ok(),
            spec_reset: None,
            thresholds,
            start_time: measured.start_time,
            end_time: measured.end_time,
            results: measured.outputs.into_iter().map(|output| output.text).collect(),
            settings: Some(settings),
            job: None,
            context: Some(context.facts(self.project.is_none())),
            idempotency_key: None,
        };
        let report = run::create(&client, new)?;
        self.show(&report)?;
        match report.counts.alerts.total {
            count if count > 0 && self.error_on_alert => {
                let alerts = if count == 1 { "1 alert".to_owned() } else { format!("{count} alerts") };
                Err(Failure::with(Exit::Regression, format!("There is cause for {alerts}.")))
            }
            _ => Ok(()),
        }
    }

    /// Takes the command and its files from the file of the repository, unless it is said what to measure.
    fn take_command(&mut self, manifest: &Manifest) {
        if self.benchmark.is_given() || !self.file.is_empty() {
            return;
        }
        if let Some(given) = manifest.command() {
            self.benchmark.take(&given);
        }
        self.file = manifest.files();
    }

    /// On CI, where machines come and go, a project that is named after the machine would be a new one again and again.
    fn check_project(&self, environment: &Environment, context: &Context) -> Result {
        let on_ci = context.system.is_some() || environment.is_set("CI");
        // The machine will be gone with its results, and every run would pass as the first one.
        if on_ci && !self.connection.is_surely_local() && self.connection.target()?.host.is_none() {
            return Err(usage(
                "On CI the server must be named: give its address with --host or in TIDEMARK_HOST; --local keeps the \
                 results on this machine, if it lasts.",
            ));
        }
        if on_ci && self.project.is_none() && !self.ci_on_the_fly && !self.connection.is_of_project() {
            return Err(usage(
                "On CI the project must be named: give --project or TIDEMARK_PROJECT, or the key of a project.",
            ));
        }
        Ok(())
    }

    /// A commit that is on no branch must not count as one of the main branch.
    fn check_branch(&self, context: &Context) -> Result {
        if self.branch.is_none() && context.branch.is_none() && context.hash.is_some() {
            return Err(usage(
                "What is checked out is a commit, not a branch; name the branch with --branch.",
            ));
        }
        Ok(())
    }

    /// Where the branch starts from. A pull request that is found out starts from its base each time, with the
    /// thresholds of the base, unless a flag speaks of branches.
    fn start_point(&self, context: &Context) -> Result<Option<StartPointPatch>> {
        let given = self.start_point.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let branch = given
            .map(str::parse::<NameId>)
            .transpose()
            .map_err(|error| usage(format!("The branch of --start-point is wrong: {error}.")))?;
        if branch.is_some() || self.start_point_reset {
            let from_branch = branch.is_some();
            return Ok(Some(StartPointPatch {
                branch,
                hash: self.start_point_hash.clone().filter(|_| from_branch),
                max_versions: self.start_point_max_versions.filter(|_| from_branch),
                clone_thresholds: (self.start_point_clone_thresholds && from_branch).then_some(true),
                reset: self.start_point_reset.then_some(true),
            }));
        }
        let base = context.base.as_ref().filter(|_| self.branch.is_none() && self.start_point.is_none());
        Ok(base.filter(|base| context.branch.as_ref() != Some(base)).and_then(|base| {
            Some(StartPointPatch {
                branch: Some(base.as_str().parse().ok()?),
                clone_thresholds: Some(true),
                reset: Some(true),
                ..StartPointPatch::default()
            })
        }))
    }

    /// Runs the command as often as asked, and collects what it and the files say.
    fn measure(&self) -> Result<Measured> {
        let (start_time, started) = (Clock::System.now(), Instant::now());
        let mut outputs = Vec::new();
        if self.benchmark.is_given() {
            for iteration in 1..=self.iter {
                outputs.extend(self.iterate(iteration)?);
            }
            if outputs.is_empty() {
                return Err(Failure::with(
                    Exit::Empty,
                    "Every run of the benchmark command failed; nothing was measured.",
                ));
            }
        } else if self.file.is_empty() {
            outputs.push(Output::from_stdin()?);
        } else {
            outputs = self.read_files()?;
        }
        let start_time =
            self.backdate.map_or(start_time, |seconds| Timestamp::from_micros(0).plus_seconds(seconds));
        let elapsed = i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX);
        let end_time = Timestamp::from_micros(start_time.micros().saturating_add(elapsed));
        Ok(Measured { outputs, start_time, end_time })
    }

    /// Runs the command once; nothing if it failed and may.
    fn iterate(&self, iteration: u32) -> Result<Vec<Output>> {
        let name = match self.iter {
            1 => "The benchmark command".to_owned(),
            count => format!("Run {iteration} of {count} of the benchmark command"),
        };
        let ended = self.benchmark.run(self.quiet)?;
        match ended.failure {
            Some(reason) if self.allow_failure => {
                eprintln!("warning: {name} {reason}; it is left out.");
                Ok(Vec::new())
            }
            Some(reason) => Err(Failure::with(
                Exit::Benchmark,
                format!("{name} {reason}; nothing was sent. --allow-failure leaves failed runs out."),
            )),
            None if self.file.is_empty() => Ok(vec![Output::new(name, ended.output)]),
            None => self.read_files(),
        }
    }

    fn read_files(&self) -> Result<Vec<Output>> {
        self.file.iter().map(|file| Output::from_file(file)).collect()
    }

    fn show(&self, report: &Report) -> Result {
        if self.format == Format::Json {
            let json = serde_json::to_string_pretty(report)
                .map_err(|error| Failure::new(format!("The report cannot be written as JSON ({error}).")))?;
            return print(&format!("{json}\n"));
        }
        let colors =
            io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let end = match self.connection.target()?.host {
            Some((host, _)) => {
                let host = host.as_str().trim_end_matches('/');
                format!("{host}/v0/projects/{}/reports/{}", report.project.slug, report.uuid)
            }
            None => format!(
                "Kept on this machine in {} as {}; `tidemark serve` shows it, and `tidemark push` brings it to a server.",
                local::place()?,
                report.project.slug
            ),
        };
        print(&format!("{}\n{end}\n", verdict::show(report, colors)))
    }
}

fn usage(sentence: impl Into<String>) -> Failure {
    Failure::with(Exit::Usage, sentence)
}
