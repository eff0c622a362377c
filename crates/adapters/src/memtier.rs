//! Adapter for memtier_benchmark: the JSON of `--json-out-file` and the printed text. Of several runs, the average is read.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, table,
    text::{self, Line, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Memtier,
    title: "memtier_benchmark",
    metrics: "for each command and all together: throughput, latency, latency percentiles 50, 90, 95, 99 and 99.9, bandwidth; from JSON also the maximum latency; of several runs the average",
    parameters: "",
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

/// Columns of percentiles in the text, with their measures.
const PERCENTILES: [(&str, &str); 5] = [
    ("p50 Latency", "latency-p50"),
    ("p90 Latency", "latency-p90"),
    ("p95 Latency", "latency-p95"),
    ("p99 Latency", "latency-p99"),
    ("p99.9 Latency", "latency-p99-9"),
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

/// The statistics of all runs, in the order of [`SECTIONS`].
#[derive(Default)]
struct Document {
    sections: [Option<(String, Statistics)>; 2],
}

/// Statistics by command, in the order of the document.
struct Statistics(Vec<(String, Row)>);

/// Statistics of a command; latencies are in milliseconds.
#[derive(Deserialize)]
struct Row {
    #[serde(rename = "Ops/sec")]
    rate: Option<f64>,
    #[serde(rename = "Average Latency")]
    average_latency: Option<f64>,
    #[serde(rename = "Latency")]
    latency: Option<f64>,
    #[serde(rename = "Max Latency")]
    max_latency: Option<f64>,
    #[serde(rename = "KB/sec")]
    kilobytes: Option<f64>,
    #[serde(rename = "Percentile Latencies")]
    percentiles: Option<Percentiles>,
}

/// Percentiles in the order of [`PERCENTILES`].
#[derive(Deserialize)]
struct Percentiles {
    #[serde(rename = "p50.00")]
    p50: Option<f64>,
    #[serde(rename = "p90.00")]
    p90: Option<f64>,
    #[serde(rename = "p95.00")]
    p95: Option<f64>,
    #[serde(rename = "p99.00")]
    p99: Option<f64>,
    #[serde(rename = "p99.90")]
    p99_9: Option<f64>,
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DocumentVisitor;

        impl<'de> Visitor<'de> for DocumentVisitor {
            type Value = Document;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Document, A::Error> {
                let mut document = Document::default();
                while let Some(name) = members.next_key::<String>()? {
                    match SECTIONS.iter().position(|title| name.starts_with(title)) {
                        Some(section) if document.sections[section].is_none() => {
                            document.sections[section] = Some((name, members.next_value()?));
                        }
                        _ => drop(members.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(document)
            }
        }

        deserializer.deserialize_map(DocumentVisitor)
    }
}

impl<'de> Deserialize<'de> for Statistics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatisticsVisitor;

        impl<'de> Visitor<'de> for StatisticsVisitor {
            type Value = Statistics;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Statistics, A::Error> {
                let mut rows = Vec::new();
                while let Some((name, row)) = members.next_entry::<String, Row>()? {
                    // The object `Runtime` contains no operations; a command that did not run has no latency.
                    if row.rate.is_some_and(|rate| rate > 0.0) {
                        rows.push((name, row));
                    }
                }
                Ok(Statistics(rows))
            }
        }

        deserializer.deserialize_map(StatisticsVisitor)
    }
}

fn parse_json(input: &Input<'_>) -> Result<Entries, Failure> {
    document::read::<Shape, Shape>(input.text)?;
    let Document { sections } = document::read::<Shape, _>(input.text)?;
    let Some((title, Statistics(rows))) = sections.into_iter().flatten().next() else {
        return Err(Failure::missing(
            Position::Path("ALL STATS".to_owned()),
            "the statistics of all commands",
        ));
    };
    let mut entries = Entries::default();
    for (name, row) in rows {
        let position = || Position::Path(format!("{title}.{name}"));
        let latency = row.average_latency.or(row.latency);
        let latency = latency.ok_or_else(|| Failure::missing(position(), "the member `Average Latency`"))?;
        let mut metrics: Vec<_> = row.rate.map(ParsedMetric::throughput).into_iter().collect();
        metrics.push(milliseconds("latency", latency));
        if let Some(Percentiles { p50, p90, p95, p99, p99_9 }) = row.percentiles {
            let values = PERCENTILES.iter().zip([p50, p90, p95, p99, p99_9]);
            metrics.extend(values.filter_map(|((_, slug), value)| Some(milliseconds(slug, value?))));
        }
        metrics.extend(row.max_latency.map(|value| milliseconds("latency-max", value)));
        metrics.extend(row.kilobytes.map(kilobytes));
        entries.push(Entry::new(position, &name, metrics)?);
    }
    document::require_entries(entries, &title)
}

/// Parses the printed text: a title, a header, and a row per command.
fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut sections: [Entries; 2] = Default::default();
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
            let entries: &mut Entries = &mut sections[section];
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
    for (column, slug) in PERCENTILES {
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
        Sets throughput 3549.45
        Sets latency 1284000
        Sets latency-p50 1231000
        Sets latency-p99 2751000
        Sets latency-p99-9 4863000
        Sets latency-max 4863000
        Sets bandwidth 279951.36
        Gets throughput 35494.53
        Gets latency 1272000
        Gets latency-p50 1223000
        Gets latency-p99 2735000
        Gets latency-p99-9 4799000
        Gets latency-max 4799000
        Gets bandwidth 1419591.68
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
        The adapter `memtier` cannot read the output at `ALL STATS.Sets`: expected the member `Average Latency`.
        The adapter `memtier` cannot read the output at line 15: expected a command with a number or `---` in each column, found `Sets         fast          ---          ---         1.28440 …`.
        The adapter `memtier` cannot read the output at line 15: expected a command with a number or `---` in each column, found `Sets                  ---          ---         1.28440      …`.
        The adapter `memtier` cannot read the output: expected a title `ALL STATS` and a table with the columns `Type`, `Ops/sec` and `Avg. Latency`.
        The adapter `memtier` cannot read the output: expected the member `configuration`.
        ");
    }
}
