//! Tables for standard output. On a terminal, a table that is too wide drops its least important columns and shortens texts; a table
//! that is too high can leave out passing rows.

use std::{borrow::Cow, fmt::Write, io};

use unicode_width::UnicodeWidthStr;

/// Separator of columns.
const GAP: &str = "  ";
/// Characters that are enough for a text: columns are dropped only if the table does not fit with texts of this width.
const TEXT_WIDTH: usize = 20;
/// Minimum width of a shortened text.
const MIN_TEXT_WIDTH: usize = 8;
/// Lines of a screen that are not rows: the header, the titles, remarks, links, the verdict and the next prompt.
const OTHER_LINES: usize = 12;
/// Minimum number of rows on a low screen.
const MIN_ROWS: usize = 5;

/// A table with a line of titles. Empty columns are left out.
pub(crate) struct Table {
    columns: Vec<Column>,
    droppable: &'static [&'static str],
    rows: Vec<Row>,
    has_titles: bool,
}

/// A line of a table.
struct Row {
    color: Option<Color>,
    cells: Vec<String>,
    /// Word for the row if it can be left out of a high table.
    passing: Option<&'static str>,
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
    /// Benchmark, which is shortened in its middle, because its group is at the start and its parameters are at the end.
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
        self.rows.push(Row { color, cells: row.into(), passing: None });
    }

    /// Adds a line that can be left out of a high table; the word is the kind of the row.
    pub(crate) fn push_passing(&mut self, word: &'static str, row: impl Into<Vec<String>>) {
        self.rows.push(Row { color: None, cells: row.into(), passing: Some(word) });
    }

    /// Returns the table for standard output: as wide as the terminal, or complete if standard output is not a terminal.
    pub(crate) fn show(&self) -> String {
        self.render(terminal_size().map(|(width, _)| width))
    }

    /// Returns the table for standard output, without the passing rows that do not fit on the screen, unless `all`. It is complete
    /// if standard output is not a terminal.
    pub(crate) fn show_screenful(&self, all: bool) -> String {
        let (width, height) = terminal_size().unzip();
        self.render_within(width, height.filter(|_| !all))
    }

    /// Returns the rows that fit on a screen of this height, and the words of the passing rows that do not. Keeps all other rows.
    fn screenful(&self, height: Option<usize>) -> (Vec<&Row>, Vec<&'static str>) {
        let most = height.map_or(usize::MAX, |height| height.saturating_sub(OTHER_LINES).max(MIN_ROWS));
        if self.rows.len() <= most {
            return (self.rows.iter().collect(), Vec::new());
        }
        let failing = self.rows.iter().filter(|row| row.passing.is_none()).count();
        let mut left = most.saturating_sub(failing);
        let (mut shown, mut hidden) = (Vec::new(), Vec::new());
        for row in &self.rows {
            match row.passing {
                Some(word) if left == 0 => hidden.push(word),
                passing => {
                    left -= usize::from(passing.is_some());
                    shown.push(row);
                }
            }
        }
        (shown, hidden)
    }

    fn render(&self, width: Option<usize>) -> String {
        self.render_within(width, None)
    }

    fn render_within(&self, width: Option<usize>, height: Option<usize>) -> String {
        let (rows, hidden) = self.screenful(height);
        let mut text = self.render_rows(&rows, width);
        if !hidden.is_empty() {
            let mut words: Vec<&str> = hidden.clone();
            words.sort_unstable();
            let counts = words.chunk_by(|left, right| left == right);
            let counts: Vec<String> = counts.map(|same| format!("{} {}", same.len(), same[0])).collect();
            let rows = if hidden.len() == 1 { "row" } else { "rows" };
            let _ =
                writeln!(text, "… {} more {rows} ({}); --all shows all.", hidden.len(), counts.join(", "));
        }
        text
    }

    fn render_rows(&self, rows: &[&Row], width: Option<usize>) -> String {
        let mut layout = self.layout(rows);
        if let Some(width) = width {
            self.fit(&mut layout, width);
        }
        let (mut text, mut line) = (String::new(), String::new());
        for row in self.has_titles.then_some(None).into_iter().chain(rows.iter().map(Some)) {
            line.clear();
            for Layout { index, column, width } in &layout {
                let cell = row.map_or(column.title(), |row| &row.cells[*index]);
                let cell = shorten(cell, *width, matches!(column, Column::Benchmark(_)));
                let space = " ".repeat(width - cell.width());
                let _ = match column {
                    Column::Right(_) => write!(line, "{space}{cell}{GAP}"),
                    _ => write!(line, "{cell}{space}{GAP}"),
                };
            }
            let line = line.trim_end();
            let _ = match row.and_then(|row| row.color) {
                Some(color) => writeln!(text, "\u{1b}[{}m{line}\u{1b}[0m", color as u8),
                None => writeln!(text, "{line}"),
            };
        }
        text
    }

    /// Returns the non-empty columns with their full width.
    fn layout(&self, rows: &[&Row]) -> Vec<Layout> {
        let layout = self.columns.iter().enumerate().map(|(index, column)| {
            let widest = rows.iter().map(|row| row.cells[index].width()).max().unwrap_or(0);
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

/// Shortens a text to a width, with an ellipsis in place of its middle or its end.
fn shorten(text: &str, width: usize, keeps_end: bool) -> Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let rest = width.saturating_sub(1);
    // The end of a name differs more often than its start.
    let end_width = if keeps_end { rest - rest * 2 / 5 } else { 0 };
    let boundaries = || text.char_indices().map(|(index, _)| index);
    let ends = boundaries().rev().map(|start| &text[start..]);
    let end = ends.take_while(|end| end.width() <= end_width).last().unwrap_or("");
    let starts = boundaries().map(|end| &text[..end]);
    let start = starts.take_while(|start| start.width() <= rest - end.width()).last().unwrap_or("");
    format!("{start}…{end}").into()
}

/// Returns the width and the height of the terminal in characters, if standard output is a terminal.
#[cfg(unix)]
fn terminal_size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    // A terminal that does not know its size reports 0.
    let known = |length: u16| if length == 0 { usize::MAX } else { usize::from(length) };
    Some((known(size.ws_col), known(size.ws_row)))
}

/// Returns the size of standard output in characters, if it is known.
#[cfg(not(unix))]
fn terminal_size() -> Option<(usize, usize)> {
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
                "regressed  parser/j…, threads=16}  latency  12.34 ms  +12.3%",
            ),
            (
                80,
                "Verdict    Benchmark                            Measure     Value  Change    95%",
                "regressed  parser/json/l…ize=4096, threads=16}  latency  12.34 ms  +12.3%  ±1.2%",
            ),
            (
                100,
                "Verdict    Benchmark                              Measure     Value  Change    95%  History",
                "regressed  parser/json/la…size=4096, threads=16}  latency  12.34 ms  +12.3%  ±1.2%  ▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█",
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
    fn passing_rows_beyond_a_screenful_are_counted() {
        let mut table = Table::new([Column::Left("Verdict"), Column::Left("Name")], &[]);
        table.push(["regressed", "a"].map(str::to_owned));
        for (index, word) in [(0, "unchanged"), (1, "inconclusive"), (2, "unchanged"), (3, "unchanged")] {
            table.push_passing(word, [word.to_owned(), format!("b{index}")]);
        }
        table.push(["outside", "c"].map(str::to_owned));
        let all = table.render(None);
        assert_eq!(all.lines().count(), 7, "{all}");
        // The screen has room for all rows, or its height is unknown.
        assert_eq!(table.render_within(None, Some(OTHER_LINES + 6)), all);
        assert_eq!(table.render_within(None, Some(usize::MAX)), all);
        assert_eq!(
            table.render_within(None, Some(10)),
            "Verdict       Name\nregressed     a\nunchanged     b0\ninconclusive  b1\nunchanged     b2\n\
             outside       c\n… 1 more row (1 unchanged); --all shows all.\n"
        );
        // Rows that do not pass are never left out.
        for index in 0..20 {
            table.push(["regressed".to_owned(), format!("d{index}")]);
        }
        let text = table.render_within(None, Some(10));
        assert_eq!(text.lines().count(), 1 + 22 + 1, "{text}");
        assert!(
            text.ends_with("\n… 4 more rows (1 inconclusive, 3 unchanged); --all shows all.\n"),
            "{text}"
        );
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
