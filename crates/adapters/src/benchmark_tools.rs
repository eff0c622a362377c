//! Adapter for BenchmarkTools.jl: parses the JSON of `BenchmarkTools.save`; `benchmark_tools_text` parses printed results.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, Visitor},
};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    benchmark_tools_text::{parse_group, parse_trial},
    document, sample, variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::BenchmarkTools,
    title: "BenchmarkTools.jl",
    metrics: "latency: the median ± median absolute deviation (mean ± standard deviation); allocated; allocations; of a printed group only the latency, the minimum; the keys of groups are joined by `/`; a single result is named `trial`, the printed one with the range from minimum to maximum",
    parameters: "",
    averages: &[Average::Median, Average::Mean],
    formats: &[
        Format::new(
            Syntax::Json,
            "BenchmarkTools.save(\"bench.json\", results)",
            &[r#""Julia""#, r#""BenchmarkTools""#],
            parse,
        ),
        Format::new(
            Syntax::Text,
            "display(run(suite))",
            &["BenchmarkGroup:", "tags: ", " => ", "Trial"],
            parse_group,
        ),
        Format::new(
            Syntax::Text,
            "display(@benchmark f(x))",
            &["BenchmarkTools.Trial: ", " Time  (median): "],
            parse_trial,
        ),
        Format::new(
            Syntax::Text,
            "display(@benchmark f(x)), before 1.0",
            &["BenchmarkTools.Trial:", "  median time: "],
            parse_trial,
        ),
    ],
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

/// Versions and saved values.
#[derive(Deserialize)]
struct Document(Versions, Vec<Saved>);

/// A saved value: its type and its fields. The JSON parser limits the depth of groups.
#[derive(Deserialize)]
struct Saved(Kind, Fields);

/// Type of a saved value. Its name would take more memory than most values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Group,
    Trial,
    Estimate,
    /// Ratio or judgement.
    Comparison,
    Other,
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KindVisitor)
    }
}

struct KindVisitor;

impl Visitor<'_> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E>(self, name: &str) -> Result<Kind, E> {
        Ok(match name.rsplit('.').next().unwrap_or(name) {
            "BenchmarkGroup" => Kind::Group,
            "Trial" => Kind::Trial,
            "TrialEstimate" => Kind::Estimate,
            "TrialRatio" | "TrialJudgement" => Kind::Comparison,
            _ => Kind::Other,
        })
    }
}

/// Fields of all types.
#[derive(Deserialize)]
struct Fields {
    data: Option<BTreeMap<String, Saved>>,
    times: Option<Box<[f64]>>,
    time: Option<f64>,
    memory: Option<f64>,
    allocs: Option<f64>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document(_, values) = document::read::<Shape, _>(input.text)?;
    let mut benchmarks = Benchmarks { input, entries: Entries::default() };
    for (index, value) in values.into_iter().enumerate() {
        benchmarks.read(value, "", &format!("[1][{index}]"))?;
    }
    let Benchmarks { mut entries, .. } = benchmarks;
    // The error contains the name, which has the keys of the groups.
    variant::distinguish(|_| Position::Path("[1]".to_owned()), &mut entries, &[])?;
    document::require_entries(entries, "[1]")
}

struct Benchmarks<'a> {
    input: &'a Input<'a>,
    entries: Entries,
}

impl Benchmarks<'_> {
    /// Reads a value and the groups in it.
    fn read(&mut self, Saved(kind, fields): Saved, name: &str, path: &str) -> Result<(), Failure> {
        let invalid = |expected: &str| Failure::missing(Position::Path(path.to_owned()), expected);
        let latency = match kind {
            Kind::Group => {
                for (key, value) in fields.data.ok_or_else(|| invalid("the member `data`"))? {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}/{key}") };
                    self.read(value, &name, &format!("{path}[1].data.{key}"))?;
                }
                return Ok(());
            }
            Kind::Trial => {
                let times = fields.times.ok_or_else(|| invalid("the member `times`"))?;
                if times.is_empty() {
                    self.input.skip(name, "they have no samples");
                    return Ok(());
                }
                let (value, spread) = match self.input.average {
                    Some(Average::Mean) => sample::mean(&times),
                    _ => sample::median(times.into_vec()),
                };
                ParsedMetric::latency(value).with_deviation(spread)
            }
            Kind::Estimate => ParsedMetric::latency(fields.time.ok_or_else(|| invalid("the member `time`"))?),
            Kind::Comparison => {
                self.input.skip(name, COMPARISONS);
                return Ok(());
            }
            Kind::Other => return Err(invalid("a `BenchmarkGroup` or a `Trial`")),
        };
        let mut metrics = vec![latency];
        metrics.extend(fields.memory.map(|bytes| ParsedMetric::of("allocated", bytes)));
        metrics.extend(fields.allocs.map(|count| ParsedMetric::of("allocations", count)));
        let name = if name.is_empty() { TRIAL } else { name };
        self.entries.push(Entry::new(|| Position::Path(path.to_owned()), name, metrics)?);
        Ok(())
    }
}

/// Name of a trial outside of a group, which has no name.
pub(crate) const TRIAL: &str = "trial";
pub(crate) const COMPARISONS: &str = "they are comparisons";

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
    fn a_single_trial() {
        let text =
            r#"[{"Julia":"1.10.4","BenchmarkTools":"1.0.0"},[["BenchmarkTools.Trial",{"times":[1,2,3]}]]]"#;
        insta::assert_snapshot!(read(Magic, text), @"trial latency 2 [1, 3]");
    }

    #[test]
    fn errors_have_a_path() {
        let file = |value: &str| format!(r#"[{{"Julia":"1.10.4","BenchmarkTools":"1.0.0"}},[{value}]]"#);
        let group =
            |value: &str| file(&format!(r#"["BenchmarkGroup",{{"data":{{"a":{value}}},"tags":[]}}]"#));
        let errors = [
            file(r#"["BenchmarkTools.Trial",{"times":[1]}],["BenchmarkTools.Trial",{"times":[2]}]"#),
            group(r#"["BenchmarkTools.Trial",{"times":["x"]}]"#),
            group(r#"["BenchmarkTools.Trial",{"times":[]}]"#),
            group(r#"["TagFilter",{}]"#),
            group("5"),
            file(""),
        ]
        .map(|text| read(Magic, &text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `benchmark_tools` cannot read the output at `[1]`: expected a benchmark with a unique combination of name and parameters, found `trial`.
        The adapter `benchmark_tools` cannot read the output at `[1][0][1].data.a[1].times[0]`: expected a number, found `string "x"`.
        The adapter `benchmark_tools` cannot read the output at `[1]`: expected at least one benchmark.
        The adapter `benchmark_tools` cannot read the output at `[1][0][1].data.a`: expected a `BenchmarkGroup` or a `Trial`.
        The adapter `benchmark_tools` cannot read the output at `[1][0][1].data.a`: expected an array, found `integer 5`.
        The adapter `benchmark_tools` cannot read the output at `[1]`: expected at least one benchmark.
        "#);
    }
}
