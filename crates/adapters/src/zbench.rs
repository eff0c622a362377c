//! Adapter for the tables of zBench.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Line, Scan, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Zbench,
    title: "zBench",
    metrics: "latency ± standard deviation, its percentiles 75 and 99, maximum latency; with tracked allocations allocated bytes ± standard deviation",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[Format::new(Syntax::Text, "zig build test", &["benchmark ", TIME], parse)],
};

/// Title of the column of times.
const TIME: &str = "time/run (avg ± σ)";
/// Suffix of the name in a row of allocations.
const MEMORY: &str = "[MEMORY]";

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut in_table = false;
    for line in text::lines(input.text) {
        let trimmed = line.text.trim();
        if trimmed.starts_with("benchmark ") && trimmed.contains(TIME) {
            in_table = true;
        } else if trimmed.is_empty() {
            in_table = false;
        } else if in_table && !trimmed.bytes().all(|byte| byte == b'-') && trimmed.contains('±') {
            entries.push(row(line)?);
        }
    }
    text::require_entries(
        entries,
        "a table with the columns `benchmark`, `runs`, `total time` and `time/run (avg ± σ)`",
    )
}

/// Parses `name  runs  total  average ± deviation  (least ... greatest)  p75  p99  p995`. A row of allocations has no runs and no
/// total.
fn row(line: Line<'_>) -> Result<Entry, Failure> {
    let expected = || line.invalid("a row such as `name 100 1.5s 15ms ± 1ms (14ms ... 17ms) 15ms 16ms 17ms`");
    let (left, right) = line.text.rsplit_once('±').ok_or_else(expected)?;
    let (left, average) = last_word(left).ok_or_else(expected)?;
    let (deviation, right) = right.split_once('(').ok_or_else(expected)?;
    let (range, percentiles) = right.split_once(')').ok_or_else(expected)?;
    let (_, greatest) = range.split_once(" ... ").ok_or_else(expected)?;
    let deviation = deviation.trim_matches(is_blank);
    if let Some((name, _)) = left.split_once(MEMORY) {
        let (average, deviation) = text::bytes(average).zip(text::bytes(deviation)).ok_or_else(expected)?;
        let allocated = ParsedMetric::of("allocated", average).with_deviation(deviation);
        return line.entry(name.trim_matches(is_blank), vec![allocated]);
    }
    let (left, total) = last_word(left).ok_or_else(expected)?;
    let (name, runs) = last_word(left).ok_or_else(expected)?;
    duration(total).zip(text::decimal(runs)).ok_or_else(expected)?;
    let percentiles: Vec<_> = percentiles.split(is_blank).filter(|word| !word.is_empty()).take(4).collect();
    let [p75, p99, _] = percentiles.as_slice() else { return Err(expected()) };
    let time = |text: &str| duration(text.trim_matches(is_blank)).ok_or_else(expected);
    let metrics = vec![
        ParsedMetric::latency(time(average)?).with_deviation(time(deviation)?),
        ParsedMetric::of("latency-p75", time(p75)?),
        ParsedMetric::of("latency-p99", time(p99)?),
        ParsedMetric::of("latency-max", time(greatest)?),
    ];
    line.entry(name.trim_matches(is_blank), metrics)
}

/// Splits the last word from the text in front of it.
fn last_word(text: &str) -> Option<(&str, &str)> {
    text.trim_end_matches(is_blank).rsplit_once(is_blank)
}

/// Parses a duration with one or several units: `1.5ms`, `1m2.5s`.
fn duration(text: &str) -> Option<f64> {
    let mut scan = Scan::new(text);
    let mut sum = 0.0;
    loop {
        let number = scan.number()?;
        let rest = scan.rest();
        let length = rest.find(|character: char| character.is_ascii_digit()).unwrap_or(rest.len());
        let unit = &rest[..length];
        sum += text::duration(&format!("{number}{unit}"))?;
        scan.literal(unit)?;
        if scan.end().is_some() {
            return Some(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Zbench};

    use super::duration;
    use crate::tests::read;

    #[test]
    fn tables() {
        let text = include_str!("../fixtures/zbench/table.txt");
        insta::assert_snapshot!(read(Zbench, text), @"
        bubbleSort latency 103400 [95940, 110860]
        bubbleSort latency-p75 103100
        bubbleSort latency-p99 141500
        bubbleSort latency-max 320125
        sum of 2 numbers latency 42 [30, 54]
        sum of 2 numbers latency-p75 43
        sum of 2 numbers latency-p99 52
        sum of 2 numbers latency-max 1250
        compress latency 62500000000 [62000000000, 63000000000]
        compress latency-p75 63000000000
        compress latency-p99 63000000000
        compress latency-max 63000000000
        compress allocated 1536 [1024, 2048]
        ");
        assert_eq!(read(Magic, text), read(Zbench, text));
    }

    #[test]
    fn errors_have_the_line() {
        let table = |row: &str| {
            read(
                Zbench,
                &format!(
                    "benchmark  runs  total time  time/run (avg ± σ)  (min ... max)  p75 p99 p995\n{row}"
                ),
            )
        };
        let errors = [
            table("a  1  1s  x ± 1ms  (1ms ... 1ms)  1ms 1ms 1ms"),
            table("a  1  1s  1ms ± 1ms  1ms 1ms 1ms"),
            table("1s  1ms ± 1ms  (1ms ... 1ms)  1ms 1ms 1ms"),
            table("a  1  1s  1ms ± 1ms  (1ms ... 1ms)  1ms 1ms"),
            table(""),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `zbench` cannot read the output at line 2: expected a row such as `name 100 1.5s 15ms ± 1ms (14ms ... 17ms) 15ms 16ms 17ms`, found `a  1  1s  x ± 1ms  (1ms ... 1ms)  1ms 1ms 1ms`.
        The adapter `zbench` cannot read the output at line 2: expected a row such as `name 100 1.5s 15ms ± 1ms (14ms ... 17ms) 15ms 16ms 17ms`, found `a  1  1s  1ms ± 1ms  1ms 1ms 1ms`.
        The adapter `zbench` cannot read the output at line 2: expected a row such as `name 100 1.5s 15ms ± 1ms (14ms ... 17ms) 15ms 16ms 17ms`, found `1s  1ms ± 1ms  (1ms ... 1ms)  1ms 1ms 1ms`.
        The adapter `zbench` cannot read the output at line 2: expected a row such as `name 100 1.5s 15ms ± 1ms (14ms ... 17ms) 15ms 16ms 17ms`, found `a  1  1s  1ms ± 1ms  (1ms ... 1ms)  1ms 1ms`.
        The adapter `zbench` cannot read the output: expected a table with the columns `benchmark`, `runs`, `total time` and `time/run (avg ± σ)`.
        ");
        assert_eq!(
            (duration("1m2.5s"), duration("1h1m"), duration("1"), duration("")),
            (Some(62.5e9), Some(3660e9), None, None)
        );
    }
}
