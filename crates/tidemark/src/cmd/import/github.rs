//! `data.js` of github-action-benchmark: JavaScript that assigns one variable.

use std::collections::BTreeMap;

use serde::Deserialize;
use tidemark_adapters::{Entry, ParsedMetric};
use tidemark_api::MeasureDirection;

use super::{Content, ImportedRun, entry, from_millis, measured, unreadable};
use crate::{failure::Result, input::ToolOutput};

/// Start of the file.
const VARIABLE: &str = "window.BENCHMARK_DATA";

#[derive(Deserialize)]
struct Data {
    /// Runs by the name of their suite.
    entries: BTreeMap<String, Vec<Run>>,
}

#[derive(Deserialize)]
struct Run {
    commit: Commit,
    /// Time in milliseconds since 1970.
    date: f64,
    tool: Option<String>,
    benches: Vec<Bench>,
}

impl Run {
    /// Returns the direction that the run declares for its measures.
    fn direction(&self) -> Option<MeasureDirection> {
        match self.tool.as_deref()? {
            "customSmallerIsBetter" => Some(MeasureDirection::LowerIsBetter),
            "customBiggerIsBetter" => Some(MeasureDirection::HigherIsBetter),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct Bench {
    name: String,
    value: f64,
    range: Option<String>,
    unit: String,
}

pub(super) fn is_data(text: &str) -> bool {
    start(text).starts_with(VARIABLE)
}

fn start(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim_start()
}

/// Reads the file. If there are several suites, the name of the suite precedes the name of the benchmark.
pub(super) fn read(output: &ToolOutput) -> Result<Vec<ImportedRun>> {
    let json = start(&output.text).split_once('=').map_or("", |(_, json)| json);
    let data: Data = serde_json::from_str(json.trim().trim_end_matches(';')).map_err(|error| {
        let reason =
            format!("The value of `{VARIABLE}` is not in the format of github-action-benchmark ({error})");
        unreadable(&output.name, &reason)
    })?;
    let several = data.entries.len() > 1;
    let mut all = Vec::new();
    for (suite, runs) in &data.entries {
        for run in runs {
            let of = |bench: &Bench| {
                let name = if several { format!("{suite}/{}", bench.name) } else { bench.name.clone() };
                bench.entry(&name, run.direction())
            };
            let entries: Vec<Entry> = run.benches.iter().filter_map(of).collect();
            if !entries.is_empty() {
                let (hash, time) = (run.commit.id.parse().ok(), from_millis(run.date));
                all.push(ImportedRun { hash, testbed: None, time, content: Content::Read(entries) });
            }
        }
    }
    Ok(all)
}

impl Bench {
    fn entry(&self, name: &str, direction: Option<MeasureDirection>) -> Option<Entry> {
        let (measure, factor) = unit(&self.unit);
        let (units, direction) =
            if factor.is_none() { (Some(self.unit.as_str()), direction) } else { (None, None) };
        let factor = factor.unwrap_or(1.0);
        let measured = measured(&measure, units, self.value * factor)?;
        let spread = self.range.as_deref().and_then(|range| spread(range, self.value));
        let reach = |sign: f64| spread.map(|spread| measured.value + sign * spread * factor);
        let (lower_value, upper_value) = (reach(-1.0), reach(1.0));
        entry(name, ParsedMetric { direction, lower_value, upper_value, ..measured })
    }
}

/// Returns the measure of a unit and the factor of its values; an unknown unit is a measure with the name of the unit.
fn unit(unit: &str) -> (String, Option<f64>) {
    let (first, per) = unit.split_once('/').map_or((unit, None), |(first, per)| (first, Some(per)));
    let nanoseconds = |unit: &str| match unit.trim() {
        "ps" => Some(1e-3),
        "ns" => Some(1.0),
        "us" | "µs" | "μs" => Some(1e3),
        "ms" => Some(1e6),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1e9),
        _ => None,
    };
    let is_counted = |unit: &str| matches!(unit.trim(), "iter" | "op" | "ops" | "times");
    let (measure, factor) = match per {
        Some(per) if is_counted(first) => ("throughput", nanoseconds(per).map(|time| 1e9 / time)),
        Some(per) if !is_counted(per) => ("", None),
        _ => ("latency", nanoseconds(first)),
    };
    (if factor.is_some() { measure } else { unit }.to_owned(), factor)
}

/// Returns half the width of a range: `± 12`, `+/- 12` or `±0.5%`. Ignores other forms, because their units are unknown.
fn spread(range: &str, value: f64) -> Option<f64> {
    let range = range.trim();
    let number = range.strip_prefix('±').or_else(|| range.strip_prefix("+/-"))?.trim().replace(',', "");
    let spread = match number.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0 * value,
        None => number.parse().ok()?,
    };
    spread.is_finite().then_some(spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_become_measures() {
        for (text, measure, factor) in [
            ("ns/iter", "latency", Some(1.0)),
            ("ms/op", "latency", Some(1e6)),
            ("us", "latency", Some(1e3)),
            ("iter/sec", "throughput", Some(1.0)),
            ("ops/ms", "throughput", Some(1e3)),
            ("MB/s", "MB/s", None),
            ("MiB", "MiB", None),
        ] {
            assert_eq!(unit(text), (measure.to_owned(), factor), "{text}");
        }
    }

    #[test]
    fn the_tool_declares_the_direction_of_other_units() {
        let direction = |tool: &str, unit: &str| {
            let run = format!(
                r#"{{"commit": {{"id": "a"}}, "date": 0, "tool": "{tool}",
                    "benches": [{{"name": "a", "value": 1, "unit": "{unit}"}}]}}"#
            );
            let run: Run = serde_json::from_str(&run).unwrap();
            run.benches[0].entry("a", run.direction()).unwrap().metrics[0].direction
        };
        assert_eq!(direction("customBiggerIsBetter", "points"), Some(MeasureDirection::HigherIsBetter));
        assert_eq!(direction("customSmallerIsBetter", "MiB"), Some(MeasureDirection::LowerIsBetter));
        assert_eq!(direction("customSmallerIsBetter", "ms"), None);
        assert_eq!(direction("cargo", "MiB"), None);
    }

    #[test]
    fn a_range_is_a_spread_or_nothing() {
        assert_eq!(spread("± 1,200", 5.0), Some(1200.0));
        assert_eq!(spread("+/- 12", 5.0), Some(12.0));
        assert_eq!(spread("±2%", 50.0), Some(1.0));
        assert_eq!(spread("stddev: 0.5", 50.0), None);
    }
}
