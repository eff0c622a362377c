//! Adapter for Gatling: parses the statistics of its reports, `stats.json` and `global_stats.json`, and the summary of the console.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    document::{self, Number},
    text::{self, Line, Unit, is_blank},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Gatling,
    title: "Gatling",
    metrics: "for all requests, and from `stats.json` for each request and group: latency ± standard deviation (median from least to greatest), its percentiles 50, 75, 95 and 99, maximum latency, throughput, error rate; the JSON files do not name their percentiles, which must be those of the default configuration",
    parameters: "`type`, where a request and a group have the same name; `simulation`, where printed simulations differ in it",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "the file js/stats.json of a report",
            &[r#""stats""#, r#""contents""#, r#""meanResponseTime""#],
            parse_stats,
        ),
        Format::new(
            Syntax::Json,
            "the file js/global_stats.json of a report",
            &[r#""numberOfRequests""#, r#""meanResponseTime""#, r#""percentiles1""#],
            parse_global,
        ),
        Format::new(
            Syntax::Text,
            "mvn gatling:test",
            &[TITLE, "> request count", "> mean response time"],
            parse_console,
        ),
    ],
};

/// Title of the summary of the console.
const TITLE: &str = "---- Global Information ---";
/// Name of the statistics of all requests; versions differ.
const ALL: &str = "All Requests";

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    r#type: IgnoredAny,
    stats: ShapeStats,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeStats {
    number_of_requests: IgnoredAny,
    mean_response_time: IgnoredAny,
    percentiles1: IgnoredAny,
}

/// A request, or a group of requests.
#[derive(Deserialize)]
struct Node {
    r#type: String,
    name: String,
    path: Option<String>,
    stats: Stats,
    #[serde(default)]
    contents: BTreeMap<String, Node>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    name: String,
    number_of_requests: Requests,
    min_response_time: Total,
    max_response_time: Total,
    mean_response_time: Total,
    standard_deviation: Total,
    percentiles1: Total,
    percentiles2: Total,
    percentiles3: Total,
    percentiles4: Total,
    mean_number_of_requests_per_second: Total,
}

/// Number of all requests and of the failed ones.
#[derive(Deserialize)]
struct Requests {
    total: Quantity,
    #[serde(default)]
    ko: Quantity,
}

/// A value of all requests. Those of the successful and the failed ones are ignored.
#[derive(Deserialize)]
struct Total {
    total: Quantity,
}

/// A value that some versions write as a number and others as a text; a dash means that there is none.
#[derive(Clone, Copy, Default)]
struct Quantity(Number);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        Ok(Self(text::decimal(json.trim_matches('"')).into()))
    }
}

impl Quantity {
    fn get(self) -> Option<f64> {
        self.0.get()
    }
}

