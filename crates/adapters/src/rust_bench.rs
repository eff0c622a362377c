//! Adapter for the benchmarks of libtest, as `cargo bench` prints them, and for other tools that print this format.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Scan, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RustBench,
    title: "libtest",
    metrics: "latency ± deviation; bandwidth where bytes are set",
    parameters: "",
    averages: &[Average::Median],
    formats: &[Format::new(Syntax::Text, "cargo bench", &["... bench:"], parse)],
};

const ROW: &str = "a line such as `test name ... bench: 1,234 ns/iter (+/- 56)`";

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    for line in text::lines(input.text) {
        let mut scan = Scan::new(line.text);
        if let Some(name) = benchmark(&mut scan) {
            let metrics = measured(scan).ok_or_else(|| line.invalid(ROW))?;
            entries.push(line.entry(name, metrics)?);
        }
    }
    text::require_entries(entries, ROW)
}

/// Parses the beginning of a line, which only a benchmark has; a test has `ok` there. Names of Criterion can contain blanks.
fn benchmark<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    scan.literal("test")?;
    scan.blanks()?;
    let (start, values) = scan.rest().split_once("bench:")?;
    let dots = start.trim_end_matches(is_blank);
    let name = dots.strip_suffix("...")?;
    let separated = dots.len() < start.len() && name.ends_with(is_blank);
    *scan = Scan::new(values);
    Some(name.trim_end_matches(is_blank)).filter(|name| separated && !name.is_empty())
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
    use tidemark_api::{
        Adapter::{Magic, RustBench},
        Average,
    };

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
    fn output_of_criterion_for_bencher() {
        let text = include_str!("../fixtures/rust_bench/criterion_bencher.txt");
        insta::assert_snapshot!(read(RustBench, text), @"
        sum small latency 1 [1, 1]
        sorting/sort/10 latency 54 [53, 55]
        sorting/sort/1000 latency 1848 [1775, 1921]
        copy/bytes latency 104 [99, 109]
        ");
        assert_eq!(read(Magic, text), read(RustBench, text));
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
