//! `tidemark run`: runs benchmarks, parses their output, sends the results to a server or stores them on this machine, and prints
//! the verdict.

mod ab;
mod average;
pub(crate) mod binary;
pub(crate) mod command;
mod confirm;
mod gate;
pub(crate) mod job;
mod project_flags;
mod recent;
mod shell;
mod show;
mod start_point;
pub(crate) mod synthetic;
pub(crate) mod threshold;
mod unsent;

use std::{
    cell::{Cell, RefCell},
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::ArgAction;
use tidemark_adapters::Results;
use tidemark_api::{
    Adapter, GitHash, NameId, NewJob, NewRun, Report, ReportSettings, ReportThresholds, StartPointPatch,
    Timestamp,
};
use tidemark_client::{Client, projects, run, server};
use tidemark_server::infra::clock::Clock;

use self::{
    binary::BinaryFlags, command::BenchmarkCommand, gate::Gate, job::JobFlags, project_flags::ProjectFlags,
    start_point::StartPointFlags, synthetic::SyntheticFlags, threshold::ThresholdFlags, unsent::UnsentFlags,
};
use crate::{
    ci::{self, CiFlags, CiReporter, RunIdentity, RunKind},
    cmd::parse,
    connection::Connection,
    context::{Context, Environment},
    failure::{Exit, Failure, Result, print},
    input::{self, ParseFlags, ToolOutput},
    manifest::{self, Manifest},
    output::{self, Format},
    verdict,
};

/// Maximum number of result files.
const FILES_MAX: usize = 255;

/// Last second with a four-digit year.
const LAST_SECOND: i64 = 253_402_300_799;

/// Arguments of `tidemark run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    project: ProjectFlags,
    /// Branch UUID, slug or name [default: the current git branch]
    #[arg(long, alias = "if-branch", env = "TIDEMARK_BRANCH")]
    branch: Option<NameId>,
    /// Measured commit [default: the current git commit]
    #[arg(long)]
    hash: Option<GitHash>,
    #[command(flatten)]
    start_point: StartPointFlags,
    /// Testbed UUID, slug or name [default: the type of this machine]
    #[arg(long, env = "TIDEMARK_TESTBED")]
    testbed: Option<NameId>,
    /// Remove the spec from the testbed, which keeps the spec of its last job
    #[arg(long, requires = "testbed", conflicts_with = "image")]
    spec_reset: bool,
    #[command(flatten)]
    parsing: ParseFlags,
    /// Number of runs of the command [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    iter: Option<u32>,
    /// Start of the run in seconds since 1970, for historical results
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(..=LAST_SECOND))]
    backdate: Option<i64>,
    /// Leave out failed runs of the command, instead of stopping
    #[arg(long)]
    allow_failure: bool,
    #[command(flatten)]
    thresholds: ThresholdFlags,
    #[command(flatten)]
    binary: BinaryFlags,
    /// Exit with status 3 if any benchmark regressed against the baseline
    #[arg(long)]
    error_on_change: bool,
    /// Exit with status 3 if a value is outside its threshold, or if a benchmark without a threshold regressed; `=false` overrides
    /// tidemark.toml
    #[arg(
        long,
        alias = "err",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value_t = false,
        hide_default_value = true,
        hide_possible_values = true
    )]
    error_on_alert: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print only the report
    #[arg(long, short)]
    quiet: bool,
    /// On a terminal: show all rows, even if they do not fit on the screen
    #[arg(long)]
    all: bool,
    /// Read results from this file, after the command if there is one; `-` is standard input; repeat the flag for several
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    unsent: UnsentFlags,
    #[command(flatten)]
    synthetic: SyntheticFlags,
    /// Run and parse, but send nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    ab: ab::AbFlags,
    #[command(flatten)]
    benchmark: BenchmarkCommand,
    #[command(flatten, next_help_heading = "CI")]
    ci: CiFlags,
    #[command(flatten, next_help_heading = "Jobs")]
    job: JobFlags,
    /// Flags of earlier releases, without effect
    #[arg(long = "deprecated", aliases = ["else-branch", "endif-branch", "no-hash"], hide = true, action = ArgAction::Count)]
    _deprecated: u8,
}

/// Output of the tools, with its times.
struct MeasuredOutputs {
    outputs: Vec<ToolOutput>,
    start_time: Timestamp,
    end_time: Timestamp,
}

