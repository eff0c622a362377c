//! Adapter for the output of `go test -bench`: a name, an iteration count, and pairs of value and unit; also as the events of
//! `-json`.

use std::collections::HashMap;

use serde::Deserialize;
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, ndjson,
    results::fold_repeated,
    text::{self, Line, Scan, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::GoBench,
    title: "`go test`",
    metrics: "latency; `B/op` as allocated, `allocs/op` as allocations, `MB/s` as bandwidth; any other unit as a measure with the name of the unit; repeated runs (`-count`) as their median, from least to greatest; the package as a parameter of benchmarks with the same name in several packages",
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
    let expected = "a line such as `BenchmarkName-8  1000  1234.5 ns/op`";
    // Searching both takes less time than splitting each line of another output.
    if !["Benchmark", "/op"].iter().any(|mark| input.text.contains(mark)) {
        return Err(Failure::unrecognized(expected));
    }
    let mut found = Found::default();
    let mut package = "";
    for line in text::lines(input.text) {
        if let Some((name, metrics)) = row(line)? {
            found.push(package, line.entry(name, metrics)?);
        } else if let Some(path) = line.text.strip_prefix("pkg: ") {
            package = path.trim();
        }
    }
    text::require_entries(found.finish()?, expected)
}

/// Benchmarks with their packages.
#[derive(Default)]
struct Found {
    entries: Entries,
    /// Packages in order of appearance.
    packages: Vec<String>,
    /// Index of the package of each entry.
    indexes: Vec<u32>,
}

impl Found {
    fn push(&mut self, package: &str, entry: Entry) {
        let last = self.indexes.last().map(|index| *index as usize);
        let known = last
            .filter(|last| self.packages[*last] == package)
            .or_else(|| self.packages.iter().position(|known| known == package));
        let index = known.unwrap_or_else(|| {
            self.packages.push(package.to_owned());
            self.packages.len() - 1
        });
        self.indexes.push(u32::try_from(index).unwrap_or(u32::MAX));
        self.entries.push(entry);
    }

    /// Adds the parameter `package` to benchmarks with the same name in several packages, and folds repeated runs.
    fn finish(self) -> Result<Entries, Failure> {
        let Self { mut entries, packages, indexes } = self;
        let package = |index: usize| packages.get(indexes[index] as usize).map(String::as_str);
        let package = |index: usize| package(index).filter(|package| !package.is_empty());
        if packages.len() > 1 {
            let position = |index| Position::Path(package(index).unwrap_or_default().to_owned());
            variant::separate(position, &mut entries, &[("package", &package)])?;
        }
        fold_repeated(&mut entries);
        Ok(entries)
    }
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
    let mut found = Found::default();
    ndjson::read(input, |line, event: Event| {
        if event.action != "output" {
            return Ok(());
        }
        let pending = unfinished.entry(event.package.clone()).or_default();
        pending.push_str(&event.output);
        if !pending.ends_with('\n') {
            return Ok(());
        }
        for text in std::mem::take(pending).lines() {
            let printed = Line { number: line.number, text };
            if let Some((name, metrics)) = row(printed)? {
                found.push(&event.package, printed.entry(name, metrics)?);
            }
        }
        Ok(())
    })?;
    text::require_entries(found.finish()?, "an event with the result of a benchmark")
}

fn row(line: Line<'_>) -> Result<Option<(&str, Vec<ParsedMetric>)>, Failure> {
    let mut scan = Scan::new(line.text);
    let Some(name) = start(&mut scan) else { return Ok(None) };
    let mut metrics = Vec::new();
    while let Some((value, unit)) = pair(&mut scan) {
        // `testing.B.ReportMetric` also prints `NaN` and `+Inf`.
        let Some(value) = value else { continue };
        metrics.push(
            measured(value, unit)
                .ok_or_else(|| line.invalid("a unit of at most 64 characters for each value"))?,
        );
        // A benchmark whose first metric is not a time is recognized only by its name.
        if !(is_name(name) || metrics[0].measure.as_str() == "latency") {
            return Ok(None);
        }
    }
    Ok((!metrics.is_empty()).then_some((name, metrics)))
}

