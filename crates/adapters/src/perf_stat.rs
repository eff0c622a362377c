//! Adapter for `perf stat`: the printed text, the CSV of `-x` and the JSON of `-j`. Only the text names the command.

use std::collections::HashSet;

use serde_json::{Map, Value};
use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool, ndjson,
    text::{self, Line, Unit},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::PerfStat,
    title: "perf stat",
    metrics: "one measure per event, ± standard error of the mean with `-r`: `task-clock` is the CPU time, `duration_time` the latency, `cycles`, `instructions` and others are the built-in measures; the text also contains the latency (elapsed time), user time and system time; the command is the name of the benchmark, from CSV and JSON the name is `perf stat`",
    parameters: "",
    averages: &[],
    formats: &[
        Format::new(
            Syntax::Ndjson,
            "perf stat -j COMMAND",
            &[r#""counter-value""#, r#""event""#, r#""pcnt-running""#],
            parse_json,
        ),
        Format::new(Syntax::Csv, "perf stat -x, COMMAND", &[","], parse_csv),
        Format::new(Syntax::Text, "perf stat COMMAND", &["Performance counter stats for "], parse_text),
    ],
};

/// Name of a benchmark whose command is not part of the output.
const UNNAMED: &str = "perf stat";

/// Reason if an event has no value.
const NOT_COUNTED: &str = "perf did not count them";

/// An event with its count.
struct Count<'a> {
    event: &'a str,
    unit: &'a str,
    value: f64,
    /// Standard error of the mean, in percent of the value.
    deviation: Option<f64>,
}

impl Count<'_> {
    /// Returns the metric of the event, without the modifier that perf adds for users without privileges. An event is named
    /// with its modifier if the output also contains it without.
    fn metric(&self, events: &HashSet<&str>) -> Option<ParsedMetric> {
        let event =
            self.event.strip_suffix(":u").filter(|event| !events.contains(event)).unwrap_or(self.event);
        let time = |slug| Some(ParsedMetric::of(slug, self.value));
        let metric = match (event, self.unit) {
            ("task-clock", "msec") => {
                Some(ParsedMetric::of("cpu-time", Unit::Milliseconds.nanoseconds(self.value)))
            }
            // Version 7.2 writes a zero without a unit if it did not measure the time.
            ("duration_time" | "user_time" | "system_time", "") if self.value == 0.0 => None,
            ("duration_time", "ns" | "") => time("latency"),
            ("user_time", "ns" | "") => time("user-time"),
            ("system_time", "ns" | "") => time("system-time"),
            (event, "") => match built_in(event) {
                Some(slug) => Some(ParsedMetric::of(slug, self.value)),
                None => ParsedMetric::named(event, None, self.value),
            },
            (event, unit) => ParsedMetric::named(event, Some(unit), self.value),
        }?;
        let spread = self.deviation.map(|percent| metric.value * percent / 100.0);
        Some(match spread {
            Some(spread) => metric.with_deviation(spread),
            None => metric,
        })
    }
}

/// Returns the slug of the measure of an event that is a count.
fn built_in(event: &str) -> Option<&'static str> {
    Some(match event {
        "cycles" | "cpu-cycles" => "cycles",
        "instructions" => "instructions",
        "branches" | "branch-instructions" => "branches",
        "branch-misses" => "branch-misses",
        "cache-references" => "cache-references",
        "cache-misses" => "cache-misses",
        "page-faults" | "faults" => "page-faults",
        "context-switches" | "cs" => "context-switches",
        "cpu-migrations" | "migrations" => "cpu-migrations",
        _ => return None,
    })
}

fn metrics(counts: &[Count<'_>]) -> Vec<ParsedMetric> {
    let events: HashSet<_> = counts.iter().map(|count| count.event).collect();
    counts.iter().filter_map(|count| count.metric(&events)).collect()
}

fn is_event(text: &str) -> bool {
    let is_allowed = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b':' | b'.' | b'=' | b',')
    };
    text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic()) && text.bytes().all(is_allowed)
}

/// Parses the printed text: a title with the command, counts, and times.
fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for line in text::lines(input.text) {
        if let Some(title) = line.text.trim().strip_prefix("Performance counter stats for ") {
            runs.push(Run { line, name: name(title), counts: Vec::new(), times: Vec::new() });
        } else if let Some(run) = runs.last_mut() {
            run.read(line, input)?;
        }
    }
    let entries = runs.iter().map(Run::entry).collect::<Result<_, _>>()?;
    text::require_entries(
        entries,
        "a title such as `Performance counter stats for 'COMMAND':` and counts below it",
    )
}

