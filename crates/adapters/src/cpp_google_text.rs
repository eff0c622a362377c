//! CSV and console formats of Google Benchmark. Unlike the JSON format, both print the name of an aggregate as a suffix of the name
//! of the benchmark.

use std::collections::HashSet;

use tidemark_api::{Average, Parameters, ResourceName};

use crate::{
    Entries, Entry, Failure, Input, ParsedMetric, Position,
    cpp_google::{counter_metric, split},
    cpp_google_row::counter,
    records::{Record, Records},
    results::shared_name,
    text::{self, Line, Scan, Unit, is_blank},
};

/// Columns of each CSV, in front of the counters.
const COLUMNS: [&str; 10] = [
    "name",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "bytes_per_second",
    "items_per_second",
    "label",
    "error_occurred",
    "error_message",
];

/// Suffixes of the aggregates that are always printed, in this order.
const AGGREGATES: [&str; 3] = ["_mean", "_median", "_stddev"];

/// A row with a time.
struct Row {
    /// Line number, starting at one.
    line: usize,
    name: String,
    iterations: f64,
    /// Real time in nanoseconds; `None` for a complexity estimate or a coefficient of variation.
    time: Option<f64>,
    /// Counters whose name is a valid name of a measure.
    counters: Box<[(ResourceName, f64)]>,
}

/// Parses the output of `--benchmark_format=csv`.
pub(crate) fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let records = Records::read(input.text, ',', &COLUMNS)?;
    let mut rows = Vec::new();
    for record in records.iter() {
        let name = record.require_text("name")?;
        if record.text("error_occurred") == Some("true") {
            let message = record.text("error_message").unwrap_or("no message");
            return Err(record.invalid("a benchmark that ran", &format!("{name}: {message}")));
        }
        if record.text("error_message").is_some() {
            input.skip(name, "the benchmark skipped them");
        } else {
            push(&mut rows, csv_row(&record, name)?);
        }
    }
    entries(input, &rows)
}

/// Adds a row. When the aggregates of a benchmark are complete, removes its repetitions in front of them, which are not needed.
fn push(rows: &mut Vec<Row>, row: Row) {
    rows.push(row);
    let [repetitions @ .., mean, median, deviation] = rows.as_slice() else { return };
    let names = [mean, median, deviation].map(|row| row.name.as_str());
    let bases: Vec<_> =
        names.iter().zip(AGGREGATES).filter_map(|(name, suffix)| name.strip_suffix(suffix)).collect();
    if bases.len() == AGGREGATES.len() && bases.iter().all(|base| *base == bases[0]) {
        let start = repetitions.iter().rposition(|row| row.name != bases[0]).map_or(0, |index| index + 1);
        let end = repetitions.len();
        rows.drain(start..end);
    }
}

fn csv_row(record: &Record<'_>, name: &str) -> Result<Row, Failure> {
    let is_complexity = record.text("iterations").is_none();
    let time = if is_complexity {
        None
    } else {
        let unit = record.require_text("time_unit")?;
        let unit = Unit::from_symbol(unit)
            .ok_or_else(|| record.invalid("a unit of time in the column `time_unit`", unit))?;
        Some(unit.nanoseconds(record.require_number("real_time")?))
    };
    let is_counter = |column: &str| !COLUMNS.contains(&column) || column.ends_with("_per_second");
    let counters = record.cells().filter(|(column, _)| is_counter(column));
    let counters = counters.filter_map(|(column, value)| Some((shared_name(column)?, text::decimal(value)?)));
    Ok(Row {
        line: record.line(),
        name: name.to_owned(),
        iterations: record.number("iterations").unwrap_or_default(),
        time,
        counters: counters.collect(),
    })
}

