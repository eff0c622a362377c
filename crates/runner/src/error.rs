//! Errors: one sentence for the operator of the runner or the user who created the job.

use std::io;

/// Result with the error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One sentence: what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// Creates an error from a sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// Adds to an error of the system which operation failed.
pub(crate) trait Explain<T> {
    /// Combines what failed, for example `The file cannot be read`, and the reason into one sentence.
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
