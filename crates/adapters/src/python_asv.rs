//! Adapter for the output of airspeed velocity while it runs. It reads only time benchmarks on a line of their own, not
//! memory benchmarks or parameter tables.

use crate::{
    Entry, Failure, Input, ParsedMetric,
    text::{self, Scan},
};

pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for line in text::lines(input.text) {
        if let Some((name, metric)) = row(line.text) {
            entries.push(line.entry(name, vec![metric])?);
        }
    }
    text::require_entries(entries, "a line such as `[ 50.00%] ··· suite.time_name  11.1±0.5µs`")
}

fn row(line: &str) -> Option<(&str, ParsedMetric)> {
    let mut scan = Scan::new(line);
    scan.literal("[")?;
    scan.any_blanks();
    scan.number()?;
    scan.literal("%]")?;
    scan.blanks()?;
    scan.literal("·")?;
    while scan.literal("·").is_some() {}
    scan.blanks()?;
    let name = scan.token()?;
    scan.blanks()?;
    let value = scan.number()?;
    scan.literal("±")?;
    let spread = scan.number()?;
    let unit = scan.unit()?;
    scan.end()?;
    Some((name, ParsedMetric::latency(unit.nanoseconds(value)).with_deviation(unit.nanoseconds(spread))))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::PythonAsv;

    use crate::tests::read;

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(PythonAsv, include_str!("../fixtures/python_asv/run.txt")), @"suite.time_sum latency 14900 [14600, 15200]");
    }

    #[test]
    fn rows() {
        let text = "[ 50.00%] ··· suite.time_parse      11.1±0.5µs\n[ 75.00%] ··· suite.time_b      failed";
        insta::assert_snapshot!(read(PythonAsv, text), @"suite.time_parse latency 11100 [10600, 11600]");
        insta::assert_snapshot!(read(PythonAsv, "· Discovering benchmarks"), @"The adapter `python_asv` cannot read the output: expected a line such as `[ 50.00%] ··· suite.time_name  11.1±0.5µs`.");
    }
}
