//! Adapter for any CSV with a column of names and columns of measures, for example from a script.
//!
//! Columns before the first measure are parameters, because the rows would otherwise overwrite each other. Ordinary tables also have
//! a column of names, so the header must contain one of [`REQUIRED`].

use std::collections::BTreeMap;

use tidemark_api::{Adapter, BuiltIn, measure::BUILT_IN};

use crate::{
    Detection, Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    records::{Record, Records},
    text::{self, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Csv,
    title: "any CSV with a column of names",
    metrics: "columns with the slug or the name of a built-in measure, with an optional unit such as `latency (us)`, and other columns with a unit in parentheses; at least one of `latency`, `latency-p50` to `latency-p99-9`, `latency-max`, `throughput`, `bandwidth`, `cpu-time` and `peak-memory`; the column `name` or `benchmark` is the name, and other columns before the first measure are parameters",
    parameters: "the columns before the first measure, except the name",
    averages: &[],
    formats: &[Format::new(Syntax::Csv, "", &[",", "\n"], parse).detected(Detection::Generic)],
};

/// Measures of which the header must contain one.
const REQUIRED: [&str; 12] = [
    "latency",
    "latency-p50",
    "latency-p75",
    "latency-p90",
    "latency-p95",
    "latency-p99",
    "latency-p99-9",
    "latency-max",
    "throughput",
    "bandwidth",
    "cpu-time",
    "peak-memory",
];

/// Columns that describe how a value was measured; they differ between runs, so they are not parameters.
const COUNTS: [&str; 6] = ["iterations", "samples", "count", "runs", "rounds", "repetitions"];

const EXPECTED: &str =
    "a header with the column `name` or `benchmark` and a column of a measure such as `latency (ns)`";

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let unrecognized = || Failure::unrecognized(EXPECTED);
    let first = text::lines(input.text).find(|line| !line.text.trim().is_empty()).ok_or_else(unrecognized)?;
    let names = |cell: &str| ["name", "benchmark"].iter().any(|name| cell.eq_ignore_ascii_case(name));
    let name = first.text.split(',').map(|cell| cell.trim().trim_matches('"')).find(|cell| names(cell));
    let name = name.ok_or_else(unrecognized)?;
    let records = Records::read(input.text, ',', &[name])?;
    let columns =
        Columns::of(name, records.header(), Position::Line(first.number))?.ok_or_else(unrecognized)?;
    if let Some(line) = records.line_below() {
        return Err(line.invalid("no line after a blank line"));
    }
    let (mut entries, mut lines) = (Entries::default(), Vec::new());
    for row in records.iter() {
        let name = row.require_text(name)?;
        let metrics = columns.metrics(&row)?;
        if metrics.is_empty() {
            input.skip(name, "they have no values");
            continue;
        }
        let parameters =
            columns.parameters.iter().filter_map(|(index, column)| Some((*column, row.cell(*index)?)));
        let parameters: BTreeMap<&str, &str> = parameters.collect();
        let parameters = variant::of_texts(|| row.position(), parameters)?;
        entries.push(Entry { parameters, ..row.entry(name, metrics)? });
        lines.push(row.line());
    }
    variant::distinguish(|index| Position::Line(lines[index]), &mut entries, &[])?;
    text::require_entries(entries, "at least one benchmark below the header")
}

struct Columns<'a> {
    /// Index and name of each parameter.
    parameters: Vec<(usize, &'a str)>,
    measures: Vec<Column<'a>>,
}

/// A column of values.
struct Column<'a> {
    index: usize,
    header: &'a str,
    measure: Measure,
}

/// The measure of a column.
struct Measure {
    /// A metric of the measure, whose value is replaced.
    metric: ParsedMetric,
    /// Factor of the values.
    factor: f64,
    /// Whether the measure is one of [`REQUIRED`].
    is_required: bool,
}

impl<'a> Columns<'a> {
    /// Returns the columns of a header; `None` without a required measure.
    fn of(name: &str, header: &'a [String], position: Position) -> Result<Option<Self>, Failure> {
        let mut columns = Self { parameters: Vec::new(), measures: Vec::new() };
        let mut others = Vec::new();
        let header = header.iter().map(String::as_str).enumerate();
        for (index, column) in header.filter(|(_, column)| *column != name) {
            let labelled = column.strip_suffix(')').and_then(|column| column.split_once(" ("));
            let (label, unit) = labelled.map_or((column, None), |(label, unit)| (label, Some(unit)));
            let measure = match (built_in(label), unit) {
                (Some(measure), unit) => match factor(measure, unit) {
                    Some(factor) => {
                        let is_required = REQUIRED.contains(&measure.slug);
                        Measure { metric: ParsedMetric::of(measure.slug, 0.0), factor, is_required }
                    }
                    None => {
                        others.push(column);
                        continue;
                    }
                },
                (None, Some(unit)) => {
                    let metric = ParsedMetric::named(label, Some(unit), 0.0).ok_or_else(|| {
                        let expected = "a measure and a unit of 1 to 64 characters";
                        Failure::invalid(position.clone(), expected, column)
                    })?;
                    Measure { metric, factor: 1.0, is_required: false }
                }
                (None, None) => {
                    let is_count = COUNTS.iter().any(|count| column.eq_ignore_ascii_case(count));
                    if columns.measures.is_empty() && !is_count && !column.is_empty() {
                        columns.parameters.push((index, column));
                    }
                    continue;
                }
            };
            columns.measures.push(Column { index, header: column, measure });
        }
        let required = |column: &Column<'_>| column.measure.is_required;
        match (columns.measures.iter().any(required), others.first()) {
            (false, _) => Ok(None),
            (true, Some(column)) => Err(Failure::invalid(position, "a unit of the measure, or none", column)),
            (true, None) => Ok(Some(columns)),
        }
    }