/// Returns the command of a title. The number of a process differs in each run, so it is not a name.
fn name(title: &str) -> &str {
    let title = title.trim_end_matches(':');
    let title =
        title.strip_suffix(" runs)").and_then(|title| Some(title.rsplit_once(" (")?.0)).unwrap_or(title);
    title.strip_prefix('\'').and_then(|title| title.strip_suffix('\'')).unwrap_or(UNNAMED)
}

/// A partially parsed run.
struct Run<'a> {
    line: Line<'a>,
    name: &'a str,
    counts: Vec<Count<'a>>,
    times: Vec<ParsedMetric>,
}

impl<'a> Run<'a> {
    fn read(&mut self, line: Line<'a>, input: &Input<'_>) -> Result<(), Failure> {
        let (text, deviation) = match line.text.split_once("( +-") {
            Some((text, deviation)) => {
                (text, deviation.split_once('%').and_then(|(value, _)| text::decimal(value.trim())))
            }
            None => (line.text, None),
        };
        let text = text.split_once(" # ").map_or(text, |(text, _)| text);
        let text = text.split_once('(').map_or(text, |(text, _)| text);
        let words: Vec<_> = text.split_ascii_whitespace().take(7).collect();
        let time = |value: &str, spread: Option<&str>| {
            let seconds = |text| number(text).map(|value| Unit::Seconds.nanoseconds(value));
            Some((seconds(value)?, spread.map(seconds).map_or(Some(None), |spread| spread.map(Some))?))
        };
        let (slug, time) = match words.as_slice() {
            [value, "seconds", "time", "elapsed"] => ("latency", time(value, None)),
            [value, "+-", spread, "seconds", "time", "elapsed"] => ("latency", time(value, Some(spread))),
            [value, "seconds", "user"] => ("user-time", time(value, None)),
            [value, "+-", spread, "seconds", "user"] => ("user-time", time(value, Some(spread))),
            [value, "seconds", "sys"] => ("system-time", time(value, None)),
            [value, "+-", spread, "seconds", "sys"] => ("system-time", time(value, Some(spread))),
            ["<not", "supported>" | "counted>", rest @ ..] => {
                input.skip(rest.last().copied().unwrap_or_default(), NOT_COUNTED);
                return Ok(());
            }
            [value, event] if is_number_like(value) && is_event(event) => {
                return self.count(
                    line,
                    event,
                    "",
                    number(value).filter(|_| !value.contains('.')),
                    deviation,
                );
            }
            [value, unit, event] if is_number_like(value) && is_event(event) => {
                return self.count(line, event, unit, number(value), deviation);
            }
            [part, value, ..] if is_part(part) && is_number_like(value) => {
                return Err(line.invalid("counts of all CPUs together, without options such as `-A`"));
            }
            _ => return Ok(()),
        };
        let (value, spread) = time.ok_or_else(|| line.invalid("a time with a decimal point (`LC_ALL=C`)"))?;
        let metric = ParsedMetric::of(slug, value);
        self.times.push(match spread {
            Some(spread) => metric.with_deviation(spread),
            None => metric,
        });
        Ok(())
    }

    fn count(
        &mut self,
        line: Line<'_>,
        event: &'a str,
        unit: &'a str,
        value: Option<f64>,
        deviation: Option<f64>,
    ) -> Result<(), Failure> {
        let value =
            value.ok_or_else(|| line.invalid("a count with a decimal point and commas (`LC_ALL=C`)"))?;
        self.counts.push(Count { event, unit, value, deviation });
        Ok(())
    }

    fn entry(&self) -> Result<Entry, Failure> {
        let mut all = self.times.clone();
        all.extend(metrics(&self.counts));
        if all.is_empty() {
            return Err(self.line.invalid("counts below the title"));
        }
        self.line.entry(self.name, all)
    }
}

