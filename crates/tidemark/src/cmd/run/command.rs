//! The benchmark command: started with or without a shell, its output shown and kept. What it printed is read
//! elsewhere.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
};

use crate::{
    failure::{Exit, Failure, Result},
    manifest::Given,
};

/// The variable that tells the command which side of a comparison it runs for.
pub(crate) const SIDE: &str = "TIDEMARK_SIDE";
/// How much of what it prints is taken at once.
const CHUNK: usize = 1 << 16;

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
    #[arg(value_name = "COMMAND", env = "TIDEMARK_CMD", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
    /// Where it is run; here if not given.
    #[arg(skip)]
    folder: Option<PathBuf>,
}

/// How a command ended.
pub(crate) struct Ended {
    /// What it wrote to standard output.
    pub(crate) output: Vec<u8>,
    /// Why it counts as failed, if it does.
    pub(crate) failure: Option<String>,
}

impl Benchmark {
    /// Whether there is a command.
    pub(crate) fn is_given(&self) -> bool {
        !self.command.is_empty()
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
    /// then what it wrote to standard error is shown only if it failed.
    pub(crate) fn run(&self, quiet: bool) -> Result<Ended> {
        self.run_in(None, quiet)
    }

    /// The same in another folder, for a side of a comparison.
    pub(crate) fn run_in(&self, side: Option<(&Path, &str)>, quiet: bool) -> Result<Ended> {
        let mut command = self.command()?;
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        if let Some((folder, name)) = side {
            command.current_dir(folder).env(SIDE, name);
        }
        command.stdout(Stdio::piped());
        if quiet {
            command.stderr(Stdio::piped());
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| {
            Failure::with(
                Exit::Benchmark,
                format!("The benchmark command {program} cannot be started ({error})."),
            )
        })?;
        let messages = child.stderr.take().map(|mut stderr| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = stderr.read_to_end(&mut bytes);
                bytes
            })
        });
        let output = child.stdout.take().map(|stdout| collect(stdout, quiet)).transpose();
        let status = child.wait();
        let broken =
            |error: io::Error| Failure::new(format!("The output of {program} cannot be read ({error})."));
        let (output, status) = (output.map_err(broken)?.unwrap_or_default(), status.map_err(broken)?);
        let failure = failure(status);
        if failure.is_some()
            && let Some(Ok(messages)) = messages.map(thread::JoinHandle::join)
        {
            let _ = io::stderr().write_all(&messages);
        }
        Ok(Ended { output, failure })
    }

    fn command(&self) -> Result<Command> {
        let (default_shell, default_flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
        match self.command.as_slice() {
            [line] if !self.exec => {
                let mut command = Command::new(self.shell.as_deref().unwrap_or(default_shell));
                command.arg(self.flag.as_deref().unwrap_or(default_flag)).arg(line);
                Ok(command)
            }
            [_, _, ..] if self.shell.is_some() || self.flag.is_some() => Err(Failure::with(
                Exit::Usage,
                "A shell takes its command as one word; put the command in quotes, or leave --shell and --flag out.",
            )),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments);
                Ok(command)
            }
            [] => Err(Failure::with(Exit::Usage, "There is no command to run.")),
        }
    }
}

/// Reads to the end, showing what comes.
fn collect(mut stdout: impl Read, quiet: bool) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stdout.read(&mut chunk) {
            Ok(0) => {
                // What comes next starts on a line of its own.
                if !quiet && !all.is_empty() && !all.ends_with(b"\n") {
                    let _ = io::stderr().write_all(b"\n");
                }
                return Ok(all);
            }
            Ok(length) => {
                all.extend_from_slice(&chunk[..length]);
                if !quiet {
                    // Who does not look is no reason to stop.
                    let _ = io::stderr().write_all(&chunk[..length]);
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
