//! Adapter for airspeed velocity: the output while it runs, its result files, and the tables of `asv show`.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool, python_asv_result, python_asv_show,
    python_asv_show::Benchmark,
    text::{self, Line, Scan, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::PythonAsv,
    title: "airspeed velocity",
    metrics: "latency ± range; `peakmem_` as peak memory, `mem_` as allocated, `track_` as the measure `value`, and parameters as variants",
    parameters: "the parameters of the benchmark; result files name them `param1`, `param2`",
    averages: &[Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "asv run, which writes results/MACHINE/COMMIT-ENVIRONMENT.json",
            &[r#""commit_hash""#, r#""env_name""#, r#""results""#],
            python_asv_result::parse,
        ),
        Format::new(Syntax::Text, "asv show HEAD", &["Commit: ", "  started: "], python_asv_show::parse),
        Format::new(Syntax::Text, "asv run", &["·"], parse),
    ],
};

/// Result of a benchmark on its line.
enum Outcome {
    Metric(ParsedMetric),
    /// The benchmark has parameters, and a table follows.
    Table,
    /// The same, but the benchmark failed for some of the parameters.
    PartOfTable,
    Skipped(&'static str),
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut lines = text::lines(input.text).peekable();
    while let Some(line) = lines.next() {
        let Some((name, outcome)) = row(line.text) else { continue };
        match outcome {
            Outcome::Metric(metric) => entries.push(line.entry(name, vec![metric])?),
            Outcome::Skipped(reason) => input.skip(name, reason),
            Outcome::Table | Outcome::PartOfTable => {
                if let Outcome::PartOfTable = outcome {
                    input.skip(name, "some of their parameters failed");
                }
                let table = table(&mut lines);
                if table.is_empty() {
                    input.skip(name, "the output contains no table of their parameters");
                }
                Benchmark::new(name).read_table(input, &table, &mut entries)?;
            }
        }
    }
    text::require_entries(entries, "a line such as `[ 50.00%] ··· suite.time_name  11.1±0.5µs`")
}

/// Returns the lines of a table without their indentation. Its first line follows the progress; the others are indented.
fn table<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = Line<'a>>>) -> Vec<Line<'a>> {
    let is_start = |line: &Line<'_>| progress(line.text).is_some_and(|scan| is_rule(scan.rest()));
    let Some(first) = lines.next_if(is_start) else { return Vec::new() };
    let mut table = vec![Line { text: progress(first.text).map_or("", Scan::rest), ..first }];
    let is_row = |line: &Line<'_>| line.text.starts_with("    ") && !line.text.trim().is_empty();
    while let Some(line) = lines.next_if(is_row) {
        table.push(line);
    }
    let rule = table.iter().skip(1).find(|line| is_rule(line.text.trim_start()));
    let indentation = rule.map_or(0, |line| line.text.len() - line.text.trim_start().len());
    for line in table.iter_mut().skip(1) {
        let is_indented = line.text.bytes().take(indentation).all(|byte| byte == b' ');
        line.text = line.text.get(indentation..).filter(|_| is_indented).unwrap_or_default();
    }
    table
}

fn is_rule(line: &str) -> bool {
    line.starts_with("==") && line.bytes().all(|byte| matches!(byte, b'=' | b' '))
}

/// Consumes the progress at the start of a line: `[ 50.00%] ··· `.
fn progress(line: &str) -> Option<Scan<'_>> {
    let mut scan = Scan::new(line);
    scan.literal("[")?;
    scan.any_blanks();
    scan.number()?;
    scan.literal("%]")?;
    scan.blanks()?;
    scan.literal("·")?;
    while scan.literal("·").is_some() {}
    scan.blanks()?;
    Some(scan)
}

/// Returns the name and the outcome of a benchmark.
fn row(line: &str) -> Option<(&str, Outcome)> {
    let mut scan = progress(line)?;
    let name = scan.token()?;
    scan.blanks()?;
    let outcome = match (time(scan), scan.rest().trim_end_matches(is_blank)) {
        (Some(metric), _) => Outcome::Metric(metric),
        (None, "ok") => Outcome::Table,
        (None, "failed") => Outcome::Skipped("they failed"),
        (None, "n/a" | "skipped") => Outcome::Skipped("asv skipped them"),
        (None, part) if part.ends_with(" failed") => Outcome::PartOfTable,
        // Other lines are not the row of a benchmark.
        (None, value) => Outcome::Metric(Benchmark::new(name).metric(value)?),
    };
    Some((name, outcome))
}

