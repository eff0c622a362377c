//! Adapter for the summary of hey. One run is one benchmark; the summary has no name.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Line, Unit, decimal, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Hey,
    title: "hey",
    metrics: "latency and its percentiles 75, 90, 95 and 99 and its maximum; throughput; bandwidth; error rate (no response, or status 400 and greater); the benchmark is named `hey`, because the summary has no name",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[Format::new(
        Syntax::Text,
        "hey URL",
        &["Summary:", "Requests/sec:", "Latency distribution:", "Details (average, fastest, slowest):"],
        parse,
    )],
};

/// Name of the benchmark: a summary does not include the URL.
const NAME: &str = "hey";

/// A partially parsed summary.
#[derive(Default)]
struct Summary {
    /// Seconds.
    total: Option<f64>,
    /// Bytes.
    size: Option<f64>,
    mean: Option<f64>,
    median: Option<f64>,
    metrics: Vec<ParsedMetric>,
    responses: f64,
    failures: f64,
    is_error_list: bool,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut lines = text::lines(input.text).skip_while(|line| line.text.trim() != "Summary:");
    let (Some(first), true) = (lines.next(), input.text.contains("Latency distribution:")) else {
        return Err(Failure::unrecognized("the lines `Summary:` and `Latency distribution:`"));
    };
    let mut summary = Summary::default();
    for line in lines {
        if line.text.trim() == "Summary:" {
            return Err(line.invalid("one summary, because a summary has no name"));
        }
        summary.read(line)?;
    }
    Ok(Entries::from(vec![summary.entry(first, input.average)?]))
}

impl Summary {
    fn read(&mut self, line: Line<'_>) -> Result<(), Failure> {
        let words: Vec<_> = line.text.split(is_blank).filter(|word| !word.is_empty()).take(8).collect();
        let time = |text| decimal(text).map(|seconds| Unit::Seconds.nanoseconds(seconds));
        let known = match words.as_slice() {
            ["Total:", value, "secs"] => decimal(value).map(|value| self.total = Some(value)),
            ["Average:", "NaN", "secs"] => return Err(line.invalid("a test with responses")),
            ["Average:", value, "secs"] => time(value).map(|value| self.mean = Some(value)),
            ["Slowest:", value, "secs"] => time(value).map(|value| self.push("latency-max", value)),
            ["Requests/sec:", value] => decimal(value).map(|value| self.push("throughput", value)),
            ["Total", "data:", value, "bytes"] => decimal(value).map(|value| self.size = Some(value)),
            // Some versions print the sign of percent twice.
            [percent, "in", value, "secs"] if percent.ends_with('%') => {
                let slug = match percent.trim_end_matches('%') {
                    "50" => Some("latency"),
                    "75" => Some("latency-p75"),
                    "90" => Some("latency-p90"),
                    "95" => Some("latency-p95"),
                    "99" => Some("latency-p99"),
                    _ => None,
                };
                time(value).map(|value| match slug {
                    Some("latency") => self.median = Some(value),
                    Some(slug) => self.push(slug, value),
                    None => {}
                })
            }
            [code, count, "responses"] if code.starts_with('[') => {
                bracketed(code).zip(decimal(count)).map(|(code, count)| {
                    self.responses += count;
                    if code >= 400.0 {
                        self.failures += count;
                    }
                })
            }
            ["Error", "distribution:"] => {
                self.is_error_list = true;
                Some(())
            }
            [count, _, ..] if self.is_error_list && count.starts_with('[') => bracketed(count).map(|count| {
                self.responses += count;
                self.failures += count;
            }),
            _ => Some(()),
        };
        known.ok_or_else(|| line.invalid("numbers with the units of hey"))
    }

    fn push(&mut self, slug: &'static str, value: f64) {
        self.metrics.push(ParsedMetric::of(slug, value));
    }

    fn entry(self, line: Line<'_>, average: Option<Average>) -> Result<Entry, Failure> {
        let latency = match average {
            Some(Average::Median) => self.median,
            _ => self.mean,
        };
        let latency = latency.ok_or_else(|| line.invalid("an average latency below the title"))?;
        let mut metrics = vec![ParsedMetric::latency(latency)];
        metrics.extend(self.metrics);
        if let (Some(size), Some(total)) = (self.size, self.total.filter(|total| *total > 0.0)) {
            metrics.push(ParsedMetric::of("bandwidth", size / total));
        }
        if self.responses > 0.0 {
            metrics.push(ParsedMetric::of("error-rate", self.failures / self.responses * 100.0));
        }
        line.entry(NAME, metrics)
    }
}

/// Parses a number in brackets: `[200]`.
fn bracketed(text: &str) -> Option<f64> {
    decimal(text.strip_prefix('[')?.strip_suffix(']')?)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Hey, Magic},
        Average,
    };

    use crate::{
        parse,
        tests::{first_value, read},
    };

    #[test]
    fn real_runs() {
        let text = include_str!("../fixtures/hey/summary.txt");
        insta::assert_snapshot!(read(Hey, text), @"
        hey latency 600000
        hey latency-max 8200000.000000001
        hey throughput 5428.0636
        hey latency-p75 400000
        hey latency-p90 1400000
        hey latency-p95 3700000
        hey latency-p99 6600000
        hey bandwidth 184782.6086956522
        hey error-rate 0
        ");
        assert_eq!(read(Magic, text), read(Hey, text));
        assert_eq!(first_value(&parse(Magic, text, Some(Average::Median)).unwrap()), 300_000.0);
        assert!(read(Magic, include_str!("../fixtures/hey/not_found.txt")).ends_with("hey error-rate 100\n"));
        let some = text
            .replace("[200]\t200 responses", "[200]\t150 responses\n\nError distribution:\n  [50]\tGet: EOF");
        assert!(read(Magic, &some).ends_with("hey error-rate 25\n"));
    }

    #[test]
    fn errors_have_the_line() {
        let text = include_str!("../fixtures/hey/summary.txt");
        let errors = [
            include_str!("../fixtures/hey/no_answer.txt").to_owned(),
            text.replace("5428.0636", "x"),
            format!("{text}{text}"),
            "Summary:".to_owned(),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Hey, &text)).join("\n"), @"
        The adapter `hey` cannot read the output at line 6: expected a test with responses, found `Average:  NaN secs`.
        The adapter `hey` cannot read the output at line 7: expected numbers with the units of hey, found `Requests/sec: x`.
        The adapter `hey` cannot read the output at line 48: expected one summary, because a summary has no name, found `Summary:`.
        The adapter `hey` cannot read the output: expected the lines `Summary:` and `Latency distribution:`.
        ");
    }
}