/// Statistics of a benchmark; times are in milliseconds.
#[derive(Default)]
struct Summary {
    requests: Option<f64>,
    failures: Option<f64>,
    least: Option<f64>,
    greatest: Option<f64>,
    mean: Option<f64>,
    deviation: Option<f64>,
    percentiles: Vec<(&'static str, f64)>,
    rate: Option<f64>,
}

fn parse_stats(input: &Input<'_>) -> Result<Entries, Failure> {
    let root: Node = document::read::<Shape, _>(input.text)?;
    let mut nodes: Vec<&Node> = Vec::new();
    let mut open = vec![&root];
    while let Some(node) = open.pop() {
        nodes.push(node);
        open.extend(node.contents.values().rev());
    }
    let position = |index: usize| {
        let node: &Node = nodes[index];
        Position::Path(format!("{}.stats", tidemark_api::excerpt::of_path(node.title())))
    };
    let mut entries = Entries::default();
    for (index, node) in nodes.iter().enumerate() {
        let metrics = node.stats.summary().metrics(input.average);
        let metrics = metrics.map_err(|expected| Failure::missing(position(index), expected))?;
        entries.push(Entry::new(|| position(index), node.title(), metrics)?);
    }
    let properties: [variant::Property<'_>; 1] = [("type", &|index| Some(nodes[index].r#type.as_str()))];
    variant::distinguish(position, &mut entries, &properties)?;
    Ok(entries)
}

fn parse_global(input: &Input<'_>) -> Result<Entries, Failure> {
    let stats: Stats = document::read::<ShapeStats, _>(input.text)?;
    let position = || Position::Path("meanResponseTime".to_owned());
    let metrics = stats.summary().metrics(input.average);
    let metrics = metrics.map_err(|expected| Failure::missing(position(), expected))?;
    Ok(Entries::from(vec![Entry::new(position, title(&stats.name), metrics)?]))
}

impl Node {
    /// Returns the path, which includes the groups of a request.
    fn title(&self) -> &str {
        title(self.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(&self.name))
    }
}

/// Returns the name of a benchmark: the same for all requests, whatever the version.
fn title(name: &str) -> &str {
    if name == "Global Information" { ALL } else { name }
}

impl Stats {
    fn summary(&self) -> Summary {
        let percentiles = [
            ("latency-p50", &self.percentiles1),
            ("latency-p75", &self.percentiles2),
            ("latency-p95", &self.percentiles3),
            ("latency-p99", &self.percentiles4),
        ];
        Summary {
            requests: self.number_of_requests.total.get(),
            failures: self.number_of_requests.ko.get(),
            least: self.min_response_time.total.get(),
            greatest: self.max_response_time.total.get(),
            mean: self.mean_response_time.total.get(),
            deviation: self.standard_deviation.total.get(),
            percentiles: percentiles
                .into_iter()
                .filter_map(|(slug, value)| Some((slug, value.total.get()?)))
                .collect(),
            rate: self.mean_number_of_requests_per_second.total.get(),
        }
    }
}

impl Summary {
    /// Returns the metrics, or what is missing.
    fn metrics(&self, average: Option<Average>) -> Result<Vec<ParsedMetric>, &'static str> {
        let nanoseconds = |milliseconds| Unit::Milliseconds.nanoseconds(milliseconds);
        let latency = match average.unwrap_or(Average::Mean) {
            Average::Mean => {
                let latency = ParsedMetric::latency(nanoseconds(self.mean.ok_or("a mean response time")?));
                match self.deviation {
                    Some(deviation) => latency.with_deviation(nanoseconds(deviation)),
                    None => latency,
                }
            }
            Average::Median => {
                let median = self.percentiles.iter().find(|(slug, _)| *slug == "latency-p50");
                let latency = ParsedMetric::latency(nanoseconds(median.ok_or("a percentile 50")?.1));
                match self.least.zip(self.greatest) {
                    Some((least, greatest)) => latency.with_range(nanoseconds(least), nanoseconds(greatest)),
                    None => latency,
                }
            }
        };
        let mut metrics = vec![latency];
        metrics
            .extend(self.percentiles.iter().map(|(slug, value)| ParsedMetric::of(slug, nanoseconds(*value))));
        metrics.extend(self.greatest.map(|greatest| ParsedMetric::of("latency-max", nanoseconds(greatest))));
        metrics.extend(self.rate.map(ParsedMetric::throughput));
        let requests = self.requests.filter(|requests| *requests > 0.0).ok_or("at least one request")?;
        metrics.push(ParsedMetric::of("error-rate", self.failures.unwrap_or_default() / requests * 100.0));
        Ok(metrics)
    }
}

fn parse_console(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<(Line<'_>, &str, Summary)> = Vec::new();
    let mut simulation = "";
    let mut in_summary = false;
    for line in text::lines(input.text) {
        if let Some(rest) = line.text.strip_prefix("Simulation ") {
            simulation = rest.split(is_blank).next().unwrap_or_default();
        } else if line.text.starts_with(TITLE) {
            runs.push((line, simulation, Summary::default()));
            in_summary = true;
        } else if line.text.starts_with("----") || line.text.starts_with("====") {
            in_summary = false;
        } else if let (true, Some(row), Some((_, _, summary))) =
            (in_summary, line.text.strip_prefix("> "), runs.last_mut())
        {
            summary.read(row).ok_or_else(|| line.invalid("a title and a number, then those of OK and KO"))?;
        }
    }
    if runs.is_empty() {
        return Err(Failure::unrecognized("a section `Global Information`"));
    }
    let mut entries = Entries::default();
    for (line, _, summary) in &runs {
        let metrics = summary.metrics(input.average).map_err(|expected| line.invalid(expected))?;
        entries.push(line.entry(ALL, metrics)?);
    }
    let properties: [variant::Property<'_>; 1] = [("simulation", &|index| Some(runs[index].1))];
    variant::distinguish(|index| Position::Line(runs[index].0.number), &mut entries, &properties)?;
    Ok(entries)
}

impl Summary {
    /// Reads a row: `mean response time   150 (OK=150 KO=- )`, or `mean response time (ms) | 150 | 150 | -`. Other rows make no
    /// difference.
    fn read(&mut self, row: &str) -> Option<()> {
        let (title, total, failed) = match row.split_once('|') {
            Some((title, rest)) => {
                let mut cells = rest.split('|').map(|cell| cell.trim_matches(is_blank));
                (title, cells.next()?, cells.nth(1)?)
            }
            None => {
                let (left, right) = row.split_once("(OK=")?;
                let (title, total) = left.trim_end_matches(is_blank).rsplit_once(is_blank)?;
                let (_, failed) = right.split_once("KO=")?;
                (title, total, failed.trim_end_matches(|character| character == ')' || is_blank(character)))
            }
        };
        let title = title.trim_matches(is_blank);
        let title = title.strip_suffix(" (ms)").or(title.strip_suffix(" (rps)")).unwrap_or(title);
        let count = || whole(total);
        match title {
            "request count" => {
                self.requests = Some(count()?);
                self.failures = if failed == "-" { None } else { Some(whole(failed)?) };
            }
            "min response time" => self.least = Some(count()?),
            "max response time" => self.greatest = Some(count()?),
            "mean response time" => self.mean = Some(count()?),
            "std deviation" | "response time std deviation" => self.deviation = Some(count()?),
            "response time 50th percentile" => self.percentiles.push(("latency-p50", count()?)),
            "response time 75th percentile" => self.percentiles.push(("latency-p75", count()?)),
            "response time 90th percentile" => self.percentiles.push(("latency-p90", count()?)),
            "response time 95th percentile" => self.percentiles.push(("latency-p95", count()?)),
            "response time 99th percentile" => self.percentiles.push(("latency-p99", count()?)),
            // A comma alone could be a decimal comma.
            "mean requests/sec" | "mean throughput" => {
                let is_unclear = total.contains(',') && !total.contains('.');
                let (rate, rest) = text::quantity(total)?;
                self.rate = Some(rate).filter(|_| !is_unclear && rest.is_empty());
                self.rate?;
            }
            _ => {}
        }
        Some(())
    }
}

/// Parses a whole number, whose digits may be grouped by commas.
fn whole(text: &str) -> Option<f64> {
    let (number, rest) = text::quantity(text)?;
    (rest.is_empty() && !text.contains('.')).then_some(number)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Gatling, Magic},
        Average,
    };

    use crate::{parse, tests::read};

    #[test]
    fn statistics_of_a_report() {
        let text = include_str!("../fixtures/gatling/stats.json");
        insta::assert_snapshot!(read(Gatling, text), @"
        All Requests latency 62000000 [41000000, 83000000]
        All Requests latency-p50 60000000
        All Requests latency-p75 75000000
        All Requests latency-p95 95000000
        All Requests latency-p99 240000000
        All Requests latency-max 250000000
        All Requests throughput 3.333
        All Requests error-rate 5
        Order latency 120000000 [80000000, 160000000]
        Order latency-p50 110000000
        Order latency-p75 150000000
        Order latency-p95 240000000
        Order latency-p99 250000000
        Order latency-max 250000000
        Order throughput 0.833
        Order error-rate 0
        Order / Home latency 74000000 [52000000, 96000000]
        Order / Home latency-p50 70000000
        Order / Home latency-p75 80000000
        Order / Home latency-p95 200000000
        Order / Home latency-p99 250000000
        Order / Home latency-max 250000000
        Order / Home throughput 1.667
        Order / Home error-rate 10
        Home latency 50000000 [30000000, 70000000]
        Home latency-p50 48000000
        Home latency-p75 60000000
        Home latency-p95 90000000
        Home latency-p99 99000000
        Home latency-max 100000000
        Home throughput 1.667
        Home error-rate 0
        ");
        assert_eq!(read(Magic, text), read(Gatling, text));
        let global = include_str!("../fixtures/gatling/global_stats.json");
        insta::assert_snapshot!(read(Gatling, global), @"
        All Requests latency 150000000 [125000000, 175000000]
        All Requests latency-p50 145000000
        All Requests latency-p75 170000000
        All Requests latency-p95 190000000
        All Requests latency-p99 199000000
        All Requests latency-max 200000000
        All Requests throughput 1.667
        All Requests error-rate 20
        ");
        assert_eq!(read(Magic, global), read(Gatling, global));
        let median = parse(Magic, global, Some(Average::Median)).unwrap().to_string();
        insta::assert_snapshot!(median.lines().next().unwrap(), @"All Requests latency 145000000 [100000000, 200000000]");
    }

    #[test]
    fn summaries_of_the_console() {
        let text = include_str!("../fixtures/gatling/console.txt");
        insta::assert_snapshot!(read(Gatling, text), @"
        All Requests latency 150000000 [125000000, 175000000]
        All Requests latency-p50 145000000
        All Requests latency-p75 170000000
        All Requests latency-p95 190000000
        All Requests latency-p99 199000000
        All Requests latency-max 200000000
        All Requests throughput 1.667
        All Requests error-rate 20
        ");
        assert_eq!(read(Magic, text), read(Gatling, text));
        let columns = include_str!("../fixtures/gatling/console_columns.txt");
        insta::assert_snapshot!(read(Magic, columns), @"
        All Requests latency 150000000 [125000000, 175000000]
        All Requests latency-p50 145000000
        All Requests latency-p75 170000000
        All Requests latency-p95 190000000
        All Requests latency-p99 199000000
        All Requests latency-max 1200000000
        All Requests throughput 2
        All Requests error-rate 0
        ");
    }

    #[test]
    fn errors_have_the_position() {
        let text = include_str!("../fixtures/gatling/global_stats.json");
        let console = include_str!("../fixtures/gatling/console.txt");
        let errors = [
            text.replace("\"total\": 150,", "\"total\": \"-\","),
            text.replace("\"meanNumberOfRequestsPerSecond\"", "\"x\""),
            console.replace(" 1.667 (", " 1,667 ("),
            console.replace("> mean response time ", "> another time "),
            format!("{console}{console}"),
            "{}".to_owned(),
            "x".to_owned(),
        ]
        .map(|text| read(Gatling, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `gatling` cannot read the output at `meanResponseTime`: expected a mean response time.
        The adapter `gatling` cannot read the output: expected the member `meanNumberOfRequestsPerSecond`.
        The adapter `gatling` cannot read the output at line 26: expected a title and a number, then those of OK and KO, found `> mean requests/sec                                  1,667 (…`.
        The adapter `gatling` cannot read the output at line 16: expected a mean response time, found `---- Global Information ------------------------------------…`.
        The adapter `gatling` cannot read the output at line 48: expected a benchmark with a unique combination of name and parameters, found `All Requests`.
        The adapter `gatling` cannot read the output: expected the member `numberOfRequests`.
        The adapter `gatling` cannot read the output: expected a section `Global Information`.
        ");
    }
}
