//! Adapter for redis-benchmark: the CSV of `--csv`, the printed text, and the text of `-q`.

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    records::Records,
    text::{self, Line, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RedisBenchmark,
    title: "redis-benchmark",
    metrics: "throughput, latency, latency percentiles 50, 95 and 99, maximum latency; with `-q` only throughput and percentile 50; with `-q` or `--csv` before version 6.2 only throughput",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[
        Format::new(Syntax::Csv, "redis-benchmark --csv", &[r#""test","rps","avg_latency_ms""#], parse_csv),
        Format::new(
            Syntax::Text,
            "redis-benchmark",
            &["====== ", " requests completed in ", " requests per second"],
            parse_text,
        ),
        Format::new(Syntax::Text, "redis-benchmark -q", &[" requests per second, p50="], parse_quiet),
        Format::new(Syntax::Csv, "redis-benchmark --csv, before version 6.2", &["\",\""], parse_old_csv),
        Format::new(
            Syntax::Text,
            "redis-benchmark -q, before version 6.2",
            &[" requests per second"],
            parse_old_quiet,
        ),
    ],
};

/// Columns of latencies in milliseconds, in CSV and in text, with their measures.
const LATENCIES: [(&str, &str, &str); 5] = [
    ("avg_latency_ms", "avg", "latency"),
    ("p50_latency_ms", "p50", "latency-p50"),
    ("p95_latency_ms", "p95", "latency-p95"),
    ("p99_latency_ms", "p99", "latency-p99"),
    ("max_latency_ms", "max", "latency-max"),
];

fn milliseconds(slug: &'static str, value: f64) -> ParsedMetric {
    ParsedMetric::of(slug, Unit::Milliseconds.nanoseconds(value))
}

fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let records = Records::read(input.text, ',', &["test", "rps", "avg_latency_ms"])?;
    let entries = records.iter().map(|record| {
        let mut metrics = vec![ParsedMetric::throughput(record.require_number("rps")?)];
        for (column, _, slug) in LATENCIES {
            metrics.push(milliseconds(slug, record.require_number(column)?));
        }
        record.entry(record.require_text("test")?, metrics)
    });
    text::require_entries(entries.collect::<Result<_, _>>()?, "at least one test below the header")
}

/// Parses the printed text: a title per test, its settings, and a summary.
fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut tests: Vec<(Line<'_>, &str, Vec<ParsedMetric>)> = Vec::new();
    let mut header: Option<Vec<&str>> = None;
    for line in text::lines(input.text) {
        let words: Vec<_> = line.text.split(is_blank).filter(|word| !word.is_empty()).take(10).collect();
        let title = line.text.trim().strip_prefix("====== ").and_then(|title| title.strip_suffix(" ======"));
        if let Some(title) = title {
            tests.push((line, title, Vec::new()));
            continue;
        }
        let Some((_, _, metrics)) = tests.last_mut() else { continue };
        let expected = || line.invalid("numbers of redis-benchmark");
        if let Some(columns) = header.take() {
            for (_, column, slug) in LATENCIES {
                let index = columns.iter().position(|known| *known == column).ok_or_else(expected)?;
                let value = words.get(index).and_then(|word| text::decimal(word)).ok_or_else(expected)?;
                metrics.push(milliseconds(slug, value));
            }
            continue;
        }
        match words.as_slice() {
            // Versions before 6.2 print no summary.
            ["throughput", "summary:", rate, "requests", "per", "second"]
            | [rate, "requests", "per", "second"] => {
                metrics.push(ParsedMetric::throughput(text::decimal(rate).ok_or_else(expected)?));
            }
            ["avg", "min", ..] => header = Some(words),
            _ => {}
        }
    }
    let entries = tests.into_iter().map(|(line, title, metrics)| {
        if metrics.is_empty() {
            return Err(line.invalid("a line with the requests per second below the title"));
        }
        line.entry(title, metrics)
    });
    text::require_entries(
        entries.collect::<Result<_, _>>()?,
        "a title such as `====== SET ======` and a summary below it",
    )
}

/// Parses lines such as `SET: 44444.44 requests per second, p50=0.047 msec`.
fn parse_quiet(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    for line in text::lines(input.text) {
        let Some((test, median)) = line.text.split_once(" requests per second, p50=") else { continue };
        let metrics = test.rsplit_once(": ").and_then(|(name, rate)| {
            let median = text::decimal(median.trim_end().strip_suffix(" msec")?)?;
            Some((
                name,
                vec![ParsedMetric::throughput(text::decimal(rate)?), milliseconds("latency-p50", median)],
            ))
        });
        let (name, metrics) = metrics.ok_or_else(|| line.invalid("a rate and a median in milliseconds"))?;
        entries.push(line.entry(name.trim(), metrics)?);
    }
    text::require_entries(entries, "a line such as `SET: 44444.44 requests per second, p50=0.047 msec`")
}

/// Beginnings of the names of tests, of which an output before version 6.2, which has no other marks, must contain one.
const TESTS: [&str; 9] = ["PING_", "SET", "GET", "INCR", "LPUSH", "RPUSH", "LPOP", "RPOP", "MSET"];

/// Parses the CSV of versions before 6.2, which has no header: `"SET","98039.22"`.
fn parse_old_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    of_rates(input, |line| {
        let (name, rate) = line.strip_prefix('"')?.strip_suffix('"')?.split_once("\",\"")?;
        Some((name, rate))
    })
}

