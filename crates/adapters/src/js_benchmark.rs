//! Adapter for the output of Benchmark.js: operations per second and the margin of error in percent. It reads the printed lines,
//! and suites and benchmarks as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Scan, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::JsBenchmark,
    title: "Benchmark.js",
    metrics: "throughput ± relative margin of error",
    parameters: "",
    averages: &[Average::Median],
    formats: &[
        Format::new(Syntax::Text, "node bench.js", &["ops/sec"], parse),
        Format::new(
            Syntax::Json,
            "JSON.stringify(suite)",
            &[r#""stats""#, r#""rme""#, r#""moe""#],
            parse_json,
        ),
    ],
};

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    for line in text::lines(input.text) {
        if let Some((name, metric)) = row(line.text) {
            entries.push(line.entry(name, vec![metric])?);
        }
    }
    text::require_entries(entries, "a line such as `name x 2,000 ops/sec ±1.50% (90 runs sampled)`")
}

/// Returns the name, which may contain an `x`, and the rate. No attempt reads past the next `x`.
fn row(line: &str) -> Option<(&str, ParsedMetric)> {
    line.match_indices('x').find_map(|(start, _)| {
        let name = line[..start].trim_end_matches(is_blank);
        let separated = name.len() < start && !name.is_empty();
        separated.then(|| rate(Scan::new(&line[start..]))).flatten().map(|metric| (name, metric))
    })
}

fn rate(mut scan: Scan<'_>) -> Option<ParsedMetric> {
    scan.literal("x")?;
    scan.blanks()?;
    let value = scan.number()?;
    scan.blanks()?;
    scan.literal("ops/sec")?;
    scan.blanks()?;
    scan.literal("±")?;
    let percent = scan.number()?;
    scan.literal("%")?;
    scan.blanks()?;
    scan.literal("(")?;
    scan.integer()?;
    scan.blanks()?;
    scan.literal("run")?;
    // A single run is printed as `run`, without the plural.
    let _plural = scan.literal("s");
    scan.blanks()?;
    scan.literal("sampled)")?;
    scan.end()?;
    Some(ParsedMetric::throughput(value).with_deviation(value * percent / 100.0))
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    name: IgnoredAny,
    stats: ShapeStatistics,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeStatistics {
    rme: IgnoredAny,
    moe: IgnoredAny,
    deviation: IgnoredAny,
}

/// A suite: an object with its benchmarks as members `0`, `1`, ….
#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeSuite {
    #[serde(rename = "0")]
    first: Shape,
    length: IgnoredAny,
}

#[derive(Deserialize)]
struct Benchmark {
    name: String,
    /// Missing after an error.
    hz: Option<f64>,
    stats: Statistics,
}

#[derive(Deserialize)]
struct Statistics {
    rme: f64,
}

/// Parses a suite, a list of benchmarks, or a benchmark.
fn parse_json(input: &Input<'_>) -> Result<Entries, Failure> {
    let benchmarks = if input.text.trim_start().starts_with('[') {
        document::read::<Vec<Shape>, _>(input.text)?
    } else if let Ok(benchmark) = document::read::<Shape, Benchmark>(input.text) {
        vec![benchmark]
    } else {
        document::read::<ShapeSuite, ShapeSuite>(input.text)?;
        of_suite(document::read::<ShapeSuite, _>(input.text)?)?
    };
    let mut entries = Entries::default();
    for (index, benchmark) in benchmarks.iter().enumerate() {
        match benchmark.hz.filter(|hz| *hz > 0.0) {
            Some(hz) => {
                let metric = ParsedMetric::throughput(hz).with_deviation(hz * benchmark.stats.rme / 100.0);
                let position = || Position::Path(format!("[{index}]"));
                entries.push(Entry::new(position, &benchmark.name, vec![metric])?);
            }
            None => input.skip(&benchmark.name, "they failed"),
        }
    }
    document::require_entries(entries, "[0]")
}

fn of_suite(mut members: BTreeMap<String, Box<RawValue>>) -> Result<Vec<Benchmark>, Failure> {
    let members = (0..).map_while(|index: usize| Some((index, members.remove(&index.to_string())?)));
    let benchmarks = members.map(|(index, member)| {
        serde_json::from_str::<Benchmark>(member.get()).map_err(|error| {
            let position = Position::Path(format!("[{index}]"));
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or(&reason);
            Failure::invalid(position, "a benchmark with `name`, `hz` and `stats`", reason)
        })
    });
    benchmarks.collect()
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{JsBenchmark, Magic};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn suites_and_benchmarks_as_json() {
        let text = include_str!("../fixtures/js_benchmark/suite.json");
        insta::assert_snapshot!(read(JsBenchmark, text), @"
        RegExp#test throughput 7308633.057547484 [5029545.353856573, 9587720.761238394]
        String#indexOf throughput 200479265.7646087 [158916538.68778828, 242041992.84142914]
        ");
        assert_eq!(read(Magic, text), read(JsBenchmark, text));
        assert_eq!(parse_with_skipped(Magic, text, None).unwrap().1.len(), 1);
        assert_eq!(
            read(Magic, include_str!("../fixtures/js_benchmark/mapped.json")),
            read(JsBenchmark, text)
        );
        let one = r#"{"name":"a","hz":200,"stats":{"rme":1,"moe":0,"deviation":0}}"#;
        assert_eq!(read(Magic, one), "a throughput 200 [198, 202]\n");
        let errors = [
            format!("[{}]", one.replace("200", "\"200\"")),
            format!(r#"{{"0":{},"length":1}}"#, one.replace("200", "\"200\"")),
            one.replace("200", "0"),
            r#"{"a":1}"#.to_owned(),
        ]
        .map(|text| read(JsBenchmark, &text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `js_benchmark` cannot read the output at `[0].hz`: expected a number, found `string "200"`.
        The adapter `js_benchmark` cannot read the output at `[0]`: expected a benchmark with `name`, `hz` and `stats`, found `invalid type: string "200", expected f64`.
        The adapter `js_benchmark` cannot read the output at `[0]`: expected at least one benchmark.
        The adapter `js_benchmark` cannot read the output: expected the member `0`.
        "#);
    }

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(JsBenchmark, include_str!("../fixtures/js_benchmark/suite.txt")), @"
        RegExp#test throughput 19055611 [17251044.6383, 20860177.3617]
        String#indexOf x 2 throughput 328547883 [292999002.0594, 364096763.9406]
        sort throughput 1554 [1347.7842, 1760.2158]
        ");
    }

    #[test]
    fn rows() {
        let text = "parse x 2,000 ops/sec ±1.50% (90 runs sampled)\n\
            max x 3 x 10 ops/sec ±0.00% (1 run sampled)\n\
            x 10 ops/sec ±0.00% (1 run sampled)";
        insta::assert_snapshot!(read(JsBenchmark, text), @"
        parse throughput 2000 [1970, 2030]
        max x 3 throughput 10 [10, 10]
        ");
        insta::assert_snapshot!(read(JsBenchmark, "Fastest is parse"), @"The adapter `js_benchmark` cannot read the output: expected a line such as `name x 2,000 ops/sec ±1.50% (90 runs sampled)`.");
    }
}
