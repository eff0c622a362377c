//! Adapter for the output of Divan: a tree of benchmarks next to a table of their times, and below some of them counters and
//! allocations. A benchmark is named by its path; its arguments are the last part of the path.

use tidemark_api::{Adapter, Average, MeasureDirection::HigherIsBetter};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Line, Scan, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RustDivan,
    title: "Divan",
    metrics: "latency from fastest to slowest; bandwidth where bytes are counted, throughput where items are counted, `Characters` and `Cycles` per second; with its allocation profiler allocations and allocated bytes",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[Format::new(Syntax::Text, "cargo bench", &["fastest", "slowest", "│"], parse)],
};

const EXPECTED: &str = "a table with the columns fastest, slowest, median and mean";

/// Column of the minimum time, which shares its cell with the name.
const FASTEST: usize = 0;
const SLOWEST: usize = 1;
const MEDIAN: usize = 2;
const MEAN: usize = 3;
const COLUMNS: usize = 6;

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let column = if input.average == Some(Average::Median) { MEDIAN } else { MEAN };
    let mut entries = Entries::default();
    let mut path: Vec<&str> = Vec::new();
    let mut below = RowKind::Rate;
    for line in text::lines(input.text) {
        let Some(cells) = cells(line.text) else { continue };
        if let Some(root) = title(&cells) {
            path = vec![root];
        } else if let (Some((depth, row)), false) = (node(cells[FASTEST]), path.is_empty()) {
            path.truncate(depth + 1);
            below = RowKind::Rate;
            if cells[MEAN].is_empty() {
                let name = without_note(row);
                path.push(name);
                if row.ends_with("(ignored)") {
                    input.skip(path.join("::"), "the benchmark ignored them");
                }
                continue;
            }
            let (name, metric) =
                times(row, &cells, column).ok_or_else(|| line.invalid("a time in each column"))?;
            path.push(name);
            entries.push(entry(line, &path, metric)?);
        } else {
            entries.change_last(|entry| {
                below = below.read(cells[FASTEST], cells[column], &mut entry.metrics);
            });
        }
    }
    text::require_entries(entries, EXPECTED)
}

fn entry(line: Line<'_>, path: &[&str], metric: ParsedMetric) -> Result<Entry, Failure> {
    line.entry(&path.join("::"), vec![metric])
}

/// Returns the cells of a row, without trailing blanks.
fn cells(line: &str) -> Option<[&str; COLUMNS]> {
    let mut cells = [""; COLUMNS];
    // The tree also contains bars, before the name.
    let mut parts = line.rsplitn(COLUMNS, '│');
    for cell in cells.iter_mut().rev() {
        *cell = parts.next()?.trim_end_matches(is_blank);
    }
    for cell in &mut cells[SLOWEST..] {
        *cell = cell.trim_start_matches(is_blank);
    }
    Some(cells)
}

/// Returns the name of the tree, from the row with the column titles.
fn title<'a>(cells: &[&'a str; COLUMNS]) -> Option<&'a str> {
    let name = cells[FASTEST].strip_suffix("fastest")?;
    (cells[SLOWEST..=MEAN] == ["slowest", "median", "mean"]).then(|| name.trim_matches(is_blank))
}

/// Returns the depth of a node and the text after its branch.
fn node(cell: &str) -> Option<(usize, &str)> {
    let mut rest = cell;
    let mut depth = 0;
    loop {
        if let Some(node) = rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ ")) {
            return Some((depth, node));
        }
        rest = rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   "))?;
        depth += 1;
    }
}

/// Returns the name of a node without times; the node may be marked as ignored.
fn without_note(row: &str) -> &str {
    row.strip_suffix("(ignored)").unwrap_or(row).trim_end_matches(is_blank)
}

/// Returns the name before the first time, and the times.
fn times<'a>(row: &'a str, cells: &[&str; COLUMNS], column: usize) -> Option<(&'a str, ParsedMetric)> {
    let (rest, _) = row.rsplit_once(is_blank)?;
    let (name, _) = rest.rsplit_once(is_blank)?;
    let time = text::duration;
    let fastest = time(&row[name.len() + 1..])?;
    let metric = ParsedMetric::latency(time(cells[column])?).with_range(fastest, time(cells[SLOWEST])?);
    Some((name.trim_end_matches(is_blank), metric))
}

/// Meaning of the next row below a benchmark.
#[derive(Clone, Copy)]
enum RowKind {
    /// Rate per second.
    Rate,
    /// Number of allocations.
    Allocations,
    /// Allocated bytes.
    Allocated,
    /// A row that is not read.
    Nothing,
}

impl RowKind {
    fn read(self, label: &str, cell: &str, metrics: &mut Vec<ParsedMetric>) -> Self {
        let label = label.trim_start_matches(|character| is_blank(character) || character == '│');
        match self {
            _ if label == "alloc:" => return Self::Allocations,
            _ if label.ends_with(':') => return Self::Nothing,
            Self::Rate => {
                let rate = cell.strip_suffix("/s");
                metrics.extend(rate.and_then(bytes).map(|rate| ParsedMetric::of("bandwidth", rate)));
                metrics.extend(rate.and_then(counted));
                return Self::Rate;
            }
            Self::Allocations => {
                if let Some(count) = Scan::new(cell).number() {
                    metrics.push(ParsedMetric::of("allocations", count));
                    return Self::Allocated;
                }
            }
            Self::Allocated => metrics.extend(bytes(cell).map(|bytes| ParsedMetric::of("allocated", bytes))),
            Self::Nothing => {}
        }
        Self::Nothing
    }
}

