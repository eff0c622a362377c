//! Adapter for BenchmarkDotNet: parses the JSON of its full exporters. See [`crate::c_sharp_dot_net_text`] for the CSV and the
//! printed tables.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, c_sharp_dot_net_text,
    document, variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::CSharpDotNet,
    title: "BenchmarkDotNet",
    metrics: "latency ± standard deviation (median ± interquartile range); its percentiles 90 and 95 and its maximum; with the memory diagnoser allocated bytes, collections, operations; from the CSV and the printed tables, which contain no namespaces, latency and allocated bytes",
    parameters: "`Parameters`, such as `N=64&Kind=random`; `type` where several types have the method, and `job` where several jobs ran it",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "dotnet run -c Release -- --exporters json",
            &[r#""HostEnvironmentInfo""#, r#""Benchmarks""#],
            parse,
        ),
        Format::new(
            Syntax::Csv,
            "dotnet run -c Release -- --exporters csv",
            &["Method", "AnalyzeLaunchVariance"],
            c_sharp_dot_net_text::parse_csv,
        ),
        Format::new(
            Syntax::Text,
            "dotnet run -c Release",
            &["BenchmarkDotNet", "Method ", "Mean "],
            c_sharp_dot_net_text::parse_tables,
        ),
    ],
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    host_environment_info: IgnoredAny,
    benchmarks: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    host_environment_info: BTreeMap<String, IgnoredAny>,
    benchmarks: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    display_info: Option<String>,
    namespace: Option<String>,
    r#type: Option<String>,
    method: String,
    method_title: Option<String>,
    parameters: Option<String>,
    statistics: Option<Statistics>,
    memory: Option<Memory>,
}

/// Times in nanoseconds.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statistics {
    mean: f64,
    standard_deviation: f64,
    median: f64,
    interquartile_range: f64,
    max: Option<f64>,
    percentiles: Option<Percentiles>,
}

/// Times in nanoseconds.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Percentiles {
    p90: Option<f64>,
    p95: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Memory {
    gen0_collections: Option<u64>,
    gen1_collections: Option<u64>,
    gen2_collections: Option<u64>,
    total_operations: Option<u64>,
    bytes_allocated_per_operation: Option<u64>,
}

/// Parses a document: times, and the counts of the memory diagnoser.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { benchmarks: rows, .. } = document::read::<Shape, _>(input.text)?;
    let position = |index| Position::Path(format!("Benchmarks[{index}]"));
    let entries = rows.iter().enumerate().map(|(index, row)| {
        let position = || position(index);
        let Some(statistics) = &row.statistics else {
            input.skip(row.name(), "they have no result");
            return Ok(None);
        };
        let latency = match input.average.unwrap_or(Average::Mean) {
            Average::Mean => {
                ParsedMetric::latency(statistics.mean).with_deviation(statistics.standard_deviation)
            }
            Average::Median => {
                ParsedMetric::latency(statistics.median).with_deviation(statistics.interquartile_range)
            }
        };
        let mut metrics = vec![latency];
        metrics.extend(statistics.percentiles());
        metrics.extend(row.memory.iter().flat_map(Memory::metrics));
        let parameters =
            variant::of_texts(position, parameters(row.parameters.as_deref().unwrap_or_default()))?;
        Ok(Some(Entry { parameters, ..Entry::new(position, &row.name(), metrics)? }))
    });
    let mut entries = entries.filter_map(Result::transpose).collect::<Result<Entries, Failure>>()?;
    let rows: Vec<(usize, &Row)> =
        rows.iter().enumerate().filter(|(_, row)| row.statistics.is_some()).collect();
    let position = |index: usize| position(rows[index].0);
    let properties: [variant::Property<'_>; 2] =
        [("type", &|index| rows[index].1.r#type.as_deref()), ("job", &|index| rows[index].1.job())];
    variant::distinguish(position, &mut entries, &properties)?;
    document::require_entries(entries, "Benchmarks")
}

impl Row {
    /// Returns the name without the type, as in existing series: it does not depend on whether other types have a method of
    /// this name.
    fn name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}.{}", self.method),
            None => self.method.clone(),
        }
    }

    /// Returns the job, for example a runtime. It is reported only in a text like `Sorting.Sort: .NET 9.0(Runtime=.NET 9.0)
    /// [N=64]`.
    fn job(&self) -> Option<&str> {
        let title = self.method_title.as_ref().unwrap_or(&self.method);
        let (_, job) = self.display_info.as_ref()?.split_once(&format!(".{title}: "))?;
        job.split(" [").next()
    }
}

