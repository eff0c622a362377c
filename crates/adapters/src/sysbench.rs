//! Adapter for the text of sysbench. The output does not name the test, so that its sections determine the name.

use tidemark_api::{Adapter, MeasureDirection::HigherIsBetter};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    text::{self, Line, Unit, is_blank},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Sysbench,
    title: "sysbench",
    metrics: "latency from least to greatest, maximum latency, the printed percentile; throughput (events, operations or transactions per second); for `memory` the bandwidth; for `fileio` throughput and bandwidth of reads and writes; for OLTP queries per second and the error rate; the number of threads is a parameter; latencies that sysbench rounds to 0.00 ms are omitted",
    parameters: "`threads`; `operation` of `fileio`",
    averages: &[],
    formats: &[Format::new(
        Syntax::Text,
        "sysbench cpu run",
        &["Running the test with following options:", "Number of threads: ", "Latency (ms):"],
        parse,
    )],
};

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for line in text::lines(input.text) {
        if line.text.starts_with("Running the test with following options:") {
            runs.push(Run { line, name: "sysbench", ..Run::default() });
        } else if let Some(run) = runs.last_mut() {
            run.read(line)?;
        }
    }
    let entries = runs.iter().map(Run::entries).collect::<Result<Vec<_>, _>>()?;
    text::require_entries(
        entries.into_iter().flatten().collect(),
        "a line `Running the test with following options:` and what sysbench prints below it",
    )
}

/// A partially parsed run; latencies are in milliseconds.
#[derive(Default)]
struct Run<'a> {
    line: Line<'a>,
    name: &'static str,
    section: &'a str,
    threads: &'a str,
    min: Option<f64>,
    average: Option<f64>,
    max: Option<f64>,
    percentile: Option<(&'static str, f64)>,
    throughput: Option<f64>,
    bandwidth: Option<f64>,
    queries: Option<f64>,
    transactions: Option<f64>,
    errors: Option<f64>,
    reads: Option<f64>,
    writes: Option<f64>,
    read_bandwidth: Option<f64>,
    write_bandwidth: Option<f64>,
}

impl<'a> Run<'a> {
    fn read(&mut self, line: Line<'a>) -> Result<(), Failure> {
        if !line.text.starts_with(is_blank) && !line.text.is_empty() {
            self.section = line.text.trim_end();
            match self.section {
                "CPU speed:" => self.name = "cpu",
                "Running memory speed test with the following options:" => self.name = "memory",
                "SQL statistics:" => self.name = "oltp",
                "File operations:" => self.name = "fileio",
                _ => {}
            }
        }
        self.value(line.text.trim()).ok_or_else(|| line.invalid("a number of sysbench"))
    }

    /// Reads the value of a line; `None` if it is not the expected number.
    fn value(&mut self, text: &'a str) -> Option<()> {
        if let Some((_, rate)) = text.split_once(" MiB transferred (") {
            self.bandwidth = Some(mebibytes(text::decimal(rate.strip_suffix(" MiB/sec)")?)?));
            return Some(());
        }
        let Some((name, value)) = text.split_once(':') else { return Some(()) };
        let value = value.trim();
        let number = || text::decimal(value);
        let rate = |suffix| text::decimal(value.split_once('(')?.1.strip_suffix(suffix)?);
        match (self.section, name) {
            (_, "Number of threads") => self.threads = value,
            ("CPU speed:", "events per second") | (_, "events/s (eps)") if self.throughput.is_none() => {
                self.throughput = Some(number()?);
            }
            (_, "Total operations") => self.throughput = Some(rate(" per second)")?),
            ("SQL statistics:", "transactions") => {
                self.throughput = Some(rate(" per sec.)")?);
                self.transactions = Some(count(value)?);
            }
            ("SQL statistics:", "queries") => self.queries = Some(rate(" per sec.)")?),
            ("SQL statistics:", "ignored errors") => self.errors = Some(count(value)?),
            ("File operations:", "reads/s") => self.reads = Some(number()?),
            ("File operations:", "writes/s") => self.writes = Some(number()?),
            ("Throughput:", "read, MiB/s") => self.read_bandwidth = Some(mebibytes(number()?)),
            ("Throughput:", "written, MiB/s") => self.write_bandwidth = Some(mebibytes(number()?)),
            ("Latency (ms):", "min") => self.min = Some(number()?),
            ("Latency (ms):", "avg") => self.average = Some(number()?),
            ("Latency (ms):", "max") => self.max = Some(number()?),
            ("Latency (ms):", name) => {
                if let Some(slug) = percentile(name) {
                    self.percentile = Some((slug, number()?));
                }
            }
            _ => {}
        }
        Some(())
    }

    fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let Some(((min, average), max)) = self.min.zip(self.average).zip(self.max) else {
            return Err(self.line.invalid("the latencies of the run below this line"));
        };
        let nanoseconds = |value| Unit::Milliseconds.nanoseconds(value);
        let time = |slug, value: f64| (value > 0.0).then(|| ParsedMetric::of(slug, nanoseconds(value)));
        let latency =
            time("latency", average).map(|latency| latency.with_range(nanoseconds(min), nanoseconds(max)));
        let error_rate = self.transactions.zip(self.errors).map(|(transactions, errors)| {
            let all = transactions + errors;
            if all > 0.0 { errors / all * 100.0 } else { 0.0 }
        });
        let metrics = [
            latency,
            time("latency-max", max),
            self.percentile.and_then(|(slug, value)| time(slug, value)),
            self.throughput.map(ParsedMetric::throughput),
            self.bandwidth.map(|bandwidth| ParsedMetric::of("bandwidth", bandwidth)),
            self.queries.and_then(|rate| {
                let queries = ParsedMetric::named("Queries", Some("queries / second"), rate)?;
                Some(queries.with_direction(HigherIsBetter))
            }),
            error_rate.map(|rate| ParsedMetric::of("error-rate", rate)),
        ];
        let mut entries = vec![self.entry(None, metrics.into_iter().flatten().collect())?];
        for (operation, rate, bandwidth) in
            [("read", self.reads, self.read_bandwidth), ("write", self.writes, self.write_bandwidth)]
        {
            let metrics = [
                rate.map(ParsedMetric::throughput),
                bandwidth.map(|bandwidth| ParsedMetric::of("bandwidth", bandwidth)),
            ];
            let metrics: Vec<_> = metrics.into_iter().flatten().filter(|metric| metric.value > 0.0).collect();
            if !metrics.is_empty() {
                entries.push(self.entry(Some(operation), metrics)?);
            }
        }
        Ok(entries)
    }

    fn entry(&self, operation: Option<&str>, metrics: Vec<ParsedMetric>) -> Result<Entry, Failure> {
        let parameters =
            [Some(("threads", self.threads)), operation.map(|operation| ("operation", operation))];
        let parameters =
            parameters.into_iter().flatten().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let parameters = variant::of_texts(|| Position::Line(self.line.number), parameters.collect())?;
        Ok(Entry { parameters, ..self.line.entry(self.name, metrics)? })
    }
}

fn mebibytes(count: f64) -> f64 {
    count * 1024.0 * 1024.0
}

/// Returns the count before a rate: `193    (188.95 per sec.)`.
fn count(text: &str) -> Option<f64> {
    text::decimal(text.split(is_blank).next()?)
}

fn percentile(name: &str) -> Option<&'static str> {
    Some(match name {
        "50th percentile" => "latency-p50",
        "75th percentile" => "latency-p75",
        "90th percentile" => "latency-p90",
        "95th percentile" => "latency-p95",
        "99th percentile" => "latency-p99",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Sysbench};

    use crate::tests::read;

    #[test]
    fn real_runs() {
        let cpu = include_str!("../fixtures/sysbench/cpu.txt");
        insta::assert_snapshot!(read(Sysbench, cpu), @"
        cpu {threads=1} latency 2009999.9999999998 [320000, 216220000]
        cpu {threads=1} latency-max 216220000
        cpu {threads=1} latency-p95 6910000
        cpu {threads=1} throughput 495.23
        ");
        let memory = include_str!("../fixtures/sysbench/memory.txt");
        insta::assert_snapshot!(read(Sysbench, memory), @"
        memory {threads=2} latency-max 40990000
        memory {threads=2} throughput 1784869.74
        memory {threads=2} bandwidth 1827709911.04
        ");
        let oltp = include_str!("../fixtures/sysbench/oltp.txt");
        insta::assert_snapshot!(read(Sysbench, oltp), @"
        oltp {threads=2} latency 10480000 [700000, 28050000]
        oltp {threads=2} latency-max 28050000
        oltp {threads=2} latency-p95 23950000
        oltp {threads=2} throughput 188.95
        oltp {threads=2} Queries 3902.37
        oltp {threads=2} error-rate 3.5000000000000004
        ");
        let fileio = include_str!("../fixtures/sysbench/fileio.txt");
        insta::assert_snapshot!(read(Sysbench, fileio), @"
        fileio {threads=1} latency 120000 [0, 15710000]
        fileio {threads=1} latency-max 15710000
        fileio {threads=1} latency-p95 10000
        fileio {operation=read, threads=1} throughput 4689.33
        fileio {operation=read, threads=1} bandwidth 76829163.52
        fileio {operation=write, threads=1} throughput 3126.22
        fileio {operation=write, threads=1} bandwidth 51222937.6
        ");
        for text in [cpu, memory, oltp, fileio] {
            assert_eq!(read(Magic, text), read(Sysbench, text));
        }
        let all = read(Sysbench, &format!("{cpu}{memory}"));
        assert_eq!(all, read(Sysbench, cpu) + &read(Sysbench, memory));
    }

    #[test]
    fn errors_have_the_line() {
        let cpu = include_str!("../fixtures/sysbench/cpu.txt");
        let errors = [
            cpu.replace("495.23", "fast"),
            cpu.replace("avg:", "mean:"),
            cpu.replace("216.22", "nan"),
            "FATAL: unable to connect".to_owned(),
        ]
        .map(|text| read(Sysbench, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `sysbench` cannot read the output at line 15: expected a number of sysbench, found `events per second:   fast`.
        The adapter `sysbench` cannot read the output at line 3: expected the latencies of the run below this line, found `Running the test with following options:`.
        The adapter `sysbench` cannot read the output at line 24: expected a number of sysbench, found `max:                                  nan`.
        The adapter `sysbench` cannot read the output: expected a line `Running the test with following options:` and what sysbench prints below it.
        ");
    }
}
