//! Adapter for the output of benchmark_harness for Dart.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Line, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::DartBenchmarkHarness,
    title: "benchmark_harness",
    metrics: "latency",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[Format::new(Syntax::Text, "dart run bench.dart", &["(RunTime):"], parse)],
};

const MARK: &str = "(RunTime):";
const ROW: &str = "a line such as `Name(RunTime): 12.5 us.`";

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    for line in text::lines(input.text) {
        if let Some((name, time)) = line.text.split_once(MARK) {
            let microseconds = microseconds(time).ok_or_else(|| line.invalid(ROW))?;
            entries.push(entry(line, name, microseconds)?);
        }
    }
    text::require_entries(entries, ROW)
}

fn entry(line: Line<'_>, name: &str, microseconds: f64) -> Result<Entry, Failure> {
    line.entry(name.trim(), vec![ParsedMetric::latency(Unit::Microseconds.nanoseconds(microseconds))])
}

/// Parses the time, which Dart writes with an exponent if it is very short or very long.
fn microseconds(time: &str) -> Option<f64> {
    let count = time.trim_matches(is_blank).strip_suffix("us.")?;
    let separated = count.trim_end_matches(is_blank);
    if separated.len() == count.len() || !separated.starts_with(|character: char| character.is_ascii_digit())
    {
        return None;
    }
    text::without_separators(separated)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::DartBenchmarkHarness;

    use crate::tests::read;

    #[test]
    fn rows() {
        let text = include_str!("../fixtures/dart_benchmark_harness/composed.txt");
        insta::assert_snapshot!(read(DartBenchmarkHarness, text), @"
        Sorter latency 12500
        Template latency 156.84724489971973
        Tiny latency 0.00015
        ");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        insta::assert_snapshot!(read(DartBenchmarkHarness, "A(RunTime): 1 us.\nB(RunTime): NaN us."), @"The adapter `dart_benchmark_harness` cannot read the output at line 2: expected a line such as `Name(RunTime): 12.5 us.`, found `B(RunTime): NaN us.`.");
        insta::assert_snapshot!(read(DartBenchmarkHarness, "A(RunTime): 1,5 us."), @"The adapter `dart_benchmark_harness` cannot read the output at line 1: expected a line such as `Name(RunTime): 12.5 us.`, found `A(RunTime): 1,5 us.`.");
        insta::assert_snapshot!(read(DartBenchmarkHarness, "A(RunTime): 1us."), @"The adapter `dart_benchmark_harness` cannot read the output at line 1: expected a line such as `Name(RunTime): 12.5 us.`, found `A(RunTime): 1us.`.");
        insta::assert_snapshot!(read(DartBenchmarkHarness, "(RunTime): 1 us."), @"The adapter `dart_benchmark_harness` cannot read the output at line 1: expected a benchmark name of 1 to 1024 bytes without the character NUL.");
        insta::assert_snapshot!(read(DartBenchmarkHarness, "A: 1 us."), @"The adapter `dart_benchmark_harness` cannot read the output: expected a line such as `Name(RunTime): 12.5 us.`.");
    }
}
