//! Benchmark command: starts it with or without a shell, shows and captures its output. Other modules parse the output.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::shell;
use crate::{
    child::Child,
    failure::{Exit, Failure, Result},
    manifest::ManifestCommand,
    progress::{self, Progress},
};

/// Variable that contains the side of a comparison.
pub(crate) const SIDE_VARIABLE: &str = "TIDEMARK_SIDE";
/// Variable that lists the benchmarks of a comparison that have no verdict yet, one per line.
const BENCHMARKS_VARIABLE: &str = "TIDEMARK_BENCHMARKS";
/// Read size, in bytes.
const CHUNK: usize = 1 << 16;
/// Time limit for remaining output after the command has ended; its child processes may keep the pipe open.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Command and how to start it.
#[derive(Clone, clap::Args)]
pub(crate) struct BenchmarkCommand {
    /// Shell for a command of one word [default: /bin/sh, on Windows cmd]
    #[arg(long, value_name = "PROGRAM", requires = "command", conflicts_with = "exec")]
    shell: Option<String>,
    /// Flag that precedes the command in the arguments of the shell [default: -c, on Windows /C]
    #[arg(long, requires = "command", conflicts_with = "exec", allow_hyphen_values = true)]
    flag: Option<String>,
    /// Start the command without a shell, even if it is one word
    #[arg(long, requires = "command")]
    exec: bool,
    /// Benchmark command: one word runs in the shell, several words are a program and its arguments
    #[arg(value_name = "COMMAND", env = "TIDEMARK_CMD", trailing_var_arg = true)]
    command: Vec<String>,
    /// Working directory; `None` is the current directory.
    #[arg(skip)]
    folder: Option<PathBuf>,
}

/// Where a command of a comparison runs.
pub(crate) struct RunIn<'a> {
    pub(crate) folder: &'a Path,
    /// Value of the variable `TIDEMARK_SIDE`.
    pub(crate) side: &'a str,
    /// Benchmarks without a verdict, one per line; `None` if all benchmarks are to run.
    pub(crate) benchmarks: Option<&'a str>,
    /// Time at which the command is stopped.
    pub(crate) deadline: Option<Instant>,
}

/// Result of a command.
pub(crate) struct CommandResult {
    /// Standard output.
    pub(crate) output: Vec<u8>,
    /// Elapsed time.
    pub(crate) elapsed: Duration,
    /// Reason if the command failed.
    pub(crate) failure: Option<String>,
}

impl BenchmarkCommand {
    /// Whether a command is given.
    pub(crate) fn is_given(&self) -> bool {
        !self.command.is_empty()
    }

    /// Returns the words of the command.
    pub(crate) fn words(&self) -> &[String] {
        &self.command
    }

    /// Whether the user chose the shell.
    pub(crate) fn names_shell(&self) -> bool {
        self.shell.is_some() || self.flag.is_some()
    }

    /// Returns the command with other words, which `change` returns for its words; `None` if the words are unknown or cannot be
    /// changed. The words of a shell command are known only if the shell does nothing but divide it.
    pub(crate) fn with_words(&self, change: impl Fn(&[String]) -> Option<Vec<String>>) -> Option<Self> {
        let command = match self.command.as_slice() {
            [line] if !self.exec => {
                let words = shell::words(line).filter(|_| !self.names_shell() && !cfg!(windows))?;
                vec![shell::line(line, &words, &change(&words)?)?]
            }
            words => change(words)?,
        };
        Some(Self { command, ..self.clone() })
    }

    /// Takes the command from `tidemark.toml`.
    pub(crate) fn take(&mut self, given: &ManifestCommand<'_>) {
        self.command = given.words.to_vec();
        self.exec |= !given.uses_shell;
        self.folder = Some(given.folder.to_owned());
    }

    /// Returns the working directory.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }

    /// Runs the command. Shows its output on standard error while it runs, unless `quiet`; then its standard error is shown only
    /// if it fails. On a terminal, a line shows the elapsed time.
    pub(crate) fn run(&self, label: &str, quiet: bool) -> Result<CommandResult> {
        self.run_in(None, label, quiet)
    }

