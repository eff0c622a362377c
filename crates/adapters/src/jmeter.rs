//! Adapter for the samples that JMeter writes as CSV, one per request, and for the summary that it prints. It aggregates the samples
//! of each label.

use std::collections::HashMap;

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    records::{Record, Records},
    text::{self, Unit},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Jmeter,
    title: "JMeter",
    metrics: "for each label: latency ± standard deviation (median from least to greatest) of all samples, its percentiles 50, 90, 95 and 99 by nearest rank, maximum latency, throughput, error rate; from the printed summary the same of all samples, without percentiles, and the latency from least to greatest",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Text,
            "jmeter -n -t plan.jmx",
            &[" = ", "/s Avg:", " Min:", " Max:", " Err:"],
            parse_summary,
        ),
        Format::new(
            Syntax::Csv,
            "jmeter -n -t plan.jmx -l results.jtl",
            &["timeStamp", "elapsed", "label", "success"],
            parse,
        ),
    ],
};

/// Samples of a label.
struct Samples {
    label: String,
    position: Position,
    /// Milliseconds.
    elapsed: Vec<f64>,
    failures: usize,
    /// Start of the first sample and end of the last one, in milliseconds; `None` if times are not written as numbers.
    period: Option<(f64, f64)>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let records = Records::read(input.text, ',', &["timeStamp", "elapsed", "label", "success"])?;
    let mut labels: Vec<Samples> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for record in records.iter() {
        let label = record.require_text("label")?;
        let index = known.get(label).copied().unwrap_or(labels.len());
        if index == labels.len() {
            known.insert(label.to_owned(), index);
            labels.push(Samples::new(label, &record));
        }
        labels[index].add(&record)?;
    }
    if labels.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one sample"));
    }
    let average = input.average.unwrap_or(Average::Mean);
    labels.iter_mut().map(|samples| samples.entry(average)).collect()
}

/// Parses the printed summary. A line with `+` contains the samples since the last line; a line with `=` contains all samples until
/// then, of which the last one counts.
fn parse_summary(input: &Input<'_>) -> Result<Entries, Failure> {
    let expected =
        "a line such as `summary = 16 in 00:00:01 = 14.8/s Avg: 17 Min: 2 Max: 101 Err: 8 (50.00%)`";
    let mut entries: Vec<Entry> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in text::lines(input.text).filter(|line| line.text.contains("/s Avg:")) {
        let words: Vec<_> = line.text.split_whitespace().collect();
        let [
            name,
            "=",
            _,
            "in",
            _,
            "=",
            rate,
            "Avg:",
            mean,
            "Min:",
            least,
            "Max:",
            greatest,
            "Err:",
            _,
            failed,
        ] = words.as_slice()
        else {
            continue;
        };
        let time = |text: &str| text::decimal(text).map(|value| Unit::Milliseconds.nanoseconds(value));
        let percent = |text: &str| text::decimal(text.strip_prefix('(')?.strip_suffix("%)")?);
        let metrics = || {
            let (least, greatest) = (time(least)?, time(greatest)?);
            Some(vec![
                ParsedMetric::latency(time(mean)?).with_range(least, greatest),
                ParsedMetric::of("latency-max", greatest),
                ParsedMetric::throughput(text::decimal(rate.strip_suffix("/s")?)?),
                ParsedMetric::of("error-rate", percent(failed)?),
            ])
        };
        let entry = line.entry(name, metrics().ok_or_else(|| line.invalid(expected))?)?;
        let index = *known.entry(name).or_insert(entries.len());
        match entries.get_mut(index) {
            Some(earlier) => *earlier = entry,
            None => entries.push(entry),
        }
    }
    if input.average == Some(Average::Median) && !entries.is_empty() {
        return Err(Failure::missing(
            Position::Line(1),
            "the file of `-l`, because the summary has no median",
        ));
    }
    text::require_entries(entries.into(), expected)
}

