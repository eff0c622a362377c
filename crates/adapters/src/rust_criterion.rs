//! Adapter for the output of Criterion: three estimates per benchmark, of which the outer two are the confidence interval. It
//! does not read printed changes. The output of `--output-format bencher` belongs to the adapter `rust_bench`.

use serde::Deserialize;
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool, ndjson,
    text::{self, Line, Scan, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RustCriterion,
    title: "Criterion",
    metrics: "latency within its confidence interval; bytes as bandwidth and elements as throughput",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Ndjson,
            "cargo criterion --message-format=json",
            &[r#""reason":"benchmark-complete""#, r#""typical""#],
            parse_messages,
        ),
        Format::new(Syntax::Text, "cargo bench", &["time:"], parse),
    ],
};

/// A message of `cargo criterion`.
#[derive(Deserialize)]
struct Message {
    reason: String,
}

/// A complete benchmark.
#[derive(Deserialize)]
struct Benchmark {
    id: String,
    typical: Estimate,
    #[serde(default)]
    throughput: Vec<Throughput>,
}

#[derive(Deserialize)]
struct Estimate {
    estimate: f64,
    lower_bound: f64,
    upper_bound: f64,
    unit: String,
}

#[derive(Deserialize)]
struct Throughput {
    per_iteration: f64,
    unit: String,
}

/// Parses the messages of `cargo criterion`, which are on lines of their own between other output.
fn parse_messages(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    ndjson::read(input, |line, message: Message| {
        if message.reason == "benchmark-complete" {
            let benchmark: Benchmark = serde_json::from_str(line.text)
                .map_err(|error| line.invalid(&format!("a complete benchmark ({error})")))?;
            entries.push(line.entry(&benchmark.id, benchmark.metrics(line)?)?);
        }
        Ok(())
    })?;
    text::require_entries(entries, r#"a message with `"reason":"benchmark-complete"`"#)
}

impl Benchmark {
    fn metrics(&self, line: Line<'_>) -> Result<Vec<ParsedMetric>, Failure> {
        let Estimate { estimate, lower_bound, upper_bound, unit } = &self.typical;
        let unit = Unit::from_symbol(unit).ok_or_else(|| line.invalid("an estimate in a unit of time"))?;
        let time = |value: &f64| unit.nanoseconds(*value);
        let mut metrics =
            vec![ParsedMetric::latency(time(estimate)).with_range(time(lower_bound), time(upper_bound))];
        for Throughput { per_iteration, unit: counted } in &self.throughput {
            let slug = match counted.as_str() {
                "bytes" => "bandwidth",
                "elements" => "throughput",
                _ => continue,
            };
            let rate = |value: &f64| unit.per_second(per_iteration / value);
            metrics.push(
                ParsedMetric::of(slug, rate(estimate)).with_range(rate(upper_bound), rate(lower_bound)),
            );
        }
        Ok(metrics)
    }
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    // Whether the previous line is the time of the last entry.
    let mut is_after_time = false;
    let mut previous = "";
    for line in text::lines(input.text) {
        if let Some(metric) = rate(line.text).filter(|_| is_after_time) {
            entries.change_last(|entry| {
                // Criterion prints bytes and elements on a line each.
                let known = entry.metrics.iter().position(|known| known.measure == metric.measure);
                if known.is_none() {
                    entry.metrics.push(metric);
                }
            });
            previous = line.text;
            continue;
        }
        is_after_time = false;
        if let Some((name, metric)) = row(line.text) {
            // A long name is on a line of its own.
            let name = if name.is_empty() { previous } else { name };
            if !name.is_empty() {
                entries.push(line.entry(name, vec![metric])?);
                is_after_time = true;
            }
        }
        previous = line.text;
    }
    text::require_entries(entries, "a line such as `name  time:   [1.10 us 1.25 us 1.40 us]`")
}

/// Returns the name, which may be empty, and the estimates. A name may contain `time:`, so every occurrence is tried; no
/// attempt reads past the next occurrence.
fn row(line: &str) -> Option<(&str, ParsedMetric)> {
    line.match_indices("time:").find_map(|(start, _)| {
        let name = line[..start].trim_end_matches(is_blank);
        let separated = name.len() < start;
        separated.then(|| estimates(Scan::new(&line[start..]))).flatten().map(|metric| (name, metric))
    })
}

/// Returns the rate of a line such as `thrpt:  [98.4 Melem/s 101 Melem/s 106 Melem/s]`. A change in percent is not a rate.
fn rate(line: &str) -> Option<ParsedMetric> {
    let rates = line.trim_matches(is_blank).strip_prefix("thrpt:")?.trim_matches(is_blank);
    let mut words =
        rates.strip_prefix('[')?.strip_suffix(']')?.split(is_blank).filter(|word| !word.is_empty());
    let mut value = || Some((text::decimal(words.next()?)?, rate_unit(words.next()?)?));
    let ((lower, unit), (value, value_unit), (upper, upper_unit)) = (value()?, value()?, value()?);
    let (slug, factor) = value_unit;
    let is_rate = words.next().is_none() && [unit.0, upper_unit.0] == [slug; 2];
    let rate = ParsedMetric::of(slug, value * factor).with_range(lower * unit.1, upper * upper_unit.1);
    is_rate.then_some(rate)
}

/// Returns the measure of a rate and the factor to its units.
fn rate_unit(unit: &str) -> Option<(&'static str, f64)> {
    let counted = unit.strip_suffix("/s")?;
    if let Some(prefix) = counted.strip_suffix("elem") {
        let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == prefix)?;
        return Some(("throughput", 1000.0_f64.powi(i32::try_from(power).ok()?)));
    }
    Some(("bandwidth", text::bytes(&format!("1 {counted}"))?))
}

