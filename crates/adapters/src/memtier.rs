//! Adapter for memtier_benchmark: the JSON of `--json-out-file` and the printed text. Of several runs, the average is read.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use tidemark_api::{Adapter, Average};

use crate::{
    Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, table,
    text::{self, Line, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Memtier,
    title: "memtier_benchmark",
    metrics: "for each command and all together: throughput, latency, latency percentiles 50, 90, 95, 99 and 99.9, bandwidth; from JSON also the maximum latency; of several runs the average",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Json,
            "memtier_benchmark --json-out-file bench.json",
            &[r#""Totals""#, r#""Ops/sec""#, r#""KB/sec""#],
            parse_json,
        ),
        Format::new(
            Syntax::Text,
            "memtier_benchmark",
            &["Type ", "Ops/sec", "Totals ", "KB/sec"],
            parse_text,
        ),
    ],
};

/// Titles of the statistics of all runs, the average of several runs first.
const SECTIONS: [&str; 2] = ["AGGREGATED AVERAGE RESULTS", "ALL STATS"];

/// Percentiles in JSON and in text, with their measures.
const PERCENTILES: [(&str, &str, &str); 5] = [
    ("p50.00", "p50 Latency", "latency-p50"),
    ("p90.00", "p90 Latency", "latency-p90"),
    ("p95.00", "p95 Latency", "latency-p95"),
    ("p99.00", "p99 Latency", "latency-p99"),
    ("p99.90", "p99.9 Latency", "latency-p99-9"),
];

fn milliseconds(slug: &'static str, value: f64) -> ParsedMetric {
    ParsedMetric::of(slug, Unit::Milliseconds.nanoseconds(value))
}

fn kilobytes(value: f64) -> ParsedMetric {
    ParsedMetric::of("bandwidth", value * 1024.0)
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    configuration: IgnoredAny,
    #[serde(rename = "run information")]
    information: IgnoredAny,
}

fn parse_json(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    document::read::<Shape, Shape>(input.text)?;
    let document: Map<String, Value> = document::read::<Shape, _>(input.text)?;
    let find = |title: &&str| document.iter().find(|(name, _)| name.starts_with(title));
    let section = SECTIONS.iter().find_map(find);
    let Some((title, statistics)) = section.and_then(|(title, value)| Some((title, value.as_object()?)))
    else {
        return Err(Failure::missing(
            Position::Path("ALL STATS".to_owned()),
            "the statistics of all commands",
        ));
    };
    let mut entries = Vec::new();
    for (name, row) in statistics {
        let position = || Position::Path(format!("{title}.{name}"));
        let number = |member: &str| row.get(member).and_then(Value::as_f64);
        // The object `Runtime` contains no operations; a command that did not run has no latency.
        let Some(rate) = number("Ops/sec").filter(|rate| *rate > 0.0) else { continue };
        let latency = number("Average Latency").or(number("Latency"));
        let latency = latency.ok_or_else(|| Failure::missing(position(), "the member `Average Latency`"))?;
        let mut metrics = vec![ParsedMetric::throughput(rate), milliseconds("latency", latency)];
        let percentiles = row.get("Percentile Latencies");
        for (member, _, slug) in PERCENTILES {
            let value = percentiles.and_then(|percentiles| percentiles.get(member)).and_then(Value::as_f64);
            metrics.extend(value.map(|value| milliseconds(slug, value)));
        }
        metrics.extend(number("Max Latency").map(|value| milliseconds("latency-max", value)));
        metrics.extend(number("KB/sec").map(kilobytes));
        entries.push(Entry::new(position, name, metrics)?);
    }
    document::require_entries(entries, title)
}

/// Parses the printed text: a title, a header, and a row per command.
fn parse_text(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut sections: [Vec<Entry>; 2] = Default::default();
    let mut section = None;
    let mut header: Option<Vec<&str>> = None;
    for line in text::lines(input.text) {
        let row = line.text.trim_matches(is_blank);
        if row.is_empty() {
            header = None;
        } else if table::is_rule(row) {
            continue;
        } else if let Some(columns) = columns(row) {
            header = Some(columns);
        } else if let Some((columns, section)) = header.as_ref().zip(section) {
            let entries: &mut Vec<Entry> = &mut sections[section];
            entries.extend(entry(line, columns)?);
        } else if row.ends_with(" RESULTS") || row.ends_with(" STATS") || row.ends_with(" runs)") {
            section = SECTIONS.iter().position(|title| row.starts_with(title));
        }
    }
    let entries = sections.into_iter().find(|entries| !entries.is_empty()).unwrap_or_default();
    text::require_entries(
        entries,
        "a title `ALL STATS` and a table with the columns `Type`, `Ops/sec` and `Avg. Latency`",
    )
}

/// Returns the columns of a header; their names contain blanks.
fn columns(line: &str) -> Option<Vec<&str>> {
    let columns = table::cells(line);
    let has = |column| columns.contains(&column);
    (columns.first() == Some(&"Type") && has("Ops/sec") && has("Avg. Latency") && has("KB/sec"))
        .then_some(columns)
}

