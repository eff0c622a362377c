//! Printed results of BenchmarkTools.jl: a `BenchmarkGroup`, and the `Trial` of `@benchmark`. The line that `@btime` prints does not
//! identify the tool and is not read.

use tidemark_api::Average;

use crate::{
    Entries, Failure, Input, ParsedMetric, Position,
    benchmark_tools::{COMPARISONS, TRIAL},
    text::{self, Line},
    variant,
};

/// Parses a printed group: a line per member, with the members of a group below it and indented.
pub(crate) fn parse_group(input: &Input<'_>) -> Result<Entries, Failure> {
    let (mut entries, mut lines) = (Entries::default(), Vec::new());
    // Keys of the groups around the line, with their indentation.
    let mut groups: Vec<(usize, &str)> = Vec::new();
    let mut is_group = false;
    for line in text::lines(input.text) {
        let member = line.text.trim();
        if member.ends_with("BenchmarkGroup:") && !member.contains(" => ") {
            is_group = true;
            groups.clear();
            continue;
        }
        let indentation = line.text.len() - line.text.trim_start().len();
        let Some((key, value)) = member.rsplit_once(" => ").filter(|_| is_group && indentation > 0) else {
            if is_group && member == "\u{22ee}" {
                input.skip("\u{22ee}", "Julia shortened the printed group");
            }
            continue;
        };
        // The comparison in parentheses contains an arrow, too.
        let (key, value) = match key.split_once(" => TrialJudgement(") {
            Some((key, _)) => (key, "TrialJudgement()"),
            None => (key, value),
        };
        let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
        groups.retain(|(outer, _)| *outer < indentation);
        groups.push((indentation, key));
        if value.ends_with("BenchmarkGroup:") {
            continue;
        }
        let keys: Vec<_> = groups.iter().map(|(_, key)| *key).collect();
        let name = keys.join("/");
        if let Some(metric) = printed(input, line, &name, value)? {
            entries.push(line.entry(&name, vec![metric])?);
            lines.push(line.number);
        }
    }
    if input.average.is_some() && !entries.is_empty() {
        let expected = "no average setting, because a printed group contains minimum times";
        return Err(Failure::missing(Position::Line(lines[0]), expected));
    }
    variant::distinguish(|index| Position::Line(lines[index]), &mut entries, &[])?;
    text::require_entries(entries, "a `BenchmarkGroup` with lines such as `\"sum\" => Trial(1.250 ns)`")
}

