//! Adapter for the output of `go test -bench`: a name, an iteration count, and pairs of value and unit.

use crate::{
    Entry, Failure, Input, ParsedMetric,
    text::{self, Line, Scan, Unit},
};

pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for line in text::lines(input.text) {
        if let Some((name, metrics)) = row(line)? {
            entries.push(line.entry(name, metrics)?);
        }
    }
    text::require_entries(entries, "a line such as `BenchmarkName-8  1000  1234.5 ns/op`")
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
