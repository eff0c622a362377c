//! Adapter for pyperf: its JSON format, and the printed averages. It does not read warm-ups and calibrations, which the file also
//! contains.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, sample,
    text::{self, Unit},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::PythonPyperf,
    title: "pyperf",
    metrics: "latency ± standard deviation (median ± median absolute deviation); with `--track-memory` the peak memory",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "python bench.py -o bench.json",
            &[r#""version""#, r#""benchmarks""#, r#""runs""#],
            parse,
        ),
        Format::new(Syntax::Text, "python bench.py, python -m pyperf stats bench.json", &[MEAN], parse_text),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    version: IgnoredAny,
    benchmarks: Vec<ShapeBenchmark>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeBenchmark {
    runs: Vec<IgnoredAny>,
}

/// A suite. Its metadata contains the values that its benchmarks have in common.
#[derive(Deserialize)]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    version: IgnoredAny,
    benchmarks: Vec<Benchmark>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    metadata: Metadata,
    runs: Vec<Run>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    name: Option<String>,
    unit: Option<String>,
}

#[derive(Deserialize)]
struct Run {
    #[serde(default)]
    values: Vec<f64>,
}

/// Parses a document: over the values of all runs, the mean with the standard deviation, or the median with the median
/// absolute deviation, as pyperf itself reports them.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { benchmarks, metadata: common, .. } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let entries = benchmarks.into_iter().enumerate().map(|(index, benchmark)| {
        let position = || Position::Path(format!("benchmarks[{index}]"));
        let Benchmark { metadata, runs } = benchmark;
        let Some(name) = metadata.name.as_ref().or(common.name.as_ref()) else {
            return Err(Failure::missing(position(), "a `name` in its metadata or in that of the suite"));
        };
        let values: Vec<f64> = runs.into_iter().flat_map(|run| run.values).collect();
        if values.is_empty() {
            return Err(Failure::invalid(position(), "a run with values", name));
        }
        let unit = metadata.unit.as_ref().or(common.unit.as_ref()).map_or("second", String::as_str);
        let Some(measured) = measure(unit) else {
            return Err(Failure::invalid(position(), "the unit `second` or `byte`", unit));
        };
        let (value, spread) = match average {
            Average::Mean => sample::mean(&values),
            Average::Median => sample::median(values),
        };
        Entry::new(position, name, vec![measured(value).with_deviation(measured(spread).value)])
    });
    document::require_entries(entries.collect::<Result<_, Failure>>()?, "benchmarks")
}

/// Returns the measure of a unit.
fn measure(unit: &str) -> Option<fn(f64) -> ParsedMetric> {
    match unit {
        "second" => Some(|seconds| ParsedMetric::latency(Unit::Seconds.nanoseconds(seconds))),
        "byte" => Some(|bytes| ParsedMetric::of("peak-memory", bytes)),
        _ => None,
    }
}

const MEAN: &str = "Mean +- std dev:";
const MEDIAN: &str = "Median +- MAD:";

/// Name that `pyperf timeit` stores and does not print.
const UNNAMED: &str = "timeit";

/// Parses the printed averages. The name is before the average on its line, or is the last underlined title. A single average without
/// a name is that of `pyperf timeit`.
fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let label = if input.average == Some(Average::Median) { MEDIAN } else { MEAN };
    let mut entries = Entries::default();
    let (mut title, mut previous, mut first, mut is_unnamed) = (None, "", None, false);
    for line in text::lines(input.text) {
        let is_underline = !line.text.is_empty() && line.text.bytes().all(|byte| byte == b'-');
        if is_underline && line.text.len() == previous.chars().count() {
            title = Some(previous);
        }
        previous = line.text;
        if line.text.contains(MEAN) {
            first.get_or_insert(line);
        }
        let Some((start, values)) = line.text.rsplit_once(label) else { continue };
        let name = match start.strip_suffix(": ") {
            Some(name) => Some(name),
            None if start.is_empty() => title,
            None => continue,
        };
        let name = match name {
            Some(name) => name,
            None if is_unnamed => return Err(line.invalid("one result without a name; set it with `--name`")),
            None => {
                is_unnamed = true;
                UNNAMED
            }
        };
        let metric = printed(values).ok_or_else(|| line.invalid("an average and its spread with units"))?;
        entries.push(line.entry(name, vec![metric])?);
    }
    match first {
        Some(line) if entries.is_empty() && label == MEDIAN => {
            Err(line.invalid("the median, which `pyperf stats` prints"))
        }
        _ => text::require_entries(entries, "a line such as `name: Mean +- std dev: 1.25 us +- 0.05 us`"),
    }
}

