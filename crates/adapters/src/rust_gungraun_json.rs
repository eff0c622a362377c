//! Adapter for the summaries of Gungraun: JSON objects of version 6 or 7, each on one line or pretty-printed, with any other
//! text between them. Summaries of other versions, and truncated summaries before other objects, are skipped if at least one
//! summary is supported.

use std::marker::PhantomData;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use tidemark_api::Adapter;

use crate::{
    Detection, Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    error::Reason,
    rust_gungraun::counter_metric,
    text::{self, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RustGungraunJson,
    title: "Gungraun",
    metrics: "as `rust_gungraun`",
    parameters: "",
    averages: &[],
    formats: &[Format::new(Syntax::Ndjson, "cargo bench -- --output-format=json", &[], parse)
        .detected(Detection::Named)],
};

pub(crate) fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut skipped = None;
    for Object { line, text: object, is_truncated } in objects(input.text) {
        if is_truncated {
            if PARTS.iter().any(|member| object.contains(member)) {
                input.skip(format!("line {line}"), "their summaries are truncated");
                skipped.get_or_insert_with(|| {
                    Failure::missing(
                        Position::Line(line),
                        "the summary to be valid JSON, but it is truncated",
                    )
                });
            }
            continue;
        }
        let version = match serde_json::from_str::<Shape>(&object) {
            Ok(Shape { version: None, profiles: None, .. }) => continue,
            Ok(shape) => shape.version,
            Err(error) if error.is_data() || !SHAPE.iter().all(|member| object.contains(member)) => continue,
            Err(error) => {
                let position = Position::Line(line + error.line().saturating_sub(1));
                return Err(Failure::missing(position, "the summary to be valid JSON"));
            }
        };
        match version.as_ref().and_then(Value::as_str) {
            Some("6" | "7") | None => entries.push(entry(line, &summary(line, &object)?)?),
            Some(version) => {
                input.skip(format!("line {line}"), "they are summaries of another version than 6 or 7");
                skipped.get_or_insert_with(|| {
                    Failure::invalid(Position::Line(line), "a summary of version 6 or 7", version)
                });
            }
        }
    }
    match skipped {
        Some(failure) if entries.is_empty() => Err(failure),
        _ => text::require_entries(entries, "a summary of Gungraun as a JSON object"),
    }
}

/// Members that identify a summary: its path and one more, because log output may contain a `module_path`.
#[derive(Deserialize)]
struct Shape {
    #[expect(dead_code, reason = "its presence identifies a summary")]
    module_path: IgnoredAny,
    version: Option<Value>,
    profiles: Option<IgnoredAny>,
}