/// Whether a word begins as a number, of any locale.
fn is_number_like(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a word names a CPU, a core, a socket or a node: `CPU0`, `S0-D0-C1`, `N0`.
fn is_part(word: &str) -> bool {
    let rest = word.strip_prefix("CPU").or(word.strip_prefix('S')).or(word.strip_prefix('N'));
    rest.is_some_and(is_number_like)
}

/// Parses a number whose thousands may be separated by commas. A decimal comma is not a number.
fn number(text: &str) -> Option<f64> {
    text::decimal(&text::without_separators(text)?).filter(|_| is_number_like(text))
}

/// Parses the CSV of `-x,` or `-x;`, which has no header. To be recognized, it must contain a common event.
fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let expected = "lines such as `16,,context-switches,17340976,100.00,922.670,/sec`";
    for delimiter in [',', ';'] {
        let mut first = None;
        let mut counts = Vec::new();
        let mut names = HashSet::new();
        for line in text::lines(input.text) {
            let Some((event, count)) = record(line.text, delimiter) else { continue };
            if !names.insert(event) {
                return Err(line.invalid("one measurement with each event once"));
            }
            match count {
                Some(count) => counts.push((line, count)),
                None => input.skip(event, NOT_COUNTED),
            }
            first.get_or_insert(line);
        }
        let is_known = |event: &&str| {
            let event = event.strip_suffix(":u").unwrap_or(event);
            built_in(event).is_some() || matches!(event, "task-clock" | "cpu-clock" | "duration_time")
        };
        if let Some(line) = first.filter(|_| names.iter().any(is_known)) {
            let counts: Vec<_> = counts.into_iter().map(|(_, count)| count).collect();
            if counts.is_empty() {
                return Err(line.invalid("an event that perf counted"));
            }
            return Ok(Entries::from(vec![line.entry(UNNAMED, metrics(&counts))?]));
        }
    }
    Err(Failure::unrecognized(expected))
}

/// Parses `value,unit,event,[deviation%,]runtime,percentage,[metric,unit of the metric]`. There is no count if the value is
/// `<not supported>` or `<not counted>`.
fn record(line: &str, delimiter: char) -> Option<(&str, Option<Count<'_>>)> {
    // Most lines of other outputs need no allocation.
    if !line.trim_start().starts_with(|first: char| first.is_ascii_digit() || first == '<') {
        return None;
    }
    let cells: Vec<_> = line.split(delimiter).take(9).collect();
    let [value, unit, event, rest @ ..] = cells.as_slice() else { return None };
    let (deviation, rest) = match rest {
        [deviation, rest @ ..] if deviation.ends_with('%') => {
            (Some(text::decimal(deviation.trim_end_matches('%'))?), rest)
        }
        rest => (None, rest),
    };
    let [runtime, percentage, ..] = rest else { return None };
    let is_unit = !unit.contains(|character: char| character.is_ascii_digit());
    let is_runtime = !runtime.is_empty() && runtime.bytes().all(|byte| byte.is_ascii_digit());
    let is_percentage = text::decimal(percentage).is_some_and(|value| (0.0..=100.0).contains(&value));
    if !(is_event(event) && is_unit && is_runtime && is_percentage) {
        return None;
    }
    match *value {
        "<not supported>" | "<not counted>" => Some((event, None)),
        value => {
            let value = text::decimal(value).filter(|_| is_number_like(value))?;
            Some((event, Some(Count { event, unit, value, deviation })))
        }
    }
}