/// Target of a run, and its properties that are known before it starts.
struct RunTarget<'a> {
    client: Client,
    start_point: Option<StartPointPatch>,
    thresholds: Option<ReportThresholds>,
    reporter: CiReporter<'a>,
    /// Adapter that read the results; `None` if this machine did not parse them.
    adapter: Cell<Option<Adapter>>,
    /// Adapters and described formats that read the results, separated by commas; empty if this machine did not parse them.
    readers: RefCell<String>,
}

impl Run {
    pub(crate) fn run(mut self) -> Result {
        let manifest = manifest::current()?;
        if self.json {
            self.format = Format::Json;
        }
        self.apply_manifest(manifest);
        if let Some(base) = &self.ab.ab {
            return self.compare_with(base);
        }
        self.ab.check(self.job.base_image.is_some())?;
        self.check_confirm()?;
        let job = self.check()?;
        let thresholds = self.thresholds.thresholds()?.or_else(|| manifest.thresholds());
        let environment = Environment::of_process();
        let mut context = Context::detect(&environment, Path::new("."));
        if self.dry_run {
            return self.run_dry(job.as_ref());
        }
        // Report all errors that can be detected before the benchmarks run, because they may take hours.
        let runs_command = self.benchmark.is_given() && job.is_none();
        let kind = RunKind { runs_command, is_detached: self.job.detach };
        self.ci.check(&environment, &context, kind)?;
        if self.unsent.resend.is_none() {
            self.project.check(&self.connection, &environment, &context)?;
        }
        let client = self.connection.client()?;
        let retry_policy = self.connection.retry_policy();
        self.ci.complete(&environment, &mut context, retry_policy);
        if self.unsent.resend.is_none() {
            self.check_branch(&context)?;
        }
        server::version(&client)?;
        let project = match self.unsent.resend {
            Some(_) => None,
            None => self.project.select(&client, &self.connection, &context, job.is_some())?,
        };
        let project = project.or_else(|| {
            let named = self.project.project.as_ref().filter(|_| self.ci.opens_check())?;
            client.send(&projects().view(named)).ok()
        });
        let start_point = self.start_point.patch(self.branch.as_ref(), self.hash.as_ref(), &context)?;
        let name = project.as_ref().map(|project| project.name.as_str());
        let reporter = self.ci.open(&environment, &context, self.hash.as_ref(), name, retry_policy);

        let target = RunTarget {
            client,
            start_point,
            thresholds,
            reporter,
            adapter: Cell::default(),
            readers: RefCell::default(),
        };
        let report = match self.send(&target, &context, job) {
            Ok(report) => report,
            Err(failure) => {
                target.reporter.fail(&failure);
                return Err(failure);
            }
        };
        if let Some(job) = report.job.filter(|_| self.job.detach) {
            return self.show_job(&report, job);
        }
        self.report(&target, &report, &context)
    }

    /// Rejects invalid combinations, and returns the job if the run is a job.
    fn check(&self) -> Result<Option<NewJob>> {
        if self.unsent.resend.is_some() && (self.benchmark.is_given() || self.synthetic.is_given()) {
            return Err(Failure::usage("--resend sends saved results; omit the command."));
        }
        let runs_something = self.benchmark.is_given() || self.job.image.is_some();
        if self.iterations() > 1 && !runs_something {
            return Err(Failure::usage("--iter requires a command; give the command to run."));
        }
        if self.allow_failure && !runs_something {
            return Err(Failure::usage("--allow-failure requires a command; give the command to run."));
        }
        if self.file.len() > FILES_MAX {
            return Err(Failure::usage(format!(
                "--file is given {} times; the maximum is {FILES_MAX}.",
                self.file.len()
            )));
        }
        self.synthetic.check(runs_something)?;
        self.job.job(self)
    }

    /// Measures and parses, or shows the job, without sending anything.
    fn run_dry(&self, job: Option<&NewJob>) -> Result {
        if let Some(job) = job {
            return print(&job::show(job)?);
        }
        let mut measured = self.measure()?;
        let results = self.parse(&mut measured.outputs)?;
        print(&parse::show(&measured.outputs, &results, self.format == Format::Json)?)
    }