/// Returns the metric of a printed value; `None` if the value is not a time.
fn printed(
    input: &Input<'_>,
    line: Line<'_>,
    name: &str,
    value: &str,
) -> Result<Option<ParsedMetric>, Failure> {
    let (kind, inner) =
        value.strip_suffix(')').and_then(|value| value.split_once('(')).unwrap_or((value, ""));
    match kind.rsplit('.').next().unwrap_or(kind) {
        "Trial" | "TrialEstimate" => match text::duration(inner) {
            Some(time) => Ok(Some(ParsedMetric::latency(time))),
            None => Err(line.invalid("a time such as `Trial(1.250 ns)`")),
        },
        "TrialRatio" | "TrialJudgement" => {
            input.skip(name, COMPARISONS);
            Ok(None)
        }
        "Benchmark" => {
            input.skip(name, "they did not run");
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Parses a printed trial: the median from minimum to maximum, or the mean ± standard deviation. Versions before 1.0 print a line per
/// statistic.
pub(crate) fn parse_trial(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut trial = Trial::new(input);
    for line in text::lines(input.text) {
        let Some((label, value)) = line.text.trim().split_once(':') else { continue };
        // Statistics of the garbage collector follow the bar, or are in parentheses.
        let value = value.split(['\u{250a}', '(']).next().unwrap_or(value).trim();
        match label {
            "BenchmarkTools.Trial" => trial.begin(line)?,
            "Range (min \u{2026} max)" => {
                let range = value.split_once('\u{2026}');
                let (minimum, maximum) = range.ok_or_else(|| line.invalid("a minimum and a maximum"))?;
                trial.minimum = Some(duration(line, minimum)?);
                trial.maximum = Some(duration(line, maximum)?);
            }
            "Time  (mean \u{b1} \u{3c3})" => {
                let (mean, deviation) =
                    value.split_once('\u{b1}').ok_or_else(|| line.invalid("a mean with its deviation"))?;
                trial.mean = Some((duration(line, mean)?, Some(duration(line, deviation)?)));
            }
            "Time  (median)" | "median time" => trial.median = Some(duration(line, value)?),
            "minimum time" => trial.minimum = Some(duration(line, value)?),
            "mean time" => trial.mean = Some((duration(line, value)?, None)),
            "maximum time" => trial.maximum = Some(duration(line, value)?),
            "Memory estimate" | "memory estimate" => trial.memory(line, value)?,
            "allocs estimate" => trial.allocations = Some(count(line, value)?),
            _ => {}
        }
    }
    trial.entries()
}

/// A printed trial while its lines are read.
struct Trial<'a> {
    input: &'a Input<'a>,
    line: Option<Line<'a>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    median: Option<f64>,
    /// With the standard deviation, if it is printed.
    mean: Option<(f64, Option<f64>)>,
    memory: Option<f64>,
    allocations: Option<f64>,
}

impl<'a> Trial<'a> {
    fn new(input: &'a Input<'a>) -> Self {
        Self {
            input,
            line: None,
            minimum: None,
            maximum: None,
            median: None,
            mean: None,
            memory: None,
            allocations: None,
        }
    }

    fn begin(&mut self, line: Line<'a>) -> Result<(), Failure> {
        match self.line.replace(line) {
            Some(_) => Err(line.invalid(
                "one trial, because printed trials have no names; `BenchmarkTools.save` stores them",
            )),
            None => Ok(()),
        }
    }

    /// Reads the allocated bytes, which current versions print with the number of allocations.
    fn memory(&mut self, line: Line<'_>, value: &str) -> Result<(), Failure> {
        let (bytes, allocations) = value.split_once(", allocs estimate: ").unwrap_or((value, ""));
        self.memory = Some(text::binary_bytes(bytes).ok_or_else(|| line.invalid("a number of bytes"))?);
        if !allocations.is_empty() {
            self.allocations = Some(count(line, allocations.trim_end_matches('.'))?);
        }
        Ok(())
    }

    fn entries(self) -> Result<Entries, Failure> {
        let mut entries = Entries::default();
        if let Some(line) = self.line {
            let is_mean = self.input.average == Some(Average::Mean);
            let latency = match (is_mean, self.median, self.mean) {
                (true, _, Some((mean, Some(deviation)))) => {
                    ParsedMetric::latency(mean).with_deviation(deviation)
                }
                (true, _, Some((mean, None))) => self.with_extremes(mean),
                (false, Some(median), _) => self.with_extremes(median),
                _ => return Err(line.invalid("a trial with a median and a mean")),
            };
            let mut metrics = vec![latency];
            metrics.extend(self.memory.map(|bytes| ParsedMetric::of("allocated", bytes)));
            metrics.extend(self.allocations.map(|count| ParsedMetric::of("allocations", count)));
            entries.push(line.entry(TRIAL, metrics)?);
        }
        text::require_entries(entries, "the lines of a `BenchmarkTools.Trial`")
    }

    /// Returns the latency with the minimum and the maximum as range.
    fn with_extremes(&self, value: f64) -> ParsedMetric {
        match (self.minimum, self.maximum) {
            (Some(minimum), Some(maximum)) => ParsedMetric::latency(value).with_range(minimum, maximum),
            _ => ParsedMetric::latency(value),
        }
    }
}

fn duration(line: Line<'_>, value: &str) -> Result<f64, Failure> {
    text::duration(value.trim()).ok_or_else(|| line.invalid("a time such as `1.250 ns`"))
}

fn count(line: Line<'_>, value: &str) -> Result<f64, Failure> {
    text::decimal(value.trim()).ok_or_else(|| line.invalid("a number of allocations"))
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{BenchmarkTools, Magic},
        Average,
    };

    use crate::{parse, parse_with_skipped, tests::read};

    #[test]
    fn a_printed_group() {
        let text = include_str!("../fixtures/benchmark_tools/group.txt");
        insta::assert_snapshot!(read(BenchmarkTools, text), @r#"
        sum latency 61.5
        utf8/join latency 133834000
        utf8/replace latency 202000
        trig/("sin", 0.0) latency 4.5
        trig/nested/tan latency 1250000000
        "#);
        assert_eq!(read(Magic, text), read(BenchmarkTools, text));
        let (_, skipped) = parse_with_skipped(BenchmarkTools, text, None).unwrap();
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        assert_eq!(skipped, ["trig/cos: they are comparisons", "trig/new: they did not run"]);
        insta::assert_snapshot!(parse(BenchmarkTools, text, Some(Average::Mean)).unwrap_err(), @"The adapter `benchmark_tools` cannot read the output at line 3: expected no average setting, because a printed group contains minimum times.");
        insta::assert_snapshot!(read(Magic, "1-element BenchmarkTools.BenchmarkGroup:\n  tags: []\n  \"a\" => Trial(fast)\n"), @r#"The adapter `benchmark_tools` cannot read the output at line 3: expected a time such as `Trial(1.250 ns)`, found `"a" => Trial(fast)`."#);
    }

    #[test]
    fn a_printed_trial() {
        let text = include_str!("../fixtures/benchmark_tools/trial.txt");
        insta::assert_snapshot!(read(BenchmarkTools, text), @"
        trial latency 14914 [13102, 1137000]
        trial allocated 8130.56
        trial allocations 1
        ");
        assert_eq!(read(Magic, text), read(BenchmarkTools, text));
        insta::assert_snapshot!(parse(Magic, text, Some(Average::Mean)).unwrap(), @"
        trial latency 15506 [-4608, 35620]
        trial allocated 8130.56
        trial allocations 1
        ");
        let old = include_str!("../fixtures/benchmark_tools/trial_old.txt");
        insta::assert_snapshot!(read(BenchmarkTools, old), @"
        trial latency 14914 [13102, 1137000]
        trial allocated 8130.56
        trial allocations 1
        ");
        assert_eq!(read(Magic, old), read(BenchmarkTools, old));
        insta::assert_snapshot!(parse(Magic, old, Some(Average::Mean)).unwrap(), @"
        trial latency 15506 [13102, 1137000]
        trial allocated 8130.56
        trial allocations 1
        ");
    }

    #[test]
    fn errors_of_trials_have_a_line() {
        let text = include_str!("../fixtures/benchmark_tools/trial.txt");
        let errors = [
            format!("{text}\n{text}"),
            text.replace("14.914 \u{3bc}s   ", "fast   "),
            text.replace("7.94 KiB", "some"),
            text.replace("estimate: 1", "estimate: few"),
            text.replace(" \u{2026}  1.137 ms", ""),
        ]
        .map(|text| read(BenchmarkTools, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `benchmark_tools` cannot read the output at line 14: expected one trial, because printed trials have no names; `BenchmarkTools.save` stores them, found `BenchmarkTools.Trial: 10000 samples with 1 evaluation.`.
        The adapter `benchmark_tools` cannot read the output at line 4: expected a time such as `1.250 ns`, found `Time  (median):     fast              ┊ GC (median):    0.00…`.
        The adapter `benchmark_tools` cannot read the output at line 11: expected a number of bytes, found `Memory estimate: some, allocs estimate: 1.`.
        The adapter `benchmark_tools` cannot read the output at line 11: expected a number of allocations, found `Memory estimate: 7.94 KiB, allocs estimate: few.`.
        The adapter `benchmark_tools` cannot read the output at line 3: expected a minimum and a maximum, found `Range (min … max):  13.102 μs  ┊ GC (min … max): 0.00% … 96.…`.
        ");
    }
}
