//! Adapter for BenchmarkTools.jl: parses the JSON of `BenchmarkTools.save`. The printed results of `@benchmark` and `@btime` have no
//! names.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use tidemark_api::{Adapter, Average};

use crate::{Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, sample, variant};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::BenchmarkTools,
    title: "BenchmarkTools.jl",
    metrics: "latency: the median ± median absolute deviation (mean ± standard deviation); allocated; allocations; the keys of groups are joined by `/`",
    averages: &[Average::Median, Average::Mean],
    formats: &[Format::new(
        Syntax::Json,
        "BenchmarkTools.save(\"bench.json\", results)",
        &[r#""Julia""#, r#""BenchmarkTools""#],
        parse,
    )],
};

#[derive(Deserialize)]
struct Shape(Versions, IgnoredAny);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Versions {
    julia: IgnoredAny,
    benchmark_tools: IgnoredAny,
}

/// Versions and saved values. A value is a pair of its type and its fields.
#[derive(Deserialize)]
struct Document(Versions, Vec<Value>);

fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let Document(_, values) = document::read::<Shape, _>(input.text)?;
    let mut benchmarks = Benchmarks { input, entries: Vec::new(), paths: Vec::new() };
    for (index, value) in values.iter().enumerate() {
        benchmarks.read(value, "", &format!("[1][{index}]"))?;
    }
    let Benchmarks { mut entries, paths, .. } = benchmarks;
    variant::distinguish(|index| Position::Path(paths[index].clone()), &mut entries, &[])?;
    document::require_entries(entries, "[1]")
}

struct Benchmarks<'a> {
    input: &'a Input<'a>,
    entries: Vec<Entry>,
    /// Path of each entry in the document.
    paths: Vec<String>,
}

impl Benchmarks<'_> {
    /// Reads a value and the groups in it. The JSON parser limits the depth.
    fn read(&mut self, value: &Value, name: &str, path: &str) -> Result<(), Failure> {
        let invalid = |expected: &str| Failure::missing(Position::Path(path.to_owned()), expected);
        let pair = value.as_array().filter(|pair| pair.len() == 2);
        let kind = pair.and_then(|pair| pair[0].as_str());
        let fields = pair.and_then(|pair| pair[1].as_object());
        let (Some(kind), Some(fields)) = (kind, fields) else {
            return Err(invalid("a pair of a type and its fields"));
        };
        let kind = kind.rsplit('.').next().unwrap_or(kind);
        let metrics = match kind {
            "BenchmarkGroup" => {
                let data = fields.get("data").and_then(Value::as_object);
                for (key, value) in data.ok_or_else(|| invalid("the member `data`"))? {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}/{key}") };
                    self.read(value, &name, &format!("{path}[1].data.{key}"))?;
                }
                return Ok(());
            }
            "Trial" | "TrialEstimate" if name.is_empty() => {
                return Err(invalid("a `BenchmarkGroup`, because a trial has no name"));
            }
            "Trial" => {
                let times = fields.get("times").and_then(Value::as_array);
                let times =
                    times.and_then(|times| times.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
                let times = times.ok_or_else(|| invalid("numbers as `times`"))?;
                if times.is_empty() {
                    self.input.skip(name, "they have no samples");
                    return Ok(());
                }
                let (value, spread) = match self.input.average {
                    Some(Average::Mean) => sample::mean(&times),
                    _ => sample::median(times),
                };
                ParsedMetric::latency(value).with_deviation(spread)
            }
            "TrialEstimate" => {
                let time = fields.get("time").and_then(Value::as_f64);
                ParsedMetric::latency(time.ok_or_else(|| invalid("a number as `time`"))?)
            }
            "TrialRatio" | "TrialJudgement" => {
                self.input.skip(name, "they are comparisons");
                return Ok(());
            }
            _ => return Err(invalid("a `BenchmarkGroup` or a `Trial`")),
        };
        let mut metrics = vec![metrics];
        metrics.extend(number(fields, "memory").map(|bytes| ParsedMetric::of("allocated", bytes)));
        metrics.extend(number(fields, "allocs").map(|count| ParsedMetric::of("allocations", count)));
        self.entries.push(Entry::new(|| Position::Path(path.to_owned()), name, metrics)?);
        self.paths.push(path.to_owned());
        Ok(())
    }
}

fn number(fields: &Map<String, Value>, name: &str) -> Option<f64> {
    fields.get(name).and_then(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{BenchmarkTools, Magic},
        Average,
    };

    use crate::{parse, tests::read};

    #[test]
    fn a_group() {
        let text = include_str!("../fixtures/benchmark_tools/group.json");
        insta::assert_snapshot!(read(BenchmarkTools, text), @r#"
        sum latency 61.5
        sum allocated 0
        sum allocations 0
        utf8/("sin", 0.0) latency 4.6 [4.5, 4.699999999999999]
        utf8/("sin", 0.0) allocated 0
        utf8/("sin", 0.0) allocations 0
        utf8/join latency 138000 [133500, 142500]
        utf8/join allocated 157970
        utf8/join allocations 21
        "#);
        assert_eq!(read(Magic, text), read(BenchmarkTools, text));
        insta::assert_snapshot!(parse(Magic, text, Some(Average::Mean)).unwrap(), @r#"
        sum latency 61.5
        sum allocated 0
        sum allocations 0
        utf8/("sin", 0.0) latency 4.666666666666667 [4.458500066720053, 4.8748332666132805]
        utf8/("sin", 0.0) allocated 0
        utf8/("sin", 0.0) allocations 0
        utf8/join latency 140000 [131633.39973465924, 148366.60026534076]
        utf8/join allocated 157970
        utf8/join allocations 21
        "#);
    }

    #[test]
    fn errors_have_a_path() {
        let file = |value: &str| format!(r#"[{{"Julia":"1.10.4","BenchmarkTools":"1.0.0"}},[{value}]]"#);
        let group =
            |value: &str| file(&format!(r#"["BenchmarkGroup",{{"data":{{"a":{value}}},"tags":[]}}]"#));
        let errors = [
            file(r#"["BenchmarkTools.Trial",{"times":[1]}]"#),
            group(r#"["BenchmarkTools.Trial",{"times":["x"]}]"#),
            group(r#"["BenchmarkTools.Trial",{"times":[]}]"#),
            group(r#"["TagFilter",{}]"#),
            group("5"),
            file(""),
        ]
        .map(|text| read(Magic, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `benchmark_tools` cannot read the output at `[1][0]`: expected a `BenchmarkGroup`, because a trial has no name.
        The adapter `benchmark_tools` cannot read the output at `[1][0][1].data.a`: expected numbers as `times`.
        The adapter `benchmark_tools` cannot read the output at `[1]`: expected at least one benchmark.
        The adapter `benchmark_tools` cannot read the output at `[1][0][1].data.a`: expected a `BenchmarkGroup` or a `Trial`.
        The adapter `benchmark_tools` cannot read the output at `[1][0][1].data.a`: expected a pair of a type and its fields.
        The adapter `benchmark_tools` cannot read the output at `[1]`: expected at least one benchmark.
        ");
    }
}
