//! Adapter for the output of `go test -bench`: a name, an iteration count, and pairs of value and unit; also as the events of
//! `-json`.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    text::{self, Line, Scan, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::GoBench,
    title: "`go test`",
    metrics: "latency; `B/op` as allocated, `allocs/op` as allocations, `MB/s` as bandwidth; any other unit as a measure with the name of the unit",
    parameters: "`package`, where several packages have the benchmark",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Ndjson,
            "go test -bench . -benchmem -json",
            &[r#""Action":"output""#, r#""Package":"#, r#""Output":"#],
            parse_events,
        ),
        Format::new(Syntax::Text, "go test -bench . -benchmem", &[], parse),
    ],
};

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    for line in text::lines(input.text) {
        if let Some((name, metrics)) = row(line)? {
            entries.push(line.entry(name, metrics)?);
        }
    }
    text::require_entries(entries, "a line such as `BenchmarkName-8  1000  1234.5 ns/op`")
}

/// An event of `go test -json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    output: String,
}

/// Parses the events of `go test -json`. The output of packages can be interleaved, and a line can be in several events.
/// Benchmarks with the same name in several packages have the parameter `package`.
fn parse_events(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut unfinished: HashMap<String, String> = HashMap::new();
    let mut found: Vec<(String, Entry)> = Vec::new();
    let mut has_events = false;
    for line in text::lines(input.text).filter(|line| line.text.starts_with('{')) {
        let expected = "an event of `go test -json`";
        let event: Event = match serde_json::from_str(line.text) {
            Ok(event) => event,
            Err(_) if has_events => return Err(line.invalid(expected)),
            Err(_) => return Err(Failure::unrecognized(expected)),
        };
        has_events = true;
        if event.action != "output" {
            continue;
        }
        let pending = unfinished.entry(event.package.clone()).or_default();
        pending.push_str(&event.output);
        if !pending.ends_with('\n') {
            continue;
        }
        for text in std::mem::take(pending).lines() {
            let printed = Line { number: line.number, text };
            if let Some((name, metrics)) = row(printed)? {
                found.push((event.package.clone(), printed.entry(name, metrics)?));
            }
        }
    }
    let mut packages: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (package, entry) in &found {
        packages.entry(entry.label.as_str()).or_default().insert(package);
    }
    let is_shared: Vec<bool> =
        found.iter().map(|(_, entry)| packages[entry.label.as_str()].len() > 1).collect();
    let entries = found.into_iter().zip(is_shared).map(|((package, entry), is_shared)| {
        let position = || Position::Path(package.clone());
        let parameters = is_shared.then(|| ("package".to_owned(), package.clone()));
        let parameters = variant::of_texts(position, parameters.into_iter().collect())?;
        Ok(Entry { parameters, ..entry })
    });
    text::require_entries(entries.collect::<Result<_, Failure>>()?, "an event with the result of a benchmark")
}

fn row(line: Line<'_>) -> Result<Option<(&str, Vec<ParsedMetric>)>, Failure> {
    let mut scan = Scan::new(line.text);
    let Some(name) = start(&mut scan) else { return Ok(None) };
    let mut metrics = Vec::new();
    while let Some((value, unit)) = pair(&mut scan) {
        metrics.push(
            measured(value, unit)
                .ok_or_else(|| line.invalid("a unit of at most 64 characters for each value"))?,
        );
        // A benchmark whose first metric is not a time is recognized only by its name.
        if !(name.starts_with("Benchmark") || metrics[0].measure.as_str() == "latency") {
            return Ok(None);
        }
    }
    Ok((!metrics.is_empty()).then_some((name, metrics)))
}

fn start<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    let name = scan.token()?;
    scan.blanks()?;
    scan.integer()?;
    Some(name)
}

fn pair<'a>(scan: &mut Scan<'a>) -> Option<(f64, &'a str)> {
    scan.blanks()?;
    let value = scan.number()?;
    scan.blanks()?;
    Some((value, scan.token()?))
}

