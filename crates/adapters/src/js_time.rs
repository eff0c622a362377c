//! Adapter for timers of `console.time`, as browsers and Node print them. The format of browsers is distinctive and tried early.
//! Many programs print lines like those of Node, so `magic` reads them last and only if most lines are timers.

use tidemark_api::Adapter;

use crate::{
    Detection, Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Scan, Unit},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::JsTime,
    title: "`console.time`",
    metrics: "latency",
    parameters: "",
    averages: &[],
    formats: &[
        Format::new(Syntax::Text, "node bench.js", &["ended"], parse_browser),
        Format::new(Syntax::Text, "node bench.js", &[], parse).detected(Detection::Named),
        Format::new(Syntax::Text, "node bench.js", &[": "], parse_node).detected(Detection::Generic),
    ],
};

const EXPECTED: &str = "a line such as `name: 12.5ms` or `name: 12ms - timer ended`";

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    for line in text::lines(input.text) {
        if let Some((name, nanoseconds)) = row(line.text) {
            entries.push(line.entry(name, vec![ParsedMetric::latency(nanoseconds)])?);
        }
    }
    text::require_entries(entries, EXPECTED)
}

/// Parses the output if at least one timer has the format of browsers.
fn parse_browser(input: &Input<'_>) -> Result<Entries, Failure> {
    let of_browser = |line: &str| line.ends_with("ended") && row(line).is_some();
    if text::lines(input.text).any(|line| of_browser(line.text)) {
        return parse(input);
    }
    Err(Failure::unrecognized("a line such as `name: 12ms - timer ended`"))
}

/// Parses the timers of Node if more than half of the lines are timers whose name has no blanks. Other programs print lines such
/// as `Build finished in: 3s` or `total time: 10.0s`.
fn parse_node(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let (mut all, mut certain) = (0_usize, 0_usize);
    for line in text::lines(input.text).filter(|line| !line.text.trim().is_empty()) {
        all += 1;
        let Some((name, nanoseconds)) = row(line.text).filter(|(name, _)| is_of_node(line.text, name)) else {
            continue;
        };
        certain += usize::from(!name.contains(char::is_whitespace) && !is_status(name));
        entries.push(line.entry(name, vec![ParsedMetric::latency(nanoseconds)])?);
    }
    if certain * 2 > all { Ok(entries) } else { Err(Failure::unrecognized(EXPECTED)) }
}

/// Whether the name of a timer is a word with which other programs report how long they ran.
fn is_status(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "build",
        "built",
        "compiled",
        "completed",
        "done",
        "duration",
        "elapsed",
        "finished",
        "ready",
        "runtime",
        "time",
        "took",
        "total",
        "uptime",
    ];
    let word = name.trim_start_matches(|character: char| !character.is_alphabetic());
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a timer has exactly the format of Node: one blank, then up to 999.999 ms with at most three decimals, or seconds with
/// three decimals, or a clock with its legend.
fn is_of_node(line: &str, name: &str) -> bool {
    let Some(time) = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")) else { return false };
    let decimals = |number: &str| {
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = (1..=3).contains(&whole.len()) && is_digits(whole) && is_digits(decimals);
        (is_number && !number.ends_with('.')).then_some(decimals.len())
    };
    match (time.strip_suffix("ms"), time.strip_suffix('s')) {
        (Some(number), _) => decimals(number).is_some_and(|count| count <= 3),
        (None, Some(number)) => decimals(number) == Some(3),
        (None, None) => time.ends_with(" (m:ss.mmm)") || time.ends_with(" (h:mm:ss)"),
    }
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
    // Chrome prints a blank in front of the unit.
    scan.any_blanks();
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
    fn magic_does_not_read_lines_of_other_programs() {
        for text in [
            "Finished: 345.2ms",
            "✓ Done: 12ms",
            "Build finished in: 3s",
            "Compiled successfully in: 345.2ms",
            "total time: 10.0s",
            "    total time:                          10.0001s",
            "total time:                          10.001s",
            "installing\nresolving\nfetch: 12.5ms",
            "elapsed: 10.0s\nwall: 3s",
            "time: 1.2us",
        ] {
            assert!(read(Magic, text).starts_with("No adapter recognized"), "{text}");
            assert!(!read(JsTime, text).is_empty());
        }
        assert_eq!(
            read(Magic, "parse: 12ms\n\nrender: 1.234s\nin total: 1.5ms\n"),
            "parse latency 12000000\nrender latency 1234000000\nin total latency 1500000\n"
        );
    }

    #[test]
    fn browsers_and_long_times() {
        let text = "parse: 12ms - timer ended\nparse: 12ms - timer\na: b: 3s\nlong: 1:02:03 (h:mm:ss)\n: 5ms";
        insta::assert_snapshot!(read(JsTime, text), @"
        parse latency 12000000
        a: b latency 3000000000
        long latency 3723000000000
        ");
        assert_eq!(read(JsTime, "default: 0.125 ms"), "default latency 125000\n");
        assert_eq!(read(JsTime, "a: 2ms\nparse: 1,5ms"), "a latency 2000000\n");
        insta::assert_snapshot!(read(JsTime, "parse: 12"), @"The adapter `js_time` cannot read the output: expected a line such as `name: 12.5ms` or `name: 12ms - timer ended`.");
    }
}
