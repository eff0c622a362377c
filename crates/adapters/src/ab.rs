//! Adapter for the report of ApacheBench (`ab`). One run is one benchmark, named by its URL.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    text::{self, Line, Unit, decimal, is_blank},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Ab,
    title: "ApacheBench",
    metrics: "latency ± standard deviation (median alone), its percentiles 75, 90, 95 and 99 and its maximum; throughput; bandwidth received; error rate; the URL is the name of the benchmark; `concurrency` is a parameter of runs of the same URL in which it differs",
    parameters: "`concurrency`, where runs of the same URL differ in it",
    averages: &[Average::Mean, Average::Median],
    formats: &[Format::new(
        Syntax::Text,
        "ab -n 1000 -c 10 URL",
        &["Server Hostname:", "Document Path:", "Time per request:", "Complete requests:"],
        parse,
    )],
};

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for line in text::lines(input.text) {
        if let Some(host) = line.text.strip_prefix("Server Hostname:") {
            runs.push(Run::new(line, host.trim()));
        } else if let Some(run) = runs.last_mut() {
            run.read(line)?;
        }
    }
    let properties: Vec<_> = runs.iter().map(|run| (run.line.number, run.concurrency)).collect();
    let mut entries = runs.into_iter().map(|run| run.entry(input.average)).collect::<Result<_, _>>()?;
    let position = |index: usize| Position::Line(properties[index].0);
    variant::separate(position, &mut entries, &[("concurrency", &|index| properties[index].1)])?;
    text::require_entries(entries, "the line `Server Hostname:` and the report below it")
}

/// A partially parsed run.
struct Run<'a> {
    line: Line<'a>,
    host: &'a str,
    port: &'a str,
    path: &'a str,
    is_encrypted: bool,
    concurrency: Option<&'a str>,
    mean: Option<f64>,
    deviation: Option<f64>,
    median: Option<f64>,
    metrics: Vec<ParsedMetric>,
    requests: Option<f64>,
    failed: f64,
    /// Requests that failed only because the length of the response differs from that of the first one.
    other_length: f64,
    non_2xx: f64,
}

impl<'a> Run<'a> {
    fn new(line: Line<'a>, host: &'a str) -> Self {
        Self {
            line,
            host,
            port: "",
            path: "",
            is_encrypted: false,
            concurrency: None,
            mean: None,
            deviation: None,
            median: None,
            metrics: Vec::new(),
            requests: None,
            failed: 0.0,
            other_length: 0.0,
            non_2xx: 0.0,
        }
    }

    fn read(&mut self, line: Line<'a>) -> Result<(), Failure> {
        let words: Vec<_> = line.text.split(is_blank).filter(|word| !word.is_empty()).take(9).collect();
        let time = |text| decimal(text).map(|milliseconds| Unit::Milliseconds.nanoseconds(milliseconds));
        let known = match words.as_slice() {
            ["Server", "Port:", port] => {
                self.port = port;
                Some(())
            }
            ["Document", "Path:", path] => {
                self.path = path;
                Some(())
            }
            ["SSL/TLS", "Protocol:", ..] => {
                self.is_encrypted = true;
                Some(())
            }
            ["Concurrency", "Level:", count] => {
                self.concurrency = Some(*count);
                Some(())
            }
            ["Complete", "requests:", count] => decimal(count).map(|count| self.requests = Some(count)),
            ["Failed", "requests:", count] => decimal(count).map(|count| self.failed = count),
            ["(Connect:", _, "Receive:", _, "Length:", count, "Exceptions:", _] => {
                decimal(count.trim_end_matches(',')).map(|count| self.other_length = count)
            }
            ["Non-2xx", "responses:", count] => decimal(count).map(|count| self.non_2xx = count),
            ["Requests", "per", "second:", rate, "[#/sec]", ..] => {
                decimal(rate).map(|rate| self.push("throughput", rate))
            }
            ["Time", "per", "request:", mean, "[ms]", "(mean)"] => {
                time(mean).map(|mean| self.mean = Some(mean))
            }
            // One kilobyte is 1024 bytes.
            ["Transfer", "rate:", rate, "[Kbytes/sec]", "received"] => {
                decimal(rate).map(|rate| self.push("bandwidth", rate * 1024.0))
            }
            ["Total:", _, _, deviation, _, _] => time(deviation).map(|spread| self.deviation = Some(spread)),
            ["50%", value] => time(value).map(|value| self.median = Some(value)),
            ["75%", value] => time(value).map(|value| self.push("latency-p75", value)),
            ["90%", value] => time(value).map(|value| self.push("latency-p90", value)),
            ["95%", value] => time(value).map(|value| self.push("latency-p95", value)),
            ["99%", value] => time(value).map(|value| self.push("latency-p99", value)),
            ["100%", value, "(longest", "request)"] => {
                time(value).map(|value| self.push("latency-max", value))
            }
            _ => Some(()),
        };
        known.ok_or_else(|| line.invalid("numbers with the units of ab"))
    }