/// Parses the tables of the console.
pub(crate) fn parse_console(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut rows = Vec::new();
    let mut table: Option<Table<'_>> = None;
    let mut previous = "";
    for line in text::lines(input.text) {
        let is_rule = line.text.len() > 40 && line.text.bytes().all(|byte| byte == b'-');
        if let Some(header) = Table::new(line.text).filter(|_| previous.starts_with("-----")) {
            table = Some(header);
        } else if let Some(table) = table.as_ref().filter(|_| !is_rule && !line.text.trim().is_empty())
            && let Some(row) = table.row(input, line)?
        {
            push(&mut rows, row);
        }
        previous = line.text;
    }
    if table.is_none() {
        return Err(Failure::unrecognized(
            "a table with the columns `Benchmark`, `Time`, `CPU` and `Iterations` below a rule",
        ));
    }
    entries(input, &rows)
}

/// The header of a table.
struct Table<'a> {
    /// Width of the column of names.
    width: usize,
    /// Counters that are columns, with `--benchmark_counters_tabular`.
    counters: Vec<&'a str>,
    /// Whether rows end with counters such as `Foo=42.5`. Otherwise such a word is the label of the benchmark.
    has_counters: bool,
}

impl<'a> Table<'a> {
    fn new(line: &'a str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let ["Benchmark", "Time", "CPU", "Iterations", counters @ ..] = words.as_slice() else { return None };
        // The column of names ends a blank and thirteen characters before the end of the next column.
        let width = (line.find(" Time ")? + " Time".len()).checked_sub(14)?;
        let has_counters = counters == ["UserCounters..."];
        let counters = if has_counters { Vec::new() } else { counters.to_vec() };
        Some(Self { width, counters, has_counters })
    }

    /// Returns the row of a line; `None` if the benchmark skipped itself, or the line is not a row.
    fn row(&self, input: &Input<'_>, line: Line<'_>) -> Result<Option<Row>, Failure> {
        let Some((name, rest)) =
            line.text.split_at_checked(self.width).filter(|(_, rest)| rest.starts_with(' '))
        else {
            return Ok(None);
        };
        let (name, rest) = (name.trim_end_matches(is_blank), rest.trim_matches(is_blank));
        if let Some(message) = rest.strip_prefix("ERROR OCCURRED: ") {
            let found = format!("{name}: {}", message.trim_matches('\''));
            return Err(Failure::invalid(Position::Line(line.number), "a benchmark that ran", &found));
        }
        if rest.starts_with("SKIPPED: ") {
            input.skip(name, "the benchmark skipped them");
            return Ok(None);
        }
        if ["_BigO", "_RMS"].iter().any(|suffix| name.ends_with(suffix)) && !name.starts_with(is_blank) {
            return Ok(None);
        }
        let mut scan = Scan::new(rest);
        let Some((time, iterations)) = times(&mut scan).filter(|_| !name.is_empty()) else {
            // Output of the benchmark itself.
            return Ok(None);
        };
        scan.any_blanks();
        let counters = if self.counters.is_empty() {
            let words = scan.rest().split(is_blank).filter(|word| !word.is_empty());
            // A label may follow the counters.
            words
                .take_while(|_| self.has_counters)
                .map_while(|word| {
                    word.rsplit_once('=').and_then(|(name, value)| Some((name, counter(name, value)?)))
                })
                .filter_map(|(name, value)| Some((shared_name(name)?, value)))
                .collect()
        } else {
            let mut words = scan.rest().split(is_blank).filter(|word| !word.is_empty());
            let counters = self
                .counters
                .iter()
                .map(|name| words.next().and_then(|value| Some((*name, counter(name, value)?))));
            let counters = counters
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| line.invalid("a value for each counter of the header"))?;
            counters.into_iter().filter_map(|(name, value)| Some((shared_name(name)?, value))).collect()
        };
        Ok(Some(Row { line: line.number, name: name.to_owned(), iterations, time, counters }))
    }
}

/// Consumes real time, CPU time and iterations. A coefficient of variation has no time.
fn times(scan: &mut Scan<'_>) -> Option<(Option<f64>, f64)> {
    let time = |scan: &mut Scan<'_>| {
        let number = text::decimal(scan.token()?)?;
        scan.blanks()?;
        let unit = scan.token()?;
        scan.blanks()?;
        (unit == "%").then_some(None).or(Unit::from_symbol(unit).map(|unit| Some(unit.nanoseconds(number))))
    };
    let real = time(scan)?;
    time(scan)?;
    Some((real, scan.integer()?))
}

