//! Adapter for Vitest benchmarks: parses the JSON of `--outputJson` and the printed tables.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average, BenchmarkName};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Unit, is_blank, quantity},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::JsVitest,
    title: "Vitest",
    metrics: "latency ± standard deviation (median alone); its percentiles 75, 99 and 99.9 and its maximum; throughput ± relative margin of error; the latency in printed tables is the mean ± relative margin of error",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "vitest bench --run --outputJson bench.json",
            &[r#""files""#, r#""groups""#],
            parse,
        ),
        Format::new(
            Syntax::Text,
            "vitest bench --run",
            &[" hz ", " p995 ", " rme ", " samples"],
            parse_printed,
        ),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    files: Vec<ShapeFile>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeFile {
    groups: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Document {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    full_name: String,
    benchmarks: Vec<Benchmark>,
}

/// A benchmark; times are in milliseconds.
#[derive(Deserialize)]
struct Benchmark {
    name: String,
    hz: f64,
    mean: f64,
    median: f64,
    sd: f64,
    rme: f64,
    max: Option<f64>,
    p75: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
}

/// Parses a document: the time per run and the runs per second.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { files } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut entries = Entries::default();
    for (file_index, file) in files.iter().enumerate() {
        for (group_index, group) in file.groups.iter().enumerate() {
            for (index, benchmark) in group.benchmarks.iter().enumerate() {
                let position = || {
                    Position::Path(format!("files[{file_index}].groups[{group_index}].benchmarks[{index}]"))
                };
                entries.push(Entry::new(position, &group.name_of(benchmark), benchmark.metrics(average))?);
            }
        }
    }
    document::require_entries(entries, "files")
}

impl Group {
    /// Returns the name with its group, or without it if there is no group or the combined name is too long.
    fn name_of(&self, benchmark: &Benchmark) -> String {
        let name = format!("{} > {}", self.full_name, benchmark.name);
        if self.full_name.is_empty() || name.parse::<BenchmarkName>().is_err() {
            benchmark.name.clone()
        } else {
            name
        }
    }
}

impl Benchmark {
    fn metrics(&self, average: Average) -> Vec<ParsedMetric> {
        let nanoseconds = |milliseconds| Unit::Milliseconds.nanoseconds(milliseconds);
        let latency = match average {
            Average::Mean => {
                ParsedMetric::latency(nanoseconds(self.mean)).with_deviation(nanoseconds(self.sd))
            }
            Average::Median => ParsedMetric::latency(nanoseconds(self.median)),
        };
        let mut metrics = vec![latency];
        metrics.extend(percentiles([self.p75, self.p99, self.p999, self.max]));
        metrics.push(ParsedMetric::throughput(self.hz).with_deviation(self.hz * self.rme / 100.0));
        metrics
    }
}

/// Returns the metrics of percentiles and the maximum, given in milliseconds.
fn percentiles(times: [Option<f64>; 4]) -> impl Iterator<Item = ParsedMetric> {
    let slugs = ["latency-p75", "latency-p99", "latency-p99-9", "latency-max"];
    let times = slugs.into_iter().zip(times);
    times.filter_map(|(slug, time)| Some(ParsedMetric::of(slug, Unit::Milliseconds.nanoseconds(time?))))
}

/// Columns of the printed tables after the name; times are in milliseconds.
const COLUMNS: [&str; 10] = ["hz", "min", "max", "mean", "p75", "p99", "p995", "p999", "rme", "samples"];

/// Parses the printed tables. Vitest can print a table more than once.
fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    // Line above the current one, and the title of the current table.
    let (mut above, mut group) = ("", None);
    for line in text::lines(input.text) {
        let trimmed = line.text.trim_matches(is_blank);
        if trimmed.split_ascii_whitespace().eq(["name"].into_iter().chain(COLUMNS)) {
            group = Some(title(above));
        } else if let (Some(group), Some(row)) = (group, trimmed.strip_prefix("· ")) {
            if input.average == Some(Average::Median) {
                return Err(line.invalid("a median, which Vitest writes only with `--outputJson`"));
            }
            let (name, metrics) =
                printed_row(row).ok_or_else(|| line.invalid("a name and the numbers of all columns"))?;
            entries.push(line.entry(&format!("{group} > {name}"), metrics)?);
        } else if let (Some(group), Some(name)) = (group, trimmed.strip_prefix("↓ ")) {
            let name = name.trim_end_matches("[skipped]").trim_matches(is_blank);
            input.skip(format!("{group} > {name}"), "the benchmark skipped them");
        } else {
            group = None;
        }
        above = trimmed;
    }
    text::require_entries(
        entries,
        "a table with the header `name hz min max mean p75 p99 p995 p999 rme samples`",
    )
}

/// Returns the file and the suites of a table from its title, for example `✓ a.bench.ts > sort 736ms`.
fn title(line: &str) -> &str {
    let name = line.split_once(' ').map_or(line, |(_, name)| name);
    match name.rsplit_once(' ') {
        Some((name, time)) if text::duration(time).is_some() => name,
        _ => name,
    }
}

