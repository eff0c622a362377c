//! Adapter for the JSON that Nyrkiö accepts: runs with metrics and the commit. Each metric is a benchmark, because its unit decides
//! the measure.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use tidemark_api::{Adapter, MeasureDirection};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Nyrkio,
    title: "Nyrkiö",
    metrics: "times as latency, `ops/s` as throughput, `B/s` as bandwidth; any other unit as a measure with the name of the unit; the name is the name of the metric, after the `test_name` of the run if it has one",
    parameters: "",
    averages: &[],
    formats: &[Format::new(
        Syntax::Json,
        "the body of `POST /api/v0/result/TEST`",
        &[r#""timestamp""#, r#""metrics""#, r#""attributes""#, r#""git_commit""#],
        parse,
    )],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeRun {
    timestamp: IgnoredAny,
    metrics: IgnoredAny,
    attributes: ShapeAttributes,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeAttributes {
    git_commit: IgnoredAny,
}

#[derive(Deserialize)]
struct Run {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    timestamp: IgnoredAny,
    metrics: Vec<Metric>,
    attributes: Attributes,
    test_name: Option<String>,
    passed: Option<bool>,
}

#[derive(Deserialize)]
struct Metric {
    name: String,
    unit: String,
    value: f64,
    #[serde(default, deserialize_with = "direction")]
    direction: Option<MeasureDirection>,
}

#[derive(Deserialize)]
struct Attributes {
    git_commit: String,
    test_name: Option<String>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let runs: Vec<Run> = document::read::<Vec<ShapeRun>, _>(input.text)?;
    let position = |(run, metric)| Position::Path(format!("[{run}].metrics[{metric}]"));
    let (mut entries, mut places) = (Entries::default(), Vec::new());
    for (index, run) in runs.iter().enumerate() {
        // A report has one commit; a history must be imported run by run.
        if run.attributes.git_commit != runs[0].attributes.git_commit {
            let path = format!("[{index}].attributes.git_commit");
            let expected = "the same commit in all runs";
            return Err(Failure::invalid(Position::Path(path), expected, &run.attributes.git_commit));
        }
        let test = run.test_name.as_ref().or(run.attributes.test_name.as_ref());
        for (metric_index, metric) in run.metrics.iter().enumerate() {
            let name = test.map_or_else(|| metric.name.clone(), |test| format!("{test}/{}", metric.name));
            if run.passed == Some(false) {
                input.skip(name, "they failed");
                continue;
            }
            let position = || position((index, metric_index));
            let expected = "a unit of 1 to 64 characters";
            let measured =
                metric.measured().ok_or_else(|| Failure::invalid(position(), expected, &metric.unit))?;
            entries.push(Entry::new(position, &name, vec![measured])?);
            places.push((index, metric_index));
        }
    }
    variant::distinguish(|index| position(places[index]), &mut entries, &[])?;
    text::require_entries(entries, "runs with metrics")
}

impl Metric {
    /// Returns the metric of the measure that the unit and the direction belong to.
    fn measured(&self) -> Option<ParsedMetric> {
        let is_higher_better = self.direction == Some(MeasureDirection::HigherIsBetter);
        let is_lower_better = self.direction == Some(MeasureDirection::LowerIsBetter);
        let time = match self.unit.as_str() {
            "sec" | "seconds" => Some(Unit::Seconds),
            unit => Unit::from_symbol(unit),
        };
        if let Some(unit) = time.filter(|_| !is_higher_better) {
            return Some(ParsedMetric::latency(unit.nanoseconds(self.value)));
        }
        if let Some(bytes) = self.unit.strip_suffix("/s").filter(|_| !is_lower_better) {
            match text::bytes(&format!("1 {bytes}")) {
                _ if matches!(bytes, "op" | "ops") => return Some(ParsedMetric::throughput(self.value)),
                Some(factor) => return Some(ParsedMetric::of("bandwidth", self.value * factor)),
                None => {}
            }
        }
        let metric = ParsedMetric::named_by_units(&self.unit, self.value)?;
        Some(ParsedMetric { direction: self.direction, ..metric })
    }
}

/// Parses a direction; other texts mean that it is unknown.
fn direction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MeasureDirection>, D::Error> {
    let text: Option<String> = Deserialize::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Magic, Nyrkio},
        MeasureDirection,
    };

    use crate::{parse, tests::read};

    #[test]
    fn runs() {
        let text = include_str!("../fixtures/nyrkio/result.json");
        insta::assert_snapshot!(read(Nyrkio, text), @"
        p50 latency 56000
        p99 latency 280500
        rate throughput 12500
        queue items 7
        ");
        assert_eq!(read(Magic, text), read(Nyrkio, text));
        let results = parse(Nyrkio, &text.replace("7 }", r#"7, "direction": "lower_is_better" }"#), None);
        let results = results.unwrap();
        let queue = results.entries.iter().last().unwrap();
        assert_eq!(queue.metrics().next().unwrap().direction, Some(MeasureDirection::LowerIsBetter));
        let text = include_str!("../fixtures/nyrkio/tests.json");
        insta::assert_snapshot!(read(Magic, text), @"
        parse/time latency 1500000
        render/time latency 2500000
        render/copied bandwidth 20000000
        ");
    }

    #[test]
    fn errors_have_a_path() {
        let text = include_str!("../fixtures/nyrkio/tests.json");
        insta::assert_snapshot!(read(Magic, &text.replacen("6995e2d", "other", 1)), @"The adapter `nyrkio` cannot read the output at `[1].attributes.git_commit`: expected the same commit in all runs, found `6995e2d`.");
        insta::assert_snapshot!(read(Magic, &text.replace("render", "parse")), @"The adapter `nyrkio` cannot read the output at `[1].metrics[0]`: expected a benchmark with a unique combination of name and parameters, found `parse/time`.");
        insta::assert_snapshot!(read(Magic, &text.replace("1.5", "\"1.5\"")), @r#"The adapter `nyrkio` cannot read the output at `[0].metrics[0].value`: expected a number, found `string "1.5"`."#);
        insta::assert_snapshot!(read(Nyrkio, "[]"), @"The adapter `nyrkio` cannot read the output: expected runs with metrics.");
    }
}