/// Returns one entry per benchmark. For a repeated benchmark, it uses the aggregates and ignores the repetitions.
fn entries(input: &Input<'_>, rows: &[Row]) -> Result<Entries, Failure> {
    let average = input.average.unwrap_or(Average::Mean);
    let groups = aggregates(rows);
    let repeated: HashSet<&str> = groups.iter().map(|(_, name, _)| *name).collect();
    let mut groups = groups.into_iter().peekable();
    let mut entries = Entries::default();
    let mut index = 0;
    while let Some(row) = rows.get(index) {
        if let Some((_, name, length)) = groups.next_if(|(start, ..)| *start == index) {
            let [mean, median, deviation] = [0, 1, 2].map(|offset| &rows[index + offset]);
            let value = if average == Average::Mean { mean } else { median };
            let metrics = value.metrics().zip(mean.metrics()).zip(deviation.metrics()).map(
                |((metric, mean), deviation)| {
                    if metric.measure != mean.measure || metric.measure != deviation.measure {
                        return metric;
                    }
                    metric.with_range(mean.value - deviation.value, mean.value + deviation.value)
                },
            );
            entries.push(entry(row, name, metrics.collect())?);
            index += length;
            continue;
        }
        index += 1;
        if row.time.is_none() || repeated.contains(row.name.as_str()) {
            continue;
        }
        if average == Average::Median {
            let expected = "repetitions (`--benchmark_repetitions`), without which there is no median";
            return Err(Failure::invalid(Position::Line(row.line), expected, &row.name));
        }
        entries.push(entry(row, &row.name, row.metrics().collect())?);
    }
    if entries.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one benchmark"));
    }
    Ok(entries)
}

/// Returns the groups of aggregates in order: the index of the first row, the name of the benchmark and the number of rows.
/// Statistics that the benchmark defines itself follow the others.
fn aggregates(rows: &[Row]) -> Vec<(usize, &str, usize)> {
    let name_at = |index: usize| {
        let names: Option<Vec<&str>> = AGGREGATES
            .iter()
            .enumerate()
            .map(|(offset, suffix)| rows.get(index + offset)?.name.strip_suffix(suffix))
            .collect();
        names.filter(|names| names.iter().all(|name| *name == names[0])).map(|names| names[0])
    };
    let mut groups = Vec::new();
    let mut index = 0;
    while index < rows.len() {
        let Some(name) = name_at(index) else {
            index += 1;
            continue;
        };
        let start = index;
        index += AGGREGATES.len();
        let is_statistic = |index: usize| {
            rows.get(index).is_some_and(|row| {
                let suffix = row.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('_'));
                suffix.is_some() && row.iterations == rows[start].iterations && name_at(index).is_none()
            })
        };
        while is_statistic(index) {
            index += 1;
        }
        groups.push((start, name, index - start));
    }
    groups
}

fn entry(row: &Row, name: &str, metrics: Vec<ParsedMetric>) -> Result<Entry, Failure> {
    let (label, parameters): (String, Option<Parameters>) = split(name);
    Ok(Entry { parameters, ..Entry::new(|| Position::Line(row.line), &label, metrics)? })
}

impl Row {
    /// Returns the latency and the counters.
    fn metrics(&self) -> impl Iterator<Item = ParsedMetric> {
        let latency = self.time.map(ParsedMetric::latency);
        let counters = self.counters.iter().map(|(name, value)| counter_metric(name, *value));
        latency.into_iter().chain(counters)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{CppGoogle, Magic},
        Average,
    };

    use crate::{parse, tests::read};

