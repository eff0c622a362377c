//! Adapter for Mocha: the durations of the tests in its JSON report.

use std::collections::HashMap;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, text::Unit,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Mocha,
    title: "Mocha",
    metrics: "latency: the duration of each test that passed; the full title is the name of the benchmark",
    parameters: "",
    averages: &[],
    formats: &[Format::new(
        Syntax::Json,
        "mocha --reporter json",
        &[r#""stats""#, r#""suites""#, r#""passes""#, r#""fullTitle""#],
        parse,
    )],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    stats: ShapeStatistics,
    tests: Vec<IgnoredAny>,
    passes: Vec<IgnoredAny>,
    failures: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeStatistics {
    suites: IgnoredAny,
    passes: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    stats: ShapeStatistics,
    tests: Vec<Test>,
    #[expect(dead_code, reason = "its presence identifies the tool")]
    passes: Vec<IgnoredAny>,
    #[expect(dead_code, reason = "its presence identifies the tool")]
    failures: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    full_title: String,
    /// Milliseconds; missing if Mocha skipped the test.
    duration: Option<f64>,
    /// Empty if the test passed.
    #[serde(default)]
    err: Map<String, Value>,
}

/// Parses a report. Mocha does not require unique titles, and durations of different tests must not mix in one series.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { tests, .. } = document::read::<Shape, _>(input.text)?;
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(tests.len());
    for test in &tests {
        *counts.entry(&test.full_title).or_default() += 1;
    }
    let mut entries = Entries::default();
    for (index, test) in tests.iter().enumerate() {
        let position = || Position::Path(format!("tests[{index}]"));
        match test.duration {
            _ if !test.err.is_empty() => input.skip(&test.full_title, "they failed"),
            None => input.skip(&test.full_title, "Mocha did not run them"),
            Some(_) if counts[test.full_title.as_str()] > 1 => {
                input.skip(&test.full_title, "other tests have the same title");
            }
            Some(duration) => {
                let latency = ParsedMetric::latency(Unit::Milliseconds.nanoseconds(duration));
                entries.push(Entry::new(position, &test.full_title, vec![latency])?);
            }
        }
    }
    if entries.is_empty() {
        return Err(Failure::missing(
            Position::Path("tests".to_owned()),
            "at least one test that passed and has a unique title",
        ));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Mocha};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn durations_of_tests() {
        let text = include_str!("../fixtures/mocha/passed.json");
        insta::assert_snapshot!(read(Mocha, text), @"
        Array sorts latency 0
        Array waits latency 31000000
        Array nested waits longer latency 61000000
        ");
        assert_eq!(read(Magic, text), read(Mocha, text));
        let (results, skipped) =
            parse_with_skipped(Magic, include_str!("../fixtures/mocha/failed.json"), None).unwrap();
        insta::assert_snapshot!(results, @"
        Array sorts latency 0
        Array waits latency 31000000
        Array nested waits longer latency 72000000
        ");
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        fails: they failed
        Array is skipped: Mocha did not run them
        Array is pending: Mocha did not run them
        ");
    }

    #[test]
    fn tests_with_the_same_title_are_skipped() {
        let report = |tests: &str| {
            format!(r#"{{"stats":{{"suites":1,"passes":1}},"tests":[{tests}],"passes":[],"failures":[]}}"#)
        };
        let (a, b) = (r#"{"fullTitle":"a","duration":1,"err":{}}"#, r#"{"fullTitle":"b","duration":1}"#);
        assert_eq!(read(Magic, &report(&[a, b, a].join(","))), "b latency 1000000\n");
        let errors = [report(&[a, a].join(",")), report(&a.replace('1', "\"1\"")), "{}".to_owned()];
        insta::assert_snapshot!(errors.map(|text| read(Mocha, &text)).join("\n"), @r#"
        The adapter `mocha` cannot read the output at `tests`: expected at least one test that passed and has a unique title.
        The adapter `mocha` cannot read the output at `tests[0].duration`: expected a number, found `string "1"`.
        The adapter `mocha` cannot read the output: expected the member `stats`.
        "#);
    }
}
