//! Reads comma-separated values with a header. The adapters interpret the columns.

use csv::{ReaderBuilder, StringRecord};
use tidemark_api::excerpt;

use crate::{Entry, Failure, ParsedMetric, Position, text};

/// Records below a header.
pub(crate) struct Records {
    header: Vec<String>,
    records: Vec<(usize, StringRecord)>,
}

/// A record.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    header: &'a [String],
    /// Line number, starting at one.
    line: usize,
    cells: &'a StringRecord,
}

impl Records {
    /// Reads the records below the first line that contains all required columns, up to a blank line. Without such a line, the
    /// output is from another tool. Skips log lines above the header.
    pub(crate) fn read(text: &str, delimiter: char, required: &[&str]) -> Result<Self, Failure> {
        let expected = || {
            let columns: Vec<_> = required.iter().map(|column| format!("`{column}`")).collect();
            Failure::unrecognized(format!("a header with the columns {}", columns.join(", ")))
        };
        let start = header_start(text, delimiter, required).ok_or_else(expected)?;
        let first_line = text[..start].matches('\n').count();
        // The line number of a record after `\r\n` would be one too low.
        let table = table(&text[start..]).replace("\r\n", "\n");
        let mut reader = ReaderBuilder::new()
            .delimiter(u8::try_from(delimiter).unwrap_or(b','))
            .flexible(true)
            .from_reader(table.as_bytes());
        let invalid = |error: &csv::Error| {
            let line =
                error.position().map_or(0, |position| usize::try_from(position.line()).unwrap_or_default());
            Failure::missing(Position::Line(first_line + line), "comma-separated values")
        };
        let header = reader.headers().map_err(|error| invalid(&error))?;
        let header = header.iter().map(|column| column.trim().to_owned()).collect();
        let mut records = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| invalid(&error))?;
            let line =
                record.position().map_or(0, |position| usize::try_from(position.line()).unwrap_or_default());
            records.push((first_line + line, record));
        }
        Ok(Self { header, records })
    }

    /// Returns the names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// Returns the records in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        self.records.iter().map(|(line, cells)| Record { header: &self.header, line: *line, cells })
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

/// Returns the text up to a blank line. Quoted cells may contain blank lines.
fn table(text: &str) -> &str {
    let mut end = 0;
    let mut is_quoted = false;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() && !is_quoted {
            break;
        }
        is_quoted ^= line.matches('"').count() % 2 == 1;
        end += line.len();
    }
    &text[..end]
}

impl<'a> Record<'a> {
    /// Returns the text of a column; `None` if the record has no such column, or the cell is empty.
    pub(crate) fn text(self, column: &str) -> Option<&'a str> {
        let index = self.header.iter().position(|name| name == column)?;
        self.cells.get(index).map(str::trim).filter(|cell| !cell.is_empty())
    }

    /// Returns each column that is not empty, with its text.
    pub(crate) fn cells(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let cells = self.header.iter().map(String::as_str).zip(self.cells.iter().map(str::trim));
        cells.filter(|(_, cell)| !cell.is_empty())
    }

    /// Returns the number of a column; `None` if the cell is missing, empty, or not a number such as `N/A`.
    pub(crate) fn number(self, column: &str) -> Option<f64> {
        self.text(column).and_then(text::decimal)
    }

    /// Returns the text of a column, which must not be empty.
    pub(crate) fn require_text(self, column: &str) -> Result<&'a str, Failure> {
        self.text(column).ok_or_else(|| self.invalid(&format!("a text in the column `{column}`"), ""))
    }

    /// Returns the number of a column, which must be a finite number.
    pub(crate) fn require_number(self, column: &str) -> Result<f64, Failure> {
        self.number(column).ok_or_else(|| {
            self.invalid(&format!("a number in the column `{column}`"), self.text(column).unwrap_or_default())
        })
    }

    /// Creates the entry of a benchmark on this record.
    pub(crate) fn entry(self, name: &str, metrics: Vec<ParsedMetric>) -> Result<Entry, Failure> {
        Entry::new(|| self.position(), name, metrics)
    }

    /// Returns the position of the record.
    pub(crate) fn position(self) -> Position {
        Position::Line(self.line)
    }

    /// Creates an error for an unexpected record.
    pub(crate) fn invalid(self, expected: &str, found: &str) -> Failure {
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
            .map(|row| (row.line, row.text("name"), row.number("mean"), row.text("x")))
            .collect();
        assert_eq!(rows, [(3, Some("a,b"), Some(1.5), None), (4, Some("c"), None, Some("2"))]);
        let crlf = text.replace('\n', "\r\n");
        let records_of_windows = Records::read(&crlf, ',', &["name", "mean"]).unwrap();
        assert_eq!(records_of_windows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 4]);
        assert!(records.iter().nth(1).unwrap().require_number("mean").is_err());
        assert!(matches!(Records::read(text, ',', &["absent"]), Err(Failure::Unrecognized(_))));
    }
}