impl Samples {
    fn new(label: &str, first: &Record<'_>) -> Self {
        let period = Some((f64::INFINITY, f64::NEG_INFINITY));
        Self { label: label.to_owned(), position: first.position(), elapsed: Vec::new(), failures: 0, period }
    }

    fn add(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        let elapsed = record.require_number("elapsed")?;
        if elapsed < 0.0 {
            return Err(record.invalid("a duration in the column `elapsed`", &elapsed.to_string()));
        }
        match record.text("success") {
            Some("true") => {}
            Some("false") => self.failures += 1,
            other => {
                return Err(
                    record.invalid("`true` or `false` in the column `success`", other.unwrap_or_default())
                );
            }
        }
        self.elapsed.push(elapsed);
        let start = record.number("timeStamp");
        self.period = self
            .period
            .zip(start)
            .map(|((first, last), start)| (first.min(start), last.max(start + elapsed)));
        Ok(())
    }

    fn entry(&mut self, average: Average) -> Result<Entry, Failure> {
        self.elapsed.sort_by(f64::total_cmp);
        let count = self.elapsed.len() as f64;
        let nanoseconds = |milliseconds| Unit::Milliseconds.nanoseconds(milliseconds);
        let (least, greatest) = (self.rank(0.0), self.rank(100.0));
        let mean = self.elapsed.iter().sum::<f64>() / count;
        let variance = self.elapsed.iter().map(|elapsed| (elapsed - mean).powi(2)).sum::<f64>() / count;
        let latency = match average {
            Average::Mean if self.elapsed.len() == 1 => ParsedMetric::latency(nanoseconds(mean)),
            Average::Mean => {
                ParsedMetric::latency(nanoseconds(mean)).with_deviation(nanoseconds(variance.sqrt()))
            }
            Average::Median => ParsedMetric::latency(nanoseconds(self.rank(50.0)))
                .with_range(nanoseconds(least), nanoseconds(greatest)),
        };
        let mut metrics = vec![latency];
        let percentiles =
            [("latency-p50", 50.0), ("latency-p90", 90.0), ("latency-p95", 95.0), ("latency-p99", 99.0)];
        metrics.extend(
            percentiles.map(|(slug, percent)| ParsedMetric::of(slug, nanoseconds(self.rank(percent)))),
        );
        metrics.push(ParsedMetric::of("latency-max", nanoseconds(greatest)));
        if let Some((first, last)) = self.period.filter(|(first, last)| last > first) {
            metrics.push(ParsedMetric::throughput(Unit::Milliseconds.per_second(count / (last - first))));
        }
        metrics.push(ParsedMetric::of("error-rate", self.failures as f64 / count * 100.0));
        Entry::new(|| self.position.clone(), &self.label, metrics)
    }

