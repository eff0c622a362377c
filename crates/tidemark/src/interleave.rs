//! Two states of a repository measured in turn on this machine, so that whatever the machine does meanwhile happens to
//! both. Commits are checked out beside the work tree, and go away again whatever happens.

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

use crate::{
    child::Child,
    cmd::run::command::{Benchmark, SIDE},
    comparison::Sides,
    failure::{Exit, Failure, Result},
    input::{Output, Reading},
    interrupt::{Guard, on_interrupt, wait_for_end},
    progress::time_left,
};

/// How many rounds there are when nobody says: the fewest that can tell a change from chance at 95 %.
pub(crate) const ROUNDS: u32 = 6;

/// What is measured, and how.
pub(crate) struct Interleave<'a> {
    pub(crate) base: Place,
    pub(crate) new: Place,
    /// A command line that prepares each side once.
    pub(crate) setup: Option<&'a str>,
    pub(crate) benchmark: &'a Benchmark,
    /// The files that results are in, if not in what the command prints.
    pub(crate) files: &'a [PathBuf],
    pub(crate) reading: &'a Reading,
    /// How often each side is run.
    pub(crate) rounds: u32,
    /// Whether a round in which a run fails is left out.
    pub(crate) allow_failure: bool,
    pub(crate) quiet: bool,
}

/// A state of the repository.
pub(crate) enum Place {
    /// What git calls by this.
    Commit(String),
    /// The work tree as it is.
    WorkTree,
}

/// A side that is ready to run.
struct Side {
    /// `base` or `new`.
    word: &'static str,
    name: String,
    /// Where the command is run.
    folder: PathBuf,
    /// Where the repository is, and where its files are for this side.
    root: (PathBuf, PathBuf),
}

impl Side {
    /// A file of this side.
    fn file(&self, file: &Path) -> PathBuf {
        let (repository, root) = &self.root;
        match file.strip_prefix(repository) {
            Ok(inside) => root.join(inside),
            Err(_) => self.folder.join(file),
        }
    }
}

impl Interleave<'_> {
    /// Measures both sides: base and new, then new and base, and so on, so that a machine that gets slower or faster
    /// all the while favors neither.
    pub(crate) fn run(&self) -> Result<Sides> {
        let checkouts = Checkouts::open(self.benchmark.folder())?;
        let base = checkouts.prepare("base", &self.base)?;
        let new = checkouts.prepare("new", &self.new)?;
        for side in [&base, &new] {
            self.set_up(side)?;
        }
        let (mut of_base, mut of_new) = (Vec::new(), Vec::new());
        let (total, started) = (self.rounds as usize * 2, Instant::now());
        for round in 0..self.rounds {
            let sides = if round % 2 == 0 { [&base, &new] } else { [&new, &base] };
            let mut results = Vec::with_capacity(2);
            for (place, side) in sides.into_iter().enumerate() {
                let done = round as usize * 2 + place;
                if !self.quiet {
                    let left = time_left(started.elapsed(), done, total);
                    eprintln!("Round {} of {}, {} ({}){left}", round + 1, self.rounds, side.word, side.name);
                }
                results.extend(self.measure(side, round)?);
            }
            // A round counts as a whole.
            if let Ok([first, second]) = <[Results; 2]>::try_from(results) {
                let (base, new) = if round % 2 == 0 { (first, second) } else { (second, first) };
                of_base.push(base);
                of_new.push(new);
            }
        }
        if of_base.is_empty() {
            return Err(Failure::with(
                Exit::Empty,
                "In every round a run of the benchmark command failed; nothing was measured.",
            ));
        }
        Ok(Sides { base_name: base.name, new_name: new.name, base: of_base, new: of_new, paired: true })
    }

    fn set_up(&self, side: &Side) -> Result {
        let Some(line) = self.setup else { return Ok(()) };
        if !self.quiet {
            eprintln!("Preparing {} ({}): {line}", side.word, side.name);
        }
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
        let mut command = Command::new(shell);
        // Standard output is for the comparison.
        command.args([flag, line]).current_dir(&side.folder).env(SIDE, side.word).stdout(io_stderr());
        match Child::start(&mut command).and_then(Child::wait) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::with(
                Exit::Benchmark,
                format!("The command that prepares {} ({}) ended with {status}.", side.word, side.name),
            )),
            Err(error) => {
                Err(Failure::with(Exit::Benchmark, format!("The shell {shell} cannot be started ({error}).")))
            }
        }
    }

    /// Runs the command once for a side; nothing if it failed and may.
    fn measure(&self, side: &Side, round: u32) -> Result<Option<Results>> {
        let name = format!("Round {} of {} for {} ({})", round + 1, self.rounds, side.word, side.name);
        let ended = self.benchmark.run_in(Some((&side.folder, side.word)), &name, self.quiet)?;
        let outputs = match ended.failure {
            Some(reason) if self.allow_failure => {
                eprintln!("warning: {name}: the benchmark command {reason}; the round is left out.");
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
            None if self.files.is_empty() => vec![Output::new(name, ended.output)],
            None => {
                let read = |file: &PathBuf| Output::from_file(&side.file(file));
                self.files.iter().map(read).collect::<Result<_>>()?
            }
        };
        let results = self.reading.read(&outputs)?;
        // What one run says of a benchmark several times is one value.
        Ok(Results::folded(&results, self.reading.fold.unwrap_or(Fold::Mean)))
    }
}