/// Members that identify a summary that is not valid JSON.
const SHAPE: [&str; 2] = [r#""module_path""#, r#""profiles""#];

/// Members of which a truncated summary contains at least one, unless it ends early.
const PARTS: [&str; 3] = [r#""baselines""#, r#""module_path""#, r#""profiles""#];

/// A summary of a supported version.
#[derive(Deserialize)]
struct Summary {
    version: String,
    module_path: String,
    id: Option<String>,
    profiles: Vec<Profile>,
}

fn summary(line: usize, object: &str) -> Result<Summary, Failure> {
    serde_json::from_str(object).or_else(|_| {
        document::track(PhantomData, object).map_err(|(reason, _)| {
            // The line number alone does not locate the error in a summary on one line.
            let expected = match reason.position {
                Some(Position::Path(path)) => format!("{} in `{path}`", reason.expected),
                _ => reason.expected,
            };
            Failure::Invalid(Reason { position: Some(Position::Line(line)), expected, found: reason.found })
        })
    })
}

/// Counters of one tool. Their path differs between versions.
#[derive(Deserialize)]
struct Profile {
    tool: String,
    #[serde(flatten)]
    rest: Value,
}

/// A text that may be an object.
struct Object {
    /// Number of its first line.
    line: usize,
    text: String,
    /// Whether another object starts before its end.
    is_truncated: bool,
}

/// Returns the texts that may be objects. A pretty-printed object ends at the first closing brace with the indentation of its
/// opening brace. It is truncated if another object starts with this indentation, because its content is indented more. An object
/// that is truncated by the end of the text is returned as far as it goes.
fn objects(text: &str) -> Vec<Object> {
    let mut objects = Vec::new();
    let mut open: Option<(&str, Object)> = None;
    for line in text::lines(text) {
        let indent = &line.text[..line.text.len() - line.text.trim_start_matches(is_blank).len()];
        let trimmed = line.text.trim_matches(is_blank);
        let is_start = trimmed == "{" || (trimmed.starts_with('{') && trimmed.ends_with('}'));
        if let Some((start_indent, mut object)) = open.take() {
            if is_start && indent.len() <= start_indent.len() {
                objects.push(Object { is_truncated: true, ..object });
            } else {
                object.text.push_str(line.text);
                object.text.push('\n');
                if indent == start_indent && matches!(trimmed, "}" | "},") {
                    let end = object.text.trim_end().trim_end_matches(',').len();
                    object.text.truncate(end);
                    objects.push(object);
                } else {
                    open = Some((start_indent, object));
                }
                continue;
            }
        }
        if trimmed == "{" {
            let object = Object { line: line.number, text: "{\n".to_owned(), is_truncated: false };
            open = Some((indent, object));
        } else if is_start {
            objects.push(Object { line: line.number, text: trimmed.to_owned(), is_truncated: false });
        }
    }
    objects.extend(open.map(|(_, object)| object));
    objects
}

fn entry(line: usize, summary: &Summary) -> Result<Entry, Failure> {
    let read = if summary.version == "6" { metrics_of_version_6 } else { metrics_of_version_7 };
    let metrics = summary.profiles.iter().flat_map(read).collect();
    let name = match &summary.id {
        Some(id) => format!("{}::{id}", summary.module_path),
        None => summary.module_path.clone(),
    };
    Entry::new(|| Position::Line(line), &name, metrics)
}

fn metrics_of_version_6(profile: &Profile) -> Vec<ParsedMetric> {
    let Some(kinds) = profile.rest.pointer("/summaries/total/summary").and_then(Value::as_object) else {
        return Vec::new();
    };
    let events = kinds.values().filter_map(Value::as_object).flatten();
    let number = |number: &Value| number.get("Int").or_else(|| number.get("Float")).and_then(Value::as_f64);
    // A `Right` has only the old value, which is not of this run.
    let new = |event: &Value| {
        event.pointer("/metrics/Left").or_else(|| event.pointer("/metrics/Both/0")).and_then(number)
    };
    events.filter_map(|(key, event)| counter_metric(&profile.tool, measure(key), new(event)?)).collect()
}

fn metrics_of_version_7(profile: &Profile) -> Vec<ParsedMetric> {
    let events = profile.rest.pointer("/data/total/metrics").and_then(Value::as_object);
    let new = |event: &Value| event.pointer("/values/new").and_then(Value::as_f64);
    let counts = events.into_iter().flatten();
    counts.filter_map(|(key, event)| counter_metric(&profile.tool, measure(key), new(event)?)).collect()
}

/// Returns the name of a measure for the key of its event; most are equal.
fn measure(key: &str) -> &str {
    match key {
        "Ir" => "Instructions",
        "L1hits" => "L1 Hits",
        "L2hits" => "L2 Hits",
        "LLhits" => "LL Hits",
        "RamHits" => "RAM Hits",
        "TotalRW" => "Total read+write",
        "EstimatedCycles" => "Estimated Cycles",
        "I1MissRate" => "I1 Miss Rate",
        "LLiMissRate" => "LLi Miss Rate",
        "D1MissRate" => "D1 Miss Rate",
        "LLdMissRate" => "LLd Miss Rate",
        "LLMissRate" => "LL Miss Rate",
        "L1HitRate" => "L1 Hit Rate",
        "LLHitRate" => "LL Hit Rate",
        "RamHitRate" => "RAM Hit Rate",
        "TotalBytes" => "Total bytes",
        "TotalBlocks" => "Total blocks",
        "TotalUnits" => "Total units",
        "TotalEvents" => "Total events",
        "TotalLifetimes" => "Total lifetimes",
        "AtTGmaxBytes" => "At t-gmax bytes",
        "AtTGmaxBlocks" => "At t-gmax blocks",
        "AtTEndBytes" => "At t-end bytes",
        "AtTEndBlocks" => "At t-end blocks",
        "ReadsBytes" => "Reads bytes",
        "WritesBytes" => "Writes bytes",
        "MaximumBytes" => "Maximum bytes",
        "MaximumBlocks" => "Maximum blocks",
        "SuppressedErrors" => "Suppressed Errors",
        "SuppressedContexts" => "Suppressed Contexts",
        key => key,
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter::RustGungraunJson, built_in};

    use super::*;
    use crate::tests::read;

    const VERSION_6: &str = r#"{"baselines": [null, null], "id": "case1", "module_path": "m::g::f", "version": "6",
        "profiles": [{"summaries": {"parts": [], "total": {"regressions": [], "summary": {"Callgrind": {
            "Ir": {"diffs": null, "metrics": {"Left": {"Int": 42}}},
            "Dr": {"diffs": null, "metrics": {"Right": {"Int": 42}}},
            "L1HitRate": {"diffs": null, "metrics": {"Both": [{"Float": 99.5}, {"Float": 98.0}]}}}}}},
            "tool": "Callgrind"},
            {"summaries": {"total": {"summary": {"ErrorTool": {"Errors": {"metrics": {"Left": {"Int": 1}}}}}}},
            "tool": "Helgrind"},
            {"summaries": {"total": {"summary": "None"}}, "tool": "BBV"}]}"#;

    #[test]
    fn a_real_summary() {
        insta::assert_snapshot!(read(RustGungraunJson, include_str!("../fixtures/rust_gungraun/tools.json")), @"
        gung::numbers::bench_sort::short d1-miss-rate 0.6622516556291391
        gung::numbers::bench_sort::short d1mr 0
        gung::numbers::bench_sort::short d1mw 1
        gung::numbers::bench_sort::short dlmr 0
        gung::numbers::bench_sort::short dlmw 1
        gung::numbers::bench_sort::short dr 86
        gung::numbers::bench_sort::short dw 65
        gung::numbers::bench_sort::short estimated-cycles 1127
        gung::numbers::bench_sort::short i1-miss-rate 1.6611295681063125
        gung::numbers::bench_sort::short i1mr 10
        gung::numbers::bench_sort::short ilmr 10
        gung::numbers::bench_sort::short instructions 602
        gung::numbers::bench_sort::short l1-hit-rate 98.53917662682603
        gung::numbers::bench_sort::short l1-hits 742
        gung::numbers::bench_sort::short ll-hit-rate 0
        gung::numbers::bench_sort::short ll-miss-rate 1.4608233731739706
        gung::numbers::bench_sort::short lld-miss-rate 0.6622516556291391
        gung::numbers::bench_sort::short ll-hits 0
        gung::numbers::bench_sort::short lli-miss-rate 1.6611295681063125
        gung::numbers::bench_sort::short ram-hit-rate 1.4608233731739706
        gung::numbers::bench_sort::short ram-hits 11
        gung::numbers::bench_sort::short total-read-write 753
        gung::numbers::bench_sort::short at-t-end-blocks 0
        gung::numbers::bench_sort::short at-t-end-bytes 0
        gung::numbers::bench_sort::short at-t-gmax-blocks 0
        gung::numbers::bench_sort::short at-t-gmax-bytes 0
        gung::numbers::bench_sort::short maximum-blocks 0
        gung::numbers::bench_sort::short maximum-bytes 0
        gung::numbers::bench_sort::short reads-bytes 288
        gung::numbers::bench_sort::short total-blocks 1
        gung::numbers::bench_sort::short total-bytes 80
        gung::numbers::bench_sort::short total-lifetimes 430
        gung::numbers::bench_sort::short writes-bytes 272
        gung::numbers::bench_sort::short memcheck-contexts 0
        gung::numbers::bench_sort::short memcheck-errors 0
        gung::numbers::bench_sort::short memcheck-suppressed-contexts 0
        gung::numbers::bench_sort::short memcheck-suppressed-errors 0
        ");
    }

    #[test]
    fn version_6_on_one_line_and_on_many() {
        let value: Value = serde_json::from_str(VERSION_6).unwrap();
        let line = read(RustGungraunJson, &format!("Running\n{{}}\n{value}\n"));
        insta::assert_snapshot!(line, @"
        m::g::f::case1 instructions 42
        m::g::f::case1 l1-hit-rate 99.5
        m::g::f::case1 helgrind-errors 1
        ");
        assert_eq!(read(RustGungraunJson, &format!("[\n{{\n}}\n{value:#}\n")), line);
        assert_eq!(read(RustGungraunJson, &serde_json::to_string_pretty(&[value]).unwrap()), line);
    }

    #[test]
    fn unsupported_versions_are_skipped() {
        let summary = VERSION_6.replace('\n', "");
        let newer = summary.replace(r#""6""#, r#""99""#).replace("profiles", "tools");
        insta::assert_snapshot!(read(RustGungraunJson, &newer), @"The adapter `rust_gungraun_json` cannot read the output at line 1: expected a summary of version 6 or 7, found `99`.");
        let alone = read(RustGungraunJson, &summary);
        assert_eq!(read(RustGungraunJson, &format!("{newer}\n{summary}\n{newer}")), alone);
        insta::assert_snapshot!(read(RustGungraunJson, "{\n"), @"The adapter `rust_gungraun_json` cannot read the output: expected a summary of Gungraun as a JSON object.");
    }

    #[test]
    fn a_truncated_summary_before_others_is_skipped() {
        let value: Value = serde_json::from_str(VERSION_6).unwrap();
        let pretty = format!("{value:#}");
        let cut: String =
            pretty.lines().take(pretty.lines().count() / 2).map(|line| format!("{line}\n")).collect();
        let alone = read(RustGungraunJson, &pretty);
        for rest in [value.to_string(), pretty.clone()] {
            let text = format!("{cut}{rest}\n");
            for adapter in [RustGungraunJson, Adapter::RustGungraun, Adapter::Magic] {
                let (results, skipped) = crate::parse_with_skipped(adapter, &text, None).unwrap();
                assert_eq!(results.to_string(), alone, "{adapter}");
                let skipped: Vec<_> =
                    skipped.iter().map(|skipped| (&*skipped.names[0], skipped.reason)).collect();
                assert_eq!(skipped, [("line 1", "their summaries are truncated")], "{adapter}");
            }
        }
        insta::assert_snapshot!(read(RustGungraunJson, &format!("{cut}{{}}\n")), @"The adapter `rust_gungraun_json` cannot read the output at line 1: expected the summary to be valid JSON, but it is truncated.");
        insta::assert_snapshot!(read(RustGungraunJson, &cut), @"The adapter `rust_gungraun_json` cannot read the output at line 41: expected the summary to be valid JSON.");
        assert_eq!(read(RustGungraunJson, &format!("{{\n  \"level\": \"INFO\",\n{value}\n")), alone);
    }

    #[test]
    fn an_invalid_summary_is_an_error_and_other_objects_are_ignored() {
        let summary = VERSION_6.replace('\n', "");
        let log = r#"{"level": "INFO", "module_path": "gung::setup", "line": 3}"#;
        assert_eq!(read(RustGungraunJson, &format!("{log}\n{summary}")), read(RustGungraunJson, &summary));
        let errors = [
            summary.replace(r#""version""#, r#""schema""#),
            summary.replace(r#""6""#, "6"),
            summary.replace(r#""profiles""#, r#""tools""#),
            summary.replace(r#""m::g::f""#, "null"),
            summary.replace(r#""tool": "Helgrind""#, r#""tool": 5"#),
            summary.replace(r#""Helgrind""#, "Helgrind"),
            format!("{{\n{}", &summary[1..summary.len() - 1]),
        ]
        .map(|invalid| read(RustGungraunJson, &format!("{summary}\n{invalid}")));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `rust_gungraun_json` cannot read the output at line 2: expected the member `version`.
        The adapter `rust_gungraun_json` cannot read the output at line 2: expected a text in `version`, found `integer 6`.
        The adapter `rust_gungraun_json` cannot read the output at line 2: expected the member `profiles`.
        The adapter `rust_gungraun_json` cannot read the output at line 2: expected a text in `module_path`, found `null`.
        The adapter `rust_gungraun_json` cannot read the output at line 2: expected a text in `profiles[1].tool`, found `integer 5`.
        The adapter `rust_gungraun_json` cannot read the output at line 2: expected the summary to be valid JSON.
        The adapter `rust_gungraun_json` cannot read the output at line 4: expected the summary to be valid JSON.
        ");
    }

    #[test]
    fn every_key_has_its_measure() {
        for key in ["Ir", "TotalRW", "LLdMissRate", "AtTGmaxBlocks", "Ge", "SysCpuTime", "SpLoss2", "ILdmr"] {
            assert!(built_in(measure(key)).is_some(), "{key}");
        }
    }
}
