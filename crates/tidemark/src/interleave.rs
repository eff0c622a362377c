//! Measurements of two states of a repository in pairs on this machine, so that variations of the machine affect both, until
//! every benchmark has a verdict. Commits are checked out outside the work tree; the checkouts are always removed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tidemark_adapters::Results;
use tidemark_api::Fold;
use uuid::Uuid;

use crate::{
    child::Child,
    cmd::run::{
        command::{BenchmarkCommand, DRAIN_TIMEOUT, SIDE_VARIABLE, forward},
        synthetic::SyntheticFlags,
    },
    comparison::{ComparisonReport, CriteriaFlags, Sides},
    failure::{Exit, Failure, Result},
    input::{ParseFlags, ToolOutput},
    interrupt::{Guard, on_interrupt, wait_for_exit},
    progress::{self, time_left},
};

/// Number of successive failed rounds after which further rounds would fail, too.
const MAX_FAILED_ROUNDS: u32 = 3;

/// Flags that limit the measurement.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Limits {
    /// Maximum duration of a comparison of commits; it ends earlier, as soon as every benchmark has a verdict
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, value_parser = clap::value_parser!(u64).range(1..))]
    max_time: u64,
}

/// What to measure, and how.
pub(crate) struct Interleave<'a> {
    pub(crate) base: Revision,
    pub(crate) new: Revision,
    /// Shell command that prepares each side once.
    pub(crate) setup: Option<&'a str>,
    pub(crate) benchmark: &'a BenchmarkCommand,
    /// Result files, if the results are not in the output of the command.
    pub(crate) files: &'a [PathBuf],
    /// Times and sizes to measure instead of parsing an output.
    pub(crate) synthetic: Option<&'a SyntheticFlags>,
    pub(crate) parsing: &'a ParseFlags,
    pub(crate) criteria: &'a CriteriaFlags,
    pub(crate) limits: Limits,
    /// Maximum number of runs per side.
    pub(crate) max_rounds: Option<u32>,
    /// Whether to leave out a round in which a run fails.
    pub(crate) allow_failure: bool,
    pub(crate) quiet: bool,
}

/// A state of the repository.
pub(crate) enum Revision {
    /// A commit, by any git revision.
    Commit(String),
    /// The work tree with uncommitted modifications.
    WorkTree,
}

/// A side that is ready to run.
struct Side {
    /// `base` or `new`.
    label: &'static str,
    name: String,
    /// Working directory of the command.
    folder: PathBuf,
    /// Root of the repository, and root of the checkout of this side.
    root: (PathBuf, PathBuf),
}

impl Side {
    /// Returns the path of a file on this side.
    fn file(&self, file: &Path) -> PathBuf {
        let (repository, root) = &self.root;
        match file.strip_prefix(repository) {
            Ok(inside) => root.join(inside),
            Err(_) => self.folder.join(file),
        }
    }
}

