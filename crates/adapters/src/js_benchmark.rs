//! Adapter for the output of Benchmark.js: operations per second and the margin of error in percent.

use crate::{
    Entry, Failure, Input, ParsedMetric,
    text::{self, Scan, is_blank},
};

pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
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

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::JsBenchmark;

    use crate::tests::read;

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