impl Statistics {
    fn percentiles(&self) -> impl Iterator<Item = ParsedMetric> {
        let of = |value: fn(&Percentiles) -> Option<f64>| self.percentiles.as_ref().and_then(value);
        [("latency-p90", of(|all| all.p90)), ("latency-p95", of(|all| all.p95)), ("latency-max", self.max)]
            .into_iter()
            .filter_map(|(slug, time)| Some(ParsedMetric::of(slug, time?)))
    }
}

impl Memory {
    fn metrics(&self) -> impl Iterator<Item = ParsedMetric> {
        [
            ("allocated", self.bytes_allocated_per_operation),
            ("gen0-collects", self.gen0_collections),
            ("gen1-collects", self.gen1_collections),
            ("gen2-collects", self.gen2_collections),
            ("total-operations", self.total_operations),
        ]
        .into_iter()
        .filter_map(|(slug, count)| Some(ParsedMetric::of(slug, count? as f64)))
    }
}

/// Parses parameters in the form `N=64&Kind=random`. A part without a name belongs to the previous value.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut parameters: Vec<(&str, String)> = Vec::new();
    for part in text.split('&').filter(|_| !text.is_empty()) {
        match (part.split_once('='), parameters.last_mut()) {
            (Some((name, value)), _) if !name.is_empty() => parameters.push((name, value.to_owned())),
            (_, Some((_, value))) => {
                value.push('&');
                value.push_str(part);
            }
            (_, None) => parameters.push(("Parameters", part.to_owned())),
        }
    }
    parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use super::parameters;
    use crate::parse;

    const EXAMPLE: &str = r#"{"HostEnvironmentInfo":{},
        "Benchmarks":[{"Namespace":"Demo","Method":"Parse",
        "Statistics":{"Mean":20.5,"StandardDeviation":0.5,"Median":20,"InterquartileRange":1},
        "Memory":{"Gen0Collections":3,"Gen1Collections":0,"Gen2Collections":0,"TotalOperations":1000,"BytesAllocatedPerOperation":64}}]}"#;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::CSharpDotNet, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn times_and_memory() {
        insta::assert_snapshot!(read(EXAMPLE, None), @"
        Demo.Parse latency 20.5 [20, 21]
        Demo.Parse allocated 64
        Demo.Parse gen0-collects 3
        Demo.Parse gen1-collects 0
        Demo.Parse gen2-collects 0
        Demo.Parse total-operations 1000
        ");
        let first = |average| read(EXAMPLE, Some(average)).lines().next().unwrap().to_owned();
        assert_eq!(first(Average::Mean), "Demo.Parse latency 20.5 [20, 21]");
        assert_eq!(first(Average::Median), "Demo.Parse latency 20 [19, 21]");
        assert!(read(&EXAMPLE.replace("\"Demo\"", "null"), None).starts_with("Parse latency"));
    }

    #[test]
    fn parameter_sets_are_variants() {
        insta::assert_snapshot!(read(include_str!("../fixtures/c_sharp_dot_net/parameters.json"), None), @"
        Demo.Benchmarks.Sort {Kind=random, N=64} latency 20.5 [20, 21]
        Demo.Benchmarks.Sort {Kind=random, N=64} latency-max 21
        Demo.Benchmarks.Sort {Kind=random, N=64} allocated 64
        Demo.Benchmarks.Sort {Kind=random, N=64} gen0-collects 3
        Demo.Benchmarks.Sort {Kind=random, N=64} gen1-collects 0
        Demo.Benchmarks.Sort {Kind=random, N=64} gen2-collects 0
        Demo.Benchmarks.Sort {Kind=random, N=64} total-operations 1024
        Demo.Benchmarks.Sort {Kind=random, N=512} latency 240.25 [237.75, 242.75]
        Demo.Benchmarks.Sort {Kind=random, N=512} latency-max 242.75
        Demo.Benchmarks.Sort {Kind=random, N=512} allocated 512
        Demo.Benchmarks.Sort {Kind=random, N=512} gen0-collects 7
        Demo.Benchmarks.Sort {Kind=random, N=512} gen1-collects 0
        Demo.Benchmarks.Sort {Kind=random, N=512} gen2-collects 0
        Demo.Benchmarks.Sort {Kind=random, N=512} total-operations 1024
        Demo.Benchmarks.Parse latency 1000 [990, 1010]
        Demo.Benchmarks.Parse latency-max 1010
        ");
    }

    /// Returns the latencies of a document with one row per pair of type and display info of its `Sort`.
    fn sorts(rows: &[(&str, &str)]) -> String {
        let rows = rows.iter().map(|(kind, info)| {
            format!(
                r#"{{"DisplayInfo":"{kind}.'Sort: all': {info}","Namespace":"Demo","Type":"{kind}","Method":"Sort",
                    "MethodTitle":"'Sort: all'","Parameters":"N=1",
                    "Statistics":{{"Mean":2,"StandardDeviation":1,"Median":2,"InterquartileRange":1}}}}"#
            )
        });
        let rows = rows.collect::<Vec<_>>().join(",");
        read(&format!(r#"{{"HostEnvironmentInfo":{{}},"Benchmarks":[{rows}]}}"#), None)
    }

    #[test]
    fn the_type_is_a_parameter_if_two_types_have_the_method() {
        insta::assert_snapshot!(sorts(&[("A", "DefaultJob [N=1]")]), @"Demo.Sort {N=1} latency 2 [1, 3]");
        insta::assert_snapshot!(sorts(&[("A", "DefaultJob [N=1]"), ("B", "DefaultJob [N=1]")]), @"
        Demo.Sort {N=1, type=A} latency 2 [1, 3]
        Demo.Sort {N=1, type=B} latency 2 [1, 3]
        ");
    }

    #[test]
    fn the_job_is_a_parameter_if_two_jobs_ran_the_method() {
        let (old, new) = (".NET 8.0(Runtime=.NET 8.0) [N=1]", ".NET 9.0(Runtime=.NET 9.0) [N=1]");
        insta::assert_snapshot!(sorts(&[("A", old), ("A", new)]), @"
        Demo.Sort {N=1, job=.NET 8.0(Runtime=.NET 8.0)} latency 2 [1, 3]
        Demo.Sort {N=1, job=.NET 9.0(Runtime=.NET 9.0)} latency 2 [1, 3]
        ");
        insta::assert_snapshot!(sorts(&[("A", old), ("A", new), ("B", new)]), @"
        Demo.Sort {N=1, job=.NET 8.0(Runtime=.NET 8.0), type=A} latency 2 [1, 3]
        Demo.Sort {N=1, job=.NET 9.0(Runtime=.NET 9.0), type=A} latency 2 [1, 3]
        Demo.Sort {N=1, type=B} latency 2 [1, 3]
        ");
        insta::assert_snapshot!(sorts(&[("A", old), ("A", new), ("A", old)]), @"The adapter `c_sharp_dot_net` cannot read the output at `Benchmarks[2]`: expected a benchmark with a unique combination of name and parameters, found `Demo.Sort`.");
    }

    #[test]
    fn memory_can_be_large_or_partly_unknown() {
        let text = EXAMPLE
            .replace(":64}", ":8589934592}")
            .replace("\"Gen0Collections\":3", "\"Gen0Collections\":null");
        let results = read(&text, None);
        assert!(results.contains("allocated 8589934592\n") && !results.contains("gen0"), "{results}");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            EXAMPLE.replace(
                r#""Statistics":{"Mean":20.5,"StandardDeviation":0.5,"Median":20,"InterquartileRange":1}"#,
                r#""Statistics":null"#,
            ),
            EXAMPLE.replace("20.5", "\"NaN\""),
            EXAMPLE.replace("\"Method\":\"Parse\",", ""),
            r#"{"HostEnvironmentInfo":{},"Benchmarks":[]}"#.to_owned(),
            r#"{"Benchmarks":[]}"#.to_owned(),
        ]
        .map(|text| read(&text, None));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `c_sharp_dot_net` cannot read the output at `Benchmarks`: expected at least one benchmark.
        The adapter `c_sharp_dot_net` cannot read the output at `Benchmarks[0].Statistics.Mean`: expected a number, found `string "NaN"`.
        The adapter `c_sharp_dot_net` cannot read the output at `Benchmarks[0]`: expected the member `Method`.
        The adapter `c_sharp_dot_net` cannot read the output at `Benchmarks`: expected at least one benchmark.
        The adapter `c_sharp_dot_net` cannot read the output: expected the member `HostEnvironmentInfo`.
        "#);
    }

    #[test]
    fn parameters_are_parsed_from_text() {
        let texts = ["", "N=1", "N=1&Kind=a=b", "Path=a&b&N=1", "odd", "=x"];
        insta::assert_snapshot!(texts.map(|text| format!("{:?}", parameters(text))).join("\n"), @r#"
        {}
        {"N": "1"}
        {"Kind": "a=b", "N": "1"}
        {"N": "1", "Path": "a&b"}
        {"Parameters": "odd"}
        {"Parameters": "=x"}
        "#);
    }
}