/// Parses a row from right to left, because the name can contain blanks. Older versions mark the fastest and slowest row.
fn printed_row(row: &str) -> Option<(&str, Vec<ParsedMetric>)> {
    let row = row.strip_suffix("fastest").or(row.strip_suffix("slowest")).unwrap_or(row);
    let mut name = row.trim_end_matches(is_blank);
    let mut cells = [""; COLUMNS.len()];
    for cell in cells.iter_mut().rev() {
        let (rest, value) = name.rsplit_once(is_blank)?;
        (name, *cell) = (rest.trim_end_matches(is_blank), value);
    }
    let number = |text| quantity(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number);
    let [hz, .., rme, samples] = cells;
    let (hz, mean) = (number(hz)?, number(cells[3])?);
    let percent = number(rme.strip_prefix('±')?.strip_suffix('%')?)?;
    number(samples)?;
    let mean = Unit::Milliseconds.nanoseconds(precise_mean(mean, hz));
    let time = |column: usize| number(cells[column]).map(Some);
    let mut metrics = vec![ParsedMetric::latency(mean).with_deviation(mean * percent / 100.0)];
    metrics.extend(percentiles([time(4)?, time(5)?, time(7)?, time(2)?]));
    metrics.push(ParsedMetric::throughput(hz).with_deviation(hz * percent / 100.0));
    (!name.is_empty()).then_some((name, metrics))
}