impl Interleave<'_> {
    /// Measures both sides in pairs, until every benchmark has a verdict or a limit is reached. The order within a pair is random:
    /// then no effect of the order, of the time or of earlier runs favors a side, and the test needs no further assumption.
    pub(crate) fn run(&self) -> Result<ComparisonReport> {
        let checkouts = Checkouts::open(self.benchmark.folder())?;
        let base = checkouts.prepare("base", &self.base)?;
        let new = checkouts.prepare("new", &self.new)?;
        for side in [&base, &new] {
            self.set_up(side)?;
        }
        let names = (base.name.clone(), new.name.clone());
        let mut sides =
            Sides { base_name: names.0, new_name: names.1, base: Vec::new(), new: Vec::new(), paired: true };
        let (mut report, mut failed_rounds) = (None, 0);
        let started = Instant::now();
        for round in 1.. {
            let is_base_first = Uuid::new_v4().as_bytes()[0] & 1 == 0;
            let order = if is_base_first { [&base, &new] } else { [&new, &base] };
            let mut results = Vec::with_capacity(2);
            for side in order {
                if !self.quiet {
                    message!("Round {round}, {} ({})", side.label, side.name);
                }
                results.extend(self.measure(side, round)?);
            }
            // Only complete rounds count.
            if let Ok([first, second]) = <[Results; 2]>::try_from(results) {
                let (base, new) = if is_base_first { (first, second) } else { (second, first) };
                sides.base.push(base);
                sides.new.push(new);
                report = Some(sides.compare(self.criteria)?);
                failed_rounds = 0;
            } else {
                failed_rounds += 1;
            }
            let mean = started.elapsed() / round;
            if report.as_ref().is_some_and(ComparisonReport::is_conclusive)
                || self.max_rounds.is_some_and(|max_rounds| round >= max_rounds)
                || failed_rounds == MAX_FAILED_ROUNDS
                || started.elapsed() + mean > Duration::from_secs(self.limits.max_time)
            {
                break;
            }
            if let Some(report) = report.as_ref().filter(|_| !self.quiet) {
                message!("After round {round}: {}{}", report.counts(), expected(report, mean));
            }
        }
        report.ok_or_else(|| {
            Failure::with(
                Exit::Empty,
                "In every round a run of the benchmark command failed; nothing was measured. Correct the command.",
            )
        })
    }

    fn set_up(&self, side: &Side) -> Result {
        let Some(line) = self.setup else { return Ok(()) };
        if !self.quiet {
            message!("Preparing {} ({}): {line}", side.label, side.name);
        }
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
        let mut command = Command::new(shell);
        command.args([flag, line]).current_dir(&side.folder).env(SIDE_VARIABLE, side.label);
        // Standard output contains only the comparison. On a terminal, the command sees the terminal; otherwise, a closed pipe must
        // not kill it.
        if progress::is_possible() {
            command.stdout(inherited_stderr());
        } else {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let run = |mut child: Child| {
            let (stdout, stderr) = (child.stdout().map(forward), child.stderr().map(forward));
            let status = child.wait();
            for stream in [stdout, stderr].into_iter().flatten() {
                let _ = stream.recv_timeout(DRAIN_TIMEOUT);
            }
            status
        };
        match Child::start(&mut command).and_then(run) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::with(
                Exit::Benchmark,
                format!("The command that prepares {} ({}) failed ({status}).", side.label, side.name),
            )),
            Err(error) => {
                Err(Failure::with(Exit::Benchmark, format!("The shell {shell} cannot be started ({error}).")))
            }
        }
    }

    /// Runs the command once for a side; returns `None` if it failed and failures are allowed.
    fn measure(&self, side: &Side, round: u32) -> Result<Option<Results>> {
        let name = format!("Round {round} for {} ({})", side.label, side.name);
        let mut elapsed = None;
        let mut output = Vec::new();
        if self.benchmark.is_given() {
            let result = self.benchmark.run_in(Some((&side.folder, side.label)), &name, self.quiet)?;
            match result.failure {
                Some(reason) if self.allow_failure => {
                    message!("warning: {name}: the benchmark command {reason}; the round is left out.");
                    return Ok(None);
                }
                Some(reason) => {
                    return Err(Failure::with(
                        Exit::Benchmark,
                        format!(
                            "{name}: the benchmark command {reason}. --allow-failure leaves such rounds out."
                        ),
                    ));
                }
                None => (elapsed, output) = (Some(result.elapsed), result.output),
            }
        }
        let results = if let Some(synthetic) = self.synthetic {
            let measured = synthetic.measure(self.benchmark, elapsed, |file| side.file(file))?;
            synthetic.parse(self.parsing, &mut [measured])?
        } else if self.files.is_empty() {
            self.parsing.parse(&mut [ToolOutput::new(name, output)])?
        } else {
            let read = |file: &PathBuf| ToolOutput::from_file(&side.file(file));
            self.parsing.parse(&mut self.files.iter().map(read).collect::<Result<Vec<_>>>()?)?
        };
        // Several values of a benchmark in one run count as one value.
        Ok(Results::fold(&results, self.parsing.fold.unwrap_or(Fold::Mean)))
    }
}

