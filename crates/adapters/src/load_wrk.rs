//! Adapter for the summary of wrk and wrk2. One run is one benchmark, named by its URL.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    text::{self, Line, is_blank},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::LoadWrk,
    title: "wrk, wrk2",
    metrics: "latency ± standard deviation (median alone); its maximum; with `--latency` its percentiles 75, 90, 99 and, with wrk2, 99.9; throughput; bandwidth; error rate; the URL is the name of the benchmark; `connections` and `threads` are parameters of runs of the same URL in which they differ",
    parameters: "`connections` and `threads`, where runs of the same URL differ in them",
    averages: &[Average::Mean, Average::Median],
    formats: &[Format::new(Syntax::Text, "wrk --latency URL", &[" test @ "], parse)],
};

const TITLE: &str = " test @ ";

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for line in text::lines(input.text) {
        if let Some((_, url)) = line.text.strip_prefix("Running ").and_then(|rest| rest.split_once(TITLE)) {
            runs.push(Run { url, ..Run::new(line) });
        } else if let Some(run) = runs.last_mut() {
            run.read(line)?;
        }
    }
    let mut entries = runs.iter().map(|run| run.entry(input.average)).collect::<Result<_, _>>()?;
    let properties: [variant::Property<'_>; 2] =
        [("connections", &|index| runs[index].connections), ("threads", &|index| runs[index].threads)];
    variant::separate(|index| Position::Line(runs[index].line.number), &mut entries, &properties)?;
    text::require_entries(
        entries,
        "a line such as `Running 10s test @ http://localhost:8080/` and what wrk prints below it",
    )
}

/// A partially parsed run.
struct Run<'a> {
    line: Line<'a>,
    url: &'a str,
    threads: Option<&'a str>,
    connections: Option<&'a str>,
    /// Mean and standard deviation, in nanoseconds.
    latency: Option<(f64, f64)>,
    median: Option<f64>,
    requests: Option<f64>,
    failures: f64,
    /// Metrics that do not depend on other lines.
    metrics: Vec<ParsedMetric>,
}

impl<'a> Run<'a> {
    fn new(line: Line<'a>) -> Self {
        Self {
            line,
            url: "",
            threads: None,
            connections: None,
            latency: None,
            median: None,
            requests: None,
            failures: 0.0,
            metrics: Vec::new(),
        }
    }

    fn read(&mut self, line: Line<'a>) -> Result<(), Failure> {
        let words: Vec<_> = line.text.split(is_blank).filter(|word| !word.is_empty()).take(10).collect();
        let known = match words.as_slice() {
            [threads, "threads", "and", connections, "connections"] => {
                (self.threads, self.connections) = (Some(*threads), Some(*connections));
                Some(())
            }
            ["Latency", mean, deviation, max, percent] if percent.ends_with('%') => {
                let latency = text::duration(mean).zip(text::duration(deviation));
                latency.zip(text::duration(max)).map(|(latency, max)| {
                    self.latency = Some(latency);
                    self.push("latency-max", max);
                })
            }
            ["50%" | "50.000%", value] => text::duration(value).map(|value| self.median = Some(value)),
            ["75%" | "75.000%", value] => text::duration(value).map(|value| self.push("latency-p75", value)),
            ["90%" | "90.000%", value] => text::duration(value).map(|value| self.push("latency-p90", value)),
            ["99%" | "99.000%", value] => text::duration(value).map(|value| self.push("latency-p99", value)),
            ["99.900%", value] => text::duration(value).map(|value| self.push("latency-p99-9", value)),
            [count, "requests", "in", ..] => text::decimal(count).map(|count| self.requests = Some(count)),
            ["Non-2xx", "or", "3xx", "responses:", count] => {
                text::decimal(count).map(|count| self.failures += count)
            }
            ["Socket", "errors:", counts @ ..] => counts
                .iter()
                .filter(|word| !word.starts_with(char::is_alphabetic))
                .map(|count| text::decimal(count.trim_end_matches(',')))
                .sum::<Option<f64>>()
                .map(|count| self.failures += count),
            ["Requests/sec:", rate] => text::decimal(rate).map(|rate| self.push("throughput", rate)),
            ["Transfer/sec:", rate] => text::binary_bytes(rate).map(|rate| self.push("bandwidth", rate)),
            _ => Some(()),
        };
        known.ok_or_else(|| line.invalid("numbers with the units of wrk"))
    }

    fn push(&mut self, slug: &'static str, value: f64) {
        self.metrics.push(ParsedMetric::of(slug, value));
    }

    fn entry(&self, average: Option<Average>) -> Result<Entry, Failure> {
        let (mean, deviation) =
            self.latency.ok_or_else(|| self.line.invalid("a line `Latency` below the title"))?;
        let latency = match average {
            Some(Average::Median) => ParsedMetric::latency(
                self.median
                    .ok_or_else(|| self.line.invalid("a median, which wrk prints with `--latency`"))?,
            ),
            _ => ParsedMetric::latency(mean).with_deviation(deviation),
        };
        let mut metrics = vec![latency];
        metrics.extend(self.metrics.iter().cloned());
        // A connection can fail without a request, so there can be more failures than responses.
        if let Some(requests) = self.requests {
            let all = requests.max(self.failures);
            let rate = if all > 0.0 { self.failures / all * 100.0 } else { 0.0 };
            metrics.push(ParsedMetric::of("error-rate", rate));
        }
        self.line.entry(self.url.trim(), metrics)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter::LoadWrk, Average};