    /// Runs the benchmarks and sends the results, or creates a job; returns the report.
    fn send(&self, target: &RunTarget<'_>, context: &Context, job: Option<NewJob>) -> Result<Report> {
        if let Some(file) = &self.unsent.resend {
            let report = unsent::show_claim(run::send(&target.client, unsent::read(file)?)?);
            // If the file cannot be removed, resending it is harmless: the server recognizes the run.
            let _ = fs::remove_file(file);
            return Ok(report);
        }
        let now = Clock::System.now();
        let mut measured = match &job {
            Some(_) => MeasuredOutputs { outputs: Vec::new(), start_time: now, end_time: now },
            None => self.measure()?,
        };
        if job.is_none() {
            let results = self.parse(&mut measured.outputs)?;
            target.adapter.set(results.first().map(|first| first.adapter));
            *target.readers.borrow_mut() = input::readers(&measured.outputs, &results);
            // The human report starts with the adapter of a single output.
            if !self.quiet && (self.format != Format::Human || results.len() > 1) {
                for sentence in input::reading_sentences(&measured.outputs, &results) {
                    message!("{sentence}");
                }
            }
            self.check_average(&target.client, context, target.start_point.as_ref(), &results)?;
        }
        let adapter =
            if self.synthetic.is_given() { Adapter::Json } else { self.parsing.adapter.on_server() };
        let settings =
            ReportSettings { adapter: Some(adapter), average: self.parsing.average, fold: self.parsing.fold };
        let testbed = match (&self.testbed, &job) {
            (Some(testbed), _) => Some(testbed.clone()),
            (None, Some(_)) => None,
            (None, None) => context.testbed().parse().ok(),
        };
        let new = NewRun {
            project: self.project.project.clone(),
            branch: self.branch.clone(),
            hash: self.hash.clone(),
            start_point: target.start_point.clone(),
            testbed,
            spec_reset: self.spec_reset.then_some(true),
            thresholds: target.thresholds.clone(),
            start_time: measured.start_time,
            end_time: measured.end_time,
            results: measured.outputs.into_iter().map(|output| output.text).collect(),
            settings: Some(settings),
            job: job.map(|job| NewJob {
                callback: target.reporter.callback().filter(|_| self.job.detach),
                ..job
            }),
            context: Some(context.facts(self.binary.hash())),
            idempotency_key: None,
        };
        if self.benchmark.is_given() && new.job.is_none() {
            return unsent::send(&target.client, new);
        }
        let report = unsent::show_claim(run::send(&target.client, new)?);
        self.job.wait(&target.client, report, self.quiet)
    }

    /// Prints the report, then reports to the code host. The exit code of the verdict takes precedence over a failure to print or
    /// to report.
    fn report(&self, target: &RunTarget<'_>, report: &Report, context: &Context) -> Result {
        for warning in &report.warnings {
            message!("warning: {}", output::plain(warning));
        }
        let host = self.connection.target()?.host.map(|(host, _)| host);
        let links = ci::links(&target.client, host.as_ref(), report, self.ci.ci_public_links);
        let mut verdict = verdict::wait_for_verdict(&target.client, report);
        self.remember(report, &links, context);
        let confirmation = self.confirm(&verdict::rows(report), verdict.as_ref(), target.adapter.get());
        let confirmed =
            confirmation.as_ref().map(|confirmation| confirmation.apply(report, verdict.as_mut()));
        // JSON contains the report as the server has it.
        let printed = confirmed.as_ref().filter(|_| self.format != Format::Json).unwrap_or(report);
        let report = confirmed.as_ref().unwrap_or(report);
        let (rows, verdict) = (verdict::rows(report), verdict.as_ref());
        let shown = self.show(target, printed, &rows, verdict, &links, confirmation.as_ref());
        let suffix = format!(
            "{}{}",
            if self.synthetic.build_time { "-build_time" } else { "" },
            if self.synthetic.file_size.is_empty() { "" } else { "-file_size" }
        );
        // The name of a job's testbed comes from its spec and is the same in each run.
        let names_testbed = self.testbed.is_some() || self.job.image.is_some();
        let identity = RunIdentity { names_testbed, suffix: &suffix };
        let mut failures = target.reporter.finish(report, &rows, verdict, &links, &identity);
        failures.extend(shown.err().map(|failure| failure.to_string()));
        let gate = Gate { on_alert: self.error_on_alert, on_change: self.error_on_change };
        if let Some(cause) = gate.cause(report, &rows, verdict) {
            for sentence in failures {
                message!("warning: {sentence}");
            }
            return Err(Failure::with(Exit::Regression, cause));
        }
        match failures.as_slice() {
            [] => Ok(()),
            sentences => Err(Failure::with(Exit::NotReported, sentences.join(" "))),
        }
    }

