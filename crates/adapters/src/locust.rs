//! Adapter for Locust: parses the file `*_stats.csv` of `--csv`, not the history of the statistics.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    records::{Record, Records},
    text::{self, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Locust,
    title: "Locust",
    metrics: "latency from least to greatest; its percentiles 50, 75, 90, 95, 99 and 99.9, and its maximum; throughput; error rate; the name is the type and the name of the request",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[Format::new(
        Syntax::Csv,
        "locust --headless --csv bench",
        &["Request Count", "Failure Count", "Average Response Time"],
        parse,
    )],
};

const PERCENTILES: [(&str, &str); 6] = [
    ("50%", "latency-p50"),
    ("75%", "latency-p75"),
    ("90%", "latency-p90"),
    ("95%", "latency-p95"),
    ("99%", "latency-p99"),
    ("99.9%", "latency-p99-9"),
];

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let required = ["Type", "Name", "Request Count", "Failure Count", "Average Response Time", "Requests/s"];
    let records = Records::read(input.text, ',', &required)?;
    let (mut entries, mut lines) = (Entries::default(), Vec::new());
    for row in records.iter() {
        let name = row.require_text("Name")?;
        let name = row.text("Type").map_or_else(|| name.to_owned(), |kind| format!("{kind} {name}"));
        if row.require_number("Request Count")? == 0.0 {
            input.skip(name, "there were no requests");
            continue;
        }
        entries.push(row.entry(&name, metrics(&row, input.average)?)?);
        lines.push(row.line());
    }
    variant::distinguish(|index| Position::Line(lines[index]), &mut entries, &[])?;
    text::require_entries(entries, "at least one request below the header")
}

/// Returns the metrics of a row; its times are in milliseconds.
fn metrics(row: &Record<'_>, average: Option<Average>) -> Result<Vec<ParsedMetric>, Failure> {
    let time = |column| Ok(Unit::Milliseconds.nanoseconds(row.require_number(column)?));
    let value = match average {
        Some(Average::Median) => time("Median Response Time")?,
        _ => time("Average Response Time")?,
    };
    let (least, greatest) = (time("Min Response Time")?, time("Max Response Time")?);
    let mut metrics = vec![ParsedMetric::latency(value).with_range(least, greatest)];
    for (column, slug) in PERCENTILES {
        // Older versions print fewer percentiles.
        if row.text(column).is_some() {
            metrics.push(ParsedMetric::of(slug, time(column)?));
        }
    }
    let failed = row.require_number("Failure Count")? / row.require_number("Request Count")?;
    metrics.extend([
        ParsedMetric::of("latency-max", greatest),
        ParsedMetric::throughput(row.require_number("Requests/s")?),
        ParsedMetric::of("error-rate", failed * 100.0),
    ]);
    Ok(metrics)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Locust, Magic},
        Average,
    };

    use crate::{
        parse,
        tests::{first_value, read},
    };

    #[test]
    fn a_real_run() {
        let text = include_str!("../fixtures/locust/stats.csv");
        insta::assert_snapshot!(read(Locust, text), @"
        GET / latency 4522755.267079566 [1614020.0000336336, 75124095.99985403]
        GET / latency-p50 4000000
        GET / latency-p75 5000000
        GET / latency-p90 7000000
        GET / latency-p95 9000000
        GET / latency-p99 12000000
        GET / latency-p99-9 75000000
        GET / latency-max 75124095.99985403
        GET / throughput 161.12540671592333
        GET / error-rate 0
        GET /missing latency 3993932.0491821044 [1576777.0000820747, 14687856.99989894]
        GET /missing latency-p50 3000000
        GET /missing latency-p75 4000000
        GET /missing latency-p90 7000000
        GET /missing latency-p95 8000000
        GET /missing latency-p99 15000000
        GET /missing latency-p99-9 15000000
        GET /missing latency-max 14687856.99989894
        GET /missing throughput 30.52375717289231
        GET /missing error-rate 100
        Aggregated latency 4438530.15926822 [1576777.0000820747, 75124095.99985403]
        Aggregated latency-p50 4000000
        Aggregated latency-p75 5000000
        Aggregated latency-p90 7000000
        Aggregated latency-p95 9000000
        Aggregated latency-p99 12000000
        Aggregated latency-p99-9 75000000
        Aggregated latency-max 75124095.99985403
        Aggregated throughput 191.64916388881565
        Aggregated error-rate 15.926892950391643
        ");
        assert_eq!(read(Magic, text), read(Locust, text));
        let median = parse(Locust, text, Some(Average::Median)).unwrap();
        assert_eq!(first_value(&median), 4e6);
    }

    #[test]
    fn errors_name_the_line() {
        let text = include_str!("../fixtures/locust/stats.csv");
        insta::assert_snapshot!(read(Magic, &text.replace("4.522755267079566", "N/A")), @"The adapter `locust` cannot read the output at line 2: expected a number in the column `Average Response Time`, found `N/A`.");
        insta::assert_snapshot!(read(Magic, &text.replace("/missing", "/")), @"The adapter `locust` cannot read the output at line 3: expected a benchmark with a unique combination of name and parameters, found `GET /`.");
        insta::assert_snapshot!(read(Locust, "Timestamp,User Count,Type,Name,Requests/s\n"), @"The adapter `locust` cannot read the output: expected a header with the columns `Type`, `Name`, `Request Count`, `Failure Count`, `Average Response Time`, `Requests/s`.");
    }
}
