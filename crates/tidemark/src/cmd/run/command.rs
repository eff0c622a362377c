//! The benchmark command: started with or without a shell, its output shown and kept. What it printed is read
//! elsewhere.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use crate::{
    child::Child,
    failure::{Exit, Failure, Result},
    manifest::Given,
    progress::{self, Progress},
};

/// The variable that tells the command which side of a comparison it runs for.
pub(crate) const SIDE: &str = "TIDEMARK_SIDE";
/// How much of what it prints is taken at once.
const CHUNK: usize = 1 << 16;
/// How long it is waited for the rest of its messages once it has ended; what it left running may hold them open.
const REST: Duration = Duration::from_secs(2);

/// The command and how it is started.
#[derive(clap::Args)]
pub(crate) struct Benchmark {
    /// The shell of a command of one word [default: /bin/sh, on Windows cmd]
    #[arg(long, value_name = "PROGRAM", requires = "command", conflicts_with = "exec")]
    shell: Option<String>,
    /// The flag that gives the shell a command [default: -c, on Windows /C]
    #[arg(long, requires = "command", conflicts_with = "exec", allow_hyphen_values = true)]
    flag: Option<String>,
    /// Start the command without a shell even if it is a single word
    #[arg(long, requires = "command")]
    exec: bool,
    /// The command that runs the benchmarks: one word is for the shell, several are a program and its arguments
    #[arg(value_name = "COMMAND", env = "TIDEMARK_CMD", trailing_var_arg = true)]
    command: Vec<String>,
    /// Where it is run; here if not given.
    #[arg(skip)]
    folder: Option<PathBuf>,
}

/// How a command ended.
pub(crate) struct Ended {
    /// What it wrote to standard output.
    pub(crate) output: Vec<u8>,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// Why it counts as failed, if it does.
    pub(crate) failure: Option<String>,
}

impl Benchmark {
    /// Whether there is a command.
    pub(crate) fn is_given(&self) -> bool {
        !self.command.is_empty()
    }

    /// The words of the command.
    pub(crate) fn words(&self) -> &[String] {
        &self.command
    }

    /// Whether it is to be run by a shell of the user's choice.
    pub(crate) fn names_shell(&self) -> bool {
        self.shell.is_some() || self.flag.is_some()
    }

    /// Takes the command of the file of the repository.
    pub(crate) fn take(&mut self, given: &Given<'_>) {
        self.command = given.words.to_vec();
        self.exec |= !given.is_line;
        self.folder = Some(given.folder.to_owned());
    }

    /// Where it is run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }

    /// Runs the command to its end. Its output is shown on standard error while it comes, unless it is to be quiet;
    /// then what it wrote to standard error is shown only if it failed. On a terminal, a line tells how long it takes.
    pub(crate) fn run(&self, label: &str, quiet: bool) -> Result<Ended> {
        self.run_in(None, label, quiet)
    }

    /// The same in another folder, for a side of a comparison.
    pub(crate) fn run_in(&self, side: Option<(&Path, &str)>, label: &str, quiet: bool) -> Result<Ended> {
        let mut command = self.command()?;
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        if let Some((folder, name)) = side {
            command.current_dir(folder).env(SIDE, name);
        }
        command.stdout(Stdio::piped());
        let is_drawn = !quiet && progress::is_possible();
        // What writes around the line would write into it.
        if quiet || is_drawn {
            command.stderr(Stdio::piped());
        }
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
            // A line for the shell that something follows is taken for the name of a program.
            match self.command.as_slice() {
                [line, _, ..] if line.contains(char::is_whitespace) => {
                    failure.and("Flags of tidemark stand before the command.")
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
        let output = child.stdout().map(|stdout| collect(stdout, (!quiet).then_some(&progress))).transpose();
        let status = child.wait();
        let elapsed = started.elapsed();
        let broken =
            |error: io::Error| Failure::new(format!("The output of {program} cannot be read ({error})."));
        let (output, status) = (output.map_err(broken)?.unwrap_or_default(), status.map_err(broken)?);
        let failure = failure(status);
        if (failure.is_some() || is_drawn)
            && let Ok(Ok(messages)) = messages.recv_timeout(REST)
            && quiet
        {
            progress.write(&messages);
        }
        // The verdict is easier to find below an empty line.
        if is_drawn && !output.is_empty() && !output.ends_with(b"\n\n") {
            progress.write(b"\n");
        }
        progress.end();
        Ok(Ended { output, elapsed, failure })
    }

    fn command(&self) -> Result<Command> {
        let (default_shell, default_flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
        match self.command.as_slice() {
            [word, ..] if word.trim().is_empty() => {
                Err(Failure::usage("The benchmark command is empty; say what to run."))
            }
            [line] if !self.exec => {
                let mut command = Command::new(self.shell.as_deref().unwrap_or(default_shell));
                command.arg(self.flag.as_deref().unwrap_or(default_flag)).arg(line);
                Ok(command)
            }
            [_, _, ..] if self.shell.is_some() || self.flag.is_some() => Err(Failure::usage(
                "A shell takes its command as one word; put the command in quotes, or leave --shell and --flag out.",
            )),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments);
                Ok(command)
            }
            [] => Err(Failure::usage("There is no command to run.")),
        }
    }
}

/// Reads to the end, showing what comes to whoever looks.
fn collect(mut stream: impl Read, shown: Option<&Arc<Progress>>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => {
                // What comes next starts on a line of its own.
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

/// Why a status is a failure. Whoever was killed has failed, too.
fn failure(status: ExitStatus) -> Option<String> {
    if status.success() {
        return None;
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Some(format!("was killed by signal {signal}{}", signal_name(signal)));
    }
    Some(status.code().map_or_else(|| "failed".to_owned(), |code| format!("ended with {code}")))
}

/// The name of a signal that has the same number everywhere.
#[cfg(unix)]
fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL, often for want of memory)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}
