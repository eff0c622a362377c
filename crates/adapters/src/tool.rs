//! A tool and its output formats: what identifies an output, how to get it, and the function that parses it.

use std::{
    cell::{OnceCell, RefCell},
    fmt,
};

use tidemark_api::{Adapter, Average};

use crate::{Entries, Failure, Results, Skipped, error::Reason, marks::Marks, skipped};

/// A tool whose output can be parsed.
pub struct Tool {
    /// Adapter of the tool.
    pub adapter: Adapter,
    /// Name of the tool.
    pub title: &'static str,
    /// What the adapter reads, in Markdown, for the manual.
    pub metrics: &'static str,
    /// What the parameters of variants are, in Markdown, for the manual; empty if there are none.
    pub parameters: &'static str,
    /// Averages that the output provides, default first; empty if the tool does not support the setting.
    pub averages: &'static [Average],
    /// Output formats, in the order in which the adapter tries them.
    pub formats: &'static [Format],
}

/// An output format of a tool.
pub struct Format {
    /// Syntax of the output.
    pub syntax: Syntax,
    /// Command that prints or writes the format.
    pub command: &'static str,
    /// Texts that each output in this format contains. `magic` skips the format if one of them is missing.
    pub marks: &'static [&'static str],
    /// Whether `magic` tries the format, and when.
    pub detection: Detection,
    parse: fn(&Input<'_>) -> Result<Entries, Failure>,
}

/// Syntax of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// One JSON document.
    Json,
    /// JSON documents, one per line.
    Ndjson,
    /// Comma-separated values with a header.
    Csv,
    /// An XML document.
    Xml,
    /// Text for a terminal.
    Text,
}

/// When `magic` tries a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// First: only this tool prints such an output.
    Specific,
    /// If no specific format fits: several tools or a person could have written the output.
    Generic,
    /// Never: the format is read only if the adapter is named.
    Named,
}

impl Format {
    /// Creates a format that only its tool prints.
    pub(crate) const fn new(
        syntax: Syntax,
        command: &'static str,
        marks: &'static [&'static str],
        parse: fn(&Input<'_>) -> Result<Entries, Failure>,
    ) -> Self {
        Self { syntax, command, marks, detection: Detection::Specific, parse }
    }

    /// Returns the format with another time of detection.
    pub(crate) const fn detected(self, detection: Detection) -> Self {
        Self { detection, ..self }
    }

    /// Whether an output contains all marks of the format.
    pub(crate) fn is_marked(&self, input: &Input<'_>) -> bool {
        let (long, short): (Vec<&str>, Vec<&str>) = self.marks.iter().partition(|mark| Marks::is_long(mark));
        long.iter().chain(&short).all(|mark| input.has_mark(mark))
    }
}

impl Tool {
    /// Parses an output with the first of the selected formats that recognizes it.
    pub(crate) fn read(
        &self,
        input: &Input<'_>,
        selected: impl Fn(&Format) -> bool,
    ) -> Result<Results, Failure> {
        if !self.supports_average(input.average) {
            return Err(self.unsupported_average());
        }
        let mut reasons: Vec<(Syntax, Reason)> = Vec::new();
        for format in self.formats.iter().filter(|format| selected(format)) {
            // Another format may have skipped results.
            input.skipped.borrow_mut().clear();
            match (format.parse)(input) {
                Err(Failure::Unrecognized(reason)) => reasons.push((format.syntax, reason)),
                read => return read.and_then(|entries| Results::collect(self.adapter, entries)),
            }
        }
        let syntax = Syntax::of(input.text);
        let nearest = reasons.iter().rposition(|(known, _)| syntax.is_near(*known)).unwrap_or_default();
        match reasons.into_iter().nth(nearest) {
            Some((_, reason)) => Err(Failure::Unrecognized(reason)),
            None => Err(Failure::unrecognized(format!("output of {}", self.title))),
        }
    }

    pub(crate) fn supports_average(&self, average: Option<Average>) -> bool {
        average.is_none_or(|average| self.averages.contains(&average))
    }

    pub(crate) fn unsupported_average(&self) -> Failure {
        Failure::unrecognized(match self.averages.first() {
            Some(average) => format!("the average `{average}`, or no average setting"),
            None => "no average setting, because the tool provides no averages".to_owned(),
        })
    }
}

impl Syntax {
    /// Guesses the syntax of an output from its first character. CSV has no distinctive start.
    pub(crate) fn of(text: &str) -> Self {
        match text.trim_start().chars().next() {
            Some('{' | '[') => Self::Json,
            Some('<') => Self::Xml,
            _ => Self::Text,
        }
    }

    /// Whether an output with a guessed syntax can be of a syntax.
    fn is_near(self, known: Self) -> bool {
        matches!(
            (self, known),
            (Self::Json, Self::Json | Self::Ndjson)
                | (Self::Xml, Self::Xml)
                | (Self::Text, Self::Csv | Self::Text)
        )
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Json => "JSON",
            Self::Ndjson => "NDJSON",
            Self::Csv => "CSV",
            Self::Xml => "XML",
            Self::Text => "text",
        })
    }
}

/// Input of an adapter.
pub(crate) struct Input<'a> {
    /// Output of the tool, without color codes.
    pub(crate) text: &'a str,
    /// Requested average; always one that the tool provides.
    pub(crate) average: Option<Average>,
    /// Marks in the output, found when they are needed first.
    marks: OnceCell<Marks>,
    /// Parts of the output that the adapter does not read.
    pub(crate) skipped: RefCell<Vec<Skipped>>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(text: &'a str, average: Option<Average>) -> Self {
        Self { text, average, marks: OnceCell::new(), skipped: RefCell::default() }
    }

    /// Whether the output contains a mark.
    pub(crate) fn has_mark(&self, mark: &str) -> bool {
        self.marks.get_or_init(|| Marks::of(self.text)).contain(mark, self.text)
    }

    /// Records that the adapter does not read a result.
    pub(crate) fn skip(&self, name: impl Into<String>, reason: &'static str) {
        Skipped::add(&mut self.skipped.borrow_mut(), name.into(), false, reason);
    }

    /// Records that the adapter reads a result without its parameters.
    pub(crate) fn skip_parameters(&self, name: &str) {
        Skipped::add(&mut self.skipped.borrow_mut(), name.to_owned(), true, skipped::PARAMETERS);
    }
}
