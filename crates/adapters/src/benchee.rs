//! Adapter for Benchee: the printed tables, and the JSON of benchee_json. The input is a parameter.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average, MeasureDirection::LowerIsBetter};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, table,
    text::{self, Line},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Benchee,
    title: "Benchee",
    metrics: "latency ± standard deviation (median alone); its percentile 99; throughput; memory usage as allocated; reduction count as `reductions`; the input as a parameter",
    parameters: "the input, as `input`",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "mix run bench.exs, with the formatter `Benchee.Formatters.JSON`",
            &[r#""job_name""#, r#""run_time_data""#, r#""statistics""#],
            parse,
        ),
        Format::new(
            Syntax::Text,
            "mix run bench.exs",
            &["ips", "average", "deviation", "99th %"],
            parse_text,
        ),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeScenario {
    job_name: IgnoredAny,
    run_time_data: IgnoredAny,
}

#[derive(Deserialize)]
struct Scenario {
    name: Option<String>,
    job_name: String,
    input_name: Option<String>,
    run_time_data: Data,
    memory_usage_data: Option<Data>,
    reductions_data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    statistics: Option<Statistics>,
}

/// Times are in nanoseconds, memory is in bytes. All members are `None` without samples.
#[derive(Deserialize)]
struct Statistics {
    average: Option<f64>,
    std_dev: Option<f64>,
    median: Option<f64>,
    ips: Option<f64>,
    #[serde(default)]
    percentiles: Option<BTreeMap<String, f64>>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let scenarios: Vec<Scenario> = document::read::<Vec<ShapeScenario>, _>(input.text)?;
    let mut entries = Entries::default();
    let mut indexes = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let position = || Position::Path(format!("[{index}]"));
        let name = scenario.name.as_ref().unwrap_or(&scenario.job_name);
        let metrics = scenario.metrics(input.average);
        if metrics.is_empty() {
            input.skip(name, "they have no samples");
            continue;
        }
        let inputs = scenario.input_name.as_deref().filter(|input| *input != "__no_input");
        let parameters = variant::of_texts(position, of_input(inputs))?;
        entries.push(Entry { parameters, ..Entry::new(position, name, metrics)? });
        indexes.push(index);
    }
    variant::distinguish(|index| Position::Path(format!("[{}]", indexes[index])), &mut entries, &[])?;
    text::require_entries(entries, "scenarios with `run_time_data`")
}

/// Returns the parameters of an input.
fn of_input(input: Option<&str>) -> BTreeMap<String, String> {
    input.map(|input| ("input".to_owned(), input.to_owned())).into_iter().collect()
}

impl Scenario {
    fn metrics(&self, average: Option<Average>) -> Vec<ParsedMetric> {
        let mut metrics = Vec::new();
        if let Some(times) = &self.run_time_data.statistics {
            metrics.extend(times.averaged(average, |value| Some(ParsedMetric::latency(value))));
            let p99 = times.percentiles.as_ref().and_then(|percentiles| percentiles.get("99"));
            metrics.extend(p99.map(|value| ParsedMetric::of("latency-p99", *value)));
            metrics.extend(times.ips.map(ParsedMetric::throughput));
        }
        let of = |data: &Option<Data>, measure| {
            data.as_ref()?.statistics.as_ref()?.averaged(average, |value| Table::metric(measure, value))
        };
        metrics.extend(of(&self.memory_usage_data, Table::Memory));
        metrics.extend(of(&self.reductions_data, Table::Reductions));
        metrics
    }
}

impl Statistics {
    fn averaged(
        &self,
        average: Option<Average>,
        metric: impl Fn(f64) -> Option<ParsedMetric>,
    ) -> Option<ParsedMetric> {
        match average {
            Some(Average::Median) => metric(self.median?),
            _ => {
                let metric = metric(self.average?)?;
                Some(self.std_dev.map_or(metric.clone(), |deviation| metric.with_deviation(deviation)))
            }
        }
    }
}

/// Kind of a printed table.
#[derive(Clone, Copy)]
enum Table {
    Times,
    Memory,
    Reductions,
}

