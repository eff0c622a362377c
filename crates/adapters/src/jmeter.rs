//! Adapter for the samples that JMeter writes as CSV, one per request. It aggregates the samples of each label.

use std::collections::HashMap;

use tidemark_api::{Adapter, Average};

use crate::{
    Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    records::{Record, Records},
    text::Unit,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Jmeter,
    title: "JMeter",
    metrics: "for each label: latency ± standard deviation (median from least to greatest) of all samples, its percentiles 50, 90, 95 and 99 by nearest rank, maximum latency, throughput, error rate",
    averages: &[Average::Mean, Average::Median],
    formats: &[Format::new(
        Syntax::Csv,
        "jmeter -n -t plan.jmx -l results.jtl",
        &["timeStamp", "elapsed", "label", "success"],
        parse,
    )],
};

/// Samples of a label.
struct Samples<'a> {
    label: &'a str,
    position: Position,
    /// Milliseconds.
    elapsed: Vec<f64>,
    failures: usize,
    /// Start of the first sample and end of the last one, in milliseconds; `None` if times are not written as numbers.
    period: Option<(f64, f64)>,
}

fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let records = Records::read(input.text, ',', &["timeStamp", "elapsed", "label", "success"])?;
    let mut labels: Vec<Samples<'_>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for record in records.iter() {
        let label = record.require_text("label")?;
        let index = *known.entry(label).or_insert(labels.len());
        if index == labels.len() {
            labels.push(Samples::new(label, record));
        }
        labels[index].add(record)?;
    }
    if labels.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one sample"));
    }
    let average = input.average.unwrap_or(Average::Mean);
    labels.iter_mut().map(|samples| samples.entry(average)).collect()
}

impl<'a> Samples<'a> {
    fn new(label: &'a str, first: Record<'_>) -> Self {
        let period = Some((f64::INFINITY, f64::NEG_INFINITY));
        Self { label, position: first.position(), elapsed: Vec::new(), failures: 0, period }
    }

    fn add(&mut self, record: Record<'_>) -> Result<(), Failure> {
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
        Entry::new(|| self.position.clone(), self.label, metrics)
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