/// Returns the mean in milliseconds. A short mean has few digits, and the rate is its inverse with more digits.
fn precise_mean(mean: f64, hz: f64) -> f64 {
    /// Difference that the rounding to four decimals explains.
    const ROUNDING: f64 = 0.000_051;
    let inverse = 1000.0 / hz;
    if mean < 1.0 && (inverse - mean).abs() <= ROUNDING { inverse } else { mean }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    const EXAMPLE: &str = r#"{"files":[{"groups":[{"fullName":"a.bench.ts > suite","benchmarks":[{"name":"one","hz":1000,"mean":1,"median":0.75,"sd":0.25,"rme":10}]}]}]}"#;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::JsVitest, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn latency_and_throughput() {
        insta::assert_snapshot!(read(EXAMPLE, None), @"
        a.bench.ts > suite > one latency 1000000 [750000, 1250000]
        a.bench.ts > suite > one throughput 1000 [900, 1100]
        ");
        insta::assert_snapshot!(read(EXAMPLE, Some(Average::Median)), @"
        a.bench.ts > suite > one latency 750000
        a.bench.ts > suite > one throughput 1000 [900, 1100]
        ");
    }

    #[test]
    fn groups() {
        insta::assert_snapshot!(read(include_str!("../fixtures/js_vitest/groups.json"), None), @"
        sort.bench.mjs > top level latency 1307.4154954438316 [-42130.926082052385, 44745.757072940054]
        sort.bench.mjs > top level latency-p75 941.000000011627
        sort.bench.mjs > top level latency-p99 1123.999999890657
        sort.bench.mjs > top level latency-p99-9 8618.999999953303
        sort.bench.mjs > top level latency-max 4119911.000000002
        sort.bench.mjs > top level throughput 764867.7895319939 [584770.0598953927, 944965.5191685951]
        sort.bench.mjs > sort > native latency 375455.26629421656 [-385725.1030139515, 1136635.6356023846]
        sort.bench.mjs > sort > native latency-p75 245445.9999999017
        sort.bench.mjs > sort > native latency-p99 4319866.0000000475
        sort.bench.mjs > sort > native latency-p99-9 5236380.000000054
        sort.bench.mjs > sort > native latency-max 5236380.000000054
        sort.bench.mjs > sort > native throughput 2663.433143101458 [2206.7235780687033, 3120.1427081342126]
        sort.bench.mjs > sort > toSorted latency 341564.8378839603 [-389200.7786613848, 1072330.4544293054]
        sort.bench.mjs > sort > toSorted latency-p75 243515.99999999962
        sort.bench.mjs > sort > toSorted latency-p99 4329860.000000053
        sort.bench.mjs > sort > toSorted latency-p99-9 8322239.000000081
        sort.bench.mjs > sort > toSorted latency-max 8322239.000000081
        sort.bench.mjs > sort > toSorted throughput 2927.701827258137 [2420.54876056954, 3434.8548939467346]
        sort.bench.mjs > sort > strings > localeCompare latency 765.957530901243 [-40569.890384895174, 42101.80544669766]
        sort.bench.mjs > sort > strings > localeCompare latency-p75 498.9999999907013
        sort.bench.mjs > sort > strings > localeCompare latency-p99 1658.0000000203654
        sort.bench.mjs > sort > strings > localeCompare latency-p99-9 5553.999999960979
        sort.bench.mjs > sort > strings > localeCompare latency-max 9197914.999999966
        sort.bench.mjs > sort > strings > localeCompare throughput 1305555.4122215854 [927017.8451285616, 1684092.9793146092]
        ");
    }

    #[test]
    fn printed_tables() {
        let text = include_str!("../fixtures/js_vitest/printed.txt");
        insta::assert_snapshot!(read(text, None), @"
        src/sort.bench.mjs > sort > strings > localeCompare latency 866.4922215643139 [455.94820698714193, 1277.036236141486]
        src/sort.bench.mjs > sort > strings > localeCompare latency-p75 300
        src/sort.bench.mjs > sort > strings > localeCompare latency-p99 2200
        src/sort.bench.mjs > sort > strings > localeCompare latency-p99-9 4200
        src/sort.bench.mjs > sort > strings > localeCompare latency-max 7370200
        src/sort.bench.mjs > sort > strings > localeCompare throughput 1154078.45 [607276.0803899999, 1700880.8196100001]
        src/sort.bench.mjs > sort > native latency 1118.1748077340349 [308.83988189614047, 1927.5097335719292]
        src/sort.bench.mjs > sort > native latency-p75 300
        src/sort.bench.mjs > sort > native latency-p99 600
        src/sort.bench.mjs > sort > native latency-p99-9 8800
        src/sort.bench.mjs > sort > native latency-max 16445400
        src/sort.bench.mjs > sort > native throughput 894314.55 [247009.67871, 1541619.42129]
        src/sort.bench.mjs > sort > to sorted (copy) latency 771.4202557386203 [205.73778220549002, 1337.1027292717506]
        src/sort.bench.mjs > sort > to sorted (copy) latency-p75 200
        src/sort.bench.mjs > sort > to sorted (copy) latency-p99 500
        src/sort.bench.mjs > sort > to sorted (copy) latency-p99-9 3600
        src/sort.bench.mjs > sort > to sorted (copy) latency-max 16045900
        src/sort.bench.mjs > sort > to sorted (copy) throughput 1296310.27 [345725.9490090001, 2246894.5909909997]
        src/sort.bench.mjs > top level latency 726.683981123657 [240.60506615004283, 1212.762896097271]
        src/sort.bench.mjs > top level latency-p75 300
        src/sort.bench.mjs > top level latency-p99 500
        src/sort.bench.mjs > top level latency-p99-9 2500
        src/sort.bench.mjs > top level latency-max 20108700
        src/sort.bench.mjs > top level throughput 1376114 [455631.3454000001, 2296596.6546]
        ");
        assert_eq!(parse(Adapter::Magic, text, None).unwrap().to_string(), read(text, None));
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"The adapter `js_vitest` cannot read the output at line 7: expected a median, which Vitest writes only with `--outputJson`, found `· localeCompare  1,154,078.45  0.0001  7.3702  0.0009  0.000…`.");
        let slow = " ✓ a.bench.ts > x 2.5s\n name hz min max mean p75 p99 p995 p999 rme samples\n \
            · a 1 0.5032 1,900.10 2,100.20 1,987.12 1 1 1 1 ±1.00% 10   fastest\n";
        insta::assert_snapshot!(read(slow, None), @"
        a.bench.ts > x > a 1 latency 1987120000 [1967248800, 2006991200]
        a.bench.ts > x > a 1 latency-p75 1000000
        a.bench.ts > x > a 1 latency-p99 1000000
        a.bench.ts > x > a 1 latency-p99-9 1000000
        a.bench.ts > x > a 1 latency-max 2100199999.9999998
        a.bench.ts > x > a 1 throughput 0.5032 [0.498168, 0.508232]
        ");
        insta::assert_snapshot!(read(&slow.replace("±1.00%", "NaN"), None), @"The adapter `js_vitest` cannot read the output at line 3: expected a name and the numbers of all columns, found `· a 1 0.5032 1,900.10 2,100.20 1,987.12 1 1 1 1 NaN 10   fas…`.");
    }

    #[test]
    fn the_group_is_omitted_if_the_name_is_too_long() {
        for group in ["", &"x".repeat(1020)] {
            assert!(read(&EXAMPLE.replace("a.bench.ts > suite", group), None).starts_with("one latency"));
        }
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            EXAMPLE.replace("\"rme\":10", "\"rme\":null"),
            EXAMPLE.replace(",\"sd\":0.25", ""),
            EXAMPLE.replace("\"one\"", "\"\"").replace("a.bench.ts > suite", ""),
            r#"{"files":[]}"#.to_owned(),
            r#"{"files":[{}]}"#.to_owned(),
        ]
        .map(|text| read(&text, None));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `js_vitest` cannot read the output at `files[0].groups[0].benchmarks[0].rme`: expected a number, found `null`.
        The adapter `js_vitest` cannot read the output at `files[0].groups[0].benchmarks[0]`: expected the member `sd`.
        The adapter `js_vitest` cannot read the output at `files[0].groups[0].benchmarks[0]`: expected a benchmark name of 1 to 1024 bytes without the character NUL.
        The adapter `js_vitest` cannot read the output at `files`: expected at least one benchmark.
        The adapter `js_vitest` cannot read the output at `files[0]`: expected the member `groups`.
        ");
    }
}