    fn metrics(&self, row: &Record<'_>) -> Result<Vec<ParsedMetric>, Failure> {
        let mut metrics = Vec::with_capacity(self.measures.len());
        for Column { index, header, measure } in &self.measures {
            let Some(cell) = row.cell(*index) else { continue };
            let number = || row.invalid(&format!("a number in the column `{header}`"), cell);
            let value = text::decimal(cell).ok_or_else(number)?;
            metrics.push(ParsedMetric { value: value * measure.factor, ..measure.metric.clone() });
        }
        Ok(metrics)
    }
}

/// Returns the built-in measure with a slug or a name, in any case.
fn built_in(label: &str) -> Option<&'static BuiltIn> {
    let is_label = |text: &str| text.eq_ignore_ascii_case(label);
    BUILT_IN.iter().find(|measure| is_label(measure.slug) || is_label(measure.name))
}

/// Returns the factor from a unit to the units of a measure; `None` for a unit of something else.
fn factor(measure: &BuiltIn, unit: Option<&str>) -> Option<f64> {
    let Some(unit) = unit else { return Some(1.0) };
    let bytes = |unit: &str| text::bytes(&format!("1 {unit}"));
    match measure.units {
        "nanoseconds (ns)" => Unit::from_symbol(unit).map(|unit| unit.nanoseconds(1.0)),
        "operations / second (ops/s)" => matches!(unit, "ops/s" | "op/s" | "req/s" | "1/s").then_some(1.0),
        "bytes (B)" => bytes(unit),
        "bytes / second (B/s)" => unit.strip_suffix("/s").and_then(bytes),
        "percentage (%)" => (unit == "%").then_some(1.0),
        "seconds (s)" => (unit == "s").then_some(1.0),
        units => (unit == units).then_some(1.0),
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Csv, Magic};

    use crate::tests::read;

    #[test]
    fn columns_of_measures() {
        let text = include_str!("../fixtures/csv/results.csv");
        insta::assert_snapshot!(read(Csv, text), @"
        sort {kind=heap, n=10} latency 1500
        sort {kind=heap, n=10} latency-p99 2500
        sort {kind=heap, n=10} throughput 650000
        sort {kind=heap, n=10} peak-memory 12582912
        sort {kind=heap, n=10} cache size 5
        sort {kind=heap, n=1000} latency 150250
        sort {kind=heap, n=1000} throughput 6500
        sort {kind=heap, n=1000} peak-memory 13107200
        sort {kind=heap, n=1000} cache size 7
        parse, strict {kind=list, n=10} latency 300000
        parse, strict {kind=list, n=10} latency-p99 400000
        parse, strict {kind=list, n=10} throughput 3000
        parse, strict {kind=list, n=10} peak-memory 14680064
        ");
        assert_eq!(read(Magic, text), read(Csv, text));
        insta::assert_snapshot!(read(Magic, "Name,iterations,latency\na,100,5\n"), @"a latency 5");
    }

    #[test]
    fn ordinary_tables_are_not_recognized() {
        for text in [
            "name,score\nann,5\n",
            "name,email,age\nann,a@example.com,5\n",
            "name,latency note\na,5\n",
            "name,size (MB)\na,5\n",
            "id,latency (ns)\n1,5\n",
            "name,iterations,real_time,cpu_time,time_unit\na,1,2,3,ns\n",
            "log\nname,latency\na,5\n",
            "name\nlatency\n",
        ] {
            assert!(read(Magic, text).starts_with("No adapter recognized"), "{text}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let errors = [
            "name,latency (ns)\na,fast\n",
            "name,latency (ns)\n,5\n",
            "name,latency (ns)\na,5\na,6\n",
            "name,latency (ns),bandwidth (ns)\na,5,6\n",
            "name,latency (ns)\na,5\n\nb,6\n",
            "name,latency (ns)\n",
            "name,score\na,5\n",
        ]
        .map(|text| read(Csv, text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `csv` cannot read the output at line 2: expected a number in the column `latency (ns)`, found `fast`.
        The adapter `csv` cannot read the output at line 2: expected a text in the column `name`.
        The adapter `csv` cannot read the output at line 3: expected a benchmark with a unique combination of name and parameters, found `a`.
        The adapter `csv` cannot read the output at line 1: expected a unit of the measure, or none, found `bandwidth (ns)`.
        The adapter `csv` cannot read the output at line 4: expected no line after a blank line, found `b,6`.
        The adapter `csv` cannot read the output: expected at least one benchmark below the header.
        The adapter `csv` cannot read the output: expected a header with the column `name` or `benchmark` and a column of a measure such as `latency (ns)`.
        ");
    }
}