    fn push(&mut self, slug: &'static str, value: f64) {
        self.metrics.push(ParsedMetric::of(slug, value));
    }

    fn entry(self, average: Option<Average>) -> Result<Entry, Failure> {
        let latency = match average {
            Some(Average::Median) => ParsedMetric::latency(
                self.median.ok_or_else(|| self.line.invalid("a percentage table, which `-d` suppresses"))?,
            ),
            _ => {
                let mean = self.mean.ok_or_else(|| self.line.invalid("a line `Time per request` below"))?;
                let latency = ParsedMetric::latency(mean);
                match self.deviation {
                    Some(deviation) => latency.with_deviation(deviation),
                    None => latency,
                }
            }
        };
        let Some(requests) = self.requests.filter(|requests| *requests > 0.0) else {
            return Err(self.line.invalid("at least one complete request"));
        };
        let mut metrics = vec![latency];
        metrics.extend(self.metrics);
        // A response with another status often has another length, too, and must not count twice.
        let failures = self.failed - self.other_length + self.other_length.max(self.non_2xx);
        metrics.push(ParsedMetric::of("error-rate", (failures / requests).min(1.0) * 100.0));
        let (scheme, port) = if self.is_encrypted { ("https", "443") } else { ("http", "80") };
        let port = if self.port == port { String::new() } else { format!(":{}", self.port) };
        self.line.entry(&format!("{scheme}://{}{port}{}", self.host, self.path), metrics)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Ab, Magic},
        Average,
    };

    use crate::{
        parse,
        tests::{first_value, read},
    };

    #[test]
    fn real_runs() {
        let text = include_str!("../fixtures/ab/report.txt");
        insta::assert_snapshot!(read(Ab, text), @"
        http://127.0.0.1:18765/ latency 1902000 [-498000, 4302000]
        http://127.0.0.1:18765/ throughput 2102.74
        http://127.0.0.1:18765/ bandwidth 229201.92
        http://127.0.0.1:18765/ latency-p75 1000000
        http://127.0.0.1:18765/ latency-p90 6000000
        http://127.0.0.1:18765/ latency-p95 8000000
        http://127.0.0.1:18765/ latency-p99 10000000
        http://127.0.0.1:18765/ latency-max 10000000
        http://127.0.0.1:18765/ error-rate 0
        ");
        assert_eq!(read(Magic, text), read(Ab, text));
        assert_eq!(first_value(&parse(Magic, text, Some(Average::Median)).unwrap()), 1e6);
        let not_found = include_str!("../fixtures/ab/not_found.txt");
        assert!(read(Magic, not_found).ends_with("http://127.0.0.1:18765/missing error-rate 100\n"));
        assert_eq!(parse(Magic, &format!("{text}{not_found}"), None).unwrap().entries.len(), 2);
    }

    #[test]
    fn runs_with_other_concurrency_are_variants() {
        let text = include_str!("../fixtures/ab/report.txt");
        let level = text.lines().find(|line| line.starts_with("Concurrency Level:")).unwrap();
        let more = text.replace(level, "Concurrency Level:      64");
        let lines = read(Ab, &format!("{text}{more}"));
        let throughputs: Vec<_> = lines.lines().filter(|line| line.contains(" throughput ")).collect();
        insta::assert_snapshot!(throughputs.join("\n"), @"
        http://127.0.0.1:18765/ {concurrency=4} throughput 2102.74
        http://127.0.0.1:18765/ {concurrency=64} throughput 2102.74
        ");
        assert!(!read(Ab, &more).contains('{'));
    }

    #[test]
    fn failures_count_once() {
        let text = include_str!("../fixtures/ab/report.txt").replace(
            "Failed requests:        0",
            "Failed requests:        25\n   (Connect: 5, Receive: 0, Length: 20, Exceptions: 0)\nNon-2xx responses:      45",
        );
        assert!(read(Magic, &text).ends_with(" error-rate 25\n"));
        let encrypted =
            text.replace("Server Port:            18765", "Server Port: 443\nSSL/TLS Protocol: TLSv1.3");
        assert!(read(Magic, &encrypted).starts_with("https://127.0.0.1/ latency "));
    }

    #[test]
    fn errors_have_the_line() {
        let text = include_str!("../fixtures/ab/report.txt");
        let errors = [
            text.replace("2102.74", "x"),
            text.replace("Complete requests:      200", "Complete requests:      0"),
            text.replace("Time per request", "x"),
            "ab".to_owned(),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Ab, &text)).join("\n"), @"
        The adapter `ab` cannot read the output at line 21: expected numbers with the units of ab, found `Requests per second:    x [#/sec] (mean)`.
        The adapter `ab` cannot read the output at line 9: expected at least one complete request, found `Server Hostname:        127.0.0.1`.
        The adapter `ab` cannot read the output at line 9: expected a line `Time per request` below, found `Server Hostname:        127.0.0.1`.
        The adapter `ab` cannot read the output: expected the line `Server Hostname:` and the report below it.
        ");
    }
}
