//! Why an output could not be read. What status that is, and which of several results it was, is for the server to
//! say.

use std::fmt;

use tidemark_api::{Adapter, excerpt};

/// Why an output could not be read: one sentence by its [`Display`](fmt::Display).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The adapter that tried; `magic` if none of them knew the output.
    pub adapter: Adapter,
    /// Where in the output.
    pub place: Option<Place>,
    /// What should have been there.
    pub expected: String,
    /// What was there instead, cut short.
    pub found: Option<String>,
}

/// A place in an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, counted from one.
    Line(usize),
    /// The path to a JSON value.
    Path(String),
}

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

/// Why an adapter did not read an output.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is not of this adapter's tool; another adapter may know it.
    Foreign(Reason),
    /// It is of this adapter's tool, but something in it is wrong.
    Broken(Reason),
}

/// The error without its adapter, which an adapter need not name.
#[derive(Debug)]
pub(crate) struct Reason {
    pub(crate) place: Option<Place>,
    pub(crate) expected: String,
    pub(crate) found: Option<String>,
}

impl Failure {
    /// Says what the tool would have printed.
    pub(crate) fn foreign(expected: impl Into<String>) -> Self {
        Self::Foreign(Reason { place: None, expected: expected.into(), found: None })
    }

    /// Points at what is wrong.
    pub(crate) fn broken(place: Place, expected: impl Into<String>, found: &str) -> Self {
        let found = Some(excerpt::of_text(found)).filter(|found| !found.is_empty());
        Self::Broken(Reason { place: Some(place), expected: expected.into(), found })
    }

    /// Points at where something is missing.
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