fn entry(line: Line<'_>, columns: &[&str]) -> Result<Option<Entry>, Failure> {
    let cells: Vec<_> = line.text.split(is_blank).filter(|cell| !cell.is_empty()).collect();
    let expected = || line.invalid("a command with a number or `---` in each column");
    if cells.len() != columns.len() {
        return Err(expected());
    }
    let number = |column: &str| {
        let cell = columns.iter().position(|known| *known == column).map(|index| cells[index]);
        cell.filter(|cell| *cell != "---").map(|cell| text::decimal(cell).ok_or_else(expected)).transpose()
    };
    let Some(rate) = number("Ops/sec")?.filter(|rate| *rate > 0.0) else { return Ok(None) };
    let mut metrics = vec![ParsedMetric::throughput(rate)];
    metrics.extend(number("Avg. Latency")?.map(|value| milliseconds("latency", value)));
    for (_, column, slug) in PERCENTILES {
        metrics.extend(number(column)?.map(|value| milliseconds(slug, value)));
    }
    metrics.extend(number("KB/sec")?.map(kilobytes));
    line.entry(cells[0], metrics).map(Some)
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Memtier};

    use crate::tests::read;

    const JSON: &str = include_str!("../fixtures/memtier/plain.json");
    const TEXT: &str = include_str!("../fixtures/memtier/plain.txt");

    #[test]
    fn composed_runs() {
        insta::assert_snapshot!(read(Memtier, JSON), @"
        Gets throughput 35494.53
        Gets latency 1272000
        Gets latency-p50 1223000
        Gets latency-p99 2735000
        Gets latency-p99-9 4799000
        Gets latency-max 4799000
        Gets bandwidth 1419591.68
        Sets throughput 3549.45
        Sets latency 1284000
        Sets latency-p50 1231000
        Sets latency-p99 2751000
        Sets latency-p99-9 4863000
        Sets latency-max 4863000
        Sets bandwidth 279951.36
        Totals throughput 39043.98
        Totals latency 1273000
        Totals latency-p50 1223000
        Totals latency-p99 2735000
        Totals latency-p99-9 4799000
        Totals latency-max 4863000
        Totals bandwidth 1699543.04
        ");
        insta::assert_snapshot!(read(Memtier, TEXT), @"
        Sets throughput 3549.45
        Sets latency 1284400
        Sets latency-p50 1231000
        Sets latency-p99 2751000
        Sets latency-p99-9 4863000
        Sets bandwidth 279951.36
        Gets throughput 35494.53
        Gets latency 1272120
        Gets latency-p50 1223000
        Gets latency-p99 2735000
        Gets latency-p99-9 4799000
        Gets bandwidth 1419591.68
        Totals throughput 39043.98
        Totals latency 1273240
        Totals latency-p50 1223000
        Totals latency-p99 2735000
        Totals latency-p99-9 4799000
        Totals bandwidth 1699543.04
        ");
        let runs = include_str!("../fixtures/memtier/runs.txt");
        insta::assert_snapshot!(read(Memtier, runs), @"
        Sets throughput 3550
        Sets latency 1280000
        Sets latency-p50 1231000
        Sets latency-p99 2751000
        Sets latency-p99-9 4863000
        Sets bandwidth 280064
        Totals throughput 39050
        Totals latency 1270000
        Totals latency-p50 1223000
        Totals latency-p99 2751000
        Totals latency-p99-9 4863000
        Totals bandwidth 1699840
        ");
        for text in [JSON, TEXT, runs] {
            assert_eq!(read(Magic, text), read(Memtier, text));
        }
    }

    #[test]
    fn errors_have_the_position() {
        let errors = [
            JSON.replace("ALL STATS", "STATS"),
            JSON.replace("Average Latency", "Mean").replace("\"Latency\"", "\"Time\""),
            TEXT.replace("3549.45 ", "fast "),
            TEXT.replace("3549.45 ", ""),
            TEXT.replace("ALL STATS", "STATS"),
            "{}".to_owned(),
        ]
        .map(|text| read(Memtier, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `memtier` cannot read the output at `ALL STATS`: expected the statistics of all commands.
        The adapter `memtier` cannot read the output at `ALL STATS.Gets`: expected the member `Average Latency`.
        The adapter `memtier` cannot read the output at line 15: expected a command with a number or `---` in each column, found `Sets         fast          ---          ---         1.28440 …`.
        The adapter `memtier` cannot read the output at line 15: expected a command with a number or `---` in each column, found `Sets                  ---          ---         1.28440      …`.
        The adapter `memtier` cannot read the output: expected a title `ALL STATS` and a table with the columns `Type`, `Ops/sec` and `Avg. Latency`.
        The adapter `memtier` cannot read the output: expected the member `configuration`.
        ");
    }
}