/// Parses the text of `-q` of versions before 6.2: `SET: 98039.22 requests per second`.
fn parse_old_quiet(input: &Input<'_>) -> Result<Entries, Failure> {
    of_rates(input, |line| line.strip_suffix(" requests per second")?.rsplit_once(": "))
}

/// Parses an output all of whose lines are the name of a test and its rate.
fn of_rates<'a>(
    input: &Input<'a>,
    split: impl Fn(&'a str) -> Option<(&'a str, &'a str)>,
) -> Result<Entries, Failure> {
    let expected = || Failure::unrecognized("a test with its requests per second in each line");
    let mut entries = Entries::default();
    let mut is_known = false;
    for line in text::lines(input.text).filter(|line| !line.text.trim().is_empty()) {
        let (name, rate) = split(line.text.trim()).ok_or_else(expected)?;
        let rate = text::decimal(rate).ok_or_else(expected)?;
        is_known |= TESTS.iter().any(|test| name.starts_with(test));
        entries.push(line.entry(name, vec![ParsedMetric::throughput(rate)])?);
    }
    if is_known { Ok(entries) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, RedisBenchmark};

    use crate::tests::read;

    #[test]
    fn versions_before_6_2_print_only_rates() {
        let csv = include_str!("../fixtures/redis_benchmark/old.csv");
        insta::assert_snapshot!(read(Magic, csv), @"
        PING_INLINE throughput 102880.66
        SET throughput 98039.22
        GET throughput 101010.1
        LRANGE_100 (first 100 elements) throughput 33222.59
        ");
        let quiet = include_str!("../fixtures/redis_benchmark/old_quiet.txt");
        assert_eq!(read(Magic, quiet), read(RedisBenchmark, csv));
        for other in ["\"Berlin\",\"12\"\n", "\"SET\",\"x\"\n", "Nginx: 5 requests per second\n"] {
            assert!(read(Magic, other).starts_with("No adapter recognized"), "{other}");
        }
    }

    #[test]
    fn real_runs() {
        let csv = include_str!("../fixtures/redis_benchmark/plain.csv");
        insta::assert_snapshot!(read(RedisBenchmark, csv), @"
        SET throughput 32258.06
        SET latency 247000
        SET latency-p50 47000
        SET latency-p95 1046999.9999999999
        SET latency-p99 5463000
        SET latency-max 12975000
        GET throughput 46511.62
        GET latency 195000
        GET latency-p50 47000
        GET latency-p95 687000
        GET latency-p99 3455000
        GET latency-max 6959000
        LPUSH throughput 42553.19
        LPUSH latency 171000
        LPUSH latency-p50 55000
        LPUSH latency-p95 127000
        LPUSH latency-p99 4847000
        LPUSH latency-max 7263000
        ");
        let plain = include_str!("../fixtures/redis_benchmark/plain.txt");
        insta::assert_snapshot!(read(RedisBenchmark, plain), @"
        SET throughput 499999.97
        SET latency 58000
        SET latency-p50 55000
        SET latency-p95 79000
        SET latency-p99 455000
        SET latency-max 487000
        ");
        let quiet = include_str!("../fixtures/redis_benchmark/quiet.txt");
        insta::assert_snapshot!(read(RedisBenchmark, quiet), @"
        SET throughput 44444.44
        SET latency-p50 47000
        GET throughput 76923.08
        GET latency-p50 47000
        ");
        for text in [csv, plain, quiet] {
            assert_eq!(read(Magic, text), read(RedisBenchmark, text));
        }
        let old = "====== SET ======\n  10000 requests completed in 0.12 seconds\n  50 parallel clients\n\n\
            99.50% <= 1 milliseconds\n100.00% <= 2 milliseconds\n83333.33 requests per second\n";
        insta::assert_snapshot!(read(Magic, old), @"SET throughput 83333.33");
    }

    #[test]
    fn errors_have_the_line() {
        let errors = [
            "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET\",\"nan\",\"1\"\n",
            "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET\",\"1\",\"1\"\n",
            "====== SET ======\n",
            "====== SET ======\n  throughput summary: many requests per second\n",
            "====== SET ======\n avg min p50 p95 p99 max\n 1 2 3\n",
            "SET: x requests per second, p50=0.047 msec\n",
            "",
        ]
        .map(|text| read(RedisBenchmark, text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `redis_benchmark` cannot read the output at line 2: expected a number in the column `rps`, found `nan`.
        The adapter `redis_benchmark` cannot read the output at line 2: expected a number in the column `p50_latency_ms`.
        The adapter `redis_benchmark` cannot read the output at line 1: expected a line with the requests per second below the title, found `====== SET ======`.
        The adapter `redis_benchmark` cannot read the output at line 2: expected numbers of redis-benchmark, found `throughput summary: many requests per second`.
        The adapter `redis_benchmark` cannot read the output at line 3: expected numbers of redis-benchmark, found `1 2 3`.
        The adapter `redis_benchmark` cannot read the output at line 1: expected a rate and a median in milliseconds, found `SET: x requests per second, p50=0.047 msec`.
        The adapter `redis_benchmark` cannot read the output: expected a test with its requests per second in each line.
        ");
    }
}