impl Table {
    fn metric(self, value: f64) -> Option<ParsedMetric> {
        match self {
            Self::Times => Some(ParsedMetric::latency(value)),
            Self::Memory => Some(ParsedMetric::of("allocated", value)),
            Self::Reductions => ParsedMetric::named("reductions", Some("reductions"), value)
                .map(|reductions| reductions.with_direction(LowerIsBetter)),
        }
    }

    /// Parses a value with the unit of the table.
    fn value(self, text: &str) -> Option<f64> {
        match self {
            Self::Times => text::duration(text),
            Self::Memory => text::binary_bytes(text),
            Self::Reductions => count(text),
        }
    }
}

/// Parses a number with a prefix: `2.34 K`.
fn count(text: &str) -> Option<f64> {
    let (number, prefix) = text::quantity(text)?;
    let factor = match prefix {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    Some(number * factor)
}

fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let (mut entries, mut numbers) = (Entries::default(), Vec::new());
    let (mut with_input, mut kind) = (None, Table::Times);
    let mut header: Option<Vec<&str>> = None;
    for line in text::lines(input.text) {
        let text = line.text.trim();
        let cells = table::cells(line.text);
        if let Some(name) =
            text.strip_prefix("##### With input ").and_then(|rest| rest.strip_suffix(" #####"))
        {
            (with_input, kind, header) = (Some(name), Table::Times, None);
        } else if text == "Memory usage statistics:" {
            (kind, header) = (Table::Memory, None);
        } else if text == "Reduction count statistics:" {
            (kind, header) = (Table::Reductions, None);
        } else if let Some(kind_of_header) = header_kind(&cells, kind) {
            (kind, header) = (kind_of_header, Some(cells));
        } else if text.is_empty() {
            header = None;
        } else if let Some(header) = &header {
            let metrics = row(header, &cells, kind, input.average)
                .ok_or_else(|| line.invalid("one value with its unit per column of the header"))?;
            entries.push(entry(line, cells[0], with_input, metrics)?);
            numbers.push(line.number);
        }
    }
    variant::distinguish(|index| Position::Line(numbers[index]), &mut entries, &[])?;
    text::require_entries(entries, "a table with the header `Name  ips  average  deviation  median  99th %`")
}

fn entry(
    line: Line<'_>,
    name: &str,
    input: Option<&str>,
    metrics: Vec<ParsedMetric>,
) -> Result<Entry, Failure> {
    let parameters = variant::of_texts(|| Position::Line(line.number), of_input(input))?;
    Ok(Entry { parameters, ..line.entry(name, metrics)? })
}

/// Returns the kind of the table below a header.
fn header_kind(cells: &[&str], kind: Table) -> Option<Table> {
    match cells {
        ["Name", "ips", "average", "deviation", "median", "99th %"] => Some(Table::Times),
        ["Name", "average", "deviation", "median", "99th %"] => Some(kind),
        ["Name", "Memory usage"] => Some(Table::Memory),
        ["Name", "Reduction count"] => Some(Table::Reductions),
        _ => None,
    }
}

