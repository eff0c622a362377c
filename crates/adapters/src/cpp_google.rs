//! Adapter for Google Benchmark: parses the JSON format. See [`crate::cpp_google_text`] for the CSV and the
//! console.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average, Parameters, ResourceName};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, cpp_google_row::Row,
    cpp_google_text, document, text::Unit,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::CppGoogle,
    title: "Google Benchmark",
    metrics: "latency: real time; with repetitions their mean or median, within mean ± standard deviation; `bytes_per_second` as bandwidth, `items_per_second` as throughput, and counters as measures without a unit",
    parameters: "arguments and threads in the name: `BM_sort/64/threads:4` is `BM_sort`; an argument without a name is named by its position, starting with `0`; settings such as `/real_time` and `/min_time:…` remain in the name",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "./bench --benchmark_format=json",
            &[r#""context""#, r#""caches""#, r#""benchmarks""#],
            parse,
        ),
        Format::new(
            Syntax::Csv,
            "./bench --benchmark_format=csv",
            &["name,iterations,real_time,cpu_time,time_unit"],
            cpp_google_text::parse_csv,
        ),
        Format::new(
            Syntax::Text,
            "./bench",
            &["Benchmark ", " Time ", " CPU ", " Iterations"],
            cpp_google_text::parse_console,
        ),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    context: ShapeContext,
    benchmarks: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeContext {
    caches: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    context: ShapeContext,
    benchmarks: Vec<Row>,
}

/// Rows with the aggregates over the repetitions of a benchmark.
#[derive(Default)]
struct Aggregates {
    mean: Option<usize>,
    median: Option<usize>,
    deviation: Option<usize>,
}

/// Parses a document. For a repeated benchmark, it uses the aggregates and ignores the repetitions.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    // A counter can be NaN or infinite.
    let text = document::without_python_numbers(input.text);
    let Document { benchmarks: rows, .. } = document::read::<Shape, _>(&text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut aggregates: HashMap<&str, Aggregates> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        row.check(index)?;
        let aggregate = aggregates.entry(row.run_name());
        match row.aggregate_name.as_deref() {
            Some("mean") => aggregate.or_default().mean = Some(index),
            Some("median") => aggregate.or_default().median = Some(index),
            Some("stddev") => aggregate.or_default().deviation = Some(index),
            _ => {}
        }
    }

    let mut entries = Entries::default();
    let mut aggregated = HashSet::new();
    for (index, row) in rows.iter().enumerate() {
        let name = row.run_name();
        let metrics = match aggregates.get(name).filter(|aggregates| aggregates.value(average).is_some()) {
            Some(_) if !aggregated.insert(name) => continue,
            Some(aggregates) => aggregates.metrics(&rows, average)?,
            None if row.has_no_time() => {
                if row.skipped {
                    input.skip(name, "the benchmark skipped them");
                }
                continue;
            }
            None if average == Average::Median => {
                let expected = "repetitions (`--benchmark_repetitions`), without which there is no median";
                return Err(Failure::invalid(position(index), expected, name));
            }
            None => row.metrics(index)?,
        };
        let (label, parameters) = split(name);
        entries.push(Entry { parameters, ..Entry::new(|| position(index), &label, metrics)? });
    }
    document::require_entries(entries, "benchmarks")
}

impl Row {
    fn check(&self, index: usize) -> Result<(), Failure> {
        if self.error_occurred {
            let message = self.error_message.as_deref().unwrap_or("no message");
            return Err(Failure::invalid(
                position(index),
                "a benchmark that ran",
                &format!("{}: {message}", self.name),
            ));
        }
        Ok(())
    }

    /// Returns the name without the suffix of the aggregate.
    fn run_name(&self) -> &str {
        match (&self.aggregate_name, &self.run_name) {
            (None, _) => &self.name,
            (Some(_), Some(run_name)) => run_name,
            (Some(aggregate), None) => self
                .name
                .strip_suffix(aggregate.as_str())
                .and_then(|name| name.strip_suffix('_'))
                .unwrap_or(&self.name),
        }
    }

    /// Whether the row contains no time of a run. Old versions mark complexity estimates only by their name.
    fn has_no_time(&self) -> bool {
        let is_complexity = || self.name.ends_with("_BigO") || self.name.ends_with("_RMS");
        self.skipped || self.aggregate_name.is_some() || (self.real_time.is_none() && is_complexity())
    }

    fn nanoseconds(&self, index: usize) -> Result<f64, Failure> {
        let Some(real_time) = self.real_time else {
            return Err(Failure::missing(position(index), "the member `real_time`"));
        };
        let Some(unit) = &self.time_unit else {
            return Err(Failure::missing(position(index), "the member `time_unit`"));
        };
        let Some(unit) = Unit::from_symbol(unit) else {
            return Err(Failure::invalid(position(index), "a unit of time as `time_unit`", unit));
        };
        Ok(unit.nanoseconds(real_time))
    }

