//! Measurement of a checkout: the command that prepares it once, and runs of the benchmark command with their results. It decides
//! neither what to measure nor how often.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tidemark_adapters::Results;
use tidemark_api::{Adapter, Fold};

use crate::{
    checkout::Checkout,
    child::{Child, EndedChild},
    cmd::run::{
        command::{BenchmarkCommand, CommandResult, DRAIN_TIMEOUT, RunIn, SIDE_VARIABLE, forward},
        synthetic::{SyntheticFlags, elapsed_results},
    },
    failure::{Exit, Failure, Result},
    input::{AdapterChoice, ParseFlags, ToolOutput},
    progress,
};

/// What to run in a checkout, and where its results are.
#[derive(Clone, Copy)]
pub(crate) struct Measurement<'a> {
    /// Shell command that prepares a checkout once.
    pub(crate) setup: Option<&'a str>,
    pub(crate) benchmark: &'a BenchmarkCommand,
    /// Result files, if the results are not in the output of the command.
    pub(crate) files: &'a [PathBuf],
    /// Times and sizes to measure instead of parsing an output.
    pub(crate) synthetic: Option<&'a SyntheticFlags>,
    pub(crate) parsing: &'a ParseFlags,
    /// Whether a failed run is left out instead of being an error.
    pub(crate) allow_failure: bool,
    /// Time at which commands are stopped.
    pub(crate) deadline: Option<Instant>,
    pub(crate) quiet: bool,
}

impl Measurement<'_> {
    /// Prepares a checkout, for example with a build.
    pub(crate) fn set_up(&self, checkout: &Checkout) -> Result {
        let Some(line) = self.setup else { return Ok(()) };
        if !self.quiet {
            message!("Preparing {}: {line}", checkout.title());
        }
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
        let mut command = Command::new(shell);
        command.args([flag, line]).current_dir(&checkout.folder).env(SIDE_VARIABLE, &checkout.label);
        // Standard output contains only the comparison. On a terminal, the command sees the terminal; otherwise, a closed pipe must
        // not kill it.
        if progress::is_possible() {
            command.stdout(inherited_stderr());
        } else {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let run = |mut child: Child| {
            let (stdout, stderr) = (child.stdout().map(forward), child.stderr().map(forward));
            let ended = child.wait(self.deadline);
            for stream in [stdout, stderr].into_iter().flatten() {
                let _ = stream.recv_timeout(DRAIN_TIMEOUT);
            }
            ended
        };
        match Child::start(&mut command).and_then(run) {
            Ok(EndedChild { is_late: true, .. }) => Err(Failure::with(
                Exit::Benchmark,
                format!(
                    "The command that prepares {} was stopped because --max-time was over; increase --max-time.",
                    checkout.title()
                ),
            )),
            Ok(EndedChild { status, .. }) if status.success() => Ok(()),
            Ok(EndedChild { status, .. }) => Err(Failure::with(
                Exit::Benchmark,
                format!("The command that prepares {} failed ({status}).", checkout.title()),
            )),
            Err(error) => {
                Err(Failure::with(Exit::Benchmark, format!("The shell {shell} cannot be started ({error}).")))
            }
        }
    }

    /// Runs the command once in a checkout, and returns its results; `None` if it failed and failures are allowed. `name` describes
    /// the run in messages.
    pub(crate) fn measure(&self, checkout: &Checkout, name: &str) -> Result<Option<Results>> {
        let ended = self.start(self.benchmark, checkout, name, None, self.quiet)?;
        self.results(checkout, name, ended)
    }

    /// Runs a command in a checkout, with a variable that lists the benchmarks to run. Returns `None` if there is no command.
    pub(crate) fn start(
        &self,
        command: &BenchmarkCommand,
        checkout: &Checkout,
        name: &str,
        benchmarks: Option<&str>,
        quiet: bool,
    ) -> Result<Option<CommandResult>> {
        if !command.is_given() {
            return Ok(None);
        }
        let place =
            RunIn { folder: &checkout.folder, side: &checkout.label, benchmarks, deadline: self.deadline };
        command.run_in(Some(&place), name, quiet).map(Some)
    }

    /// Returns the results of a run; `None` if it failed and failures are allowed.
    pub(crate) fn results(
        &self,
        checkout: &Checkout,
        name: &str,
        ended: Option<CommandResult>,
    ) -> Result<Option<Results>> {
        let (mut elapsed, mut output) = (None, Vec::new());
        if let Some(ended) = ended {
            match ended.failure {
                Some(reason) if self.allow_failure => {
                    message!("warning: {name}: the benchmark command {reason}; the round is left out.");
                    return Ok(None);
                }
                Some(reason) => {
                    let consequence = match self.deadline {
                        Some(deadline) if deadline <= Instant::now() => "; the round is left out.",
                        _ => ". --allow-failure leaves rounds with a failed run out.",
                    };
                    let message = format!("{name}: the benchmark command {reason}{consequence}");
                    return Err(Failure::with(Exit::Benchmark, message));
                }
                None => (elapsed, output) = (Some(ended.elapsed), ended.output),
            }
        }
        let results = if let Some(synthetic) = self.synthetic {
            let measured = synthetic.measure(self.benchmark, elapsed, |file| checkout.file(file))?;
            synthetic.parse(self.parsing, &mut [measured])?
        } else if self.files.is_empty() {
            self.parsing.parse(&mut [ToolOutput::new(name.to_owned(), output)])?
        } else {
            let read = |file: &PathBuf| ToolOutput::from_file(&checkout.file(file));
            self.parsing.parse(&mut self.files.iter().map(read).collect::<Result<Vec<_>>>()?)?
        };
        Ok(self.fold(&results))
    }

    /// Combines several results: the values of a benchmark in one run count as one value.
    pub(crate) fn fold(&self, results: &[Results]) -> Option<Results> {
        Results::fold(results, self.parsing.fold.unwrap_or(Fold::Mean))
    }

    /// Returns the elapsed time of the command as its result: for commands whose output is not the output of a benchmark tool.
    pub(crate) fn elapsed_time(&self, elapsed: Duration) -> Result<Option<Results>> {
        let json = ParseFlags { adapter: AdapterChoice::Known(Adapter::Json), ..*self.parsing };
        let results = json.parse(&mut [elapsed_results(self.benchmark, elapsed)])?;
        Ok(self.fold(&results))
    }

    /// Whether a command without results of a known format may be measured by its elapsed time: the user named no format, no file
    /// and no other value.
    pub(crate) fn may_be_timed(&self) -> bool {
        self.benchmark.is_given()
            && self.synthetic.is_none()
            && self.files.is_empty()
            && matches!(self.parsing.adapter, AdapterChoice::Known(Adapter::Magic))
    }
}

fn inherited_stderr() -> Stdio {
    #[cfg(unix)]
    if let Ok(stderr) = std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned() {
        return stderr.into();
    }
    Stdio::null()
}