    /// Returns a percentile of the sorted samples by nearest rank.
    fn rank(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.elapsed.len() as f64).ceil() as usize;
        self.elapsed.get(rank.max(1) - 1).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Jmeter, Magic},
        Average,
    };

    use crate::{parse, tests::read};

    #[test]
    fn printed_summaries() {
        let text = include_str!("../fixtures/jmeter/summary.txt");
        insta::assert_snapshot!(read(Magic, text), @"
        summary latency 17000000 [2000000, 101000000]
        summary latency-max 101000000
        summary throughput 14.8
        summary error-rate 50
        ");
        let line =
            |start: &str| format!("{start} 10.0/s Avg:    17 Min:     2 Max:   101 Err:     8 (50.00%)\n");
        let running = [
            line("summary +      5 in 00:00:01 ="),
            line("summary =      5 in 00:00:01 =").replace("17", "9"),
            line("summary +      3 in 00:00:02 =").replace(")", ") Active: 1 Started: 1 Finished: 0"),
            line("summary =      8 in 00:00:03 ="),
        ];
        insta::assert_snapshot!(read(Jmeter, &running.concat()), @"
        summary latency 17000000 [2000000, 101000000]
        summary latency-max 101000000
        summary throughput 10
        summary error-rate 50
        ");
        assert!(parse(Jmeter, text, Some(Average::Median)).is_err());
        insta::assert_snapshot!(read(Jmeter, &text.replace("(50.00%)", "(50%")), @"The adapter `jmeter` cannot read the output at line 5: expected a line such as `summary = 16 in 00:00:01 = 14.8/s Avg: 17 Min: 2 Max: 101 Err: 8 (50.00%)`, found `summary =     16 in   1.1s =   14.8/s Avg:    17 Min:     2 …`.");
    }

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/jmeter/version_2.jtl")), @r#"
        GET home latency 40125000 [-18000806.44601845, 98250806.44601846]
        GET home latency-p50 9000000
        GET home latency-p90 145000000
        GET home latency-p95 145000000
        GET home latency-p99 145000000
        GET home latency-max 145000000
        GET home throughput 42.32804232804232
        GET home error-rate 0
        GET "missing", always latency 6125000 [3704385.4086203645, 8545614.591379635]
        GET "missing", always latency-p50 6000000
        GET "missing", always latency-p90 9000000
        GET "missing", always latency-p95 9000000
        GET "missing", always latency-p99 9000000
        GET "missing", always latency-max 9000000
        GET "missing", always throughput 156.8627450980392
        GET "missing", always error-rate 100
        "#);
    }

    #[test]
    fn samples_are_aggregated_by_label() {
        let text = include_str!("../fixtures/jmeter/results.jtl");
        insta::assert_snapshot!(read(Jmeter, text), @r#"
        GET home latency 100000000 [71715728.7525381, 128284271.2474619]
        GET home latency-p50 100000000
        GET home latency-p90 140000000
        GET home latency-p95 140000000
        GET home latency-p99 140000000
        GET home latency-max 140000000
        GET home throughput 8
        GET home error-rate 25
        POST "order", paid latency 100000000 [80000000, 120000000]
        POST "order", paid latency-p50 80000000
        POST "order", paid latency-p90 120000000
        POST "order", paid latency-p95 120000000
        POST "order", paid latency-p99 120000000
        POST "order", paid latency-max 120000000
        POST "order", paid throughput 5.263157894736842
        POST "order", paid error-rate 0
        "#);
        assert_eq!(read(Magic, text), read(Jmeter, text));
        let median = parse(Magic, text, Some(Average::Median)).unwrap().to_string();
        insta::assert_snapshot!(median.lines().next().unwrap(), @"GET home latency 100000000 [60000000, 140000000]");
    }

    #[test]
    fn a_single_sample_has_no_range() {
        let text = "timeStamp,elapsed,label,success\n2026/01/01 10:00:00,5,a,true\n";
        insta::assert_snapshot!(read(Jmeter, text), @"
        a latency 5000000
        a latency-p50 5000000
        a latency-p90 5000000
        a latency-p95 5000000
        a latency-p99 5000000
        a latency-max 5000000
        a error-rate 0
        ");
    }

    #[test]
    fn errors_have_the_line() {
        let rows = |rows: &str| read(Jmeter, &format!("timeStamp,elapsed,label,success\n{rows}"));
        let errors = [
            rows("1,x,a,true\n"),
            rows("1,5,,true\n"),
            rows("1,5,a,true\n1,5,a,yes\n"),
            rows("1,-5,a,true\n"),
            rows(""),
            read(Jmeter, "1,5,a,true\n"),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `jmeter` cannot read the output at line 2: expected a number in the column `elapsed`, found `x`.
        The adapter `jmeter` cannot read the output at line 2: expected a text in the column `label`.
        The adapter `jmeter` cannot read the output at line 3: expected `true` or `false` in the column `success`, found `yes`.
        The adapter `jmeter` cannot read the output at line 2: expected a duration in the column `elapsed`, found `-5`.
        The adapter `jmeter` cannot read the output at line 1: expected at least one sample.
        The adapter `jmeter` cannot read the output: expected a header with the columns `timeStamp`, `elapsed`, `label`, `success`.
        ");
    }
}