    #[test]
    fn csv() {
        let text = include_str!("../fixtures/cpp_google/counters.csv");
        insta::assert_snapshot!(read(CppGoogle, text), @"
        BM_Copy {0=64} latency 2.5433
        BM_Copy {0=64} bandwidth 39138900000
        BM_Copy {0=64} throughput 611546000
        BM_Copy {0=64} Foo 42.5
        BM_Copy {0=64} big count 123456
        BM_Copy {0=65536} latency 2701.74
        BM_Copy {0=65536} bandwidth 40455000000
        BM_Copy {0=65536} throughput 617295
        BM_Copy {0=65536} Foo 42.5
        BM_Copy {0=65536} big count 123456
        ");
        assert_eq!(read(Magic, text), read(CppGoogle, text));
        let repeated = include_str!("../fixtures/cpp_google/repetitions.csv");
        insta::assert_snapshot!(read(Magic, repeated), @"
        BM_Copy {0=64} latency 2.47798 [2.4514215, 2.5045385000000002]
        BM_Copy {0=64} bandwidth 40398600000 [39635586000, 41161614000]
        BM_Copy {0=64} throughput 631228000 [619305900, 643150100]
        BM_Copy {0=64} Foo 42.5 [42.5, 42.5]
        BM_Copy {0=64} big count 123456 [123456, 123456]
        BM_Copy {0=65536} latency 2529.05 [2488.2577, 2569.8423000000003]
        BM_Copy {0=65536} bandwidth 39209400000 [37756710000, 40662090000]
        BM_Copy {0=65536} throughput 598288 [576121.8, 620454.2]
        BM_Copy {0=65536} Foo 42.5 [42.5, 42.5]
        BM_Copy {0=65536} big count 123456 [123456, 123456]
        ");
        let median = parse(CppGoogle, repeated, Some(Average::Median)).unwrap();
        insta::assert_snapshot!(median.to_string().lines().next().unwrap(), @"BM_Copy {0=64} latency 2.47114 [2.4514215, 2.5045385000000002]");
        insta::assert_snapshot!(parse(CppGoogle, text, Some(Average::Median)).unwrap_err(), @"The adapter `cpp_google` cannot read the output at line 2: expected repetitions (`--benchmark_repetitions`), without which there is no median, found `BM_Copy/64`.");
    }

    #[test]
    fn console() {
        let text = include_str!("../fixtures/cpp_google/console.txt");
        insta::assert_snapshot!(read(CppGoogle, text), @"
        BM_Copy {0=64} latency 3.29
        BM_Copy {0=64} bandwidth 25507918145.1264
        BM_Copy {0=64} throughput 398562000
        BM_Copy {0=65536} latency 3399
        BM_Copy {0=65536} bandwidth 32297939317.5552
        BM_Copy {0=65536} throughput 492827
        BM_Counters latency 0
        BM_Counters Foo 42.5
        BM_Counters big 123456
        BM_Counters rate 69363.6
        BM_Sort {0=64} latency 494
        BM_Sort {0=512} latency 6583
        BM_Sort {0=4096} latency 277382
        ");
        assert_eq!(read(Magic, text), read(CppGoogle, text));
        let tabular = include_str!("../fixtures/cpp_google/tabular.txt");
        insta::assert_snapshot!(read(Magic, tabular), @"
        BM_Copy {0=64} latency 4.6
        BM_Copy {0=64} bandwidth 23784777265.9712
        BM_Copy {0=64} throughput 371637000
        BM_Copy {0=65536} latency 2946
        BM_Copy {0=65536} bandwidth 32765124385.1776
        BM_Copy {0=65536} throughput 499956
        BM_Counters latency 1
        BM_Counters Foo 42.5
        BM_Counters big 123456
        BM_Counters rate 69603.09999999999
        BM_Sort {0=64} latency 614
        BM_Sort {0=512} latency 7180
        BM_Sort {0=4096} latency 267412
        ");
        let bindings = include_str!("../fixtures/cpp_google/python_bindings.txt");
        insta::assert_snapshot!(read(Magic, bindings), @"
        summing {0=8} latency 1694
        summing {0=8} bandwidth 1257104715.28448
        summing {0=8} inverse 0.0000139185
        summing {0=8} items 2000000
        summing {0=8} throughput 12571000
        summing {0=8} rate 71846.7
        summing {0=8} small 0.0005
        ");
    }

    #[test]
    fn repeated_benchmarks_use_their_aggregates() {
        let text = include_str!("../fixtures/cpp_google/repetitions.txt");
        insta::assert_snapshot!(read(Magic, text), @"
        BM_Copy {0=64} latency 3.65 [3, 4.3]
        BM_Copy {0=64} bandwidth 26815520938.3936 [26213392947.6096, 27417648929.1776]
        BM_Copy {0=64} throughput 418993000 [409584750, 428401250]
        BM_Copy {0=65536} latency 2681 [2309, 3053]
        BM_Copy {0=65536} bandwidth 35018371602.8416 [31591320560.599037, 38445422645.08416]
        BM_Copy {0=65536} throughput 534339 [482046.4, 586631.6]
        BM_Counters latency 0 [0, 0]
        BM_Counters Foo 42.5 [42.5, 42.5]
        BM_Counters big 123456 [123456, 123456]
        BM_Counters rate 72371.4 [71472.629, 73270.17099999999]
        BM_Sort {0=64} latency 535 [483.5, 586.5]
        BM_Sort {0=512} latency 6784 [3421, 10147]
        BM_Sort {0=4096} latency 264612 [229514, 299710]
        ");
        let median = parse(Magic, text, Some(Average::Median)).unwrap();
        insta::assert_snapshot!(median.to_string().lines().next().unwrap(), @"BM_Copy {0=64} latency 3.72 [3, 4.3]");
    }

    #[test]
    fn names_that_end_like_aggregates() {
        let csv = |rows: &str| read(CppGoogle, &format!("{}\n{rows}", super::COLUMNS.join(",")));
        insta::assert_snapshot!(csv("a_mean,10,1,1,ns\na,10,2,2,ns\n"), @"
        a_mean latency 1
        a latency 2
        ");
        // A statistic that the benchmark defines, and another benchmark.
        let group = |name: &str| {
            format!(
                "{name}_mean,3,2,2,ns\n{name}_median,3,2,2,ns\n{name}_stddev,3,1,1,ns\n{name}_max,3,9,9,ns\n"
            )
        };
        insta::assert_snapshot!(csv(&(group("a") + &group("a_b"))), @"
        a latency 2 [1, 3]
        a_b latency 2 [1, 3]
        ");
    }

    #[test]
    fn errors_have_the_line() {
        let csv = |row: &str| read(Magic, &format!("{}\n{row}", super::COLUMNS.join(",")));
        let table = "-----------------------------------------------------\n\
                     Benchmark           Time             CPU   Iterations  a b\n\
                     -----------------------------------------------------\n\
                     BM_Sort/64        498 ns          390 ns        36480  1\n";
        let errors = [
            csv("\"a\",1,2,2,ns,,,,true,\"no such device\""),
            csv("\"a\",1,x,2,ns,,,,,"),
            csv("\"a\",1,2,2,h,,,,,"),
            csv("\"a_BigO\",,2,2,N,,,,,"),
            read(Magic, include_str!("../fixtures/cpp_google/errored.txt")),
            read(Magic, table),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `cpp_google` cannot read the output at line 2: expected a benchmark that ran, found `a: no such device`.
        The adapter `cpp_google` cannot read the output at line 2: expected a number in the column `real_time`, found `x`.
        The adapter `cpp_google` cannot read the output at line 2: expected a unit of time in the column `time_unit`, found `h`.
        The adapter `cpp_google` cannot read the output at line 1: expected at least one benchmark.
        The adapter `cpp_google` cannot read the output at line 5: expected a benchmark that ran, found `BM_Skip: no such device`.
        The adapter `cpp_google` cannot read the output at line 4: expected a value for each counter of the header, found `BM_Sort/64        498 ns          390 ns        36480  1`.
        ");
    }

    #[test]
    fn a_label_is_not_a_counter() {
        let text = "-----------------------------------------------------\n\
                    Benchmark           Time             CPU   Iterations\n\
                    -----------------------------------------------------\n\
                    BM_Sort/64        498 ns          390 ns        36480 n=5\n";
        assert_eq!(read(Magic, text), "BM_Sort {0=64} latency 498\n");
    }
}
