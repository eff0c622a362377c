//! Reads comma-separated values with a header. The adapters interpret the columns.

use std::borrow::Cow;

use csv::{Reader, ReaderBuilder, StringRecord};
use tidemark_api::excerpt;

use crate::{
    Entry, Failure, ParsedMetric, Position,
    text::{self, Line},
};

/// Maximum number of columns.
const MAX_COLUMNS: usize = 10_000;

/// Records below a header. They are read one by one, because together they take several times the memory of the text.
pub(crate) struct Records<'a> {
    header: Vec<String>,
    /// Header and records.
    table: Cow<'a, str>,
    /// Text below the table.
    below: &'a str,
    /// Number of lines above the header.
    first_line: usize,
    delimiter: char,
}

/// A record.
pub(crate) struct Record<'a> {
    header: &'a [String],
    /// Line number, starting at one.
    line: usize,
    cells: StringRecord,
}

impl<'a> Records<'a> {
    /// Reads the records below the first line that contains all required columns, up to a blank line. Without such a line, the
    /// output is from another tool. Skips log lines above the header.
    pub(crate) fn read(text: &'a str, delimiter: char, required: &[&str]) -> Result<Self, Failure> {
        let expected = || {
            let columns: Vec<_> = required.iter().map(|column| format!("`{column}`")).collect();
            Failure::unrecognized(format!("a header with the columns {}", columns.join(", ")))
        };
        let start = header_start(text, delimiter, required).ok_or_else(expected)?;
        let first_line = text[..start].matches('\n').count();
        let (table, below) = split_table(&text[start..]);
        // The line number of a record after `\r\n` would be one too low.
        let table =
            if table.contains('\r') { Cow::Owned(table.replace("\r\n", "\n")) } else { Cow::Borrowed(table) };
        let mut records = Self { header: Vec::new(), table, below, first_line, delimiter };
        let invalid = |expected: &str| Failure::missing(Position::Line(first_line + 1), expected);
        let mut reader = records.reader();
        let header = reader.headers().map_err(|_| invalid("comma-separated values"))?;
        if header.len() > MAX_COLUMNS {
            return Err(invalid(&format!("at most {MAX_COLUMNS} columns")));
        }
        records.header = header.iter().map(|column| column.trim().to_owned()).collect();
        Ok(records)
    }

    fn reader(&self) -> Reader<&[u8]> {
        ReaderBuilder::new()
            .delimiter(u8::try_from(self.delimiter).unwrap_or(b','))
            .flexible(true)
            .from_reader(self.table.as_bytes())
    }

    /// Returns the names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// Returns the first line below the table that is not blank.
    pub(crate) fn line_below(&self) -> Option<Line<'a>> {
        let line = text::lines(self.below).find(|line| !line.text.trim().is_empty())?;
        let above = self.first_line + self.table.matches('\n').count();
        Some(Line { number: above + line.number, ..line })
    }

    /// Returns the records in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        // A text in memory whose records may have any number of cells has no errors.
        self.reader().into_records().map_while(Result::ok).map(|cells| {
            let line =
                cells.position().map_or(0, |position| usize::try_from(position.line()).unwrap_or_default());
            Record { header: &self.header, line: self.first_line + line, cells }
        })
    }
}

/// Returns the start of the first line with all required columns.
fn header_start(text: &str, delimiter: char, required: &[&str]) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let has = |column: &&str| line.split(delimiter).any(|cell| cell.trim().trim_matches('"') == *column);
        if required.iter().all(has) {
            return Some(start);
        }
        start += line.len();
    }
    None
}

/// Splits a text before the first blank line. Quoted cells may contain blank lines.
fn split_table(text: &str) -> (&str, &str) {
    let mut end = 0;
    let mut is_quoted = false;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() && !is_quoted {
            break;
        }
        is_quoted ^= memchr::memchr_iter(b'"', line.as_bytes()).count() % 2 == 1;
        end += line.len();
    }
    text.split_at(end)
}

impl Record<'_> {
    /// Returns the text of a column; `None` if the record has no such column, or the cell is empty.
    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        let index = self.header.iter().position(|name| name == column)?;
        self.cell(index)
    }

    /// Returns the text of the column with an index; `None` if the cell is empty.
    pub(crate) fn cell(&self, index: usize) -> Option<&str> {
        self.cells.get(index).map(str::trim).filter(|cell| !cell.is_empty())
    }

    /// Returns each column that is not empty, with its text.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&str, &str)> {
        let cells = self.header.iter().map(String::as_str).zip(self.cells.iter().map(str::trim));
        cells.filter(|(_, cell)| !cell.is_empty())
    }

    /// Returns the number of a column; `None` if the cell is missing, empty, or not a number such as `N/A`.
    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        self.text(column).and_then(text::decimal)
    }

    /// Returns the text of a column, which must not be empty.
    pub(crate) fn require_text(&self, column: &str) -> Result<&str, Failure> {
        self.text(column).ok_or_else(|| self.invalid(&format!("a text in the column `{column}`"), ""))
    }

    /// Returns the number of a column, which must be a finite number.
    pub(crate) fn require_number(&self, column: &str) -> Result<f64, Failure> {
        self.number(column).ok_or_else(|| {
            self.invalid(&format!("a number in the column `{column}`"), self.text(column).unwrap_or_default())
        })
    }

    /// Creates the entry of a benchmark on this record.
    pub(crate) fn entry(&self, name: &str, metrics: Vec<ParsedMetric>) -> Result<Entry, Failure> {
        Entry::new(|| self.position(), name, metrics)
    }

    /// Returns the position of the record.
    pub(crate) fn position(&self) -> Position {
        Position::Line(self.line)
    }

    /// Returns the line number, starting at one.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Creates an error for an unexpected record.
    pub(crate) fn invalid(&self, expected: &str, found: &str) -> Failure {
        Failure::invalid(self.position(), expected, &excerpt::of_text(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_below_a_header_are_read() {
        let text = "log: 1,2\n\"name\", mean ,x\n\"a,b\",1.5,\nc,n/a,2\n\nmean,name\n";
        let records = Records::read(text, ',', &["name", "mean"]).unwrap();
        assert_eq!(records.header(), ["name", "mean", "x"]);
        let rows: Vec<_> = records
            .iter()
            .map(|row| {
                format!("{} {:?} {:?} {:?}", row.line, row.text("name"), row.number("mean"), row.text("x"))
            })
            .collect();
        assert_eq!(rows, [r#"3 Some("a,b") Some(1.5) None"#, r#"4 Some("c") None Some("2")"#]);
        let crlf = text.replace('\n', "\r\n");
        let records_of_windows = Records::read(&crlf, ',', &["name", "mean"]).unwrap();
        assert_eq!(records_of_windows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 4]);
        assert!(records.iter().nth(1).unwrap().require_number("mean").is_err());
        assert!(matches!(Records::read(text, ',', &["absent"]), Err(Failure::Unrecognized(_))));
    }
}