    use crate::{
        parse,
        tests::{first_value, read},
    };

    #[test]
    fn real_runs() {
        let text = include_str!("../fixtures/load_wrk/latency.txt");
        insta::assert_snapshot!(read(LoadWrk, text), @"
        http://127.0.0.1:18473/ latency 355460 [-477530, 1188450]
        http://127.0.0.1:18473/ latency-max 13230000
        http://127.0.0.1:18473/ latency-p75 128000
        http://127.0.0.1:18473/ latency-p90 890000
        http://127.0.0.1:18473/ latency-p99 4019999.9999999995
        http://127.0.0.1:18473/ throughput 31750.53
        http://127.0.0.1:18473/ bandwidth 3932160
        http://127.0.0.1:18473/ error-rate 0
        ");
        let median = parse(LoadWrk, text, Some(Average::Median)).unwrap();
        assert_eq!(first_value(&median), 109_000.0);
        let plain = include_str!("../fixtures/load_wrk/plain.txt");
        insta::assert_snapshot!(read(LoadWrk, plain), @"
        http://127.0.0.1:18473/fast latency 770430 [-569570, 2110430]
        http://127.0.0.1:18473/fast latency-max 10700000
        http://127.0.0.1:18473/fast throughput 21951.54
        http://127.0.0.1:18473/fast bandwidth 2726297.6
        http://127.0.0.1:18473/fast error-rate 0
        ");
        insta::assert_snapshot!(parse(LoadWrk, plain, Some(Average::Median)).unwrap_err(), @"The adapter `load_wrk` cannot read the output at line 1: expected a median, which wrk prints with `--latency`, found `Running 1s test @ http://127.0.0.1:18473/fast`.");
    }

    #[test]
    fn wrk2_prints_more_percentiles() {
        let text = include_str!("../fixtures/load_wrk/wrk2.txt");
        insta::assert_snapshot!(read(LoadWrk, text), @"
        http://127.0.0.1:18473/index.html latency 6460000 [4530000, 8390000]
        http://127.0.0.1:18473/index.html latency-max 12480000
        http://127.0.0.1:18473/index.html latency-p75 7780000
        http://127.0.0.1:18473/index.html latency-p90 9140000
        http://127.0.0.1:18473/index.html latency-p99 11180000
        http://127.0.0.1:18473/index.html latency-p99-9 12300000
        http://127.0.0.1:18473/index.html throughput 2000.28
        http://127.0.0.1:18473/index.html bandwidth 692408.32
        http://127.0.0.1:18473/index.html error-rate 0
        ");
        let median = parse(LoadWrk, text, Some(Average::Median)).unwrap();
        assert_eq!(first_value(&median), 6_670_000.0);
    }

    #[test]
    fn runs_with_other_connections_are_variants() {
        let text = include_str!("../fixtures/load_wrk/plain.txt");
        let connections = text.lines().nth(1).unwrap();
        let more = text.replace(connections, "  2 threads and 500 connections");
        let lines = read(LoadWrk, &format!("{text}{more}"));
        let throughputs: Vec<_> = lines.lines().filter(|line| line.contains(" throughput ")).collect();
        insta::assert_snapshot!(throughputs.join("\n"), @"
        http://127.0.0.1:18473/fast {connections=2} throughput 21951.54
        http://127.0.0.1:18473/fast {connections=500} throughput 21951.54
        ");
        assert!(!read(LoadWrk, &more).contains('{'));
        assert_eq!(read(LoadWrk, &format!("{text}{text}")), read(LoadWrk, text));
    }

    #[test]
    fn failures_are_a_metric() {
        let text = "Running 1m test @ http://a/\n    Latency     1.50m     0.00us   2.00m    99.00%\n  \
            200 requests in 1.00s, 2.61MB read\n  \
            Socket errors: connect 0, read 5, write 0, timeout 5\n  Non-2xx or 3xx responses: 40\n";
        insta::assert_snapshot!(read(LoadWrk, text), @"
        http://a/ latency 90000000000 [90000000000, 90000000000]
        http://a/ latency-max 120000000000
        http://a/ error-rate 25
        ");
    }

    #[test]
    fn errors_have_the_line() {
        insta::assert_snapshot!(read(LoadWrk, "Running 1s test @ http://a/\nunable to connect"), @"The adapter `load_wrk` cannot read the output at line 1: expected a line `Latency` below the title, found `Running 1s test @ http://a/`.");
        insta::assert_snapshot!(read(LoadWrk, "Running 1s test @ http://a/\nRequests/sec: nan"), @"The adapter `load_wrk` cannot read the output at line 2: expected numbers with the units of wrk, found `Requests/sec: nan`.");
        insta::assert_snapshot!(read(LoadWrk, "Running"), @"The adapter `load_wrk` cannot read the output: expected a line such as `Running 10s test @ http://localhost:8080/` and what wrk prints below it.");
    }
}
