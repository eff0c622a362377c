//! Adapter for benchmark-ips: the printed rates, and the JSON of `json!`.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Scan, is_blank},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::BenchmarkIps,
    title: "benchmark-ips",
    metrics: "throughput ± standard deviation",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Json,
            "ruby bench.rb, with `x.json! \"bench.json\"`",
            &[r#""ips""#, r#""microseconds""#, r#""iterations""#, r#""cycles""#],
            parse,
        ),
        Format::new(Syntax::Text, "ruby bench.rb", &["Calculating -----", "i/s", "(±"], parse_text),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeRow {
    name: IgnoredAny,
    ips: IgnoredAny,
    microseconds: IgnoredAny,
    iterations: IgnoredAny,
    cycles: IgnoredAny,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    ips: f64,
    stddev: f64,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    // A row alone does not identify the tool, because `Row` has few members.
    document::read::<Vec<ShapeRow>, Vec<ShapeRow>>(input.text)?;
    let rows: Vec<Row> = document::read::<Vec<ShapeRow>, _>(input.text)?;
    let position = |index: usize| Position::Path(format!("[{index}]"));
    let entries = rows.iter().enumerate().map(|(index, row)| {
        let rate = ParsedMetric::throughput(row.ips).with_deviation(row.stddev);
        Entry::new(|| position(index), &row.name, vec![rate])
    });
    let mut entries = entries.collect::<Result<Entries, Failure>>()?;
    variant::distinguish(position, &mut entries, &[])?;
    text::require_entries(entries, "an array of benchmarks with `ips`")
}

/// Parses the rows below `Calculating`. A long name is on a line of its own.
fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let (mut entries, mut numbers) = (Entries::default(), Vec::new());
    let (mut in_table, mut previous) = (false, "");
    for line in text::lines(input.text) {
        if line.text.starts_with("Calculating -----") {
            in_table = true;
        } else if line.text.starts_with("Warming up -----") || line.text.starts_with("Comparison:") {
            in_table = false;
        } else if let Some((start, rest)) = line.text.rsplit_once("(±").filter(|_| in_table) {
            let (name, metric) = row(start, rest)
                .ok_or_else(|| line.invalid("a row such as `name  12.5k (± 1.5%) i/s - 63.0k in 5.0s`"))?;
            let name = if name.is_empty() { previous.trim() } else { name };
            entries.push(line.entry(name, vec![metric])?);
            numbers.push(line.number);
        }
        previous = line.text;
    }
    variant::distinguish(|index| Position::Line(numbers[index]), &mut entries, &[])?;
    text::require_entries(entries, "a row below `Calculating` such as `name  12.5k (± 1.5%) i/s`")
}

/// Returns the name, which may be empty, and the rate.
fn row<'a>(start: &'a str, rest: &str) -> Option<(&'a str, ParsedMetric)> {
    let start = start.trim_end_matches(is_blank);
    let (name, value) = start.rsplit_once(is_blank).unwrap_or(("", start));
    let mut scan = Scan::new(value);
    let number = scan.number()?;
    let factor = match scan.rest() {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        "T" => 1e12,
        "Q" => 1e15,
        _ => return None,
    };
    let mut scan = Scan::new(rest);
    scan.any_blanks();
    let percent = scan.number()?;
    scan.literal("%)")?;
    scan.blanks()?;
    scan.literal("i/s")?;
    let value = number * factor;
    Some((
        name.trim_matches(is_blank),
        ParsedMetric::throughput(value).with_deviation(value * percent / 100.0),
    ))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{BenchmarkIps, Magic};

    use crate::tests::read;

    #[test]
    fn a_real_report() {
        let text = include_str!("../fixtures/benchmark_ips/report.json");
        insta::assert_snapshot!(read(BenchmarkIps, text), @"
        addition throughput 14080767.359597467 [11507876.359597467, 16653658.359597467]
        array of 1000 throughput 9985.861408625859 [8571.861408625859, 11399.861408625859]
        a name that is longer than the column of labels throughput 4465059.174587314 [3610208.174587314, 5319910.174587314]
        slow throughput 3.3184449146057404 [3.3184449146057404, 3.3184449146057404]
        ");
        assert_eq!(read(Magic, text), read(BenchmarkIps, text));
    }

    #[test]
    fn a_real_run() {
        let text = include_str!("../fixtures/benchmark_ips/compare.txt");
        insta::assert_snapshot!(read(BenchmarkIps, text), @"
        addition throughput 14081000 [11504177, 16657823]
        array of 1000 throughput 9986 [8567.988000000001, 11404.011999999999]
        a name that is longer than the column of labels throughput 4465000 [3612185, 5317815]
        slow throughput 3.318 [3.318, 3.318]
        ");
        assert_eq!(read(Magic, text), read(BenchmarkIps, text));
        let newer = "ruby 3.4.1 (2024-12-25 revision 48d4efcb85) +PRISM [x86_64-linux]\nCalculating -------------------------------------\n  \
            addition     36.504M (± 3.3%) i/s   (27.39 ns/i) -    183.930M in   5.045173s\n";
        insta::assert_snapshot!(read(Magic, newer), @"addition throughput 36504000 [35299368, 37708632]");
    }

    #[test]
    fn errors_have_a_position() {
        let row = r#"{"name":"a","central_tendency":1,"ips":1,"error":1,"stddev":"x","microseconds":1,"iterations":1,"cycles":1}"#;
        insta::assert_snapshot!(read(Magic, &format!("[{row}]")), @r#"The adapter `benchmark_ips` cannot read the output at `[0].stddev`: expected a number, found `string "x"`."#);
        let good = row.replace("\"x\"", "1");
        insta::assert_snapshot!(read(Magic, &format!("[{good},{good}]")), @"The adapter `benchmark_ips` cannot read the output at `[1]`: expected a benchmark with a unique combination of name and parameters, found `a`.");
        insta::assert_snapshot!(read(Magic, "Calculating -----\n  a  1.5X (± 1.0%) i/s - 1 in 1s"), @"The adapter `benchmark_ips` cannot read the output at line 2: expected a row such as `name  12.5k (± 1.5%) i/s - 63.0k in 5.0s`, found `a  1.5X (± 1.0%) i/s - 1 in 1s`.");
        insta::assert_snapshot!(read(BenchmarkIps, "Calculating -----"), @"The adapter `benchmark_ips` cannot read the output: expected a row below `Calculating` such as `name  12.5k (± 1.5%) i/s`.");
    }
}
