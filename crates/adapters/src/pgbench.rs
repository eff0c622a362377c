//! Adapter for the text of pgbench. The script is the name of the benchmark; clients, threads, query mode and scale are
//! parameters.

use std::collections::BTreeMap;

use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    text::{self, Line},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Pgbench,
    title: "pgbench",
    metrics: "latency ± standard deviation (which pgbench prints with `-P` or `-R`), throughput (transactions per second without the initial connection time), error rate (failed transactions); of several scripts all together and each one; the script is the name of the benchmark; clients, threads, query mode and scale are parameters",
    parameters: "the clients, threads, query mode and scale",
    averages: &[],
    formats: &[Format::new(
        Syntax::Text,
        "pgbench DATABASE",
        &["transaction type: ", "number of transactions actually processed: ", "tps = "],
        parse,
    )],
};

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut current: Option<Run<'_>> = None;
    let mut is_statement = false;
    for line in text::lines(input.text) {
        if let Some(script) = line.text.strip_prefix("transaction type: ") {
            is_statement = false;
            let run = Run { line, parameters: BTreeMap::new(), parts: vec![Part::new(line, script)] };
            if let Some(finished) = current.replace(run) {
                entries.extend(finished.entries()?);
            }
        } else if let Some(run) = &mut current {
            if line.text.trim().trim_start_matches("- ").starts_with("statement latencies in milliseconds") {
                input.skip("statement latencies", "they are latencies of single statements");
                is_statement = true;
            } else if line.text.starts_with("SQL script ") {
                is_statement = false;
            }
            if !is_statement {
                run.read(line)?;
            }
        }
    }
    if let Some(finished) = current {
        entries.extend(finished.entries()?);
    }
    text::require_entries(
        entries,
        "a line such as `transaction type: <builtin: TPC-B (sort of)>` and what pgbench prints below it",
    )
}

/// A partially parsed run.
struct Run<'a> {
    line: Line<'a>,
    parameters: BTreeMap<String, String>,
    /// The whole run, then its scripts if there are several.
    parts: Vec<Part<'a>>,
}

/// Results of all scripts or of one script.
struct Part<'a> {
    line: Line<'a>,
    name: &'a str,
    latency: Option<f64>,
    deviation: Option<f64>,
    throughput: Option<f64>,
    error_rate: Option<f64>,
}

impl<'a> Part<'a> {
    fn new(line: Line<'a>, script: &'a str) -> Self {
        let script = script.trim();
        let name =
            script.strip_prefix("<builtin: ").and_then(|name| name.strip_suffix('>')).unwrap_or(script);
        Self { line, name, latency: None, deviation: None, throughput: None, error_rate: None }
    }
}

impl<'a> Run<'a> {
    fn read(&mut self, line: Line<'a>) -> Result<(), Failure> {
        let text = line.text.strip_prefix(" - ").unwrap_or(line.text);
        if let Some((_, script)) = text.strip_prefix("SQL script ").and_then(|rest| rest.split_once(": ")) {
            self.parts.push(Part::new(line, script));
            return Ok(());
        }
        if let Some((name, value)) = text.split_once(": ")
            && let Some(parameter) = parameter(name)
        {
            self.parameters.insert(parameter.to_owned(), value.trim().to_owned());
        }
        match self.parts.last_mut() {
            Some(part) => part.read(text).ok_or_else(|| line.invalid("a number with the unit of pgbench")),
            None => Ok(()),
        }
    }

    fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let entry = |part: &Part<'_>| {
            let parameters = variant::of_texts(|| Position::Line(self.line.number), self.parameters.clone())?;
            Ok(Entry { parameters, ..part.line.entry(part.name, part.metrics()?)? })
        };
        self.parts.iter().map(entry).collect()
    }
}

