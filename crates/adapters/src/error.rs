//! Parse errors. The server chooses the HTTP status and names the result that failed.

use std::fmt;

use tidemark_api::{Adapter, excerpt};

/// Parse error: its [`Display`](fmt::Display) is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Adapter that failed; `magic` if no adapter recognized the output.
    pub adapter: Adapter,
    /// Position in the output.
    pub place: Option<Place>,
    /// Expected input.
    pub expected: String,
    /// Actual input, truncated.
    pub found: Option<String>,
}

/// Position in an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line number, starting at one.
    Line(usize),
    /// Path of a JSON value.
    Path(String),
}

// Written by hand: most parts of the sentence are optional, which a format string of `thiserror` cannot express.
impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { adapter, place, expected, found } = self;
        if *adapter == Adapter::Magic {
            return write!(formatter, "No tool was recognized by the output; {expected}.");
        }
        write!(formatter, "The adapter `{adapter}` cannot read the output")?;
        match place {
            Some(Place::Line(line)) => write!(formatter, " at line {line}")?,
            Some(Place::Path(path)) => write!(formatter, " at `{path}`")?,
            None => {}
        }
        write!(formatter, ": expected {expected}")?;
        if let Some(found) = found {
            write!(formatter, ", found `{found}`")?;
        }
        formatter.write_str(".")
    }
}

impl std::error::Error for ParseError {}

/// Why an adapter rejected an output.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The output is not from this tool; another adapter may recognize it.
    Foreign(Reason),
    /// The output is from this tool, but invalid.
    Broken(Reason),
}

/// A parse error without its adapter.
#[derive(Debug)]
pub(crate) struct Reason {
    pub(crate) place: Option<Place>,
    pub(crate) expected: String,
    pub(crate) found: Option<String>,
}

impl Failure {
    /// Creates an error with the expected output of the tool.
    pub(crate) fn foreign(expected: impl Into<String>) -> Self {
        Self::Foreign(Reason { place: None, expected: expected.into(), found: None })
    }

    /// Creates an error at the position of invalid input.
    pub(crate) fn broken(place: Place, expected: impl Into<String>, found: &str) -> Self {
        let found = Some(excerpt::of_text(found)).filter(|found| !found.is_empty());
        Self::Broken(Reason { place: Some(place), expected: expected.into(), found })
    }

    /// Creates an error at the position of missing input.
    pub(crate) fn missing(place: Place, expected: impl Into<String>) -> Self {
        Self::Broken(Reason { place: Some(place), expected: expected.into(), found: None })
    }

    pub(crate) fn into_error(self, adapter: Adapter) -> ParseError {
        let (Self::Foreign(reason) | Self::Broken(reason)) = self;
        let Reason { place, expected, found } = reason;
        ParseError { adapter, place, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_with_what_is_known() {
        let error = Failure::broken(Place::Line(7), "a number", "a\tb").into_error(Adapter::GoBench);
        assert_eq!(
            error.to_string(),
            "The adapter `go_bench` cannot read the output at line 7: expected a number, found `a b`."
        );
        let error = Failure::foreign("an object").into_error(Adapter::Json);
        assert_eq!(error.to_string(), "The adapter `json` cannot read the output: expected an object.");
    }
}
