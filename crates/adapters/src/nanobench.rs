//! Adapter for nanobench: parses the documents of its JSON and CSV templates and its Markdown tables.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    records::Records,
    table,
    text::{self, Line, Unit, is_blank},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Nanobench,
    title: "nanobench",
    metrics: "latency ± median absolute percentage error, for one unit of the batch; with performance counters instructions, cycles, branches, and from JSON branch misses, page faults, context switches, from CSV branch misses",
    parameters: "`title`, where several benchmarks have the name",
    averages: &[Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "bench.render(ankerl::nanobench::templates::json(), std::cout)",
            &[r#""results""#, r#""median(elapsed)""#],
            parse_json,
        ),
        Format::new(
            Syntax::Csv,
            "bench.render(ankerl::nanobench::templates::csv(), std::cout)",
            &["title", "elapsed", "error %", "branch misses"],
            parse_csv,
        ),
        Format::new(Syntax::Text, "./bench", &["err%", "| ", "/s "], parse_tables),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct Shape {
    results: Vec<ShapeRow>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeRow {
    #[serde(rename = "median(elapsed)")]
    elapsed: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    results: Vec<Row>,
}

/// A benchmark: medians per iteration, and their errors as fractions.
#[derive(Deserialize)]
struct Row {
    title: Option<String>,
    name: String,
    batch: Option<f64>,
    /// Seconds.
    #[serde(rename = "median(elapsed)")]
    elapsed: f64,
    #[serde(rename = "medianAbsolutePercentError(elapsed)")]
    elapsed_error: Option<f64>,
    #[serde(rename = "median(instructions)")]
    instructions: Option<f64>,
    #[serde(rename = "median(cpucycles)")]
    cycles: Option<f64>,
    #[serde(rename = "median(branchinstructions)")]
    branches: Option<f64>,
    #[serde(rename = "median(branchmisses)")]
    branch_misses: Option<f64>,
    #[serde(rename = "median(pagefaults)")]
    page_faults: Option<f64>,
    #[serde(rename = "median(contextswitches)")]
    context_switches: Option<f64>,
}

fn parse_json(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { results } = document::read::<Shape, _>(input.text)?;
    let position = |index: usize| Position::Path(format!("results[{index}]"));
    let mut entries = Entries::default();
    for (index, row) in results.iter().enumerate() {
        let batch = row.batch.unwrap_or(1.0);
        if batch <= 0.0 {
            return Err(Failure::invalid(
                position(index),
                "a positive number as `batch`",
                &batch.to_string(),
            ));
        }
        entries.push(Entry::new(|| position(index), &row.name, row.metrics(batch))?);
    }
    let properties: [variant::Property<'_>; 1] = [("title", &|index| results[index].title.as_deref())];
    variant::distinguish(position, &mut entries, &properties)?;
    document::require_entries(entries, "results")
}

impl Row {
    fn metrics(&self, batch: f64) -> Vec<ParsedMetric> {
        let mut metrics = vec![latency(
            Unit::Seconds.nanoseconds(self.elapsed / batch),
            self.elapsed_error.unwrap_or_default(),
        )];
        // Without access to the performance counters, nanobench writes zeros.
        if self.instructions.or(self.cycles).is_some_and(|count| count > 0.0) {
            let counters = [
                ("instructions", self.instructions),
                ("cycles", self.cycles),
                ("branches", self.branches),
                ("branch-misses", self.branch_misses),
                ("page-faults", self.page_faults),
                ("context-switches", self.context_switches),
            ];
            metrics.extend(
                counters.into_iter().filter_map(|(slug, count)| Some(ParsedMetric::of(slug, count? / batch))),
            );
        }
        metrics
    }
}

/// Parses the output of the CSV template, whose separator is a semicolon.
fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let records =
        Records::read(input.text, ';', &["title", "name", "batch", "elapsed", "error %", "branch misses"])?;
    let mut entries = Entries::default();
    let mut titles = Vec::new();
    for record in records.iter() {
        let batch = record.require_number("batch")?;
        if batch <= 0.0 {
            return Err(record.invalid("a positive number in the column `batch`", &batch.to_string()));
        }
        let row = Row {
            title: record.text("title").map(str::to_owned),
            name: record.require_text("name")?.to_owned(),
            batch: None,
            elapsed: record.require_number("elapsed")?,
            elapsed_error: record.number("error %"),
            instructions: record.number("instructions"),
            cycles: None,
            branches: record.number("branches"),
            branch_misses: record.number("branch misses"),
            page_faults: None,
            context_switches: None,
        };
        entries.push(record.entry(&row.name, row.metrics(batch))?);
        titles.push((record.position(), row.title));
    }
    let properties: [variant::Property<'_>; 1] = [("title", &|index| titles[index].1.as_deref())];
    variant::distinguish(|index| titles[index].0.clone(), &mut entries, &properties)?;
    text::require_entries(entries, "at least one benchmark below the header")
}

fn latency(value: f64, error: f64) -> ParsedMetric {
    ParsedMetric::latency(value).with_deviation(value * error)
}

fn parse_tables(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut rows: Vec<(usize, String)> = Vec::new();
    let mut columns: Option<Columns<'_>> = None;
    for line in text::lines(input.text) {
        let Some(cells) = table::bordered_cells(line.text).filter(|_| line.text.starts_with('|')) else {
            if !line.text.trim().is_empty() {
                columns = None;
            }
            continue;
        };
        if let Some(header) = Columns::new(&cells) {
            columns = Some(header);
        } else if let Some(columns) = columns.as_ref().filter(|_| !table::is_rule(line.text))
            && let Some(entry) = columns.entry(input, line)?
        {
            entries.push(entry);
            rows.push((line.number, columns.title.to_owned()));
        }
    }
    if rows.is_empty() {
        return Err(Failure::unrecognized(
            "a table with columns such as `ns/op`, `op/s`, `err%` and `total`",
        ));
    }
    let properties: [variant::Property<'_>; 1] = [("title", &|index| Some(rows[index].1.as_str()))];
    variant::distinguish(|index| Position::Line(rows[index].0), &mut entries, &properties)?;
    Ok(entries)
}

/// The header of a table.
struct Columns<'a> {
    time: usize,
    unit: Unit,
    error: usize,
    counters: Vec<(usize, &'static str)>,
    /// Number of columns in front of the name.
    count: usize,
    title: &'a str,
}

impl<'a> Columns<'a> {
    /// Recognizes a time per unit, its inverse, the error, and at last the total and the title.
    fn new(cells: &[&'a str]) -> Option<Self> {
        let [numbers @ .., "total", title] = cells else { return None };
        let (time, symbol, per) = numbers.iter().enumerate().find_map(|(index, cell)| {
            let (symbol, per) = cell.split_once('/')?;
            Some((index, Unit::from_symbol(symbol)?, per))
        })?;
        let rate = numbers.get(time + 1)?.strip_suffix("/s")?;
        let error = time + 2;
        if rate != per || numbers.get(error) != Some(&"err%") {
            return None;
        }
        let counters = numbers.iter().enumerate().filter_map(|(index, cell)| {
            let slug = match cell.split_once('/')? {
                ("ins", unit) if unit == per => "instructions",
                ("cyc", unit) if unit == per => "cycles",
                ("bra", unit) if unit == per => "branches",
                _ => return None,
            };
            Some((index, slug))
        });
        let (unit, counters) = (symbol, counters.collect());
        Some(Self { time, unit, error, counters, count: numbers.len() + 1, title })
    }

    fn entry(&self, input: &Input<'_>, line: Line<'_>) -> Result<Option<Entry>, Failure> {
        let expected = || line.invalid("a row with a number in each column and a name in backticks");
        // The name may contain borders.
        let mut rest = line.text.strip_prefix('|').ok_or_else(expected)?;
        let mut cells = Vec::with_capacity(self.count);
        for _ in 0..self.count {
            let (cell, after) = rest.split_once('|').ok_or_else(expected)?;
            cells.push(cell.trim_matches(is_blank));
            rest = after;
        }
        // A warning that contains backticks may follow the name.
        let name =
            rest.split_once("` (Unstable with ").map_or(rest.trim_end_matches(is_blank), |(name, _)| name);
        let name = name.strip_suffix('`').unwrap_or(name).split_once('`').ok_or_else(expected)?.1;
        let number = |index: usize| {
            let (number, rest) = text::quantity(cells[index])?;
            matches!(rest, "" | "%").then_some(number)
        };
        if cells[self.time] == "-" {
            input.skip(name, "they have no result");
            return Ok(None);
        }
        let (time, error) = number(self.time).zip(number(self.error)).ok_or_else(expected)?;
        let mut metrics = vec![latency(self.unit.nanoseconds(time), error / 100.0)];
        for (index, slug) in &self.counters {
            metrics.push(ParsedMetric::of(slug, number(*index).ok_or_else(expected)?));
        }
        line.entry(name, metrics).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Nanobench};

    use crate::tests::read;

    #[test]
    fn json() {
        let text = include_str!("../fixtures/nanobench/results.json");
        insta::assert_snapshot!(read(Nanobench, text), @"
        fnv1a latency 1.24018181818182 [1.2394495679068547, 1.2409140684567854]
        std::hash latency 0.160452229299363 [0.15980821670169565, 0.16109624189703037]
        ");
        let counters = include_str!("../fixtures/nanobench/counters.json");
        insta::assert_snapshot!(read(Magic, counters), @"
        std::mt19937 latency 2.5 [2.45, 2.55]
        std::mt19937 instructions 12.5
        std::mt19937 cycles 8.25
        std::mt19937 branches 1.5
        std::mt19937 branch-misses 0.0625
        std::mt19937 page-faults 0
        std::mt19937 context-switches 0
        ");
        let csv = include_str!("../fixtures/nanobench/results.csv");
        insta::assert_snapshot!(read(Magic, csv), @"
        fnv1a latency 1.24018181818182 [1.2394495679068547, 1.2409140684567854]
        std::hash latency 0.160452229299363 [0.15980821670169565, 0.16109624189703037]
        ");
        assert_eq!(read(Magic, text), read(Nanobench, text));
        let errors = [
            r#"{"results":[]}"#,
            r#"{"results":[{"name":"a","median(elapsed)":"x"}]}"#,
            r#"{"results":[{"name":"a","batch":0,"median(elapsed)":1}]}"#,
            r#"{"results":[{"name":"a"}]}"#,
        ]
        .map(|text| read(Nanobench, text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `nanobench` cannot read the output at `results`: expected at least one benchmark.
        The adapter `nanobench` cannot read the output at `results[0].median(elapsed)`: expected a number, found `string "x"`.
        The adapter `nanobench` cannot read the output at `results[0]`: expected a positive number as `batch`, found `0`.
        The adapter `nanobench` cannot read the output at `results[0]`: expected the member `median(elapsed)`.
        "#);
    }

    #[test]
    fn tables() {
        let text = include_str!("../fixtures/nanobench/tables.txt");
        insta::assert_snapshot!(read(Nanobench, text), @"
        some double ops latency 6.89 [6.79354, 6.986459999999999]
        sleep | 1ms latency 1082739 [1070828.871, 1094649.129]
        std::mt19937 latency 7.13 [6.65229, 7.60771]
        std::minstd_rand latency 4.4 [4.3912, 4.4088]
        fnv1a latency 1.24 [1.23876, 1.24124]
        std::hash latency 0.16 [0.15936, 0.16064]
        ");
        let counters = include_str!("../fixtures/nanobench/counters.txt");
        insta::assert_snapshot!(read(Nanobench, &format!("{text}\n{counters}")), @"
        some double ops {title=benchmark} latency 6.89 [6.79354, 6.986459999999999]
        sleep | 1ms latency 1082739 [1070828.871, 1094649.129]
        std::mt19937 {title=Random number generators} latency 7.13 [6.65229, 7.60771]
        std::minstd_rand latency 4.4 [4.3912, 4.4088]
        fnv1a latency 1.24 [1.23876, 1.24124]
        std::hash latency 0.16 [0.15936, 0.16064]
        std::mt19937 {title=Random Number Generators} latency 2500 [2450, 2550]
        std::mt19937 {title=Random Number Generators} instructions 12345
        std::mt19937 {title=Random Number Generators} cycles 8000
        std::mt19937 {title=Random Number Generators} branches 150
        some double ops {title=Random Number Generators} latency 5000 [4950, 5050]
        some double ops {title=Random Number Generators} instructions 20000
        some double ops {title=Random Number Generators} cycles 16000
        some double ops {title=Random Number Generators} branches 300
        ");
        assert!(read(Magic, counters).contains("std::mt19937 instructions 12345\n"));
        assert_eq!(read(Magic, text), read(Nanobench, text));
    }

    #[test]
    fn errors_have_the_line() {
        let table = |row: &str| {
            read(
                Nanobench,
                &format!("| ns/op | op/s | err% | total | benchmark\n|---:|---:|---:|---:|:---\n{row}\n"),
            )
        };
        let errors = [
            table("| x | 1.0 | 0.1% | 0.01 | `a`"),
            table("| 1.0 | 1.0 | 0.1% | `a`"),
            table("| 1.0 | 1.0 | 0.1% | 0.01 | a"),
            table(""),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `nanobench` cannot read the output at line 3: expected a row with a number in each column and a name in backticks, found `| x | 1.0 | 0.1% | 0.01 | `a``.
        The adapter `nanobench` cannot read the output at line 3: expected a row with a number in each column and a name in backticks, found `| 1.0 | 1.0 | 0.1% | `a``.
        The adapter `nanobench` cannot read the output at line 3: expected a row with a number in each column and a name in backticks, found `| 1.0 | 1.0 | 0.1% | 0.01 | a`.
        The adapter `nanobench` cannot read the output: expected a table with columns such as `ns/op`, `op/s`, `err%` and `total`.
        ");
        assert_eq!(table("| 1.0 | 1.0 | 50% | 0.01 | `a|b`"), "a|b latency 1 [0.5, 1.5]\n");
    }
}
