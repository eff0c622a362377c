//! Tables for standard output. On a terminal, a table that is too wide drops its least important columns and shortens texts.

use std::{borrow::Cow, fmt::Write, io};

use unicode_width::UnicodeWidthStr;

/// Separator of columns.
const GAP: &str = "  ";
/// Characters that are enough for a text: columns are dropped only if the table does not fit with texts of this width.
const TEXT_WIDTH: usize = 20;
/// Minimum width of a shortened text.
const MIN_TEXT_WIDTH: usize = 8;

/// A table with a line of titles. Empty columns are left out.
pub(crate) struct Table {
    columns: Vec<Column>,
    droppable: &'static [&'static str],
    rows: Vec<(Option<Color>, Vec<String>)>,
    has_titles: bool,
}

/// Color of a line on a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Color {
    Red = 31,
    Green = 32,
}

/// A column of a table: its title, its alignment, and which end of its texts can be shortened.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    /// Left-aligned word, time or ID, which is never shortened.
    Left(&'static str),
    /// Right-aligned number, which is never shortened.
    Right(&'static str),
    /// Left-aligned text, which is shortened at its end.
    Text(&'static str),
    /// Benchmark, which is shortened at its start, because its parameters are at the end.
    Benchmark(&'static str),
}

/// Width of a column in the output.
struct Layout {
    index: usize,
    column: Column,
    width: usize,
}

impl Column {
    pub(crate) fn title(self) -> &'static str {
        let (Self::Left(title) | Self::Right(title) | Self::Text(title) | Self::Benchmark(title)) = self;
        title
    }

    fn can_shorten(self) -> bool {
        matches!(self, Self::Text(_) | Self::Benchmark(_))
    }
}

impl Table {
    /// Creates a table. A narrow terminal drops the columns with the titles in `droppable`, the first title first, and no others.
    pub(crate) fn new(columns: impl Into<Vec<Column>>, droppable: &'static [&'static str]) -> Self {
        let columns = columns.into();
        debug_assert!(droppable.iter().all(|title| columns.iter().any(|column| column.title() == *title)));
        Self { columns, droppable, rows: Vec::new(), has_titles: true }
    }

    /// Creates a table of names and values, without a line of titles.
    pub(crate) fn record() -> Self {
        Self { has_titles: false, ..Self::new([Column::Left(""), Column::Left("")], &[]) }
    }

    /// Adds a line with one text per column.
    pub(crate) fn push(&mut self, row: impl Into<Vec<String>>) {
        self.push_colored(None, row);
    }

    /// Adds a line in a color.
    pub(crate) fn push_colored(&mut self, color: Option<Color>, row: impl Into<Vec<String>>) {
        self.rows.push((color, row.into()));
    }

    /// Returns the table for standard output: as wide as the terminal, or complete if standard output is not a terminal.
    pub(crate) fn show(&self) -> String {
        self.render(terminal_width())
    }

    fn render(&self, width: Option<usize>) -> String {
        let mut layout = self.layout();
        if let Some(width) = width {
            self.fit(&mut layout, width);
        }
        let (mut text, mut line) = (String::new(), String::new());
        for row in self.has_titles.then_some(None).into_iter().chain(self.rows.iter().map(Some)) {
            line.clear();
            for Layout { index, column, width } in &layout {
                let cell = row.map_or(column.title(), |(_, row)| &row[*index]);
                let cell = shorten(cell, *width, matches!(column, Column::Benchmark(_)));
                let space = " ".repeat(width - cell.width());
                let _ = match column {
                    Column::Right(_) => write!(line, "{space}{cell}{GAP}"),
                    _ => write!(line, "{cell}{space}{GAP}"),
                };
            }
            let line = line.trim_end();
            let _ = match row.and_then(|(color, _)| *color) {
                Some(color) => writeln!(text, "\u{1b}[{}m{line}\u{1b}[0m", color as u8),
                None => writeln!(text, "{line}"),
            };
        }
        text
    }

    /// Returns the non-empty columns with their full width.
    fn layout(&self) -> Vec<Layout> {
        let layout = self.columns.iter().enumerate().map(|(index, column)| {
            let widest = self.rows.iter().map(|(_, row)| row[index].width()).max().unwrap_or(0);
            let width = if widest == 0 { 0 } else { widest.max(column.title().width()) };
            Layout { index, column: *column, width }
        });
        layout.filter(|column| column.width > 0).collect()
    }

    /// Drops columns until the table fits with short texts. Then shortens the longest texts until it fits.
    fn fit(&self, layout: &mut Vec<Layout>, width: usize) {
        for title in self.droppable {
            let short = |column: &Layout| {
                if column.column.can_shorten() { column.width.min(TEXT_WIDTH) } else { column.width }
            };
            if total(layout, short) <= width {
                break;
            }
            layout.retain(|column| column.column.title() != *title);
        }
        while total(layout, |column| column.width) > width {
            let texts = layout.iter_mut().filter(|column| column.column.can_shorten());
            match texts.filter(|text| text.width > MIN_TEXT_WIDTH).max_by_key(|text| text.width) {
                Some(longest) => longest.width -= 1,
                None => break,
            }
        }
    }
}

/// Returns the width of a line.
fn total(layout: &[Layout], width: impl Fn(&Layout) -> usize) -> usize {
    layout.iter().map(|column| width(column) + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
}

/// Shortens a text to a width, with an ellipsis in place of its end or its start.
fn shorten(text: &str, width: usize, keeps_end: bool) -> Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let boundaries = text.char_indices().map(|(index, _)| index);
    if keeps_end {
        let ends = boundaries.rev().map(|start| &text[start..]);
        format!("…{}", ends.take_while(|end| end.width() < width).last().unwrap_or("")).into()
    } else {
        let starts = boundaries.map(|end| &text[..end]);
        format!("{}…", starts.take_while(|start| start.width() < width).last().unwrap_or("")).into()
    }
}

/// Returns the width of the terminal in characters, if standard output is a terminal.
#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Returns the width of standard output in characters, if it is known.
#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts() -> Table {
        let columns = [
            Column::Left("Verdict"),
            Column::Benchmark("Benchmark"),
            Column::Text("Measure"),
            Column::Right("Value"),
            Column::Right("Change"),
            Column::Right("95%"),
            Column::Left("History"),
        ];
        let mut table = Table::new(columns, &["History", "95%", "Value"]);
        let row = ["regressed", "parser/json/large_document {size=4096, threads=16}", "latency"];
        let numbers = ["12.34 ms", "+12.3%", "±1.2%", "▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█"];
        table.push(row.into_iter().chain(numbers).map(str::to_owned).collect::<Vec<_>>());
        table
    }

    #[test]
    fn columns_are_aligned_in_every_script() {
        let mut table = Table::new([Column::Left("Name"), Column::Right("Value")], &["Value"]);
        for name in ["日本語", "naïve 🚀", "e\u{301}"] {
            table.push([name.to_owned(), "1".to_owned()]);
        }
        let expected = "Name      Value\n日本語        1\nnaïve 🚀      1\ne\u{301}             1\n";
        assert_eq!(table.render(None), expected);
        assert_eq!(table.render(Some(15)), expected);
        assert_eq!(table.render(Some(14)), "Name\n日本語\nnaïve 🚀\ne\u{301}\n");
    }

    #[test]
    fn empty_columns_are_left_out() {
        let columns = [Column::Left("Name"), Column::Left("Nothing"), Column::Right("Value")];
        let mut table = Table::new(columns, &[]);
        table.push(["a".into(), String::new(), "1".into()]);
        table.push(["longer".into(), String::new(), "12,000".into()]);
        assert_eq!(table.render(None), "Name     Value\na            1\nlonger  12,000\n");
    }

    #[test]
    fn output_to_a_file_is_complete() {
        let text = verdicts().render(None);
        assert!(text.contains("parser/json/large_document {size=4096, threads=16}"), "{text}");
        assert!(text.contains("▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_drops_columns_and_shortens_benchmarks() {
        for (width, titles, row) in [
            (
                60,
                "Verdict    Benchmark               Measure     Value  Change",
                "regressed  …ize=4096, threads=16}  latency  12.34 ms  +12.3%",
            ),
            (
                80,
                "Verdict    Benchmark                            Measure     Value  Change    95%",
                "regressed  …e_document {size=4096, threads=16}  latency  12.34 ms  +12.3%  ±1.2%",
            ),
            (
                100,
                "Verdict    Benchmark                              Measure     Value  Change    95%  History",
                "regressed  …rge_document {size=4096, threads=16}  latency  12.34 ms  +12.3%  ±1.2%  ▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█",
            ),
            (
                120,
                "Verdict    Benchmark                                           Measure     Value  Change    95%  History",
                "regressed  parser/json/large_document {size=4096, threads=16}  latency  12.34 ms  +12.3%  ±1.2%  ▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█",
            ),
        ] {
            assert_eq!(verdicts().render(Some(width)), format!("{titles}\n{row}\n"));
        }
    }

    #[test]
    fn the_longest_text_is_shortened_first() {
        let mut table = Table::new([Column::Text("Name"), Column::Text("Note"), Column::Left("UUID")], &[]);
        table.push(["日本語の名前".into(), "a note of forty characters, more or less".into(), "1234".into()]);
        assert_eq!(
            table.render(Some(40)),
            "Name          Note                  UUID\n日本語の名前  a note of forty cha…  1234\n"
        );
        assert_eq!(table.render(Some(26)), "Name       Note       UUID\n日本語の…  a note o…  1234\n");
        // Words, numbers and IDs stay complete, even if lines wrap.
        assert_eq!(table.render(Some(10)), table.render(Some(24)));
    }
}