/// Whether a word is the name of a benchmark: Go requires that no lower-case letter follows the prefix.
fn is_name(word: &str) -> bool {
    let rest = word.strip_prefix("Benchmark").and_then(|rest| rest.chars().next());
    rest.is_some_and(|next| !next.is_lowercase() && next != ':')
}

fn start<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    let name = scan.token()?;
    scan.blanks()?;
    scan.integer()?;
    Some(name)
}

/// Consumes a value and its unit. The value is `None` if it is not finite.
fn pair<'a>(scan: &mut Scan<'a>) -> Option<(Option<f64>, &'a str)> {
    scan.blanks()?;
    let value = scan.token()?;
    let number = text::decimal(value);
    if number.is_none() && !matches!(value, "NaN" | "+Inf" | "-Inf") {
        return None;
    }
    scan.blanks()?;
    Some((number, scan.token()?))
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
        BenchmarkA-2 latency 3.5 [3, 4]
        ");
        let truncated = format!("{interleaved}{{\"Action\":\n");
        assert_eq!(read(Magic, &truncated), read(Magic, &interleaved));
        let (_, skipped) = crate::parse_with_skipped(Magic, &truncated, None).unwrap();
        assert_eq!(skipped.iter().flat_map(|one| &one.names).collect::<Vec<_>>(), ["line 6"]);
        insta::assert_snapshot!(read(GoBench, &event("a", "PASS\\n")), @"The adapter `go_bench` cannot read the output: expected an event with the result of a benchmark.");
    }

    #[test]
    fn repeated_runs_are_folded_to_their_median() {
        insta::assert_snapshot!(read(GoBench, include_str!("../fixtures/go_bench/count.txt")), @"
        BenchmarkSum-2 latency 1.191 [1.032, 1.35]
        BenchmarkSort/n=10-2 latency 618.85 [480.8, 756.9]
        BenchmarkSort/n=10-2 bandwidth 136040000 [105690000, 166390000]
        BenchmarkSort/n=1000-2 latency 123600 [121960, 125240]
        BenchmarkSort/n=1000-2 bandwidth 64740000 [63880000, 65599999.99999999]
        ");
    }

    #[test]
    fn benchmarks_of_the_same_name_in_several_packages() {
        let text = "goos: linux\npkg: demo/a\nBenchmarkSum-2  1  5 ns/op\nBenchmarkA-2  1  1 ns/op\nPASS\nok  demo/a  1.0s\n\
                    goos: linux\npkg: demo/b\nBenchmarkSum-2  1  7 ns/op\nBenchmarkSum-2  1  9 ns/op\nPASS\n";
        insta::assert_snapshot!(read(Magic, text), @"
        BenchmarkSum-2 {package=demo/a} latency 5
        BenchmarkA-2 latency 1
        BenchmarkSum-2 {package=demo/b} latency 8 [7, 9]
        ");
        let one = text.replace("demo/b", "demo/a");
        insta::assert_snapshot!(read(Magic, &one), @"
        BenchmarkSum-2 latency 7 [5, 9]
        BenchmarkA-2 latency 1
        ");
    }

    #[test]
    fn values_can_be_signed_and_undefined() {
        let text = "BenchmarkA-8  10  5 ns/op  -1.5 drift  NaN ratio  +Inf peak  1e+06 items  3 B/op\n";
        insta::assert_snapshot!(read(Magic, text), @"
        BenchmarkA-8 latency 5
        BenchmarkA-8 drift -1.5
        BenchmarkA-8 items 1000000
        BenchmarkA-8 allocated 3
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
            Benchmarking 2 4 cores\n\
            Benchmark 3 5 hosts\n\
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