fn measured(value: f64, unit: &str) -> Option<ParsedMetric> {
    match unit {
        "B/op" => Some(ParsedMetric::of("allocated", value)),
        "allocs/op" => Some(ParsedMetric::of("allocations", value)),
        "MB/s" => Some(ParsedMetric::of("bandwidth", value * 1e6)),
        unit => match unit.strip_suffix("/op").and_then(Unit::from_symbol) {
            Some(time) => Some(ParsedMetric::latency(time.nanoseconds(value))),
            None => ParsedMetric::named_by_units(unit, value),
        },
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{GoBench, Magic};

    use crate::tests::read;

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(GoBench, include_str!("../fixtures/go_bench/benchmem.txt")), @"
        BenchmarkSum-2 latency 1.136
        BenchmarkSum-2 allocated 0
        BenchmarkSum-2 allocations 0
        BenchmarkSort/n=10-2 latency 327.5
        BenchmarkSort/n=10-2 bandwidth 244280000
        BenchmarkSort/n=10-2 allocated 104
        BenchmarkSort/n=10-2 allocations 2
        BenchmarkSort/n=1000-2 latency 104727
        BenchmarkSort/n=1000-2 bandwidth 76390000
        BenchmarkSort/n=1000-2 allocated 8216
        BenchmarkSort/n=1000-2 allocations 2
        BenchmarkCustom-2 latency 230.4
        BenchmarkCustom-2 items/batch 67320
        BenchmarkCustom-2 p99-ns 3.5
        BenchmarkCustom-2 allocated 15
        BenchmarkCustom-2 allocations 1
        BenchmarkLogs-2 latency 1.744
        BenchmarkLogs-2 allocated 0
        BenchmarkLogs-2 allocations 0
        ");
    }

    #[test]
    fn events() {
        let text = include_str!("../fixtures/go_bench/events.ndjson");
        insta::assert_snapshot!(read(GoBench, text), @"
        BenchmarkSum-2 {package=demo/a} latency 0.5717
        BenchmarkSort/n=10-2 latency 597.9
        BenchmarkSort/n=10-2 bandwidth 133810000
        BenchmarkSort/n=1000-2 latency 7353
        BenchmarkSort/n=1000-2 bandwidth 1088000000
        BenchmarkCustom-2 latency 72.73
        BenchmarkCustom-2 items/batch 12
        BenchmarkCustom-2 p99-ns 3.5
        BenchmarkSum-2 {package=demo/b} latency 0.4611
        ");
        assert_eq!(read(Magic, text), read(GoBench, text));
        let event = |package: &str, output: &str| {
            format!("{{\"Action\":\"output\",\"Package\":\"{package}\",\"Output\":\"{output}\"}}\n")
        };
        let interleaved = format!(
            "# demo\n{}{}{}{}",
            event("a", "BenchmarkA-2\\t"),
            event("b", "BenchmarkB-2\\t 1\\t 5 ns/op\\n"),
            event("a", " 1\\t 3 ns/op\\n"),
            event("a", "BenchmarkA-2\\t 1\\t 4 ns/op\\n"),
        );
        insta::assert_snapshot!(read(Magic, &interleaved), @"
        BenchmarkB-2 latency 5
        BenchmarkA-2 latency 4
        ");
        insta::assert_snapshot!(read(Magic, &format!("{interleaved}{{\"Action\":\n")), @r#"The adapter `go_bench` cannot read the output at line 6: expected an event of `go test -json`, found `{"Action":`."#);
        insta::assert_snapshot!(read(GoBench, &event("a", "PASS\\n")), @"The adapter `go_bench` cannot read the output: expected an event with the result of a benchmark.");
    }

    #[test]
    fn the_last_of_repeated_runs_is_kept() {
        insta::assert_snapshot!(read(GoBench, include_str!("../fixtures/go_bench/count.txt")), @"
        BenchmarkSum-2 latency 1.35
        BenchmarkSort/n=10-2 latency 756.9
        BenchmarkSort/n=10-2 bandwidth 105690000
        BenchmarkSort/n=1000-2 latency 125240
        BenchmarkSort/n=1000-2 bandwidth 63880000
        ");
    }

    #[test]
    fn only_benchmark_lines_are_parsed() {
        let text = "BenchmarkParse-8   1000   1234.5 ns/op   64 B/op   2 allocs/op\n\
            BenchmarkBlank 1 5 ms/op \n\
            BenchmarkSize 1 7 points\n\
            BenchmarkChatty 1 2 ns/op said something\n\
            Other 3 4 points\n\
            Timed 3 4 s/op\n\
            Benchmark 10\n\
            ok  \tdemo\t0.598s";
        insta::assert_snapshot!(read(Magic, text), @"
        BenchmarkParse-8 latency 1234.5
        BenchmarkParse-8 allocated 64
        BenchmarkParse-8 allocations 2
        BenchmarkBlank latency 5000000
        BenchmarkSize points 7
        BenchmarkChatty latency 2
        Timed latency 4000000000
        ");
        insta::assert_snapshot!(read(GoBench, "PASS"), @"The adapter `go_bench` cannot read the output: expected a line such as `BenchmarkName-8  1000  1234.5 ns/op`.");
        insta::assert_snapshot!(read(GoBench, &format!("BenchmarkA 1 2 {}", "x".repeat(65))), @"The adapter `go_bench` cannot read the output at line 1: expected a unit of at most 64 characters for each value, found `BenchmarkA 1 2 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…`.");
    }
}