    /// Returns the latency and the counters.
    fn metrics(&self, index: usize) -> Result<Vec<ParsedMetric>, Failure> {
        let mut metrics = vec![ParsedMetric::latency(self.nanoseconds(index)?)];
        metrics.extend(self.counters.iter().map(|(name, value)| counter_metric(name, *value)));
        Ok(metrics)
    }
}

/// Returns the metric of a counter: a rate that Google Benchmark itself computes, or a measure without a unit.
pub(crate) fn counter_metric(name: &ResourceName, value: f64) -> ParsedMetric {
    match name.as_str() {
        "bytes_per_second" => ParsedMetric::of("bandwidth", value),
        "items_per_second" => ParsedMetric::throughput(value),
        _ => ParsedMetric { measure: name.clone(), ..ParsedMetric::latency(value) },
    }
}

impl Aggregates {
    /// Returns the index of the row with the average.
    fn value(&self, average: Average) -> Option<usize> {
        match average {
            Average::Mean => self.mean,
            Average::Median => self.median,
        }
    }

    /// Returns the metrics of the average, within one standard deviation of the mean.
    fn metrics(&self, rows: &[Row], average: Average) -> Result<Vec<ParsedMetric>, Failure> {
        let of =
            |index: Option<usize>| index.map_or_else(|| Ok(Vec::new()), |index| rows[index].metrics(index));
        let (mut metrics, means, deviations) =
            (of(self.value(average))?, of(self.mean)?, of(self.deviation)?);
        for metric in &mut metrics {
            let value = |all: &[ParsedMetric]| {
                all.iter().find(|other| other.measure == metric.measure).map(|other| other.value)
            };
            if let Some((mean, deviation)) = value(&means).zip(value(&deviations)) {
                *metric = metric.clone().with_range(mean - deviation, mean + deviation);
            }
        }
        Ok(metrics)
    }
}

/// Extracts the arguments from a name: `BM_sort/64/real_time/threads:4` is `BM_sort/real_time` with two parameters. An
/// argument without a name is named by its position.
pub(crate) fn split(name: &str) -> (String, Option<Parameters>) {
    let parts: Vec<&str> = name.split('/').collect();
    let count =
        parts[1..].iter().rev().take_while(|part| is_setting(part) || argument(part).is_some()).count();
    let (head, tail) = parts.split_at(parts.len() - count);
    let mut label = head.join("/");
    let mut parameters = BTreeMap::new();
    let mut position = 0;
    for part in tail {
        if is_setting(part) {
            label.push('/');
            label.push_str(part);
        } else if let Some((argument, value)) = argument(part) {
            parameters.insert(argument.map_or_else(|| position.to_string(), str::to_owned), value.to_owned());
            position += 1;
        }
    }
    // Two arguments with the same name cannot be distinguished as parameters.
    let is_whole = parameters.len() == position && !label.is_empty();
    match Parameters::try_from(parameters) {
        Ok(parameters) if is_whole => (label, Some(parameters)),
        _ => (name.to_owned(), None),
    }
}

/// Whether a part of a name is a measurement setting rather than an argument.
fn is_setting(part: &str) -> bool {
    const FLAGS: [&str; 3] = ["real_time", "process_time", "manual_time"];
    const COUNTS: [&str; 4] = ["min_time", "min_warmup_time", "iterations", "repeats"];
    FLAGS.contains(&part) || part.split_once(':').is_some_and(|(name, _)| COUNTS.contains(&name))
}

/// Returns the optional name and the value of an argument, which is always an integer.
fn argument(part: &str) -> Option<(Option<&str>, &str)> {
    let (name, value) = part.rsplit_once(':').map_or((None, part), |(name, value)| (Some(name), value));
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && name != Some("")).then_some((name, value))
}

