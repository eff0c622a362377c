//! Adapter for timers of `console.time`, as browsers and Node print them. The format of Node is so generic that `magic` tries
//! it last; the format of browsers is distinctive and tried early.

use crate::{
    Entry, Failure, Input, ParsedMetric,
    text::{self, Scan, Unit},
};

pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for line in text::lines(input.text) {
        if let Some((name, nanoseconds)) = row(line.text) {
            entries.push(line.entry(name, vec![ParsedMetric::latency(nanoseconds)])?);
        }
    }
    text::require_entries(entries, "a line such as `name: 12.5ms` or `name: 12ms - timer ended`")
}

/// Parses the output if at least one timer has the format of browsers.
pub(crate) fn parse_browser(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let of_browser = |line: &str| line.ends_with("ended") && row(line).is_some();
    if text::lines(input.text).any(|line| of_browser(line.text)) {
        return parse(input);
    }
    Err(Failure::unrecognized("a line such as `name: 12ms - timer ended`"))
}

/// Returns the name, which may contain a colon, and the time.
fn row(line: &str) -> Option<(&str, f64)> {
    line.match_indices(':').find_map(|(end, _)| {
        let name = &line[..end];
        let nanoseconds = time(Scan::new(&line[end + 1..]))?;
        (!name.is_empty()).then_some((name, nanoseconds))
    })
}

fn time(mut scan: Scan<'_>) -> Option<f64> {
    scan.blanks()?;
    let count = scan.number()?;
    if scan.rest().starts_with(':') {
        return clock(count, scan);
    }
    let unit = scan.unit()?;
    if scan.end().is_none() {
        scan.blanks()?;
        scan.literal("-")?;
        scan.blanks()?;
        scan.literal("timer")?;
        scan.blanks()?;
        scan.literal("ended")?;
        scan.end()?;
    }
    Some(unit.nanoseconds(count))
}

/// Parses the format of Node for one minute and longer: `1:02.345 (m:ss.mmm)` or `1:02:03 (h:mm:ss)`.
fn clock(first: f64, mut scan: Scan<'_>) -> Option<f64> {
    scan.literal(":")?;
    let second = scan.number()?;
    let seconds = if scan.literal(":").is_some() {
        let third = scan.number()?;
        scan.literal(" (h:mm:ss)")?;
        (first * 60.0 + second) * 60.0 + third
    } else {
        scan.literal(" (m:ss.mmm)")?;
        first * 60.0 + second
    };
    scan.end()?;
    Some(Unit::Seconds.nanoseconds(seconds))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{JsTime, Magic};

    use crate::tests::read;

    #[test]
    fn a_real_run_of_node() {
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/js_time/node.txt")), @"
        parse latency 25823000
        render: main latency 7898000
        load latency 1236000000
        default latency 3753000
        long latency 61500000000
        ");
    }

    #[test]
    fn magic_tries_browser_timers_early_and_node_timers_last() {
        let libtest = "test a ... bench: 1 ns/iter (+/- 1)";
        assert_eq!(read(Magic, &format!("parse: 12ms - timer ended\n{libtest}")), "parse latency 12000000\n");
        assert_eq!(read(Magic, &format!("parse: 12ms\n{libtest}")), "a latency 1 [0, 2]\n");
    }

    #[test]
    fn browsers_and_long_times() {
        let text = "parse: 12ms - timer ended\nparse: 12ms - timer\na: b: 3s\nlong: 1:02:03 (h:mm:ss)\n: 5ms";
        insta::assert_snapshot!(read(JsTime, text), @"
        parse latency 12000000
        a: b latency 3000000000
        long latency 3723000000000
        ");
        insta::assert_snapshot!(read(JsTime, "parse: 12"), @"The adapter `js_time` cannot read the output: expected a line such as `name: 12.5ms` or `name: 12ms - timer ended`.");
    }
}