/// Returns the parameter of a setting.
fn parameter(setting: &str) -> Option<&'static str> {
    Some(match setting {
        "scaling factor" => "scale",
        "query mode" => "mode",
        "number of clients" => "clients",
        "number of threads" => "threads",
        _ => return None,
    })
}

impl Part<'_> {
    fn read(&mut self, text: &str) -> Option<()> {
        let duration =
            |value: &str| text::duration(value.split_once(" (").map_or(value, |(value, _)| value).trim());
        if let Some(value) = text.strip_prefix("latency average = ") {
            self.latency = Some(duration(value)?);
        } else if let Some(value) = text.strip_prefix("latency stddev = ") {
            self.deviation = Some(duration(value)?);
        } else if let Some(failed) = text.strip_prefix("number of failed transactions: ") {
            let (_, percentage) = failed.split_once('(')?;
            self.error_rate = Some(text::decimal(percentage.split_once('%')?.0)?);
        } else if let Some(rate) = text.strip_prefix("tps = ") {
            // Before version 14, the rate without connections follows the rate with them.
            self.throughput = Some(text::decimal(rate.split_once(' ').map_or(rate, |(rate, _)| rate))?);
        } else if let Some((_, rate)) = text.split_once(" of total, tps = ") {
            self.throughput = Some(text::decimal(rate.trim_end().strip_suffix(')')?)?);
        }
        Some(())
    }

    fn metrics(&self) -> Result<Vec<ParsedMetric>, Failure> {
        let Some((latency, throughput)) = self.latency.zip(self.throughput) else {
            return Err(self.line.invalid("the lines `latency average` and `tps` below the script"));
        };
        let latency = ParsedMetric::latency(latency);
        let latency = match self.deviation {
            Some(deviation) => latency.with_deviation(deviation),
            None => latency,
        };
        let mut metrics = vec![latency, ParsedMetric::throughput(throughput)];
        metrics.extend(self.error_rate.map(|rate| ParsedMetric::of("error-rate", rate)));
        Ok(metrics)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Pgbench};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn real_runs() {
        let tpcb = include_str!("../fixtures/pgbench/tpcb.txt");
        insta::assert_snapshot!(read(Pgbench, tpcb), @"
        TPC-B (sort of) {clients=2, mode=simple, scale=1, threads=1} latency 53560000
        TPC-B (sort of) {clients=2, mode=simple, scale=1, threads=1} throughput 37.341156
        TPC-B (sort of) {clients=2, mode=simple, scale=1, threads=1} error-rate 0
        ");
        let scripts = include_str!("../fixtures/pgbench/scripts.txt");
        insta::assert_snapshot!(read(Pgbench, scripts), @"
        multiple scripts {clients=1, mode=simple, scale=1, threads=1} latency 7471000
        multiple scripts {clients=1, mode=simple, scale=1, threads=1} throughput 133.859306
        multiple scripts {clients=1, mode=simple, scale=1, threads=1} error-rate 0
        TPC-B (sort of) {clients=1, mode=simple, scale=1, threads=1} latency 19273000 [-15399000, 53945000]
        TPC-B (sort of) {clients=1, mode=simple, scale=1, threads=1} throughput 40.563426
        TPC-B (sort of) {clients=1, mode=simple, scale=1, threads=1} error-rate 0
        select only {clients=1, mode=simple, scale=1, threads=1} latency 2337000 [-4163000, 8837000]
        select only {clients=1, mode=simple, scale=1, threads=1} throughput 93.29588
        select only {clients=1, mode=simple, scale=1, threads=1} error-rate 0
        ");
        let rate = include_str!("../fixtures/pgbench/rate.txt");
        insta::assert_snapshot!(read(Pgbench, rate), @"
        select only {clients=1, mode=simple, scale=1, threads=1} latency 33104000 [9743000, 56465000]
        select only {clients=1, mode=simple, scale=1, threads=1} throughput 108.070056
        select only {clients=1, mode=simple, scale=1, threads=1} error-rate 0
        ");
        let reconnect = include_str!("../fixtures/pgbench/reconnect.txt");
        insta::assert_snapshot!(read(Pgbench, reconnect), @"
        q.sql {clients=1, mode=simple, scale=1, threads=1} latency 32756999.999999996
        q.sql {clients=1, mode=simple, scale=1, threads=1} throughput 30.527547
        q.sql {clients=1, mode=simple, scale=1, threads=1} error-rate 0
        ");
        let old = include_str!("../fixtures/pgbench/version_13.txt");
        insta::assert_snapshot!(read(Pgbench, old), @"
        TPC-B (sort of) {clients=10, mode=prepared, scale=1, threads=2} latency 4709000
        TPC-B (sort of) {clients=10, mode=prepared, scale=1, threads=2} throughput 2164.883063
        ");
        let old_scripts = include_str!("../fixtures/pgbench/version_13_scripts.txt");
        insta::assert_snapshot!(read(Pgbench, old_scripts), @"
        multiple scripts {clients=1, mode=simple, scale=1, threads=1} latency 1933000 [-971000, 4837000]
        multiple scripts {clients=1, mode=simple, scale=1, threads=1} throughput 85.166107
        TPC-B (sort of) {clients=1, mode=simple, scale=1, threads=1} latency 1705000 [-296999.99999999977, 3707000]
        TPC-B (sort of) {clients=1, mode=simple, scale=1, threads=1} throughput 22.08681
        select only {clients=1, mode=simple, scale=1, threads=1} latency 2013999.9999999998 [-1145000.0000000002, 5173000]
        select only {clients=1, mode=simple, scale=1, threads=1} throughput 62.244646
        ");
        let old_statements = include_str!("../fixtures/pgbench/version_13_statements.txt");
        insta::assert_snapshot!(read(Pgbench, old_statements), @"
        select only {clients=2, mode=simple, scale=1, threads=1} latency 152000
        select only {clients=2, mode=simple, scale=1, threads=1} throughput 13269.177256
        ");
        let statements = include_str!("../fixtures/pgbench/statements.txt");
        insta::assert_snapshot!(read(Pgbench, statements), @"
        select only {clients=2, mode=simple, scale=1, threads=1} latency 504000
        select only {clients=2, mode=simple, scale=1, threads=1} throughput 3965.518481
        select only {clients=2, mode=simple, scale=1, threads=1} error-rate 0
        ");
        for text in [tpcb, scripts, rate, reconnect, old, old_scripts, old_statements, statements] {
            assert_eq!(read(Magic, text), read(Pgbench, text));
        }
        let (_, skipped) = parse_with_skipped(Pgbench, statements, None).unwrap();
        assert_eq!(skipped[0].names[0], "statement latencies");
        let both = read(Pgbench, &format!("{tpcb}{reconnect}"));
        assert_eq!(both, read(Pgbench, tpcb) + &read(Pgbench, reconnect));
    }

    #[test]
    fn errors_have_the_line() {
        let tpcb = include_str!("../fixtures/pgbench/tpcb.txt");
        let errors = [
            tpcb.replace("53.560 ms", "fast"),
            tpcb.replace("tps = 37.341156", "tps = nan"),
            tpcb.replace("latency average", "latency"),
            "pgbench: error: could not connect".to_owned(),
        ]
        .map(|text| read(Pgbench, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `pgbench` cannot read the output at line 12: expected a number with the unit of pgbench, found `latency average = fast`.
        The adapter `pgbench` cannot read the output at line 14: expected a number with the unit of pgbench, found `tps = nan (without initial connection time)`.
        The adapter `pgbench` cannot read the output at line 3: expected the lines `latency average` and `tps` below the script, found `transaction type: <builtin: TPC-B (sort of)>`.
        The adapter `pgbench` cannot read the output: expected a line such as `transaction type: <builtin: TPC-B (sort of)>` and what pgbench prints below it.
        ");
    }
}
