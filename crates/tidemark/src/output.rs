//! Output for terminals: tables, numbers with their units, and texts without control characters. Commands decide the content.

use std::{
    env,
    fmt::{self, Write},
    io::{self, IsTerminal},
};

use serde::Serialize;
use tidemark_adapters::{Entry, Measured};
use tidemark_api::{ResourceName, Timestamp, measure};
pub(crate) use tidemark_render::format::{benchmark, percent, plain, quantity, range};
use unicode_width::UnicodeWidthStr;

use crate::failure::{Failure, Result};

/// Separator of columns.
const GAP: &str = "  ";

/// A table with a line of titles. Empty columns are left out.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<(Option<Color>, Vec<String>)>,
    titles: bool,
}

/// Color of a line on a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Color {
    Red = 31,
    Green = 32,
}

/// A column of a table: its title and alignment.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
}

impl Table {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new(), titles: true }
    }

    /// Creates a table of names and values, without a line of titles.
    pub(crate) fn record() -> Self {
        Self { titles: false, ..Self::new([Column::Left(""), Column::Left("")]) }
    }

    /// Adds a line with one text per column.
    pub(crate) fn push(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push((None, row.into()));
    }

    /// Removes last columns, at most `most`, until the table fits into this width.
    pub(crate) fn fit(&mut self, width: usize, most: usize) {
        for _ in 0..most {
            let widths = self.shown().into_iter().map(|(.., width)| width + GAP.len());
            if widths.sum::<usize>() > width + GAP.len() {
                self.columns.pop();
            }
        }
    }

    /// Returns the non-empty columns: index, column, title and width.
    fn shown(&self) -> Vec<(usize, Column, &'static str, usize)> {
        let columns = self.columns.iter().enumerate();
        let measured = columns.map(|(index, column)| {
            let (Column::Left(title) | Column::Right(title)) = *column;
            let widest = self.rows.iter().map(|(_, row)| row[index].width()).max().unwrap_or(0);
            (index, *column, title, if widest == 0 { 0 } else { widest.max(title.width()) })
        });
        measured.filter(|(.., width)| *width > 0).collect()
    }

    /// Adds a line in a color.
    pub(crate) fn push_colored(&mut self, color: Option<Color>, row: impl Into<Vec<String>>) {
        self.rows.push((color, row.into()));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        let mut line = String::new();
        for row in self.titles.then_some(None).into_iter().chain(self.rows.iter().map(Some)) {
            line.clear();
            for (index, column, title, widest) in &shown {
                let text = row.map_or(*title, |(_, row)| &row[*index]);
                let space = " ".repeat(widest - text.width());
                match column {
                    Column::Left(_) => write!(line, "{text}{space}{GAP}")?,
                    Column::Right(_) => write!(line, "{space}{text}{GAP}")?,
                }
            }
            let line = line.trim_end();
            match row.and_then(|(color, _)| *color) {
                Some(color) => writeln!(formatter, "\u{1b}[{}m{line}\u{1b}[0m", color as u8)?,
                None => writeln!(formatter, "{line}")?,
            }
        }
        Ok(())
    }
}

/// Output format of results.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Table with a verdict
    Human,
    /// All data as JSON
    Json,
    /// HTML page
    Html,
    /// Markdown page, for a comment or a summary
    Markdown,
}

/// Whether standard output is a terminal with colors.
pub(crate) fn has_colors() -> bool {
    io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns the width of the terminal in characters, if standard output is a terminal.
#[cfg(unix)]
pub(crate) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Returns the width of standard output in characters, if it is known.
#[cfg(not(unix))]
pub(crate) fn terminal_width() -> Option<usize> {
    None
}

/// Returns a document as indented JSON.
pub(crate) fn json(what: &str, document: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(document)
        .map(|json| format!("{json}\n"))
        .map_err(|error| Failure::new(format!("{what} cannot be written as JSON ({error}).")))
}

/// Returns a time, precise to the second.
pub(crate) fn time(time: Timestamp) -> String {
    let text = time.to_string();
    let (moment, _) = text.split_once('.').unwrap_or((&text, ""));
    format!("{}Z", moment.replace('T', " "))
}

/// Indents JSON without any other change: the order of the names and the text of the numbers stay the same.
pub(crate) fn pretty(json: &str) -> String {
    let mut pretty = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for character in json.chars() {
        if in_text {
            pretty.push(character);
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        if matches!(character, '}' | ']') {
            depth = depth.saturating_sub(1);
            // Empty objects and arrays stay on one line.
            if !pretty.ends_with(['{', '[']) {
                new_line(&mut pretty, depth);
            }
        } else if pretty.ends_with(['{', '[']) && !character.is_ascii_whitespace() {
            new_line(&mut pretty, depth);
        }
        match character {
            '{' | '[' => {
                pretty.push(character);
                depth += 1;
            }
            ',' => {
                pretty.push(',');
                new_line(&mut pretty, depth);
            }
            ':' => pretty.push_str(": "),
            character if character.is_ascii_whitespace() => {}
            character => {
                in_text = character == '"';
                pretty.push(character);
            }
        }
    }
    pretty
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

/// Returns a benchmark of a result, with a mark if it raises no alerts.
pub(crate) fn entry(entry: &Entry) -> String {
    let title = benchmark(entry.label.as_str(), entry.parameters.as_ref());
    if entry.ignored { format!("{title} (ignored)") } else { title }
}

/// Returns the units of a measured value, if they are known without a project.
pub(crate) fn units(measured: &Measured) -> &str {
    let built_in = measure::built_in(measured.measure.as_str()).map(|measure| measure.units);
    built_in.or_else(|| measured.units.as_ref().map(ResourceName::as_str)).unwrap_or("")
}

/// Capitalizes the first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_in_every_script() {
        let mut table = Table::new([Column::Left("Name"), Column::Right("Value")]);
        for name in ["日本語", "naïve 🚀", "e\u{301}"] {
            table.push([name.to_owned(), "1".to_owned()]);
        }
        let expected = "Name      Value\n日本語        1\nnaïve 🚀      1\ne\u{301}             1\n";
        assert_eq!(table.to_string(), expected);
        table.fit(15, 1);
        assert_eq!(table.to_string(), expected);
        table.fit(14, 1);
        assert_eq!(table.to_string(), "Name\n日本語\nnaïve 🚀\ne\u{301}\n");
    }

    #[test]
    fn a_table_leaves_out_what_is_empty() {
        let mut table = Table::new([Column::Left("Name"), Column::Left("Nothing"), Column::Right("Value")]);
        table.push(["a".into(), String::new(), "1".into()]);
        table.push(["longer".into(), String::new(), "12,000".into()]);
        assert_eq!(table.to_string(), "Name     Value\na            1\nlonger  12,000\n");
    }

    #[test]
    fn json_is_set_apart_and_stays_what_it_is() {
        let json = r#"{"b":[1.50, 2e3,{}],"a\"{":"x: [y]\\","c":[ ],"d":{"e":null}}"#;
        let expected = "{\n  \"b\": [\n    1.50,\n    2e3,\n    {}\n  ],\n  \"a\\\"{\": \"x: [y]\\\\\",\n  \
                        \"c\": [],\n  \"d\": {\n    \"e\": null\n  }\n}";
        assert_eq!(pretty(json), expected);
        assert_eq!(pretty(&pretty(json)), expected);
        assert_eq!(pretty("null"), "null");
    }
}
