//! Why something could not be done: one sentence for whoever runs the runner or has asked for the job.

use std::{fmt, io};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One sentence: what was wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// Makes one of a sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Says what was tried when the system refuses something.
pub(crate) trait Explain<T> {
    /// Makes a sentence of what could not be done, such as `The file cannot be read`, and of the reason.
    fn explain<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<io::Error>> Explain<T> for Result<T, E> {
    fn explain<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| {
            let error: io::Error = error.into();
            Error(format!("{} ({error}).", what().into()))
        })
    }
}