fn io_stderr() -> Stdio {
    #[cfg(unix)]
    if let Ok(stderr) = std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned() {
        return stderr.into();
    }
    Stdio::null()
}

/// Commits that are checked out for the time being. They are removed at the end, and when the program is interrupted.
struct Checkouts {
    repository: PathBuf,
    /// Where in the repository we are.
    prefix: String,
    folder: Arc<Mutex<Option<TempDir>>>,
    _guard: Guard,
}

impl Checkouts {
    /// Gets ready to run things in this folder of the repository that it is in.
    fn open(here: &Path) -> Result<Self> {
        git(here, &["--version"])?;
        let repository = git(here, &["rev-parse", "--show-toplevel"]).map_err(|_| {
            Failure::usage("This is not a git repository; commits can be compared where git has them.")
        })?;
        let repository = PathBuf::from(repository);
        let prefix = git(here, &["rev-parse", "--show-prefix"])?;
        let folder = TempDir::with_prefix("tidemark-")
            .map_err(|error| Failure::new(format!("No folder for a checkout can be made ({error}).")))?;
        let folder = Arc::new(Mutex::new(Some(folder)));
        let guard = on_interrupt({
            let (repository, folder) = (repository.clone(), Arc::clone(&folder));
            move || {
                remove(&repository, &folder);
            }
        })?;
        Ok(Self { repository, prefix, folder, _guard: guard })
    }

    fn prepare(&self, word: &'static str, place: &Place) -> Result<Side> {
        let Place::Commit(reference) = place else {
            let folder = self.repository.join(&self.prefix);
            let root = (self.repository.clone(), self.repository.clone());
            return Ok(Side { word, name: "work tree".to_owned(), folder, root });
        };
        let commit = git(
            &self.repository,
            &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{reference}^{{commit}}")],
        )
        .map_err(|_| {
            Failure::usage(format!(
                "git knows no commit `{reference}`; a shallow clone may have to be fetched in full."
            ))
        })?;
        let folder = match &*lock(&self.folder) {
            Some(folder) => folder.path().join(word),
            None => return Err(Failure::new("The comparison was interrupted.")),
        };
        let path = folder.to_string_lossy().into_owned();
        git(&self.repository, &["worktree", "add", "--quiet", "--detach", &path, &commit])?;
        let root = (self.repository.clone(), folder.clone());
        let folder = folder.join(&self.prefix);
        if !folder.is_dir() {
            return Err(Failure::usage(format!(
                "{reference} has no folder {}; run this from one that both sides have.",
                self.prefix
            )));
        }
        Ok(Side { word, name: reference.clone(), folder, root })
    }
}

impl Drop for Checkouts {
    fn drop(&mut self) {
        if !remove(&self.repository, &self.folder) {
            // An interruption was faster, and ends the program.
            wait_for_end();
        }
    }
}

/// Removes the checkouts, and lets git forget them; answers whether they were still there. Nobody goes on meanwhile. What
/// is just being stopped may still write there, so that it may take a few attempts.
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
        eprintln!("warning: The checkout {} could not be removed.", path.display());
    }
    true
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What git answers; what it complains of is the failure.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        Failure::new(format!(
            "git cannot be started ({error}); commits are compared with its help, so install it."
        ))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.lines().next().unwrap_or("it gives no reason").trim_start_matches("fatal: ");
    Err(Failure::new(format!("git {} failed: {reason}.", arguments.first().copied().unwrap_or_default())))
}