/// A kind of benchmark, which asv derives from the name.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Time,
    Memory,
    PeakMemory,
    Track,
}

impl Kind {
    /// Returns the kind of a benchmark by the beginning of its function: `time_sort` or `TimeSort`.
    pub(crate) fn of(name: &str) -> Self {
        let function = name.rsplit('.').next().unwrap_or(name);
        let starts = |snake: &str, camel: &str| function.starts_with(snake) || function.starts_with(camel);
        if starts("time_", "Time") || starts("timeraw_", "Timeraw") {
            Self::Time
        } else if starts("peakmem_", "PeakMem") {
            Self::PeakMemory
        } else if starts("mem_", "Mem") {
            Self::Memory
        } else {
            Self::Track
        }
    }

    /// Returns the metric of a value in seconds, bytes, or the unit of a tracked value.
    pub(crate) fn metric(self, value: f64) -> Option<ParsedMetric> {
        match self {
            Self::Time => Some(ParsedMetric::latency(self.scaled(value))),
            Self::Memory => Some(ParsedMetric::of("allocated", value)),
            Self::PeakMemory => Some(ParsedMetric::of("peak-memory", value)),
            Self::Track => ParsedMetric::named("value", None, value),
        }
    }

    /// Converts a value to the units of its measure.
    pub(crate) fn scaled(self, value: f64) -> f64 {
        if matches!(self, Self::Time) { Unit::Seconds.nanoseconds(value) } else { value }
    }
}

/// Parses a time with its range.
pub(crate) fn time(mut scan: Scan<'_>) -> Option<ParsedMetric> {
    let value = scan.number()?;
    scan.literal("±")?;
    let spread = scan.number()?;
    // The units end with days.
    let unit = text::duration(&format!("1{}", scan.rest()))?;
    Some(ParsedMetric::latency(value * unit).with_deviation(spread * unit))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::PythonAsv;

    use crate::tests::read;

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(PythonAsv, include_str!("../fixtures/python_asv/run.txt")), @"
        suite.Sorting.time_sort {n=10} latency 583 [553, 613]
        suite.Sorting.time_sort {n=1000} latency 22400 [20400, 24400]
        suite.Two.time_two {kind=heap, n=10} latency 430 [350, 510]
        suite.Two.time_two {kind=list, n=10} latency 412 [392, 432]
        suite.Two.time_two {kind=heap, n=100} latency 827 [817, 837]
        suite.Two.time_two {kind=list, n=100} latency 885 [805, 965]
        suite.mem_list allocated 8060.000000000001
        suite.peakmem_list peak-memory 28600000
        suite.time_sum latency 14900 [14600, 15200]
        suite.track_count value 42
        ");
    }

    #[test]
    fn a_table_without_rows_is_an_error() {
        let text = "[ 7.14%] ··· suite.time_sort   ok\n[ 7.14%] ··· ====== =====\n             n\n";
        insta::assert_snapshot!(read(PythonAsv, text), @"The adapter `python_asv` cannot read the output at line 2: expected a parameter table of asv, found `====== =====`.");
    }

    #[test]
    fn rows() {
        let text = "[ 50.00%] ··· suite.time_parse      11.1±0.5µs\n[ 75.00%] ··· suite.time_b      failed";
        insta::assert_snapshot!(read(PythonAsv, text), @"suite.time_parse latency 11100 [10600, 11600]");
        insta::assert_snapshot!(read(PythonAsv, "[ 50.00%] ··· suite.time_train      1.50±0.1m"), @"suite.time_train latency 90000000000 [84000000000, 96000000000]");
        insta::assert_snapshot!(read(PythonAsv, "· Discovering benchmarks"), @"The adapter `python_asv` cannot read the output: expected a line such as `[ 50.00%] ··· suite.time_name  11.1±0.5µs`.");
    }
}
