//! Parse errors. The server chooses the HTTP status and names the result that failed.

use std::fmt;

use tidemark_api::{Adapter, excerpt};

/// Parse error: its [`Display`](fmt::Display) is one sentence, or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// An adapter cannot read the output.
    Invalid {
        /// Name of the adapter that failed; never `magic`.
        adapter: String,
        /// Position in the output.
        position: Option<Position>,
        /// Expected input.
        expected: String,
        /// Actual input, truncated.
        found: Option<String>,
    },
    /// No adapter recognized the output.
    Unrecognized {
        /// Tools whose output is similar, the most similar first.
        nearest: Vec<&'static str>,
    },
    /// Several adapters can read the output.
    Ambiguous {
        /// Adapters and the number of benchmarks that each reads.
        candidates: Vec<(Adapter, usize)>,
    },
}

/// Position in an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Line number, starting at one.
    Line(usize),
    /// Path of a JSON value.
    Path(String),
}

impl ParseError {
    /// Returns the position and the expected input without the name of the adapter, as the end of a sentence.
    pub(crate) fn reason(&self) -> String {
        let sentence = self.to_string();
        let reason =
            sentence.split_once(" cannot read the output").map_or(sentence.as_str(), |(_, reason)| reason);
        reason.trim_start_matches([':', ' ']).trim_end_matches('.').to_owned()
    }
}

// Written by hand: most parts of the sentence are optional, which a format string of `thiserror` cannot express.
impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { adapter, position, expected, found } => {
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
            Self::Unrecognized { nearest } => {
                formatter.write_str("No adapter recognized the output")?;
                if !nearest.is_empty() {
                    write!(formatter, " (similar formats: {})", nearest.join(", "))?;
                }
                formatter.write_str(
                    "; set the adapter, describe the format as `[adapter.NAME]` in tidemark.toml, or write the results \
                     in the format of the adapter `json`.",
                )
            }
            Self::Ambiguous { candidates } => {
                let candidate = |(adapter, count): &(Adapter, usize)| {
                    let benchmarks = if *count == 1 { "benchmark" } else { "benchmarks" };
                    format!("`{adapter}` ({count} {benchmarks})")
                };
                let candidates: Vec<_> = candidates.iter().map(candidate).collect();
                write!(
                    formatter,
                    "Several adapters can read the output: {}. Set the adapter, or send the output of each tool \
                     as a separate result.",
                    candidates.join(", ")
                )
            }
        }
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

    pub(crate) fn into_error(self, adapter: impl fmt::Display) -> ParseError {
        let (Self::Unrecognized(reason) | Self::Invalid(reason)) = self;
        let Reason { position, expected, found } = reason;
        ParseError::Invalid { adapter: adapter.to_string(), position, expected, found }
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
