//! Adapter for the JSON format of pyperf. It does not read warm-ups and calibrations, which the file also contains.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::Average;

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, fold::mean_of, text::Unit};

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
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
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
            Average::Mean => mean(&values),
            Average::Median => median(values),
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

/// Returns the mean and the sample standard deviation, which is zero for a single value.
fn mean(values: &[f64]) -> (f64, f64) {
    let mean = mean_of(values.iter().copied());
    let variance = mean_of(values.iter().map(|value| (value - mean).powi(2)));
    let count = values.len() as f64;
    (mean, (variance * count / (count - 1.0).max(1.0)).sqrt())
}

/// Returns the median and the median absolute deviation.
fn median(mut values: Vec<f64>) -> (f64, f64) {
    let median = middle(&mut values);
    for value in &mut values {
        *value = (*value - median).abs();
    }
    (median, middle(&mut values))
}

/// Sorts the values, at least one, and returns the median.
fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    if values.len().is_multiple_of(2) {
        mean_of(values[upper - 1..=upper].iter().copied())
    } else {
        values[upper]
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