fn position(index: usize) -> Position {
    Position::Path(format!("benchmarks[{index}]"))
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average, Parameters};

    use super::split;
    use crate::parse;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::CppGoogle, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn times_are_nanoseconds() {
        let text = r#"{"context":{"caches":[]},"benchmarks":[{"name":"BM_sort/64","real_time":1.25,"time_unit":"us"}]}"#;
        assert_eq!(read(text, None), "BM_sort {0=64} latency 1250\n");
        assert_eq!(read(text, Some(Average::Mean)), read(text, None));
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"The adapter `cpp_google` cannot read the output at `benchmarks[0]`: expected repetitions (`--benchmark_repetitions`), without which there is no median, found `BM_sort/64`.");
    }

    #[test]
    fn counters_are_metrics() {
        let row = |name: &str, rest: &str| {
            format!(
                r#"{{"name":"{name}","run_name":"BM_a/8","iterations":3,"threads":1,"cpu_time":9,"time_unit":"ns",{rest}}}"#
            )
        };
        let document =
            |rows: &[String]| format!(r#"{{"context":{{"caches":[]}},"benchmarks":[{}]}}"#, rows.join(","));
        let one = row(
            "BM_a/8",
            r#""real_time":10,"bytes_per_second":2e9,"items_per_second":5,"Foo":42.5,"hits":7,"label":"x""#,
        );
        insta::assert_snapshot!(read(&document(&[one]), None), @"
        BM_a {0=8} latency 10
        BM_a {0=8} bandwidth 2000000000
        BM_a {0=8} throughput 5
        BM_a {0=8} Foo 42.5
        BM_a {0=8} hits 7
        ");
        let aggregate = |name: &str, rest: &str| {
            row(&format!("BM_a/8_{name}"), &format!(r#""aggregate_name":"{name}",{rest}"#))
        };
        // A counter that is always zero has no coefficient of variation.
        let repeated = [
            aggregate("mean", r#""real_time":10,"Foo":4,"zero":0"#),
            aggregate("median", r#""real_time":9,"Foo":5,"zero":0"#),
            aggregate("stddev", r#""real_time":2,"Foo":1,"zero":0"#),
            aggregate("cv", r#""real_time":0.2,"Foo":0.25,"zero":NaN"#),
        ];
        let text = document(&repeated);
        insta::assert_snapshot!(read(&text, None), @"
        BM_a {0=8} latency 10 [8, 12]
        BM_a {0=8} Foo 4 [3, 5]
        BM_a {0=8} zero 0 [0, 0]
        ");
        insta::assert_snapshot!(read(&text, Some(Average::Median)), @"
        BM_a {0=8} latency 9 [8, 12]
        BM_a {0=8} Foo 5 [3, 5]
        BM_a {0=8} zero 0 [0, 0]
        ");
        assert_eq!(parse(Adapter::Magic, &text, None).unwrap().to_string(), read(&text, None));
        let infinite =
            document(&[row("BM_a/8", r#""real_time":10,"a":NaN,"b":-Infinity,"c":Infinity,"d":1"#)]);
        insta::assert_snapshot!(read(&infinite, None), @"
        BM_a {0=8} latency 10
        BM_a {0=8} d 1
        ");
    }

    #[test]
    fn every_run_and_no_complexity() {
        insta::assert_snapshot!(read(include_str!("../fixtures/cpp_google/plain.json"), None), @"
        BM_Copy latency 32.208053691138545
        BM_Copy bandwidth 11733938647.341324
        BM_Sort {0=64} latency 307.1595928484586
        BM_Sort {0=64} throughput 346670924.9192297
        BM_Sort {0=64} swaps 42
        BM_Sort {0=512} latency 3000.8913080445263
        BM_Sort {0=512} throughput 220274247.51324353
        BM_Sort {0=512} swaps 42
        BM_Sort {0=4096} latency 41536.88595708735
        BM_Sort {0=4096} throughput 148236505.29830045
        BM_Sort {0=4096} swaps 42
        BM_Fill {size=64, value=1} latency 51.33136018870353
        BM_Fill {size=64, value=2} latency 46.743286316755096
        BM_Threads/real_time {threads=2} latency 0.4184727932458674
        BM_Push<int> latency 19.288346695508096
        ");
    }

    #[test]
    fn repeated_benchmarks_use_their_aggregates() {
        let text = include_str!("../fixtures/cpp_google/repetitions.json");
        insta::assert_snapshot!(read(text, None), @"
        BM_Copy latency 34.28251237613171 [33.11825323542573, 35.44677151683769]
        BM_Copy bandwidth 11530968434.747568 [11118388253.98189, 11943548615.513247]
        BM_Sort {0=64} latency 352.64541666644317 [297.3311076874654, 407.9597256454209]
        BM_Sort {0=64} throughput 299442421.52482253 [284206771.36937225, 314678071.6802728]
        BM_Sort {0=64} swaps 42 [42, 42]
        BM_Fill {size=64, value=1} latency 44.389092468201184 [41.17503119805876, 47.60315373834361]
        BM_Threads/real_time {threads=2} latency 0.4984366286764828 [0.47862006793342177, 0.5182531894195438]
        ");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"
        BM_Copy latency 33.79340310320011 [33.11825323542573, 35.44677151683769]
        BM_Copy bandwidth 11761430973.396849 [11118388253.98189, 11943548615.513247]
        BM_Sort {0=64} latency 373.5912000047392 [297.3311076874654, 407.9597256454209]
        BM_Sort {0=64} throughput 297793730.008851 [284206771.36937225, 314678071.6802728]
        BM_Sort {0=64} swaps 42 [42, 42]
        BM_Fill {size=64, value=1} latency 43.31055967901989 [41.17503119805876, 47.60315373834361]
        BM_Threads/real_time {threads=2} latency 0.5037815544975208 [0.47862006793342177, 0.5182531894195438]
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/cpp_google/aggregates_only.json"), None), @"
        BM_Copy latency 47.297122916642394 [43.56804004682187, 51.02620578646292]
        BM_Copy bandwidth 10724897475.163193 [10355730949.371643, 11094064000.954742]
        BM_Fill {size=64, value=1} latency 53.39263005693803 [43.586092971630926, 63.19916714224514]
        BM_Fill {size=64, value=2} latency 45.26684915970425 [42.686700435832314, 47.846997883576186]
        ");
    }

    #[test]
    fn an_errored_row_fails_with_its_name_and_message() {
        insta::assert_snapshot!(read(include_str!("../fixtures/cpp_google/errored.json"), None), @"The adapter `cpp_google` cannot read the output at `benchmarks[2]`: expected a benchmark that ran, found `BM_Skip/2: no such device`.");
        let text = include_str!("../fixtures/cpp_google/python_bindings_errored.json");
        insta::assert_snapshot!(read(text, None), @"The adapter `cpp_google` cannot read the output at `benchmarks[2]`: expected a benchmark that ran, found `skipping/8: out of slots`.");
        assert!(parse(Adapter::Magic, text, None).unwrap_err().to_string().contains("out of slots"));
    }

    #[test]
    fn rows_of_old_versions_and_skipped_rows() {
        let text = r#"{"context":{"caches":[]},"benchmarks":[
            {"name":"a","real_time":1,"time_unit":"ms"},
            {"name":"b","real_time":0,"time_unit":"ms","skipped":true,"skip_message":"no GPU"},
            {"name":"a_BigO","cpu_coefficient":1.5,"big_o":"N","time_unit":"ns"},
            {"name":"a_RMS","rms":0.1},
            {"name":"a_mean","aggregate_name":"mean","real_time":2,"time_unit":"ms"}
        ]}"#;
        assert_eq!(read(text, None), "a latency 2000000\n");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            r#"{"name":"a","time_unit":"ns"}"#,
            r#"{"name":"a","real_time":1}"#,
            r#"{"name":"a","real_time":1,"time_unit":"h"}"#,
            r#"{"name":"a","real_time":"NaN","time_unit":"ns"}"#,
            r#"{"name":"","real_time":1,"time_unit":"ns"}"#,
            r#"{"name":"a","real_time":1e308,"time_unit":"s"}"#,
            "",
        ]
        .map(|row| read(&format!(r#"{{"context":{{"caches":[]}},"benchmarks":[{row}]}}"#), None));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `cpp_google` cannot read the output at `benchmarks[0]`: expected the member `real_time`.
        The adapter `cpp_google` cannot read the output at `benchmarks[0]`: expected the member `time_unit`.
        The adapter `cpp_google` cannot read the output at `benchmarks[0]`: expected a unit of time as `time_unit`, found `h`.
        The adapter `cpp_google` cannot read the output at `benchmarks[0].real_time`: expected a number, found `string "NaN"`.
        The adapter `cpp_google` cannot read the output at `benchmarks[0]`: expected a benchmark name of 1 to 1024 bytes without the character NUL.
        The adapter `cpp_google` cannot read the output at `benchmarks[0]`: expected a `latency` within the range of a double, found `inf`.
        The adapter `cpp_google` cannot read the output at `benchmarks`: expected at least one benchmark.
        "#);
    }

    #[test]
    fn arguments_are_parameters() {
        let split = |name: &str| {
            let (label, parameters) = split(name);
            format!("{label} {:?}", parameters.iter().flat_map(Parameters::iter).collect::<Vec<_>>())
        };
        let names = [
            "BM_x",
            "BM_x/64",
            "BM_x/64/-1/threads:4",
            "BM_x/n:64/real_time/threads:4",
            "BM_x/iterations:5/repeats:3",
            "Fixture/method/8",
            "BM_x/8/capture",
            "BM_x/n:1/n:2",
            "BM_x/n:big",
            "64",
            "/64",
            "BM_x/",
            "BM_x/:5",
        ];
        insta::assert_snapshot!(names.map(split).join("\n"), @r#"
        BM_x []
        BM_x [("0", "64")]
        BM_x [("0", "64"), ("1", "-1"), ("threads", "4")]
        BM_x/real_time [("n", "64"), ("threads", "4")]
        BM_x/iterations:5/repeats:3 []
        Fixture/method [("0", "8")]
        BM_x/8/capture []
        BM_x/n:1/n:2 []
        BM_x/n:big []
        64 []
        /64 []
        BM_x/ []
        BM_x/:5 []
        "#);
    }
}
