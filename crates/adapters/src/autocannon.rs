//! Adapter for autocannon: its JSON report and the tables that it prints. One run is one benchmark, named by its title or URL.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    table::{bordered_cells, is_rule},
    text::{self, Line, Unit, is_blank, quantity},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Autocannon,
    title: "autocannon",
    metrics: "latency ± standard deviation (median alone), its percentiles 99 and, in JSON, 75, 90 and 99.9, and its maximum; throughput ± standard deviation; bandwidth ± standard deviation; error rate; the URL is the name of the benchmark; `connections` is a parameter of printed runs of the same URL in which it differs",
    parameters: "`connections`, where printed runs of the same URL differ in it",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "autocannon --json URL",
            &[r#""latency""#, r#""p97_5""#, r#""non2xx""#],
            parse,
        ),
        Format::new(
            Syntax::Text,
            "autocannon URL",
            &[" test @ ", "│ Stat ", "│ Latency ", "│ Req/Sec "],
            parse_printed,
        ),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    url: IgnoredAny,
    connections: IgnoredAny,
    non2xx: IgnoredAny,
    latency: IgnoredAny,
    requests: IgnoredAny,
    throughput: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    title: Option<String>,
    url: String,
    #[expect(dead_code, reason = "its presence identifies the tool")]
    connections: IgnoredAny,
    /// Failed connections and timeouts.
    errors: f64,
    non2xx: f64,
    latency: Latency,
    requests: Requests,
    throughput: Rate,
}

/// Times in milliseconds.
#[derive(Deserialize)]
struct Latency {
    average: f64,
    stddev: f64,
    max: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p99: f64,
    p99_9: f64,
}

/// Requests per second, and the number of responses.
#[derive(Deserialize)]
struct Requests {
    total: f64,
    #[serde(flatten)]
    rate: Rate,
}

#[derive(Deserialize)]
struct Rate {
    average: f64,
    stddev: f64,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let document: Document = document::read::<Shape, _>(input.text)?;
    let Document { latency, requests, throughput, .. } = &document;
    if requests.total <= 0.0 {
        return Err(Failure::missing(Position::Path("requests.total".to_owned()), "at least one response"));
    }
    let nanoseconds = |milliseconds| Unit::Milliseconds.nanoseconds(milliseconds);
    let mut metrics = vec![match input.average.unwrap_or(Average::Mean) {
        Average::Mean => {
            ParsedMetric::latency(nanoseconds(latency.average)).with_deviation(nanoseconds(latency.stddev))
        }
        Average::Median => ParsedMetric::latency(nanoseconds(latency.p50)),
    }];
    for (slug, value) in [
        ("latency-p75", latency.p75),
        ("latency-p90", latency.p90),
        ("latency-p99", latency.p99),
        ("latency-p99-9", latency.p99_9),
        ("latency-max", latency.max),
    ] {
        metrics.push(ParsedMetric::of(slug, nanoseconds(value)));
    }
    metrics.push(ParsedMetric::throughput(requests.rate.average).with_deviation(requests.rate.stddev));
    metrics.push(ParsedMetric::of("bandwidth", throughput.average).with_deviation(throughput.stddev));
    metrics.push(error_rate(document.errors, document.non2xx, requests.total));
    let name = document.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(&document.url);
    Ok(Entries::from(vec![Entry::new(|| Position::Path("url".to_owned()), name, metrics)?]))
}

/// Returns the share of requests that failed or had another status than 2xx; `responses` includes the latter.
fn error_rate(errors: f64, non_2xx: f64, responses: f64) -> ParsedMetric {
    let all = responses + errors;
    ParsedMetric::of("error-rate", if all > 0.0 { (errors + non_2xx) / all * 100.0 } else { 0.0 })
}

/// A partially parsed run.
struct Run<'a> {
    line: Line<'a>,
    url: &'a str,
    connections: Option<&'a str>,
    /// Cells of the last header.
    header: Vec<&'a str>,
    latency: Option<Vec<ParsedMetric>>,
    throughput: Option<ParsedMetric>,
    bandwidth: Option<ParsedMetric>,
    errors: f64,
    non_2xx: f64,
    responses: Option<f64>,
}

fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let mut is_recognized = false;
    for line in text::lines(input.text) {
        if let Some((_, url)) =
            line.text.strip_prefix("Running ").and_then(|rest| rest.split_once(" test @ "))
        {
            runs.push(Run {
                line,
                url,
                connections: None,
                header: Vec::new(),
                latency: None,
                throughput: None,
                bandwidth: None,
                errors: 0.0,
                non_2xx: 0.0,
                responses: None,
            });
        } else if let Some(run) = runs.last_mut() {
            run.read(line, input.average)?;
            is_recognized |= !run.header.is_empty();
        }
    }
    if !is_recognized {
        return Err(Failure::unrecognized(
            "a line such as `Running 10s test @ http://localhost:8080` and the tables below it",
        ));
    }
    let properties: Vec<_> = runs.iter().map(|run| (run.line.number, run.connections)).collect();
    let mut entries = runs.into_iter().map(Run::entry).collect::<Result<_, Failure>>()?;
    let position = |index: usize| Position::Line(properties[index].0);
    variant::separate(position, &mut entries, &[("connections", &|index| properties[index].1)])?;
    Ok(entries)
}

impl<'a> Run<'a> {
    fn read(&mut self, line: Line<'a>, average: Option<Average>) -> Result<(), Failure> {
        if is_rule(line.text) {
            return Ok(());
        }
        let Some(cells) = bordered_cells(line.text) else { return self.read_total(line) };
        let known = match cells.first() {
            Some(&"Stat") => {
                self.header = cells;
                Some(())
            }
            Some(&"Latency") => self.latency(&cells, average).map(|metrics| self.latency = Some(metrics)),
            Some(&"Req/Sec") => {
                let rate = self.rate("throughput", &cells, localized);
                rate.map(|rate| self.throughput = Some(rate))
            }
            Some(&"Bytes/Sec") => {
                self.rate("bandwidth", &cells, text::bytes).map(|rate| self.bandwidth = Some(rate))
            }
            _ => Some(()),
        };
        known.ok_or_else(|| line.invalid("numbers with the units of autocannon"))
    }

    /// Returns the cell of a column.
    fn cell<'c>(&self, cells: &[&'c str], column: &str) -> Option<&'c str> {
        cells.get(self.header.iter().position(|known| *known == column)?).copied()
    }

    fn latency(&self, cells: &[&str], average: Option<Average>) -> Option<Vec<ParsedMetric>> {
        let time = |column| text::duration(self.cell(cells, column)?);
        let latency = match average {
            Some(Average::Median) => ParsedMetric::latency(time("50%")?),
            _ => ParsedMetric::latency(time("Avg")?).with_deviation(time("Stdev")?),
        };
        let (p99, max) = (time("99%")?, time("Max")?);
        Some(vec![latency, ParsedMetric::of("latency-p99", p99), ParsedMetric::of("latency-max", max)])
    }

    fn rate(
        &self,
        slug: &'static str,
        cells: &[&str],
        number: impl Fn(&str) -> Option<f64>,
    ) -> Option<ParsedMetric> {
        let value = number(self.cell(cells, "Avg")?)?;
        Some(ParsedMetric::of(slug, value).with_deviation(number(self.cell(cells, "Stdev")?)?))
    }

    /// Reads the lines below the tables. The number of requests is rounded, for example `21k`; the numbers of responses are not.
    fn read_total(&mut self, line: Line<'a>) -> Result<(), Failure> {
        let words: Vec<_> = line.text.split(is_blank).filter(|word| !word.is_empty()).take(8).collect();
        let known = match words.as_slice() {
            [ok, "2xx", "responses,", other, "non", "2xx", "responses"] => {
                text::decimal(ok).zip(text::decimal(other)).map(|(ok, other)| {
                    self.non_2xx = other;
                    self.responses = Some(ok + other);
                })
            }
            [count, "connections", ..] => {
                self.connections = Some(*count);
                Some(())
            }
            [count, "errors", timeouts, "timeouts)"] if timeouts.starts_with('(') => {
                rounded(count).map(|count| self.errors = count)
            }
            [count, "requests", "in", ..] => rounded(count).map(|count| {
                self.responses.get_or_insert(count);
            }),
            _ => Some(()),
        };
        known.ok_or_else(|| line.invalid("a number of requests"))
    }

    fn entry(self) -> Result<Entry, Failure> {
        let (Some(mut metrics), Some(throughput), Some(bandwidth)) =
            (self.latency, self.throughput, self.bandwidth)
        else {
            return Err(self.line.invalid("the rows `Latency`, `Req/Sec` and `Bytes/Sec` below the title"));
        };
        metrics.extend([throughput, bandwidth]);
        metrics.extend(self.responses.map(|responses| error_rate(self.errors, self.non_2xx, responses)));
        self.line.entry(self.url.trim(), metrics)
    }
}

