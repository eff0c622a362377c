//! Why a command failed, as one sentence for the person who typed it.

use std::{
    error, fmt,
    io::{self, Write},
};

use tidemark_server::config::ConfigError;

/// The result of every command.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// One sentence: what was wrong and what to do.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self(error.to_string())
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
