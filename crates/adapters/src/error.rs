//! Parse errors. The server chooses the HTTP status and names the result that failed.

use std::fmt;

use tidemark_api::{Adapter, excerpt};

/// Parse error: its [`Display`](fmt::Display) is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Adapter that failed; `magic` if no adapter recognized the output.
    pub adapter: Adapter,
    /// Position in the output.
    pub position: Option<Position>,
    /// Expected input.
    pub expected: String,
    /// Actual input, truncated.
    pub found: Option<String>,
}

/// Position in an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Line number, starting at one.
    Line(usize),
    /// Path of a JSON value.
    Path(String),
}

// Written by hand: most parts of the sentence are optional, which a format string of `thiserror` cannot express.
impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { adapter, position, expected, found } = self;
        if *adapter == Adapter::Magic {
            return write!(formatter, "No adapter recognized the output; {expected}.");
        }
        write!(formatter, "The adapter `{adapter}` cannot read the output")?;
        match position {
            Some(Position::Line(line)) => write!(formatter, " at line {line}")?,
            Some(Position::Path(path)) => write!(formatter, " at `{path}`")?,
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
    Unrecognized(Reason),
    /// The output is from this tool, but invalid.
    Invalid(Reason),
}

/// A parse error without its adapter.
#[derive(Debug)]
pub(crate) struct Reason {
    pub(crate) position: Option<Position>,
    pub(crate) expected: String,
    pub(crate) found: Option<String>,
}

impl Failure {
    /// Creates an error with the expected output of the tool.
    pub(crate) fn unrecognized(expected: impl Into<String>) -> Self {
        Self::Unrecognized(Reason { position: None, expected: expected.into(), found: None })
    }

    /// Creates an error at the position of invalid input.
    pub(crate) fn invalid(position: Position, expected: impl Into<String>, found: &str) -> Self {
        let found = Some(excerpt::of_text(found)).filter(|found| !found.is_empty());
        Self::Invalid(Reason { position: Some(position), expected: expected.into(), found })
    }

    /// Creates an error at the position of missing input.
    pub(crate) fn missing(position: Position, expected: impl Into<String>) -> Self {
        Self::Invalid(Reason { position: Some(position), expected: expected.into(), found: None })
    }

    pub(crate) fn into_error(self, adapter: Adapter) -> ParseError {
        let (Self::Unrecognized(reason) | Self::Invalid(reason)) = self;
        let Reason { position, expected, found } = reason;
        ParseError { adapter, position, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_position_expected_and_found() {
        let error = Failure::invalid(Position::Line(7), "a number", "a\tb").into_error(Adapter::GoBench);
        assert_eq!(
            error.to_string(),
            "The adapter `go_bench` cannot read the output at line 7: expected a number, found `a b`."
        );
        let error = Failure::unrecognized("an object").into_error(Adapter::Json);
        assert_eq!(error.to_string(), "The adapter `json` cannot read the output: expected an object.");
    }
}