/// Parses a rate of items, which is a throughput, or of characters or cycles: `195.2 Mitem`.
fn counted(text: &str) -> Option<ParsedMetric> {
    let (count, unit) = text::quantity(text)?;
    let (prefix, name) =
        ["item", "char", "cycle"].iter().find_map(|name| Some((unit.strip_suffix(name)?, *name)))?;
    let power = ["", "K", "M", "G", "T", "P"].iter().position(|known| *known == prefix)?;
    let rate = count * 1000.0_f64.powi(i32::try_from(power).ok()?);
    let measured =
        |name, units| Some(ParsedMetric::named(name, Some(units), rate)?.with_direction(HigherIsBetter));
    match name {
        "item" => Some(ParsedMetric::throughput(rate)),
        "char" => measured("Characters", "characters / second"),
        _ => measured("Cycles", "cycles / second"),
    }
}

/// Parses a number of bytes with decimal or binary prefixes.
fn bytes(text: &str) -> Option<f64> {
    let mut scan = Scan::new(text);
    let count = scan.number()?;
    scan.blanks()?;
    let factor = match scan.rest() {
        "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(count * factor)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter::RustDivan, Average};

    use crate::{
        parse,
        tests::{first_value, read},
    };

    #[test]
    fn a_real_run() {
        let text = include_str!("../fixtures/rust_divan/tree.txt");
        insta::assert_snapshot!(read(RustDivan, text), @"
        div::sort::10 latency 51.21 [46.78, 323.3]
        div::sort::10 throughput 195200000
        div::sort::10 allocations 1
        div::sort::10 allocated 80
        div::sort::1000 latency 10050 [9392, 22340]
        div::sort::1000 throughput 99470000
        div::sort::1000 allocations 2
        div::sort::1000 allocated 16000
        div::sum_small latency 132.1 [131.2, 132.8]
        div::group::threaded::t=1 latency 1890 [1842, 4100]
        div::group::threaded::t=2 latency 1864 [1859, 1890]
        div::group::fill::u8::4 latency 65.48 [32, 2251]
        div::group::fill::u8::4 bandwidth 61080000
        div::group::fill::u8::4 allocations 1
        div::group::fill::u8::4 allocated 4
        div::group::fill::u8::64 latency 27.42 [26.42, 31.18]
        div::group::fill::u8::64 bandwidth 2333000000
        div::group::fill::u8::64 allocations 1
        div::group::fill::u8::64 allocated 64
        div::group::fill::u32::4 latency 26.97 [25.89, 90]
        div::group::fill::u32::4 bandwidth 593100000
        div::group::fill::u32::4 allocations 1
        div::group::fill::u32::4 allocated 16
        div::group::fill::u32::64 latency 33.19 [31.32, 51.31]
        div::group::fill::u32::64 bandwidth 7711000000
        div::group::fill::u32::64 allocations 1
        div::group::fill::u32::64 allocated 256
        ");
        let median = parse(RustDivan, text, Some(Average::Median)).unwrap();
        insta::assert_snapshot!(first_value(&median), @"47.68");
    }

    #[test]
    fn slow_benchmarks_have_minutes_and_hours() {
        let text = "x  fastest │ slowest │ median │ mean │ samples │ iters\n\
            ├─ a  59 s │ 1.5 m │ 1.1 m │ 1.2 m │ 1 │ 1\n\
            ╰─ b  1 h  │ 1 d   │ 2 h   │ 3 h   │ 1 │ 1";
        insta::assert_snapshot!(read(RustDivan, text), @"
        x::a latency 72000000000 [59000000000, 90000000000]
        x::b latency 10800000000000 [3600000000000, 86400000000000]
        ");
    }

    #[test]
    fn counters_are_read() {
        let text = "x  fastest │ slowest │ median │ mean │ samples │ iters\n\
            ├─ a  1 ns │ 2 ns │ 1 ns │ 1 ns │ 1 │ 1\n\
            │     1 Gitem/s │ 500 Mitem/s │ 1 Gitem/s │ 195.2 Mitem/s │ │\n\
            │     8 GB/s │ 4 GB/s │ 8 GB/s │ 1.5 GB/s │ │\n\
            ╰─ b  1 ns │ 2 ns │ 1 ns │ 1 ns │ 1 │ 1\n\
            \x20     3 Kchar/s │ 2 Kchar/s │ 3 Kchar/s │ 2.5 Kchar/s │ │\n";
        insta::assert_snapshot!(read(RustDivan, text), @"
        x::a latency 1 [1, 2]
        x::a throughput 195200000
        x::a bandwidth 1500000000
        x::b latency 1 [1, 2]
        x::b Characters 2500
        ");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let text = "x  fastest │ slowest │ median │ mean │ samples │ iters\n\
            ├─ a  1 ns │ 2 ns │ 3 ns │ 4 ns │ 1 │ 1\n\
            ╰─ b  1 ns │ many │ 3 ns │ 4 ns │ 1 │ 1";
        insta::assert_snapshot!(read(RustDivan, text), @"The adapter `rust_divan` cannot read the output at line 3: expected a time in each column, found `╰─ b  1 ns │ many │ 3 ns │ 4 ns │ 1 │ 1`.");
        insta::assert_snapshot!(read(RustDivan, "a │ b │ c │ d │ e │ f"), @"The adapter `rust_divan` cannot read the output: expected a table with the columns fastest, slowest, median and mean.");
    }
}