    /// Parses outputs; measured times and sizes have the format of the adapter `json`.
    fn parse(&self, outputs: &mut [ToolOutput]) -> Result<Vec<Results>> {
        if self.synthetic.is_given() {
            return self.synthetic.parse(&self.parsing, outputs);
        }
        self.parsing.parse(outputs)
    }

    /// Takes the command and its files from `tidemark.toml`, unless the flags say what to measure; and the number of iterations,
    /// unless a flag sets it.
    fn apply_manifest(&mut self, manifest: &Manifest) {
        let is_given = self.benchmark.is_given()
            || !self.file.is_empty()
            || self.synthetic.is_given()
            || self.unsent.resend.is_some()
            || self.job.image.is_some();
        if !is_given {
            if let Some(given) = manifest.command() {
                self.benchmark.take(&given);
            }
            self.file = manifest.files();
        }
        // Comparisons have their own default number of rounds.
        if self.benchmark.is_given() && self.ab.ab.is_none() {
            self.iter = self.iter.or(manifest.iter());
        }
    }

    /// Returns the number of runs of the command.
    fn iterations(&self) -> u32 {
        self.iter.unwrap_or(1)
    }

    /// Requires a branch for a commit without a branch, because it must not count as a commit of the main branch.
    fn check_branch(&self, context: &Context) -> Result {
        if self.branch.is_none() && context.branch.is_none() && context.hash.is_some() {
            return Err(Failure::usage(
                "The checkout is a commit without a branch; name the branch with --branch.",
            ));
        }
        Ok(())
    }

    /// Runs the command as often as requested, and collects its output and the files.
    fn measure(&self) -> Result<MeasuredOutputs> {
        let (start_time, started) = (Clock::System.now(), Instant::now());
        let mut outputs = Vec::new();
        if self.benchmark.is_given() {
            for iteration in 1..=self.iterations() {
                outputs.extend(self.iterate(iteration)?);
            }
            if outputs.is_empty() {
                return Err(Failure::with(
                    Exit::Empty,
                    "Every run of the benchmark command failed; nothing was measured.",
                ));
            }
        } else if self.synthetic.is_given() {
            outputs.push(self.synthetic.measure(&self.benchmark, None, Path::to_owned)?);
        } else if self.file.is_empty() {
            outputs.push(ToolOutput::from_stdin()?);
        } else {
            outputs = self.read_files()?;
        }
        let start_time =
            self.backdate.map_or(start_time, |seconds| Timestamp::from_micros(0).plus_seconds(seconds));
        let elapsed = i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX);
        let end_time = Timestamp::from_micros(start_time.micros().saturating_add(elapsed));
        Ok(MeasuredOutputs { outputs, start_time, end_time })
    }

    /// Runs the command once; returns no output if it failed and failures are allowed.
    fn iterate(&self, iteration: u32) -> Result<Vec<ToolOutput>> {
        let name = match self.iterations() {
            1 => "The benchmark command".to_owned(),
            count => format!("Run {iteration} of {count} of the benchmark command"),
        };
        let label = match self.iterations() {
            1 => "The benchmarks run".to_owned(),
            count => format!("Run {iteration} of {count}"),
        };
        let ended = self.benchmark.run(&label, self.quiet)?;
        match ended.failure {
            Some(reason) if self.allow_failure => {
                message!("warning: {name} {reason}; the run is left out.");
                Ok(Vec::new())
            }
            Some(reason) => Err(Failure::with(
                Exit::Benchmark,
                format!("{name} {reason}; nothing was sent. --allow-failure leaves failed runs out."),
            )),
            None if self.synthetic.is_given() => {
                Ok(vec![self.synthetic.measure(&self.benchmark, Some(ended.elapsed), Path::to_owned)?])
            }
            None if self.file.is_empty() => Ok(vec![ToolOutput::new(name, ended.output)]),
            None => self.read_files(),
        }
    }

    fn read_files(&self) -> Result<Vec<ToolOutput>> {
        self.file.iter().map(|file| ToolOutput::from_file(file)).collect()
    }
}