/// Parses `14.5 us +- 3.8 us`.
fn printed(values: &str) -> Option<ParsedMetric> {
    let (value, spread) = values.trim().split_once(" +- ")?;
    let (value, spread) = (printed_value(value)?, printed_value(spread)?);
    (value.measure == spread.measure).then(|| value.with_deviation(spread.value))
}

/// Parses a number with its unit; bytes have prefixes of powers of 1024.
fn printed_value(text: &str) -> Option<ParsedMetric> {
    let (number, unit) = text::quantity(text)?;
    match unit {
        "sec" => measure("second").map(|measured| measured(number)),
        "ms" | "us" | "ns" => text::duration(text).map(ParsedMetric::latency),
        "byte" | "bytes" => measure("byte").map(|measured| measured(number)),
        unit if unit.ends_with("iB") => text::bytes(text).map(|bytes| ParsedMetric::of("peak-memory", bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::PythonPyperf, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    fn suite(metadata: &str, runs: &str) -> String {
        format!(r#"{{"version":"1.0","metadata":{metadata},"benchmarks":[{{"runs":{runs}}}]}}"#)
    }

    #[test]
    fn a_suite() {
        let text = include_str!("../fixtures/python_pyperf/suite.json");
        insta::assert_snapshot!(read(text, None), @"
        sort latency 7944.169243693603 [7256.424117672373, 8631.914369714834]
        join latency 1420.3830363006418 [1080.2901293745936, 1760.47594322669]
        sum latency 1395.6793484136574 [1091.5334009841524, 1699.8252958431624]
        ");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"
        sort latency 7727.397094647869 [7568.97174081228, 7885.822448483459]
        join latency 1253.095733649845 [1225.4557266305756, 1280.7357406691144]
        sum latency 1267.6843261644199 [1061.24749754688, 1474.1211547819598]
        ");
    }

    #[test]
    fn a_single_benchmark_has_its_name_in_the_suite() {
        insta::assert_snapshot!(read(include_str!("../fixtures/python_pyperf/timeit.json"), None), @"timeit latency 1181.702303312826 [1089.4060775423998, 1273.9985290832522]");
        insta::assert_snapshot!(read(include_str!("../fixtures/python_pyperf/track_memory.json"), None), @"timeit peak-memory 13287424 [13281631.38124852, 13293216.61875148]");
    }

    #[test]
    fn printed_averages() {
        let text = include_str!("../fixtures/python_pyperf/runner.txt");
        insta::assert_snapshot!(read(text, None), @"
        sort latency 14500 [10700, 18300]
        join words latency 1310 [1040, 1580]
        ");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"The adapter `python_pyperf` cannot read the output at line 10: expected the median, which `pyperf stats` prints, found `sort: Mean +- std dev: 14.5 us +- 3.8 us`.");
        assert_eq!(crate::tests::read(Adapter::Magic, text), read(text, None));
        let text = include_str!("../fixtures/python_pyperf/stats.txt");
        insta::assert_snapshot!(read(text, None), @"
        sort latency 14500 [10700, 18300]
        join words latency 1310 [1040, 1580]
        ");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"
        sort latency 14500 [11400, 17600]
        join words latency 1230 [1160, 1300]
        ");
        let text = include_str!("../fixtures/python_pyperf/timeit.txt");
        insta::assert_snapshot!(read(text, None), @"timeit latency 2700 [1660, 3740]");
        let memory = "a: Mean +- std dev: 12.7 MiB +- 19.8 KiB\nb: Mean +- std dev: 1.5 sec +- 0.5 sec";
        insta::assert_snapshot!(read(memory, None), @"
        a peak-memory 13316915.2 [13296640, 13337190.399999999]
        b latency 1500000000 [1000000000, 2000000000]
        ");
    }

    #[test]
    fn an_invalid_average_is_reported_with_its_line() {
        let errors = [
            "Mean +- std dev: 1.86 us +- 0.31 us\nMean +- std dev: 1.5 us +- 0.1 us",
            "a: Mean +- std dev: [base] 1.5 us +- 0.1 us -> [new] 1.6 us +- 0.1 us: 1.07x slower",
            "a: Mean +- std dev: 5 +- 1",
            "a: Mean +- std dev: 5 us +- 1 MiB",
            "Mean",
        ]
        .map(|text| read(text, None));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `python_pyperf` cannot read the output at line 2: expected one result without a name; set it with `--name`, found `Mean +- std dev: 1.5 us +- 0.1 us`.
        The adapter `python_pyperf` cannot read the output at line 1: expected an average and its spread with units, found `a: Mean +- std dev: [base] 1.5 us +- 0.1 us -> [new] 1.6 us …`.
        The adapter `python_pyperf` cannot read the output at line 1: expected an average and its spread with units, found `a: Mean +- std dev: 5 +- 1`.
        The adapter `python_pyperf` cannot read the output at line 1: expected an average and its spread with units, found `a: Mean +- std dev: 5 us +- 1 MiB`.
        The adapter `python_pyperf` cannot read the output: expected a line such as `name: Mean +- std dev: 1.25 us +- 0.05 us`.
        ");
    }

    #[test]
    fn averages() {
        let text = suite(r#"{"name":"a"}"#, r#"[{"warmups":[[1,9]]},{"values":[1,2]},{"values":[3,10]}]"#);
        assert_eq!(read(&text, None), "a latency 4000000000 [-82482904.63863039, 8082482904.63863]\n");
        assert_eq!(read(&text, Some(Average::Median)), "a latency 2500000000 [1500000000, 3500000000]\n");
        let text = suite(r#"{"name":"a"}"#, r#"[{"values":[2]}]"#);
        assert_eq!(read(&text, None), "a latency 2000000000 [2000000000, 2000000000]\n");
    }

    #[test]
    fn an_invalid_benchmark_is_reported_with_its_path() {
        let errors = [
            suite("{}", r#"[{"values":[1]}]"#),
            suite(r#"{"name":"a"}"#, r#"[{"warmups":[[1,9]]}]"#),
            suite(r#"{"name":"a"}"#, r#"[{"values":[1,"x"]}]"#),
            suite(r#"{"name":"a","unit":"mile"}"#, r#"[{"values":[1]}]"#),
            r#"{"version":"1.0","benchmarks":[]}"#.to_owned(),
        ]
        .map(|text| read(&text, None));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `python_pyperf` cannot read the output at `benchmarks[0]`: expected a `name` in its metadata or in that of the suite.
        The adapter `python_pyperf` cannot read the output at `benchmarks[0]`: expected a run with values, found `a`.
        The adapter `python_pyperf` cannot read the output at `benchmarks[0].runs[0].values[1]`: expected a number, found `string "x"`.
        The adapter `python_pyperf` cannot read the output at `benchmarks[0]`: expected the unit `second` or `byte`, found `mile`.
        The adapter `python_pyperf` cannot read the output at `benchmarks`: expected at least one benchmark.
        "#);
    }
}