fn estimates(mut scan: Scan<'_>) -> Option<ParsedMetric> {
    scan.literal("time:")?;
    scan.blanks()?;
    scan.literal("[")?;
    let lower = scan.duration()?;
    scan.blanks()?;
    let value = scan.duration()?;
    scan.blanks()?;
    let upper = scan.duration()?;
    scan.literal("]")?;
    scan.end()?;
    Some(ParsedMetric::latency(value).with_range(lower, upper))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, RustCriterion};

    use crate::tests::read;

    #[test]
    fn a_real_run() {
        let text = include_str!("../fixtures/rust_criterion/groups.txt");
        insta::assert_snapshot!(read(RustCriterion, text), @"
        sum small latency 130.63 [129.73, 131.43]
        sorting/a_rather_long_function_name/10 latency 40.996 [39.7, 42.398]
        sorting/a_rather_long_function_name/10 throughput 243930000 [235860000, 251890000]
        sorting/a_rather_long_function_name/1000 latency 9813.4 [9400.1, 10160]
        sorting/a_rather_long_function_name/1000 throughput 101900000 [98427000, 106380000]
        ");
    }

    #[test]
    fn printed_rates() {
        let text = "copy  time:   [1.0 us 2.0 us 4.0 us]\n      thrpt:  [1.5000 GiB/s 2.0000 GiB/s 3.0000 GiB/s]\n      \
            thrpt:  [500.00 elem/s 1.5000 Kelem/s 2.0000 Kelem/s]\n      change:\n      time:   [-1.2% +0.1% +1.3%] (p = 0.31 > 0.05)\n      \
            thrpt:  [-1.2% +0.1% +1.3%]\nthrpt:  [1 GiB/s 2 GiB/s 3 GiB/s]\n";
        insta::assert_snapshot!(read(RustCriterion, text), @"
        copy latency 2000 [1000, 4000]
        copy bandwidth 2147483648 [1610612736, 3221225472]
        copy throughput 1500 [500, 2000]
        ");
    }

    #[test]
    fn messages_of_cargo_criterion() {
        let text = include_str!("../fixtures/rust_criterion/messages.ndjson");
        insta::assert_snapshot!(read(RustCriterion, text), @"
        sum small latency 1.203550793871287 [1.0640082759750065, 1.3583103597673716]
        sorting/sort/10 latency 75.58226356878912 [61.973054574893624, 82.56222548525395]
        sorting/sort/10 throughput 132306172.47786944 [121120766.0794712, 161360450.41825604]
        sorting/sort/1000 latency 1319.07253467764 [1111.17941892091, 1816.3990000833255]
        sorting/sort/1000 throughput 758108423.6920934 [550539831.8068475, 899944674.0753363]
        copy/bytes latency 116.35437174710263 [95.95339834509504, 126.54885924544588]
        copy/bytes bandwidth 35202802769.6518 [32366945260.689125, 42687388572.40672]
        ");
        assert_eq!(read(Magic, text), read(RustCriterion, text));
        let invalid = r#"{"reason":"benchmark-complete","id":"a","typical":{"estimate":1,"lower_bound":1,"upper_bound":1,"unit":"cycles"}}"#;
        insta::assert_snapshot!(read(Magic, invalid), @r#"The adapter `rust_criterion` cannot read the output at line 1: expected an estimate in a unit of time, found `{"reason":"benchmark-complete","id":"a","typical":{"estimate…`."#);
        insta::assert_snapshot!(read(Magic, &invalid.replace(r#""estimate":1,"#, "")), @r#"The adapter `rust_criterion` cannot read the output at line 1: expected a complete benchmark (missing field `estimate` at line 1 column 99), found `{"reason":"benchmark-complete","id":"a","typical":{"lower_bo…`."#);
        insta::assert_snapshot!(read(RustCriterion, r#"{"reason":"group-complete"}"#), @r#"The adapter `rust_criterion` cannot read the output: expected a message with `"reason":"benchmark-complete"`."#);
    }

    #[test]
    fn colors_are_ignored() {
        let text = include_str!("../fixtures/rust_criterion/colors.txt");
        insta::assert_snapshot!(read(Magic, text), @"
        sum small latency 129.74 [128.7, 130.8]
        sorting/a_rather_long_function_name/10 latency 42.88 [41.353, 44.444]
        sorting/a_rather_long_function_name/10 throughput 233210000 [225000000, 241820000]
        sorting/a_rather_long_function_name/1000 latency 9924 [9719.2, 10145]
        sorting/a_rather_long_function_name/1000 throughput 100770000 [98575000, 102890000]
        ");
    }

    #[test]
    fn names_on_either_line() {
        let text = "parse tiny              time:   [1.10 us 1.25 us 1.40 us]\n\
            very/long/name\n                        time:   [1.10 ms 1.25 ms 1.40 ms]\n\
            time: [of day  time:   [1 ns 2 ns 3 ns]\n\
            \n                 time:   [1 ns 2 ns 3 ns]\n\
            uptime:   [1 ns 2 ns 3 ns]";
        insta::assert_snapshot!(read(RustCriterion, text), @"
        parse tiny latency 1250 [1100, 1400]
        very/long/name latency 1250000 [1100000, 1400000]
        time: [of day latency 2 [1, 3]
        ");
        insta::assert_snapshot!(read(RustCriterion, "done"), @"The adapter `rust_criterion` cannot read the output: expected a line such as `name  time:   [1.10 us 1.25 us 1.40 us]`.");
    }
}