    /// Runs the command in another folder, for a side of a comparison.
    pub(crate) fn run_in(
        &self,
        place: Option<&RunIn<'_>>,
        label: &str,
        quiet: bool,
    ) -> Result<CommandResult> {
        let mut command = self.command()?;
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        if let Some(RunIn { folder, side, benchmarks, .. }) = place {
            command.current_dir(folder).env(SIDE_VARIABLE, side);
            if let Some(benchmarks) = benchmarks {
                command.env(BENCHMARKS_VARIABLE, benchmarks);
            }
        }
        // The command must not write to standard error directly: it would overwrite the progress line, and a closed pipe would
        // kill it.
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let is_drawn = !quiet && progress::is_possible();
        let program = command.get_program().to_string_lossy().into_owned();
        let started = Instant::now();
        let mut child = Child::start(&mut command).map_err(|error| {
            let failure = Failure::with(
                Exit::Benchmark,
                format!(
                    "The benchmark command {program} cannot be started ({error}); check its name, and that it is \
                     installed."
                ),
            );
            // If words follow a shell command, it is parsed as the name of a program.
            match self.command.as_slice() {
                [line, _, ..] if line.contains(char::is_whitespace) => {
                    failure.and("Put the flags of tidemark before the command.")
                }
                _ => failure,
            }
        })?;
        let progress = Arc::new(Progress::start(label, is_drawn));
        let (sender, messages) = mpsc::sync_channel(1);
        if let Some(stderr) = child.stderr() {
            let progress = Arc::clone(&progress);
            thread::spawn(move || sender.send(collect(stderr, (!quiet).then_some(&progress))));
        }
        let (sender, written) = mpsc::sync_channel(1);
        if let Some(stdout) = child.stdout() {
            let progress = Arc::clone(&progress);
            thread::spawn(move || sender.send(collect(stdout, (!quiet).then_some(&progress))));
        }
        let deadline = place.and_then(|place| place.deadline);
        let broken =
            |error: io::Error| Failure::new(format!("The output of {program} cannot be read ({error})."));
        let ended = child.wait(deadline).map_err(broken)?;
        // Processes that the command started may keep the pipe open.
        let output = match deadline {
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now()).max(DRAIN_TIMEOUT);
                written.recv_timeout(left).unwrap_or_else(|_| Ok(Vec::new()))
            }
            None => written.recv().unwrap_or_else(|_| Ok(Vec::new())),
        };
        let elapsed = started.elapsed();
        let output = output.map_err(broken)?;
        let failure = match ended.is_late {
            true => Some("was stopped because --max-time was over".to_owned()),
            false => failure(ended.status),
        };
        if (failure.is_some() || !quiet)
            && let Ok(Ok(messages)) = messages.recv_timeout(DRAIN_TIMEOUT)
            && quiet
        {
            progress.write(&messages);
        }
        // An empty line makes the verdict easier to find.
        if is_drawn && !output.is_empty() && !output.ends_with(b"\n\n") {
            progress.write(b"\n");
        }
        progress.end();
        Ok(CommandResult { output, elapsed, failure })
    }

    fn command(&self) -> Result<Command> {
        let (default_shell, default_flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
        match self.command.as_slice() {
            [word, ..] if word.trim().is_empty() => {
                Err(Failure::usage("The benchmark command is empty; give the command to run."))
            }
            [line] if !self.exec => {
                let mut command = Command::new(self.shell.as_deref().unwrap_or(default_shell));
                command.arg(self.flag.as_deref().unwrap_or(default_flag)).arg(line);
                Ok(command)
            }
            [_, _, ..] if self.shell.is_some() || self.flag.is_some() => Err(Failure::usage(
                "--shell and --flag require a command of one word; quote the command, or omit --shell and \
                 --flag.",
            )),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments);
                Ok(command)
            }
            [] => Err(Failure::usage("There is no command to run; give the command as the last argument.")),
        }
    }
}

/// Reads a stream to its end, and shows the output.
fn collect(mut stream: impl Read, shown: Option<&Arc<Progress>>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => {
                // Later output starts on a new line.
                if let Some(progress) = shown.filter(|_| !all.is_empty() && !all.ends_with(b"\n")) {
                    progress.write(b"\n");
                }
                return Ok(all);
            }
            Ok(length) => {
                all.extend_from_slice(&chunk[..length]);
                if let Some(progress) = shown {
                    progress.write(&chunk[..length]);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Copies a stream to standard error until its end, in the background. Goes on if standard error is closed or full, so that the
/// writer of the stream never waits or fails. The receiver reports the end.
pub(crate) fn forward(stream: impl Read + Send + 'static) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let _ = collect(stream, Some(&Arc::new(Progress::start("", false))));
        let _ = sender.send(());
    });
    receiver
}

/// Returns why an exit status is a failure. A process that was killed has failed, too.
fn failure(status: ExitStatus) -> Option<String> {
    if status.success() {
        return None;
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Some(format!("was killed by signal {signal}{}", signal_name(signal)));
    }
    Some(status.code().map_or_else(|| "failed".to_owned(), |code| format!("exited with status {code}")))
}

/// Returns the name of a signal that has the same number on all platforms.
#[cfg(unix)]
fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL, often because of insufficient memory)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}
