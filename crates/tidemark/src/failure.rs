//! Why a command failed: one sentence for the person who typed it, and a number for the script.

use std::{
    error, fmt,
    io::{self, Write},
    process::ExitCode,
};

use tidemark_server::infra::config::ConfigError;

/// The result of every command.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// How the program ends when it fails; docs/cli.md lists the numbers for those who write scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Something failed that has no number of its own.
    Failed = 1,
    /// It was called wrongly.
    Usage = 2,
    /// There are alerts, and they were asked to count.
    Regression = 3,
    /// The benchmark command failed.
    Benchmark = 4,
    /// What a tool printed cannot be read.
    Unreadable = 5,
    /// There was no metric in what was read.
    Empty = 6,
    /// The server said no.
    Refused = 7,
    /// The server did not answer.
    Unreachable = 8,
    /// The results are recorded, but somebody could not be told.
    Untold = 9,
}

/// One sentence: what was wrong and what to do.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    sentence: String,
    exit: Exit,
}

impl Failure {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self::with(Exit::Failed, sentence)
    }

    /// A call that was wrong.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self::with(Exit::Usage, sentence)
    }

    /// A failure with a number of its own.
    pub(crate) fn with(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), exit }
    }

    /// The same, with another sentence after it.
    pub(crate) fn and(mut self, sentence: &str) -> Self {
        self.sentence = format!("{} {sentence}", self.sentence);
        self
    }

    /// Whether it is of this kind.
    pub(crate) fn is(&self, exit: Exit) -> bool {
        self.exit == exit
    }

    /// What the program ends with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(error.to_string())
    }
}

/// An error and what caused it, from the outside in.
pub(crate) fn causes(error: &(dyn error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        // Some errors and their causes say the same.
        if !text.ends_with(&cause_text) && !cause_text.ends_with(&text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// Writes to standard output; a reader that has seen enough is not a failure.
pub(crate) fn print(text: &str) -> Result {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("Standard output cannot be written to ({error}).")))
        }
        _ => Ok(()),
    }
}