/// Parses the JSON of `-j`: one object per line, with any other text between them.
fn parse_json(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut objects: Vec<(Line<'_>, Map<String, Value>)> = Vec::new();
    ndjson::read(input, |line, object: Map<String, Value>| {
        if object.contains_key("counter-value") {
            objects.push((line, object));
        }
        Ok(())
    })?;
    let mut counts = Vec::new();
    let mut names = HashSet::new();
    for (line, object) in &objects {
        let text = |member: &str| object.get(member).and_then(Value::as_str);
        let event = text("event").ok_or_else(|| line.invalid("the member `event`"))?;
        const PARTS: [&str; 8] = ["interval", "cpu", "core", "die", "socket", "node", "thread", "cgroup"];
        if PARTS.iter().any(|part| object.contains_key(*part)) || !names.insert(event) {
            return Err(line.invalid("one measurement with each event once"));
        }
        let value = text("counter-value").unwrap_or_default();
        if value.starts_with("<not ") {
            input.skip(event, NOT_COUNTED);
            continue;
        }
        let value = text::decimal(value).ok_or_else(|| line.invalid("a number in `counter-value`"))?;
        let deviation = object.get("variance").and_then(Value::as_f64);
        counts.push(Count { event, unit: text("unit").unwrap_or_default(), value, deviation });
    }
    match objects.first() {
        None => Err(Failure::unrecognized("objects with the member `counter-value`, one per line")),
        Some((line, _)) if counts.is_empty() => Err(line.invalid("an event that perf counted")),
        Some((line, _)) => Ok(Entries::from(vec![line.entry(UNNAMED, metrics(&counts))?])),
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, PerfStat};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn runs_of_version_6_12() {
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/perf_stat/version_6_12.txt")), @"
        sh -c seq 1 50000 | sort > /dev/null latency 48427247
        sh -c seq 1 50000 | sort > /dev/null user-time 17742000
        sh -c seq 1 50000 | sort > /dev/null system-time 0
        sh -c seq 1 50000 | sort > /dev/null cpu-time 16100000.000000002
        sh -c seq 1 50000 | sort > /dev/null context-switches 16
        sh -c seq 1 50000 | sort > /dev/null cpu-migrations 0
        sh -c seq 1 50000 | sort > /dev/null page-faults 932
        ");
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/perf_stat/version_6_12.csv")), @"
        perf stat cpu-time 13090000 [12532366, 13647634]
        perf stat context-switches 25 [15, 35]
        perf stat cpu-migrations 0 [0, 0]
        perf stat page-faults 933 [930.8541, 935.1459]
        perf stat latency 41376338 [39266144.762, 43486531.238]
        perf stat user-time 13043277 [12524154.5754, 13562399.4246]
        perf stat system-time 1020555 [686017.071, 1355092.929]
        ");
    }

    #[test]
    fn runs_of_version_7_2() {
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/perf_stat/version_7_2.txt")), @"
        sh -c seq 1 50000 | sort > /dev/null latency 71500665 [49158376, 93842954]
        sh -c seq 1 50000 | sort > /dev/null cpu-time 14880000 [12201600, 17558400]
        sh -c seq 1 50000 | sort > /dev/null context-switches 31 [17.998600000000003, 44.0014]
        sh -c seq 1 50000 | sort > /dev/null cpu-migrations 0
        sh -c seq 1 50000 | sort > /dev/null page-faults 936 [934.0344, 937.9656]
        ");
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/perf_stat/version_7_2.json")), @"
        perf stat cpu-time 11432947
        perf stat context-switches 16
        perf stat cpu-migrations 0
        perf stat page-faults 933
        ");
    }

    #[test]
    fn real_runs() {
        let plain = include_str!("../fixtures/perf_stat/plain.txt");
        insta::assert_snapshot!(read(PerfStat, plain), @"
        sh -c seq 1 50000 | sort > /dev/null latency 60059274
        sh -c seq 1 50000 | sort > /dev/null user-time 17745000
        sh -c seq 1 50000 | sort > /dev/null system-time 0
        sh -c seq 1 50000 | sort > /dev/null cpu-time 16469999.999999998
        sh -c seq 1 50000 | sort > /dev/null context-switches 14
        sh -c seq 1 50000 | sort > /dev/null cpu-migrations 0
        sh -c seq 1 50000 | sort > /dev/null page-faults 938
        ");
        let repeated = include_str!("../fixtures/perf_stat/repeated.txt");
        insta::assert_snapshot!(read(PerfStat, repeated), @"
        sh -c seq 1 50000 | sort > /dev/null latency 110450000 [104260000, 116640000]
        sh -c seq 1 50000 | sort > /dev/null cpu-time 17110000 [17015895, 17204105]
        sh -c seq 1 50000 | sort > /dev/null context-switches 14 [13.118, 14.882]
        sh -c seq 1 50000 | sort > /dev/null cpu-migrations 0
        sh -c seq 1 50000 | sort > /dev/null page-faults 929 [926.3988, 931.6012]
        ");
        let hardware = include_str!("../fixtures/perf_stat/hardware.txt");
        insta::assert_snapshot!(read(PerfStat, hardware), @"
        ./app --size 10 latency 1206900000 [1204280000, 1209520000]
        ./app --size 10 cpu-time 1204510000 [1201980529, 1207039471]
        ./app --size 10 context-switches 0
        ./app --size 10 page-faults 212 [211.0036, 212.9964]
        ./app --size 10 cycles 4512345678 [4503772221.2118, 4520919134.7882]
        ./app --size 10 instructions 9876543210 [9876543210, 9876543210]
        ./app --size 10 branches 1234567890 [1234567890, 1234567890]
        ./app --size 10 branch-misses 1234567 [1218270.7156, 1250863.2844]
        ./app --size 10 LLC-load-misses 987654 [967407.093, 1007900.907]
        ");
        let csv = include_str!("../fixtures/perf_stat/plain.csv");
        insta::assert_snapshot!(read(PerfStat, csv), @"
        perf stat cpu-time 17340000
        perf stat context-switches 16
        perf stat cpu-migrations 0
        perf stat page-faults 934
        ");
        let repeated_csv = include_str!("../fixtures/perf_stat/repeated.csv");
        insta::assert_snapshot!(read(PerfStat, repeated_csv), @"
        perf stat cpu-time 17580000 [17381346, 17778654]
        perf stat context-switches 16 [15.6672, 16.3328]
        perf stat cpu-migrations 0 [0, 0]
        perf stat page-faults 934 [932.2254, 935.7746]
        ");
        let json = include_str!("../fixtures/perf_stat/plain.json");
        insta::assert_snapshot!(read(PerfStat, json), @"
        perf stat cpu-time 17385488
        perf stat context-switches 47
        perf stat cpu-migrations 0
        perf stat page-faults 933
        ");
        let repeated_json = include_str!("../fixtures/perf_stat/repeated.json");
        insta::assert_snapshot!(read(PerfStat, repeated_json), @"
        perf stat cpu-time 17452796 [16122892.9448, 18782699.0552]
        perf stat context-switches 17 [16.0004, 17.9996]
        perf stat cpu-migrations 0 [0, 0]
        perf stat page-faults 932 [931.6272, 932.3728]
        ");
        for text in [plain, repeated, hardware, csv, repeated_csv, json, repeated_json] {
            assert_eq!(read(Magic, text), read(PerfStat, text));
        }
        for text in [plain, csv, json] {
            let (_, skipped) = parse_with_skipped(PerfStat, text, None).unwrap();
            let names: Vec<_> = skipped.iter().flat_map(|one| &one.names).collect();
            assert_eq!(names, ["cycles", "instructions", "branches", "branch-misses"]);
        }
        assert_eq!(read(PerfStat, &csv.replace(',', ";")), read(PerfStat, csv));
    }

    #[test]
    fn units_and_modifiers() {
        let text = "Performance counter stats for process id '42':\n 5 cycles:u\n 7 cycles\n 3 cycles:k\n \
            12.5 Joules power/energy-pkg/\n 1,500 ns duration_time\n";
        insta::assert_snapshot!(read(PerfStat, text), @"
        perf stat cycles:u 5
        perf stat cycles 7
        perf stat cycles:k 3
        perf stat power/energy-pkg/ 12.5
        perf stat latency 1500
        ");
    }

    #[test]
    fn errors_have_the_line() {
        let title = "Performance counter stats for 'a':\n";
        let csv = include_str!("../fixtures/perf_stat/plain.csv");
        let json = include_str!("../fixtures/perf_stat/plain.json");
        let errors = [
            title.to_owned(),
            format!("{title} 16,47 msec task-clock\n"),
            format!("{title} 1.234 cycles\n"),
            format!("{title} 0,06 seconds time elapsed\n"),
            format!("{title}CPU0  1,234 cycles\n"),
            csv.repeat(2),
            json.repeat(2),
            json.replace("{\"counter", "{\"interval\" : 1.0, \"counter"),
            "<not supported>,,cycles,0,100.00,,\n".to_owned(),
            "17,,apples,3,100.00\n".to_owned(),
        ]
        .map(|text| read(PerfStat, &text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `perf_stat` cannot read the output at line 1: expected counts below the title, found `Performance counter stats for 'a':`.
        The adapter `perf_stat` cannot read the output at line 2: expected a count with a decimal point and commas (`LC_ALL=C`), found `16,47 msec task-clock`.
        The adapter `perf_stat` cannot read the output at line 2: expected a count with a decimal point and commas (`LC_ALL=C`), found `1.234 cycles`.
        The adapter `perf_stat` cannot read the output at line 2: expected a time with a decimal point (`LC_ALL=C`), found `0,06 seconds time elapsed`.
        The adapter `perf_stat` cannot read the output at line 2: expected counts of all CPUs together, without options such as `-A`, found `CPU0  1,234 cycles`.
        The adapter `perf_stat` cannot read the output at line 13: expected one measurement with each event once, found `17.34,msec,task-clock,17340976,100.00,0.104,CPUs utilized`.
        The adapter `perf_stat` cannot read the output at line 13: expected one measurement with each event once, found `{"counter-value" : "17.385488", "unit" : "msec", "event" : "…`.
        The adapter `perf_stat` cannot read the output at line 3: expected one measurement with each event once, found `{"interval" : 1.0, "counter-value" : "17.385488", "unit" : "…`.
        The adapter `perf_stat` cannot read the output at line 1: expected an event that perf counted, found `<not supported>,,cycles,0,100.00,,`.
        The adapter `perf_stat` cannot read the output: expected a title such as `Performance counter stats for 'COMMAND':` and counts below it.
        "#);
    }
}
