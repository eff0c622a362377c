//! Adapter for Criterion for Haskell: CSV, JSON and the printed output. It reads the mean, which all formats contain.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    records::Records,
    text::{self, Scan, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::HaskellCriterion,
    title: "Criterion for Haskell",
    metrics: "latency: the mean within its confidence interval",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Json,
            "./bench --json bench.json",
            &[r#""reportName""#, r#""reportAnalysis""#],
            parse,
        ),
        Format::new(
            Syntax::Csv,
            "./bench --csv bench.csv",
            &["Name", "MeanLB", "MeanUB", "StddevLB"],
            parse_csv,
        ),
        Format::new(Syntax::Text, "./bench", &["benchmarking ", "R²", "std dev"], parse_text),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape(IgnoredAny, IgnoredAny, Vec<ShapeReport>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeReport {
    report_name: IgnoredAny,
    report_analysis: IgnoredAny,
}

/// Name of the tool, its version, and the benchmarks.
#[derive(Deserialize)]
struct Document(IgnoredAny, IgnoredAny, Vec<Report>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    report_name: String,
    report_analysis: Analysis,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Analysis {
    an_mean: Estimate,
}

/// An estimate in seconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Estimate {
    est_point: f64,
    est_error: Interval,
}

/// Distances from the estimate to the ends of the confidence interval.
#[derive(Deserialize)]
struct Interval {
    #[serde(rename = "confIntLDX")]
    below: f64,
    #[serde(rename = "confIntUDX")]
    above: f64,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document(_, _, reports) = document::read::<Shape, _>(input.text)?;
    let position = |index: usize| Position::Path(format!("[2][{index}]"));
    let entries = reports.iter().enumerate().map(|(index, report)| {
        let Estimate { est_point: mean, est_error } = &report.report_analysis.an_mean;
        let latency = latency(*mean, mean - est_error.below, mean + est_error.above);
        Entry::new(|| position(index), &report.report_name, vec![latency])
    });
    let mut entries = entries.collect::<Result<Entries, Failure>>()?;
    variant::distinguish(position, &mut entries, &[])?;
    document::require_entries(entries, "[2]")
}

fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let records = Records::read(input.text, ',', &["Name", "Mean", "MeanLB", "MeanUB", "StddevLB"])?;
    let (mut entries, mut lines) = (Entries::default(), Vec::new());
    for row in records.iter() {
        let seconds = |column| row.require_number(column);
        let latency = latency(seconds("Mean")?, seconds("MeanLB")?, seconds("MeanUB")?);
        entries.push(row.entry(row.require_text("Name")?, vec![latency])?);
        lines.push(row.line());
    }
    variant::distinguish(|index| Position::Line(lines[index]), &mut entries, &[])?;
    text::require_entries(entries, "at least one benchmark below the header")
}

/// Returns a latency of a mean and its confidence interval in seconds.
fn latency(mean: f64, lower: f64, upper: f64) -> ParsedMetric {
    let nanoseconds = |seconds| Unit::Seconds.nanoseconds(seconds);
    ParsedMetric::latency(nanoseconds(mean)).with_range(nanoseconds(lower), nanoseconds(upper))
}

fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let (mut entries, mut numbers) = (Entries::default(), Vec::new());
    let mut unfinished = None;
    for line in text::lines(input.text) {
        if let Some(name) = line.text.strip_prefix("benchmarking ") {
            // While the benchmark runs, its name is followed by dots on some terminals.
            if let Some(name) = unfinished.replace(name.strip_suffix(" ...").unwrap_or(name)) {
                input.skip(name, "the output contains no mean of them");
            }
        } else if let Some(rest) = line.text.strip_prefix("mean ") {
            let Some(name) = unfinished.take() else { continue };
            let latency = mean(rest).ok_or_else(|| line.invalid("`mean 1.5 ns (1.4 ns .. 1.6 ns)`"))?;
            entries.push(line.entry(name, vec![latency])?);
            numbers.push(line.number);
        }
    }
    if let Some(name) = unfinished {
        input.skip(name, "the output contains no mean of them");
    }
    variant::distinguish(|index| Position::Line(numbers[index]), &mut entries, &[])?;
    text::require_entries(entries, "a line `benchmarking name` and a line `mean` below it")
}

fn mean(text: &str) -> Option<ParsedMetric> {
    let mut scan = Scan::new(text);
    scan.any_blanks();
    let mean = scan.duration()?;
    scan.blanks()?;
    scan.literal("(")?;
    let lower = scan.duration()?;
    scan.literal(" .. ")?;
    let upper = scan.duration()?;
    scan.literal(")")?;
    scan.end()?;
    Some(ParsedMetric::latency(mean).with_range(lower, upper))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{HaskellCriterion, Magic};

    use crate::tests::read;

    #[test]
    fn a_real_run_in_each_format() {
        let texts = [
            include_str!("../fixtures/haskell_criterion/report.csv"),
            include_str!("../fixtures/haskell_criterion/report.json"),
            include_str!("../fixtures/haskell_criterion/run.txt"),
        ];
        insta::assert_snapshot!(texts.map(|text| read(HaskellCriterion, text)).join("\n"), @"
        fib/5 latency 143.7579509256721 [127.73897717960203, 165.60554013304994]
        fib/10, large latency 1460.9683853247614 [1385.8217718804206, 1637.1020124540669]
        sum latency 1713.1095986310334 [1589.1943070907846, 1915.3631528714666]

        fib/5 latency 143.7579509256721 [127.73897717960203, 165.60554013304994]
        fib/10, large latency 1460.9683853247614 [1385.8217718804206, 1637.1020124540669]
        sum latency 1713.1095986310334 [1589.1943070907846, 1915.3631528714666]

        fib/5 latency 143.8 [127.7, 165.6]
        fib/10, large latency 1461 [1386, 1637]
        sum latency 1713 [1589, 1915]
        ");
        for text in texts {
            assert_eq!(read(Magic, text), read(HaskellCriterion, text));
        }
    }

    #[test]
    fn errors_have_a_position() {
        let header = "Name,Mean,MeanLB,MeanUB,Stddev,StddevLB,StddevUB\n";
        insta::assert_snapshot!(read(Magic, &format!("{header}a,1,1,x,1,1,1\n")), @"The adapter `haskell_criterion` cannot read the output at line 2: expected a number in the column `MeanUB`, found `x`.");
        insta::assert_snapshot!(read(Magic, &format!("{header}a,1,1,1,1,1,1\n{header}a,2,2,2,2,2,2\n")), @"The adapter `haskell_criterion` cannot read the output at line 3: expected a number in the column `Mean`, found `Mean`.");
        insta::assert_snapshot!(read(HaskellCriterion, header), @"The adapter `haskell_criterion` cannot read the output: expected a line `benchmarking name` and a line `mean` below it.");
        insta::assert_snapshot!(read(Magic, r#"["criterion","1",[{"reportName":"a","reportAnalysis":{"anMean":{}}}]]"#), @"The adapter `haskell_criterion` cannot read the output at `[2][0].reportAnalysis.anMean`: expected the member `estPoint`.");
        insta::assert_snapshot!(read(Magic, "benchmarking a\n 1 R²\nmean   1.5 ns\nstd dev"), @"The adapter `haskell_criterion` cannot read the output at line 3: expected `mean 1.5 ns (1.4 ns .. 1.6 ns)`, found `mean   1.5 ns`.");
    }
}
