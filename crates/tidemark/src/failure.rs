//! Failure of a command: a sentence for the user, and an exit code for scripts.

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
    /// The results are recorded, but a comment or a file about them could not be written.
    NotReported = 9,
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

/// Writes to standard output. A closed pipe is not a failure.
pub(crate) fn print(text: &str) -> Result {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("Standard output cannot be written to ({error}).")))
        }
        _ => Ok(()),
    }
}