/// Returns the expected number of further rounds with their duration.
fn expected(report: &ComparisonReport, mean: Duration) -> String {
    match report.pairs_left() {
        Some(1) => format!("; about 1 more round{}", time_left(mean, 1, 2)),
        Some(rounds) => format!("; about {rounds} more rounds{}", time_left(mean, 1, rounds as usize + 1)),
        None => String::new(),
    }
}

fn inherited_stderr() -> Stdio {
    #[cfg(unix)]
    if let Ok(stderr) = std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned() {
        return stderr.into();
    }
    Stdio::null()
}

/// Temporary checkouts of commits. They are removed at the end, and when the program is interrupted.
struct Checkouts {
    repository: PathBuf,
    /// Path of the current folder in the repository.
    prefix: String,
    folder: Arc<Mutex<Option<TempDir>>>,
    _guard: Guard,
}

impl Checkouts {
    /// Prepares checkouts for this folder of a repository.
    fn open(here: &Path) -> Result<Self> {
        git(here, &["--version"])?;
        let repository = git(here, &["rev-parse", "--show-toplevel"]).map_err(|_| {
            Failure::usage("This is not a git repository; run the command in a git repository.")
        })?;
        let repository = PathBuf::from(repository);
        let prefix = git(here, &["rev-parse", "--show-prefix"])?;
        let folder = TempDir::with_prefix("tidemark-").map_err(|error| {
            Failure::new(format!("The folder for a checkout cannot be created ({error})."))
        })?;
        let folder = Arc::new(Mutex::new(Some(folder)));
        let guard = on_interrupt({
            let (repository, folder) = (repository.clone(), Arc::clone(&folder));
            move || {
                remove(&repository, &folder);
            }
        })?;
        Ok(Self { repository, prefix, folder, _guard: guard })
    }

    fn prepare(&self, label: &'static str, revision: &Revision) -> Result<Side> {
        let Revision::Commit(reference) = revision else {
            let folder = self.repository.join(&self.prefix);
            let root = (self.repository.clone(), self.repository.clone());
            return Ok(Side { label, name: "work tree".to_owned(), folder, root });
        };
        let commit = git(
            &self.repository,
            &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{reference}^{{commit}}")],
        )
        .map_err(|_| {
            Failure::usage(format!(
                "git has no commit `{reference}`; in a shallow clone, fetch the whole history."
            ))
        })?;
        let folder = match &*lock(&self.folder) {
            Some(folder) => folder.path().join(label),
            None => return Err(Failure::new("The comparison was interrupted.")),
        };
        let path = folder.to_string_lossy().into_owned();
        git(&self.repository, &["worktree", "add", "--quiet", "--detach", &path, &commit])?;
        let root = (self.repository.clone(), folder.clone());
        let folder = folder.join(&self.prefix);
        if !folder.is_dir() {
            return Err(Failure::usage(format!(
                "{reference} has no folder {}; run the command in a folder that both sides have.",
                self.prefix
            )));
        }
        Ok(Side { label, name: reference.clone(), folder, root })
    }
}

impl Drop for Checkouts {
    fn drop(&mut self) {
        if !remove(&self.repository, &self.folder) {
            // The interrupt handler has removed the folder and ends the program.
            wait_for_exit();
        }
    }
}

/// Removes the checkouts and prunes them in git; returns whether they still existed. Holds the lock meanwhile. A process that is
/// being stopped may still write to the folder, so the removal is retried.
fn remove(repository: &Path, folder: &Mutex<Option<TempDir>>) -> bool {
    let mut folder = lock(folder);
    let Some(folder) = folder.take() else { return false };
    let path = folder.keep();
    for _ in 0..20 {
        if fs::remove_dir_all(&path).is_ok() || !path.exists() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let _ = git(repository, &["worktree", "prune"]);
    if path.exists() {
        message!("warning: The checkout {} could not be removed.", path.display());
    }
    true
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs git and returns its output, or a failure with its error message.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| Failure::new(format!("git cannot be started ({error}); install git.")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.lines().next().unwrap_or("it printed no error message").trim_start_matches("fatal: ");
    Err(Failure::new(format!("git {} failed: {reason}.", arguments.first().copied().unwrap_or_default())))
}