fn row(header: &[&str], cells: &[&str], kind: Table, average: Option<Average>) -> Option<Vec<ParsedMetric>> {
    if cells.len() != header.len() {
        return None;
    }
    let cell = |column: &str| header.iter().position(|name| *name == column).map(|index| cells[index]);
    let Some(mean) = cell("average") else {
        // All values are equal; a comparison with the first row follows a dash.
        let value = cells.get(1)?.split(" - ").next()?;
        return Some(vec![kind.metric(kind.value(value)?)?]);
    };
    let metric = match average {
        Some(Average::Median) => kind.metric(kind.value(cell("median")?)?)?,
        _ => {
            let value = kind.value(mean)?;
            let percent = cell("deviation")?.strip_prefix('±')?.strip_suffix('%')?;
            kind.metric(value)?.with_deviation(value * text::decimal(percent)? / 100.0)
        }
    };
    let mut metrics = vec![metric];
    if let Table::Times = kind {
        metrics.push(ParsedMetric::of("latency-p99", kind.value(cell("99th %")?)?));
        metrics.extend(cell("ips").map(count).map(|rate| rate.map(ParsedMetric::throughput))?);
    }
    Some(metrics)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Benchee, Magic},
        Average,
    };

    use crate::{parse, tests::read};

    #[test]
    fn printed_tables() {
        let text = include_str!("../fixtures/benchee/memory.txt");
        insta::assert_snapshot!(read(Benchee, text), @"
        flat_map {input=Big} latency 427780 [359249.644, 496310.356]
        flat_map {input=Big} latency-p99 743010
        flat_map {input=Big} throughput 2340
        flat_map {input=Big} allocated 640000
        flat_map {input=Big} reductions 65010.00000000001 [65010.00000000001, 65010.00000000001]
        map.flatten {input=Big} latency 820870 [662524.177, 979215.823]
        map.flatten {input=Big} latency-p99 1286350
        map.flatten {input=Big} throughput 1220
        map.flatten {input=Big} allocated 800000
        map.flatten {input=Big} reductions 124520 [124457.74, 124582.26]
        map.flatten {input=Small} latency 720 [-29899.44, 31339.44]
        map.flatten {input=Small} latency-p99 1000
        map.flatten {input=Small} throughput 1390000
        flat_map {input=Small} latency 1000 [-8121.200000000001, 10121.2]
        flat_map {input=Small} latency-p99 1330
        flat_map {input=Small} throughput 999500
        ");
        assert_eq!(read(Magic, text), read(Benchee, text));
        insta::assert_snapshot!(parse(Magic, text, Some(Average::Median)).unwrap(), @"
        flat_map {input=Big} latency 406290
        flat_map {input=Big} latency-p99 743010
        flat_map {input=Big} throughput 2340
        flat_map {input=Big} allocated 640000
        flat_map {input=Big} reductions 65010.00000000001
        map.flatten {input=Big} latency 772610
        map.flatten {input=Big} latency-p99 1286350
        map.flatten {input=Big} throughput 1220
        map.flatten {input=Big} allocated 800000
        map.flatten {input=Big} reductions 124510
        map.flatten {input=Small} latency 670
        map.flatten {input=Small} latency-p99 1000
        map.flatten {input=Small} throughput 1390000
        flat_map {input=Small} latency 960
        flat_map {input=Small} latency-p99 1330
        flat_map {input=Small} throughput 999500
        ");
    }

    #[test]
    fn a_report() {
        let text = include_str!("../fixtures/benchee/report.json");
        insta::assert_snapshot!(read(Benchee, text), @"
        flat_map {input=Big} latency 427780.5 [359250.3, 496310.7]
        flat_map {input=Big} latency-p99 743010
        flat_map {input=Big} throughput 2337.647
        flat_map {input=Big} allocated 640000 [640000, 640000]
        flat_map {input=Big} reductions 65010 [65010, 65010]
        map.flatten latency 820870 [662524.2, 979215.8]
        map.flatten latency-p99 1286350
        map.flatten throughput 1218.22
        ");
        assert_eq!(read(Magic, text), read(Benchee, text));
    }

    #[test]
    fn errors_have_a_position() {
        let header = "Name  ips  average  deviation  median  99th %\n";
        insta::assert_snapshot!(read(Magic, &format!("{header}a  1 K  2 days  ±1%  2 ms  3 ms\n")), @"The adapter `benchee` cannot read the output at line 2: expected one value with its unit per column of the header, found `a  1 K  2 days  ±1%  2 ms  3 ms`.");
        insta::assert_snapshot!(read(Magic, &format!("{header}a  1 K  2 ms  ±1%  2 ms  3 ms\n{header}a  1 K  2 ms  ±1%  2 ms  3 ms\n")), @"The adapter `benchee` cannot read the output at line 4: expected a benchmark with a unique combination of name and parameters, found `a`.");
        insta::assert_snapshot!(read(Benchee, header), @"The adapter `benchee` cannot read the output: expected a table with the header `Name  ips  average  deviation  median  99th %`.");
        insta::assert_snapshot!(read(Magic, r#"[{"job_name":"a","run_time_data":{"statistics":{"average":"x"}}}]"#), @r#"The adapter `benchee` cannot read the output at `[0].run_time_data.statistics.average`: expected a number, found `string "x"`."#);
    }
}
