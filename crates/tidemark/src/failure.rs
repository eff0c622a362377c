//! Failure of a command: a sentence for the user, and an exit code for scripts. And the only ways to write: `print` to standard
//! output, `message!` to standard error. The macros of the standard library panic if the reader of a pipe has ended.

use std::{
    error,
    io::{self, Write},
    process::ExitCode,
};

use tidemark_server::infra::config::ConfigError;

/// Result of every command.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// Exit codes; see docs/cli.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// A failure without a code of its own.
    Failed = 1,
    /// Invalid arguments.
    Usage = 2,
    /// An alert or a regression, with `--error-on-alert` or `--error-on-change`.
    Regression = 3,
    /// The benchmark command failed.
    Benchmark = 4,
    /// The output of a tool cannot be parsed.
    Unreadable = 5,
    /// There is no metric in the output.
    Empty = 6,
    /// The server rejected the request.
    Refused = 7,
    /// The server cannot be reached.
    Unreachable = 8,
    /// The results are recorded, but the output, a comment or a file about them could not be written.
    NotReported = 9,
    /// Standard output cannot be written to, for example because the disk is full.
    Output = 10,
    /// The good and the bad commit of a search do not differ.
    NoDifference = 11,
    /// A search ended before a commit was found.
    Undecided = 12,
}

/// A failure: one sentence about the problem and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{sentence}")]
pub(crate) struct Failure {
    sentence: String,
    exit: Exit,
}

impl Failure {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self::with(Exit::Failed, sentence)
    }

    /// Creates a failure of invalid arguments.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self::with(Exit::Usage, sentence)
    }

    /// Creates a failure with its own exit code.
    pub(crate) fn with(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), exit }
    }

    /// Appends a sentence.
    pub(crate) fn and(mut self, sentence: &str) -> Self {
        self.sentence = format!("{} {sentence}", self.sentence);
        self
    }

    /// Whether the failure has this exit code.
    pub(crate) fn is(&self, exit: Exit) -> bool {
        self.exit == exit
    }

    /// Returns the exit code of the program.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(error.to_string())
    }
}

/// Returns an error and its causes, the outermost first.
pub(crate) fn causes(error: &(dyn error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        // Some errors contain the text of their cause.
        if !text.ends_with(&cause_text) && !cause_text.ends_with(&text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// Writes a line to standard error. Ignores write errors: a closed or full standard error must not stop a command.
macro_rules! message {
    ($($argument:tt)*) => {
        $crate::failure::write_message(format!("{}\n", format_args!($($argument)*)).as_bytes())
    };
}

/// Writes a text to standard error. Ignores write errors.
pub(crate) fn write_message(text: &[u8]) {
    let _ = io::stderr().write_all(text);
}

/// Writes to standard output. A closed pipe is not a failure.
pub(crate) fn print(text: &str) -> Result {
    let mut stdout = io::stdout().lock();
    // Without the flush, the rest after the last newline would be written at exit, where errors are ignored.
    check_written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// Writes to standard output, and returns the verdict of the command. If both fail, the exit code is the code of the verdict, and
/// the write error is a warning.
pub(crate) fn print_before(verdict: Result, text: &str) -> Result {
    match (print(text), verdict) {
        (Err(failure), Err(verdict)) => {
            message!("warning: {failure}");
            Err(verdict)
        }
        (printed, verdict) => verdict.and(printed),
    }
}

/// Returns the failure of a write to standard output. A closed pipe is not a failure: the reader has what it wants.
pub(crate) fn check_written(written: io::Result<()>) -> Result {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::with(
            Exit::Output,
            format!("Standard output cannot be written to ({error}); the output is incomplete."),
        )),
        _ => Ok(()),
    }
}
