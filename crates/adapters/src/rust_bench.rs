//! Adapter for the benchmarks of libtest, as `cargo bench` prints them.

use crate::{
    Entry, Failure, Input, ParsedMetric,
    text::{self, Scan},
};

const ROW: &str = "a line such as `test name ... bench: 1,234 ns/iter (+/- 56)`";

pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for line in text::lines(input.text) {
        let mut scan = Scan::new(line.text);
        if let Some(name) = benchmark(&mut scan) {
            let metrics = measured(scan).ok_or_else(|| line.invalid(ROW))?;
            entries.push(line.entry(name, metrics)?);
        }
    }
    text::require_entries(entries, ROW)
}

/// Parses the beginning of a line, which only a benchmark has; a test has `ok` there.
fn benchmark<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    scan.literal("test")?;
    scan.blanks()?;
    let name = scan.token()?;
    scan.blanks()?;
    scan.literal("...")?;
    scan.blanks()?;
    scan.literal("bench:")?;
    Some(name)
}

fn measured(mut scan: Scan<'_>) -> Option<Vec<ParsedMetric>> {
    scan.blanks()?;
    let value = scan.number()?;
    scan.blanks()?;
    let unit = scan.unit()?;
    scan.literal("/iter")?;
    scan.blanks()?;
    scan.literal("(+/-")?;
    scan.blanks()?;
    let spread = scan.number()?;
    scan.literal(")")?;
    let mut metrics =
        vec![ParsedMetric::latency(unit.nanoseconds(value)).with_deviation(unit.nanoseconds(spread))];
    // A benchmark that declares its bytes per iteration also has a rate.
    if scan.blanks().is_some() && scan.end().is_none() {
        scan.literal("=")?;
        scan.blanks()?;
        metrics.push(ParsedMetric::of("bandwidth", scan.number()? * 1e6));
        scan.blanks()?;
        scan.literal("MB/s")?;
    }
    scan.end()?;
    Some(metrics)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter::RustBench, Average};

    use crate::{parse, tests::read};

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(RustBench, include_str!("../fixtures/rust_bench/plain.txt")), @"
        numbers::sort_large latency 543017.44 [165646.22999999992, 920388.6499999999]
        numbers::sort_large bandwidth 147000000
        numbers::sum_small latency 389.16 [186.05, 592.27]
        ");
    }

    #[test]
    fn units_spreads_and_other_lines() {
        let text = "running 2 tests\r\n\
            test parse::tiny ... bench:       1,234.50 ns/iter (+/- 12.25)\r\n\
            test parse::other ... ok\r\n\
            test parse::big ... bench:       2 ms/iter (+/- 1)";
        insta::assert_snapshot!(read(RustBench, text), @"
        parse::tiny latency 1234.5 [1222.25, 1246.75]
        parse::big latency 2000000 [1000000, 3000000]
        ");
    }

    #[test]
    fn errors_name_the_line() {
        insta::assert_snapshot!(read(RustBench, "ok\ntest a ... bench: many ns/iter (+/- 1)"), @"The adapter `rust_bench` cannot read the output at line 2: expected a line such as `test name ... bench: 1,234 ns/iter (+/- 56)`, found `test a ... bench: many ns/iter (+/- 1)`.");
        insta::assert_snapshot!(read(RustBench, "test a ... ok"), @"The adapter `rust_bench` cannot read the output: expected a line such as `test name ... bench: 1,234 ns/iter (+/- 56)`.");
        let text = "test a ... bench: 1 ns/iter (+/- 1)";
        assert!(parse(RustBench, text, Some(Average::Median)).is_ok());
        insta::assert_snapshot!(parse(RustBench, text, Some(Average::Mean)).unwrap_err(), @"The adapter `rust_bench` cannot read the output: expected the average `median`, or no average setting.");
    }
}