/// Parses a number in the format of the locale, which has at most two decimals: `10,388.5`, `10.388,5` or `10 388,5`.
fn localized(text: &str) -> Option<f64> {
    let is_separator = |character: char| !character.is_ascii_digit();
    let is_known =
        |character: char| matches!(character, '.' | ',' | '\'' | '\u{2019}') || character.is_whitespace();
    if !text.starts_with(|character: char| character.is_ascii_digit())
        || text.chars().any(|character| is_separator(character) && !is_known(character))
    {
        return None;
    }
    let digits = |text: &str| text.replace(is_separator, "");
    match text.rsplit_once(['.', ',']) {
        Some((whole, decimals))
            if decimals.len() < 3 && decimals.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            text::decimal(&format!("{}.{decimals}", digits(whole)))
        }
        _ => text::decimal(&digits(text)),
    }
}

/// Parses a number that may be rounded to thousands or millions: `21k`, `1.5m`.
fn rounded(text: &str) -> Option<f64> {
    let (number, suffix) = quantity(text)?;
    match suffix {
        "" => Some(number),
        "k" => Some(number * 1e3),
        "m" | "M" => Some(number * 1e6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Autocannon, Magic},
        Average,
    };

    use crate::{
        parse,
        tests::{first_value, read},
    };

    #[test]
    fn reports() {
        let text = include_str!("../fixtures/autocannon/report.json");
        insta::assert_snapshot!(read(Autocannon, text), @"
        http://127.0.0.1:18765/ latency 70000 [-1420000, 1560000]
        http://127.0.0.1:18765/ latency-p75 0
        http://127.0.0.1:18765/ latency-p90 0
        http://127.0.0.1:18765/ latency-p99 1000000
        http://127.0.0.1:18765/ latency-p99-9 11000000
        http://127.0.0.1:18765/ latency-max 87000000
        http://127.0.0.1:18765/ throughput 22319 [5870, 38768]
        http://127.0.0.1:18765/ bandwidth 3505280 [921856, 6088704]
        http://127.0.0.1:18765/ error-rate 0
        ");
        assert_eq!(read(Magic, text), read(Autocannon, text));
        let text = include_str!("../fixtures/autocannon/printed.txt");
        insta::assert_snapshot!(read(Autocannon, text), @"
        http://127.0.0.1:18765/ latency 230000 [-2310000, 2770000]
        http://127.0.0.1:18765/ latency-p99 6000000
        http://127.0.0.1:18765/ latency-max 122000000
        http://127.0.0.1:18765/ throughput 10388.5 [2689, 18088]
        http://127.0.0.1:18765/ bandwidth 1630000 [420000, 2840000]
        http://127.0.0.1:18765/ error-rate 0
        ");
        assert_eq!(read(Magic, text), read(Autocannon, text));
        assert_eq!(first_value(&parse(Magic, text, Some(Average::Median)).unwrap()), 0.0);
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/autocannon/failed.txt")), @"
        http://127.0.0.1:18765/missing latency 340000 [-1960000, 2640000]
        http://127.0.0.1:18765/missing latency-p99 8000000
        http://127.0.0.1:18765/missing latency-max 68000000
        http://127.0.0.1:18765/missing throughput 4426 [4426, 4426]
        http://127.0.0.1:18765/missing bandwidth 726000 [726000, 726000]
        http://127.0.0.1:18765/missing error-rate 100
        ");
        insta::assert_snapshot!(read(Magic, &text.replace("\n21k", "\n5k errors (3 timeouts)\n15k")), @"
        http://127.0.0.1:18765/ latency 230000 [-2310000, 2770000]
        http://127.0.0.1:18765/ latency-p99 6000000
        http://127.0.0.1:18765/ latency-max 122000000
        http://127.0.0.1:18765/ throughput 10388.5 [2689, 18088]
        http://127.0.0.1:18765/ bandwidth 1630000 [420000, 2840000]
        http://127.0.0.1:18765/ error-rate 25
        ");
    }

    #[test]
    fn runs_with_other_connections_are_variants() {
        let text = include_str!("../fixtures/autocannon/printed.txt");
        let more = text.replace("4 connections", "64 connections with 10 pipelining factor");
        let lines = read(Autocannon, &format!("{text}{more}"));
        let throughputs: Vec<_> = lines.lines().filter(|line| line.contains(" throughput ")).collect();
        insta::assert_snapshot!(throughputs.join("\n"), @"
        http://127.0.0.1:18765/ {connections=4} throughput 10388.5 [2689, 18088]
        http://127.0.0.1:18765/ {connections=64} throughput 10388.5 [2689, 18088]
        ");
        assert!(!read(Autocannon, &more).contains('{'));
    }

    #[test]
    fn rates_have_the_format_of_the_locale() {
        let text = include_str!("../fixtures/autocannon/printed.txt");
        for (average, deviation) in
            [("10.388,5", "7.699,5"), ("10\u{202f}388,5", "7\u{202f}699,5"), ("10’388.5", "7’699.5")]
        {
            let local = text.replace("10,388.5", average).replace("7,699.5", deviation);
            assert_eq!(read(Autocannon, &local), read(Autocannon, text), "{average}");
        }
        assert_eq!(
            (super::localized("2.689"), super::localized("2,689"), super::localized("1,5")),
            (Some(2689.0), Some(2689.0), Some(1.5))
        );
        assert_eq!(
            (super::localized(""), super::localized("1k"), super::localized("-1")),
            (None, None, None)
        );
    }

    #[test]
    fn errors_have_a_position() {
        let json = include_str!("../fixtures/autocannon/report.json");
        let text = include_str!("../fixtures/autocannon/printed.txt");
        let errors = [
            json.replace("\"total\":44650", "\"total\":0"),
            json.replace("\"average\":0.07", "\"average\":null"),
            text.replace("0.23 ms", "0.23 x"),
            text.replace("Bytes/Sec", "x"),
            "Running 1s test @ http://a/".to_owned(),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Autocannon, &text)).join("\n"), @"
        The adapter `autocannon` cannot read the output at `requests.total`: expected at least one response.
        The adapter `autocannon` cannot read the output at `latency.average`: expected a number, found `null`.
        The adapter `autocannon` cannot read the output at line 8: expected numbers with the units of autocannon, found `│ Latency │ 0 ms │ 0 ms │ 2 ms  │ 6 ms │ 0.23 x │ 2.54 ms │ …`.
        The adapter `autocannon` cannot read the output at line 1: expected the rows `Latency`, `Req/Sec` and `Bytes/Sec` below the title, found `Running 2s test @ http://127.0.0.1:18765/`.
        The adapter `autocannon` cannot read the output: expected a line such as `Running 10s test @ http://localhost:8080` and the tables below it.
        ");
    }
}
