//! Adapter for airspeed velocity: the output while it runs, its result files, and the tables of `asv show`. From the output of a
//! run, it reads only time benchmarks on a line of their own, and reports memory benchmarks and parameter tables as skipped.

use tidemark_api::{Adapter, Average};

use crate::{
    Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool, python_asv_result, python_asv_show,
    text::{self, Scan, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::PythonAsv,
    title: "airspeed velocity",
    metrics: "latency ± range; from the result files and from `asv show` also `peakmem_` as peak memory, `mem_` as allocated, `track_` as the measure `value`, and parameters as variants",
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

const PARAMETER_TABLE: &str =
    "asv prints their parameters as a table; read its result files with `tidemark import`";
const NOT_A_TIME: &str = "they are not times; read the result files of asv with `tidemark import`";

fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for line in text::lines(input.text) {
        match row(line.text) {
            Some((name, Ok(metric))) => entries.push(line.entry(name, vec![metric])?),
            Some((name, Err(reason))) => input.skip(name, reason),
            None => {}
        }
    }
    text::require_entries(entries, "a line such as `[ 50.00%] ··· suite.time_name  11.1±0.5µs`")
}

/// Returns the name and the time of a benchmark, or the reason why its result is not read.
fn row(line: &str) -> Option<(&str, Result<ParsedMetric, &'static str>)> {
    let mut scan = Scan::new(line);
    scan.literal("[")?;
    scan.any_blanks();
    scan.number()?;
    scan.literal("%]")?;
    scan.blanks()?;
    scan.literal("·")?;
    while scan.literal("·").is_some() {}
    scan.blanks()?;
    let name = scan.token()?;
    scan.blanks()?;
    let result = scan.rest();
    let metric = match (time(scan), result.trim_end_matches(is_blank)) {
        (Some(metric), _) => Ok(metric),
        (None, "ok") => Err(PARAMETER_TABLE),
        (None, "failed") => Err("they failed"),
        (None, "n/a" | "skipped") => Err("asv skipped them"),
        (None, part) if part.ends_with(" failed") => Err("some of their parameters failed"),
        (None, value) if Scan::new(value).number().is_some() && !value.contains(is_blank) => Err(NOT_A_TIME),
        // Not the row of a benchmark.
        _ => return None,
    };
    Some((name, metric))
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
    let unit = scan.unit()?;
    scan.end()?;
    Some(ParsedMetric::latency(unit.nanoseconds(value)).with_deviation(unit.nanoseconds(spread)))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::PythonAsv;

    use crate::tests::read;

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(PythonAsv, include_str!("../fixtures/python_asv/run.txt")), @"suite.time_sum latency 14900 [14600, 15200]");
    }

    #[test]
    fn rows() {
        let text = "[ 50.00%] ··· suite.time_parse      11.1±0.5µs\n[ 75.00%] ··· suite.time_b      failed";
        insta::assert_snapshot!(read(PythonAsv, text), @"suite.time_parse latency 11100 [10600, 11600]");
        insta::assert_snapshot!(read(PythonAsv, "· Discovering benchmarks"), @"The adapter `python_asv` cannot read the output: expected a line such as `[ 50.00%] ··· suite.time_name  11.1±0.5µs`.");
    }
}
