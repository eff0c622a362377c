//! Adapter for mitata: its JSON and the tables that it prints. It does not read samples, hardware counters or
//! garbage-collection times.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, js_mitata_v0,
    table::{bordered_cells, is_rule},
    text::{self, Line, Scan, is_blank},
    variant::ReportedParameters,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::JsMitata,
    title: "mitata",
    metrics: "latency (median within its quartiles), its percentiles 75, 99 and 99.9 and its maximum; allocated bytes; printed tables have the mean latency and its percentiles 75 and 99",
    parameters: "`args`; the alias, such as `sort($n)`, is the name",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(Syntax::Json, "run({ format: 'json' })", &[r#""layout""#, r#""benchmarks""#], parse),
        Format::new(Syntax::Text, "run({ format: 'markdown' })", &["/iter`"], parse_markdown),
        Format::new(Syntax::Text, "run()", &["avg (min … max)", "/iter"], parse_printed),
        Format::new(
            Syntax::Json,
            "run({ json: true })",
            &[r#""benchmarks""#, r#""warmup""#, r#""baseline""#, r#""runtime""#],
            js_mitata_v0::parse,
        ),
        Format::new(
            Syntax::Text,
            "run()",
            &["time (avg)", "(min … max)", "/iter"],
            js_mitata_v0::parse_printed,
        ),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    layout: Vec<IgnoredAny>,
    benchmarks: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Document {
    layout: Vec<Group>,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Group {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    /// Name with placeholders for its arguments, for example `sort($n)`.
    alias: String,
    /// Index of its group in the layout.
    group: usize,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    /// Name with its arguments, for example `sort(64)`.
    name: String,
    #[serde(default)]
    args: ReportedParameters,
    stats: Option<Statistics>,
    error: Option<RunError>,
}

#[derive(Deserialize)]
struct RunError {
    message: Option<String>,
}

/// Times in nanoseconds.
#[derive(Deserialize)]
pub(crate) struct Statistics {
    avg: f64,
    p25: Option<f64>,
    p50: f64,
    p75: f64,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
    heap: Option<Heap>,
}

/// Heap bytes per run.
#[derive(Deserialize)]
struct Heap {
    avg: Option<f64>,
}

/// Parses a document. The mean has no range, because mitata reports no spread around it; the median has the quartiles as
/// range.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { layout, benchmarks } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut entries = Entries::default();
    for (benchmark_index, benchmark) in benchmarks.iter().enumerate() {
        let group = layout.get(benchmark.group).and_then(|group| group.name.as_deref());
        for (index, run) in benchmark.runs.iter().enumerate() {
            let position = || Position::Path(format!("benchmarks[{benchmark_index}].runs[{index}]"));
            let Some(statistics) = &run.stats else {
                let message =
                    run.error.as_ref().and_then(|error| error.message.as_deref()).unwrap_or("no message");
                return Err(Failure::invalid(
                    position(),
                    "a benchmark that ran",
                    &format!("{}: {message}", run.name),
                ));
            };
            let parameters = run.args.parameters.clone();
            if run.args.are_skipped {
                input.skip_parameters(&run.name);
            }
            let name = if parameters.is_some() { &benchmark.alias } else { &run.name };
            let name = group.map_or_else(|| name.clone(), |group| format!("{group} > {name}"));
            entries.push(Entry { parameters, ..Entry::new(position, &name, statistics.metrics(average))? });
        }
    }
    document::require_entries(entries, "benchmarks")
}

impl Statistics {
    pub(crate) fn metrics(&self, average: Average) -> Vec<ParsedMetric> {
        let latency = match average {
            Average::Mean => ParsedMetric::latency(self.avg),
            Average::Median => {
                let latency = ParsedMetric::latency(self.p50);
                // Version 0.1 does not report the lower quartile.
                self.p25.map_or_else(|| latency.clone(), |p25| latency.clone().with_range(p25, self.p75))
            }
        };
        let allocated =
            self.heap.as_ref().and_then(|heap| heap.avg).map(|bytes| ParsedMetric::of("allocated", bytes));
        let percentiles = [
            ("latency-p75", Some(self.p75)),
            ("latency-p99", self.p99),
            ("latency-p99-9", self.p999),
            ("latency-max", self.max),
        ];
        let percentiles =
            percentiles.into_iter().filter_map(|(slug, time)| Some(ParsedMetric::of(slug, time?)));
        [latency].into_iter().chain(percentiles).chain(allocated).collect()
    }
}

/// Parses the printed tables. The first line of a benchmark has the mean and the percentile 75, its second line has the least and
/// the greatest time and the percentile 99.
fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let (mut group, mut title) = (None, None);
    let mut in_table = false;
    let mut is_second_line = false;
    for line in text::lines(input.text) {
        let starts_entry = in_table && !line.text.starts_with(is_blank);
        if line.text.starts_with("benchmark ") && line.text.contains(" avg (min … max)") {
            title = None;
        } else if let Some(name) = line.text.strip_prefix("• ") {
            title = Some(name);
        } else if is_rule(line.text) {
            in_table = true;
            group = title.take();
        } else if line.text == "summary" {
            in_table = false;
        } else if let Some((name, mean, p75)) = printed_row(line.text).filter(|_| starts_entry) {
            require_mean(input, line)?;
            entries.push(line.entry(&in_group(group, name), printed_metrics(mean, [Some(p75), None]))?);
            is_second_line = true;
            continue;
        } else if starts_entry && line.text.contains("  error: ") {
            return Err(line.invalid("a benchmark that ran"));
        } else if is_second_line {
            let rest = line.text.trim_start_matches(is_blank);
            let p99 = rest
                .strip_prefix('(')
                .and_then(|rest| rest.split_once(") "))
                .and_then(|(range, rest)| range.contains(" … ").then(|| time(rest)).flatten());
            let p99 = p99.ok_or_else(|| line.invalid("the least and the greatest time and a percentile"))?;
            entries.change_last(|entry| entry.metrics.push(ParsedMetric::of("latency-p99", p99)));
        }
        is_second_line = false;
    }
    text::require_entries(entries, "a table with the header `benchmark  avg (min … max) p75 / p99`")
}

/// Parses the first line of a benchmark: `sort(64)  52.99 µs/iter  57.65 µs █`.
fn printed_row(line: &str) -> Option<(&str, f64, f64)> {
    let (before, after) = line.rsplit_once("/iter ")?;
    let (before, unit) = before.rsplit_once(' ')?;
    let (name, count) = before.rsplit_once(' ')?;
    Some((name.trim_end(), time(&format!("{count} {unit}"))?, time(after)?))
}

/// Parses a time at the start of a text, in nanoseconds.
fn time(text: &str) -> Option<f64> {
    let mut scan = Scan::new(text.trim_start_matches(is_blank));
    let time = scan.duration()?;
    (scan.rest().is_empty() || scan.rest().starts_with(is_blank)).then_some(time)
}

/// Parses the tables of Markdown, one per group.
fn parse_markdown(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut table = None;
    for line in text::lines(input.text) {
        let Some(cells) = bordered_cells(line.text) else {
            table = None;
            continue;
        };
        match (cells.as_slice(), table) {
            ([title, "avg", "min", "p75", "p99", "max"], _) => table = Some(title.strip_prefix("• ")),
            _ if is_rule(line.text) => {}
            ([name, mean, _, p75, p99, _], Some(group)) => {
                let cell = |cell: &str| time(cell.trim_matches('`').trim_end_matches("/iter"));
                let (Some(mean), Some(p75), Some(p99)) = (cell(mean), cell(p75), cell(p99)) else {
                    return Err(line.invalid("times with units"));
                };
                require_mean(input, line)?;
                entries
                    .push(line.entry(&in_group(group, name), printed_metrics(mean, [Some(p75), Some(p99)]))?);
            }
            (_, Some(_)) => return Err(line.invalid("a benchmark that ran")),
            (_, None) => {}
        }
    }
    text::require_entries(entries, "a table with the header `| benchmark | avg | min | p75 | p99 | max |`")
}

pub(crate) fn in_group(group: Option<&str>, name: &str) -> String {
    group.map_or_else(|| name.to_owned(), |group| format!("{group} > {name}"))
}

fn require_mean(input: &Input<'_>, line: Line<'_>) -> Result<(), Failure> {
    match input.average {
        Some(Average::Median) => Err(line.invalid("a median, which mitata writes only as JSON")),
        _ => Ok(()),
    }
}

fn printed_metrics(mean: f64, percentiles: [Option<f64>; 2]) -> Vec<ParsedMetric> {
    let percentiles = ["latency-p75", "latency-p99"].into_iter().zip(percentiles);
    let percentiles = percentiles.filter_map(|(slug, value)| Some(ParsedMetric::of(slug, value?)));
    [ParsedMetric::latency(mean)].into_iter().chain(percentiles).collect()
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    #[test]
    fn printed_tables() {
        let text = include_str!("../fixtures/js_mitata/printed.txt");
        insta::assert_snapshot!(read(text, None), @"
        noop latency 0.38562
        noop latency-p75 0.10352
        noop latency-p99 0.13867
        sort > sort(64) latency 52990
        sort > sort(64) latency-p75 57650
        sort > sort(64) latency-p99 62180
        sort > sort(512) latency 841710
        sort > sort(512) latency-p75 139790
        sort > sort(512) latency-p99 24200000
        parse json latency 2260
        parse json latency-p75 3530
        parse json latency-p99 10450
        date latency 363.51
        date latency-p75 62.7
        date latency-p99 6960
        a benchmark with a rather long name that is cut latency 103.43
        a benchmark with a rather long name that is cut latency-p75 16.4
        a benchmark with a rather long name that is cut latency-p99 3930
        ");
        assert_eq!(parse(Adapter::Magic, text, None).unwrap().to_string(), read(text, None));
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"The adapter `js_mitata` cannot read the output at line 7: expected a median, which mitata writes only as JSON, found `noop                                            385.62 ps/it…`.");
        insta::assert_snapshot!(read(include_str!("../fixtures/js_mitata/errored.txt"), None), @"The adapter `js_mitata` cannot read the output at line 11: expected a benchmark that ran, found `throws                       error: no such table`.");
        insta::assert_snapshot!(read(include_str!("../fixtures/js_mitata/errored.md"), None), @"The adapter `js_mitata` cannot read the output at line 8: expected a benchmark that ran, found `| throws | error: no such table |`.");
        let markdown = "| benchmark |              avg |         min |         p75 |         p99 |         max |\n\
            | ------ | ---------------- | ----------- | ----------- | ----------- | ----------- |\n\
            | noop   | `990.23 ps/iter` | ` 86.43 ps` | `126.22 ps` | `252.20 ps` | ` 11.78 µs` |\n\n\
            | • sort |              avg |         min |         p75 |         p99 |         max |\n\
            | ------ | ---------------- | ----------- | ----------- | ----------- | ----------- |\n\
            | s(64)  | `  1.50 ms/iter` | `  1.43 ms` | `  1.60 ms` | `  1.70 ms` | `  2.78 ms` |\n";
        insta::assert_snapshot!(parse(Adapter::Magic, markdown, None).unwrap(), @"
        noop latency 0.99023
        noop latency-p75 0.12622
        noop latency-p99 0.2522
        sort > s(64) latency 1500000
        sort > s(64) latency-p75 1600000
        sort > s(64) latency-p99 1700000
        ");
    }

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::JsMitata, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn groups_and_arguments() {
        let text = include_str!("../fixtures/js_mitata/arguments.json");
        insta::assert_snapshot!(read(text, None), @"
        noop latency 0.13986615451171122
        noop latency-p75 0.110595703125
        noop latency-p99 0.2041015625
        noop latency-p99-9 1.852294921875
        noop latency-max 985.698974609375
        noop allocated 0.10486525654494325
        sort > sort($n) {n=64} latency 4512.758485736269
        sort > sort($n) {n=64} latency-p75 4592.074951171875
        sort > sort($n) {n=64} latency-p99 5545.267333984375
        sort > sort($n) {n=64} latency-p99-9 5545.267333984375
        sort > sort($n) {n=64} latency-max 6886.525146484375
        sort > sort($n) {n=64} allocated 2250.87646484375
        sort > sort($n) {n=512} latency 80501.27931722003
        sort > sort($n) {n=512} latency-p75 91739.03002929688
        sort > sort($n) {n=512} latency-p99 95332.00805664063
        sort > sort($n) {n=512} latency-p99-9 95332.00805664063
        sort > sort($n) {n=512} latency-max 97271.05908203102
        sort > sort($n) {n=512} allocated 2239.751171875
        parse $kind $size {kind=a, size=8} latency 609.4468678977273
        parse $kind $size {kind=a, size=8} latency-p75 496.859619140625
        parse $kind $size {kind=a, size=8} latency-p99 1544.586669921875
        parse $kind $size {kind=a, size=8} latency-p99-9 1700.950439453125
        parse $kind $size {kind=a, size=8} latency-max 2372.412353515625
        parse $kind $size {kind=a, size=8} allocated 111.78369858685662
        parse $kind $size {kind=b, size=8} latency 550.9793231670673
        parse $kind $size {kind=b, size=8} latency-p75 474.672119140625
        parse $kind $size {kind=b, size=8} latency-p99 1664.805419921875
        parse $kind $size {kind=b, size=8} latency-p99-9 2432.142578125
        parse $kind $size {kind=b, size=8} latency-max 2506.776123046875
        parse $kind $size {kind=b, size=8} allocated 112.10782849829351
        ");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"
        noop latency 0.103515625 [0.100341796875, 0.110595703125]
        noop latency-p75 0.110595703125
        noop latency-p99 0.2041015625
        noop latency-p99-9 1.852294921875
        noop latency-max 985.698974609375
        noop allocated 0.10486525654494325
        sort > sort($n) {n=64} latency 4344.796142578125 [4187.232666015625, 4592.074951171875]
        sort > sort($n) {n=64} latency-p75 4592.074951171875
        sort > sort($n) {n=64} latency-p99 5545.267333984375
        sort > sort($n) {n=64} latency-p99-9 5545.267333984375
        sort > sort($n) {n=64} latency-max 6886.525146484375
        sort > sort($n) {n=64} allocated 2250.87646484375
        sort > sort($n) {n=512} latency 77422.4296875 [67790.28564453125, 91739.03002929688]
        sort > sort($n) {n=512} latency-p75 91739.03002929688
        sort > sort($n) {n=512} latency-p99 95332.00805664063
        sort > sort($n) {n=512} latency-p99-9 95332.00805664063
        sort > sort($n) {n=512} latency-max 97271.05908203102
        sort > sort($n) {n=512} allocated 2239.751171875
        parse $kind $size {kind=a, size=8} latency 424.440673828125 [405.5, 496.859619140625]
        parse $kind $size {kind=a, size=8} latency-p75 496.859619140625
        parse $kind $size {kind=a, size=8} latency-p99 1544.586669921875
        parse $kind $size {kind=a, size=8} latency-p99-9 1700.950439453125
        parse $kind $size {kind=a, size=8} latency-max 2372.412353515625
        parse $kind $size {kind=a, size=8} allocated 111.78369858685662
        parse $kind $size {kind=b, size=8} latency 414.987548828125 [384.868896484375, 474.672119140625]
        parse $kind $size {kind=b, size=8} latency-p75 474.672119140625
        parse $kind $size {kind=b, size=8} latency-p99 1664.805419921875
        parse $kind $size {kind=b, size=8} latency-p99-9 2432.142578125
        parse $kind $size {kind=b, size=8} latency-max 2506.776123046875
        parse $kind $size {kind=b, size=8} allocated 112.10782849829351
        ");
    }

    #[test]
    fn nested_arguments_stay_in_the_name() {
        let text = r#"{"layout":[{"name":null}],"benchmarks":[{"alias":"f($x)","group":0,"runs":[
            {"name":"f(1,2)","args":{"x":[1,2]},"stats":{"avg":1,"p25":1,"p50":1,"p75":1}}]}]}"#;
        assert_eq!(read(text, None), "f(1,2) latency 1\nf(1,2) latency-p75 1\n");
    }

    #[test]
    fn a_benchmark_that_threw_is_an_error() {
        let text = include_str!("../fixtures/js_mitata/errored.json");
        insta::assert_snapshot!(read(text, None), @"The adapter `js_mitata` cannot read the output at `benchmarks[3].runs[0]`: expected a benchmark that ran, found `throws: no such table`.");
        let error = parse(Adapter::Magic, text, None).unwrap_err().to_string();
        assert!(error.starts_with("The adapter `js_mitata` "), "{error}");
        insta::assert_snapshot!(read(r#"{"layout":[],"benchmarks":[]}"#, None), @"The adapter `js_mitata` cannot read the output at `benchmarks`: expected at least one benchmark.");
    }
}
