//! Adapter for Hyperfine: parses the JSON, CSV and Markdown that it exports, and the text that it prints.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    records::Records,
    table,
    text::{self, Line, Unit},
    variant::{self, ReportedParameters},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::ShellHyperfine,
    title: "Hyperfine",
    metrics: "latency ± standard deviation (median from least to greatest; only from JSON and CSV); except from Markdown, user time and system time",
    parameters: "`parameters`; the name is `command`, including the values; not in Markdown and text",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "hyperfine --export-json bench.json COMMAND",
            &[r#""results""#, r#""command""#],
            parse,
        ),
        Format::new(
            Syntax::Csv,
            "hyperfine --export-csv bench.csv COMMAND",
            &["command,mean,stddev,median,user,system,min,max"],
            parse_csv,
        ),
        Format::new(
            Syntax::Text,
            "hyperfine --export-markdown bench.md COMMAND",
            &["| Command | Mean ["],
            parse_markdown,
        ),
        Format::new(Syntax::Text, "hyperfine COMMAND", &["Benchmark ", "  Time (", "[User: "], parse_text),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    results: Vec<ShapeRow>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeRow {
    command: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    results: Vec<Row>,
}

/// A command; times are in seconds.
#[derive(Deserialize)]
struct Row {
    command: String,
    mean: f64,
    /// `None` after a single run.
    stddev: Option<f64>,
    median: f64,
    min: f64,
    max: f64,
    user: Option<f64>,
    system: Option<f64>,
    #[serde(default)]
    parameters: ReportedParameters,
}

/// Parses a document. The name of a command includes the values of its parameters, because Hyperfine reports no other name.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { results } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let entries = results.iter().enumerate().map(|(index, row)| {
        let position = || Position::Path(format!("results[{index}]"));
        let parameters = row.parameters.parameters.clone();
        if row.parameters.are_skipped {
            input.skip_parameters(&row.command);
        }
        Ok(Entry { parameters, ..Entry::new(position, &row.command, row.metrics(average))? })
    });
    document::require_entries(entries.collect::<Result<_, Failure>>()?, "results")
}

impl Row {
    fn metrics(&self, average: Average) -> Vec<ParsedMetric> {
        let seconds = |slug, time: Option<f64>| {
            time.map(|time| ParsedMetric::of(slug, Unit::Seconds.nanoseconds(time)))
        };
        let times = [seconds("user-time", self.user), seconds("system-time", self.system)];
        [self.latency(average)].into_iter().chain(times.into_iter().flatten()).collect()
    }

    /// Computes the range in seconds, for compatibility with existing series.
    fn latency(&self, average: Average) -> ParsedMetric {
        let nanoseconds = |seconds| Unit::Seconds.nanoseconds(seconds);
        let latency = |value| ParsedMetric::latency(nanoseconds(value));
        match (average, self.stddev) {
            (Average::Mean, None) => latency(self.mean),
            (Average::Mean, Some(spread)) => latency(self.mean)
                .with_range(nanoseconds(self.mean - spread), nanoseconds(self.mean + spread)),
            (Average::Median, _) => {
                latency(self.median).with_range(nanoseconds(self.min), nanoseconds(self.max))
            }
        }
    }
}

/// Parses an exported CSV file. After one run there is no deviation.
fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    const COLUMNS: [&str; 8] = ["command", "mean", "stddev", "median", "user", "system", "min", "max"];
    let records = Records::read(input.text, ',', &COLUMNS)?;
    let average = input.average.unwrap_or(Average::Mean);
    let entries = records.iter().map(|record| {
        let (min, max) = (record.require_number("min")?, record.require_number("max")?);
        let row = Row {
            command: record.require_text("command")?.to_owned(),
            mean: record.require_number("mean")?,
            stddev: record.number("stddev").filter(|stddev| *stddev > 0.0 || min < max),
            median: record.require_number("median")?,
            min,
            max,
            user: Some(record.require_number("user")?),
            system: Some(record.require_number("system")?),
            parameters: ReportedParameters::default(),
        };
        let parameters: BTreeMap<_, _> = record
            .cells()
            .filter_map(|(column, value)| Some((column.strip_prefix("parameter_")?, value)))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let parameters = variant::of_texts(|| record.position(), parameters)?;
        Ok(Entry { parameters, ..record.entry(&row.command, row.metrics(average))? })
    });
    text::require_entries(entries.collect::<Result<_, Failure>>()?, "at least one command below the header")
}

/// Parses an exported Markdown table, whose header names the unit of all times.
fn parse_markdown(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut unit = None;
    for line in text::lines(input.text) {
        let row = line.text.trim();
        let Some(inner) = row.strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            unit = None;
            continue;
        };
        if let Some(header) = inner.strip_prefix(" Command | Mean [") {
            unit = header.split_once(']').and_then(|(symbol, _)| Unit::from_symbol(symbol));
            if unit.is_none() {
                return Err(line.invalid("a unit of time in the header"));
            }
        } else if let Some(unit) = unit.filter(|_| !table::is_rule(row)) {
            entries.push(markdown_entry(line, inner, unit, input.average)?);
        }
    }
    text::require_entries(
        entries,
        "a table with the header `| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |`",
    )
}

/// Parses the cells of a command. The command can contain an escaped border, so the cells are split from the right.
fn markdown_entry(line: Line<'_>, row: &str, unit: Unit, average: Option<Average>) -> Result<Entry, Failure> {
    require_mean(line, average)?;
    let expected = || line.invalid("a command with its mean, minimum and maximum");
    let cells: Vec<_> = row.rsplitn(5, " | ").map(str::trim).collect();
    let [_, max, min, mean, command] = cells.as_slice() else {
        return Err(expected());
    };
    let (mean, deviation) =
        mean.split_once(" ± ").map_or((*mean, None), |(mean, spread)| (mean, Some(spread)));
    let number = |text: &str| text::decimal(text).map(|value| unit.nanoseconds(value)).ok_or_else(expected);
    let (mean, _, _) = (number(mean)?, number(min)?, number(max)?);
    let deviation = deviation.map(number).transpose()?;
    let command = command.trim_matches('`').replace("\\|", "|");
    line.entry(&command, vec![mean_latency(mean, deviation)])
}

/// Parses the printed text: a title per command, with its times below it.
fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut command = None;
    for line in text::lines(input.text) {
        if let Some(title) = title(line.text) {
            command = Some(title);
        } else if let Some(times) = line.text.strip_prefix("  Time (")
            && let Some(command) = command.take()
        {
            require_mean(line, input.average)?;
            let metrics = times_metrics(times)
                .ok_or_else(|| line.invalid("a mean, its deviation, the user time and the system time"))?;
            entries.push(line.entry(command, metrics)?);
        }
    }
    text::require_entries(entries, "a line such as `Benchmark 1: COMMAND` and the times below it")
}

/// Returns the command of a title such as `Benchmark 1: sleep 1`; versions before 1.13 print `Benchmark #1: sleep 1`.
fn title(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Benchmark ")?;
    let (number, command) = rest.strip_prefix('#').unwrap_or(rest).split_once(": ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(command)
}

/// Parses `mean ± σ):  1.0 ms ±  0.2 ms  [User: 0.9 ms, System: 0.0 ms]`, or `abs ≡):` with one value after a single run.
fn times_metrics(times: &str) -> Option<Vec<ParsedMetric>> {
    let (kind, rest) = times.split_once("):")?;
    let (latency, rest) = rest.split_once("[User: ")?;
    let (user, system) = rest.trim_end().strip_suffix(']')?.split_once(", System: ")?;
    let duration = |text: &str| text::duration(text.trim());
    let latency = match kind {
        "mean ± σ" => {
            let (mean, deviation) = latency.split_once('±')?;
            mean_latency(duration(mean)?, Some(duration(deviation)?))
        }
        "abs ≡" => mean_latency(duration(latency)?, None),
        _ => return None,
    };
    let user = ParsedMetric::of("user-time", duration(user)?);
    let system = ParsedMetric::of("system-time", duration(system)?);
    Some(vec![latency, user, system])
}

fn mean_latency(mean: f64, deviation: Option<f64>) -> ParsedMetric {
    let latency = ParsedMetric::latency(mean);
    deviation.map_or_else(|| latency.clone(), |deviation| latency.clone().with_deviation(deviation))
}

/// Markdown and text contain no median.
fn require_mean(line: Line<'_>, average: Option<Average>) -> Result<(), Failure> {
    match average {
        Some(Average::Median) => Err(line.invalid("a median, which Hyperfine exports only as JSON and CSV")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    const EXAMPLE: &str = r#"{"results":[{"command":"./app --n 5","mean":0.1,"stddev":0.01,"median":0.09,"user":0,"system":0,"min":0.08,"max":0.2,"exit_codes":[0]}]}"#;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::ShellHyperfine, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn mean_and_median() {
        insta::assert_snapshot!(read(EXAMPLE, None), @"
        ./app --n 5 latency 100000000 [90000000.00000001, 110000000]
        ./app --n 5 user-time 0
        ./app --n 5 system-time 0
        ");
        insta::assert_snapshot!(read(EXAMPLE, Some(Average::Median)), @"
        ./app --n 5 latency 90000000 [80000000, 200000000]
        ./app --n 5 user-time 0
        ./app --n 5 system-time 0
        ");
    }

    #[test]
    fn commands_of_a_run() {
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/plain.json"), None), @"
        sleep 0.01 latency 11738697.600000001 [10290521.558107028, 13186873.641892977]
        sleep 0.01 user-time 777199.9999999999
        sleep 0.01 system-time 165399.99999999997
        true latency 477551 [359385.4594181535, 595716.5405818465]
        true user-time 296000
        true system-time 114400
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/one_run.json"), None), @"
        true latency 556650
        true user-time 421000
        true system-time 0
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/parameters.json"), None), @"
        echo 1 a {kind=a, n=1} latency 5773022.999999999 [3681588.351584706, 7864457.648415292]
        echo 1 a {kind=a, n=1} user-time 813666.6666666666
        echo 1 a {kind=a, n=1} system-time 409666.6666666666
        echo 2 a {kind=a, n=2} latency 6509470.333333334 [4023711.3857709733, 8995229.280895695]
        echo 2 a {kind=a, n=2} user-time 1237000
        echo 2 a {kind=a, n=2} system-time 0
        echo 1 b {kind=b, n=1} latency 5192091 [3644506.917657138, 6739675.082342862]
        echo 1 b {kind=b, n=1} user-time 1198333.3333333333
        echo 1 b {kind=b, n=1} system-time 0
        echo 2 b {kind=b, n=2} latency 6244319.666666667 [4215369.4505099645, 8273269.8828233695]
        echo 2 b {kind=b, n=2} user-time 818000
        echo 2 b {kind=b, n=2} system-time 443999.99999999994
        ");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            EXAMPLE.replace("0.09", "\"0.09\""),
            EXAMPLE.replace(",\"max\":0.2", ""),
            EXAMPLE.replace("./app --n 5", ""),
            r#"{"results":[]}"#.to_owned(),
            r#"{"results":[{}]}"#.to_owned(),
        ]
        .map(|text| read(&text, None));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `shell_hyperfine` cannot read the output at `results[0].median`: expected a number, found `string "0.09"`.
        The adapter `shell_hyperfine` cannot read the output at `results[0]`: expected the member `max`.
        The adapter `shell_hyperfine` cannot read the output at `results[0]`: expected a benchmark name of 1 to 1024 bytes without the character NUL.
        The adapter `shell_hyperfine` cannot read the output at `results`: expected at least one benchmark.
        The adapter `shell_hyperfine` cannot read the output at `results[0]`: expected the member `command`.
        "#);
    }

    #[test]
    fn exported_tables_and_printed_text() {
        let csv = include_str!("../fixtures/shell_hyperfine/plain.csv");
        insta::assert_snapshot!(read(csv, None), @"
        sleep 0.01 latency 12369129.400000002 [11132173.865963591, 13606084.934036411]
        sleep 0.01 user-time 1061400
        sleep 0.01 system-time 0
        true latency 585147.4000000001 [556922.1020157449, 613372.6979842553]
        true user-time 417399.99999999994
        true system-time 107799.99999999999
        ");
        insta::assert_snapshot!(read(csv, Some(Average::Median)), @"
        sleep 0.01 latency 12179594 [11211639, 14257267]
        sleep 0.01 user-time 1061400
        sleep 0.01 system-time 0
        true latency 576703 [557817, 627836]
        true user-time 417399.99999999994
        true system-time 107799.99999999999
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/parameters.csv"), None), @"
        echo 1 a {kind=a, n=1} latency 990027.3333333335 [776123.9350846537, 1203930.7315820132]
        echo 1 a {kind=a, n=1} user-time 897333.3333333334
        echo 1 a {kind=a, n=1} system-time 0
        echo 2 a {kind=a, n=2} latency 2270521.333333334 [-217068.98320601482, 4758111.649872682]
        echo 2 a {kind=a, n=2} user-time 821333.3333333333
        echo 2 a {kind=a, n=2} system-time 0
        echo 1 b {kind=b, n=1} latency 651182.3333333333 [544396.0208849051, 757968.6457817615]
        echo 1 b {kind=b, n=1} user-time 591333.3333333334
        echo 1 b {kind=b, n=1} system-time 0
        echo 2 b {kind=b, n=2} latency 621947.3333333334 [535190.0193918948, 708704.6472747718]
        echo 2 b {kind=b, n=2} user-time 561666.6666666666
        echo 2 b {kind=b, n=2} system-time 0
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/one_run.csv"), None), @"
        true latency 506727
        true user-time 448000
        true system-time 0
        ");
        let markdown = include_str!("../fixtures/shell_hyperfine/plain.md");
        insta::assert_snapshot!(read(markdown, None), @"
        sleep 0.01 latency 12400000 [11200000, 13600000]
        true latency 600000 [600000, 600000]
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/named.md"), None), @"a|b latency 49900000 [-15500000.000000007, 115300000]");
        let text = include_str!("../fixtures/shell_hyperfine/parameters.txt");
        insta::assert_snapshot!(read(text, None), @"
        echo 1 a latency 1000000 [800000, 1200000]
        echo 1 a user-time 900000
        echo 1 a system-time 0
        echo 2 a latency 2300000 [-200000, 4800000]
        echo 2 a user-time 800000
        echo 2 a system-time 0
        echo 1 b latency 700000 [600000, 800000]
        echo 1 b user-time 600000
        echo 1 b system-time 0
        echo 2 b latency 600000 [500000, 700000]
        echo 2 b user-time 600000
        echo 2 b system-time 0
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/one_run.txt"), None), @"
        true latency 500000
        true user-time 400000
        true system-time 0
        ");
        for text in [csv, markdown, text] {
            let magic = parse(Adapter::Magic, text, None).unwrap();
            assert_eq!((magic.adapter, magic.to_string()), (Adapter::ShellHyperfine, read(text, None)));
        }
    }

    #[test]
    fn errors_of_tables_and_text_have_the_line() {
        let errors = [
            "command,mean,stddev,median,user,system,min,max\na,x,0,1,1,1,1,1\n",
            "command,mean,stddev,median,user,system,min,max\n",
            "| Command | Mean [h] | Min [h] | Max [h] | Relative |\n",
            "| Command | Mean [s] | Min [s] | Max [s] | Relative |\n|:---|---:|\n| `a` | x ± 1 | 1 | 2 | 1.00 |\n",
            "Benchmark 1: a\n  Time (mean ± σ):  1.0 ms  [User: 1.0 ms, System: 1.0 ms]\n",
            "Benchmark 1: a\n  Time (median):  1.0 ms  [User: 1.0 ms, System: 1.0 ms]\n",
        ]
        .map(|text| read(text, None));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `shell_hyperfine` cannot read the output at line 2: expected a number in the column `mean`, found `x`.
        The adapter `shell_hyperfine` cannot read the output: expected a line such as `Benchmark 1: COMMAND` and the times below it.
        The adapter `shell_hyperfine` cannot read the output at line 1: expected a unit of time in the header, found `| Command | Mean [h] | Min [h] | Max [h] | Relative |`.
        The adapter `shell_hyperfine` cannot read the output at line 3: expected a command with its mean, minimum and maximum, found `| `a` | x ± 1 | 1 | 2 | 1.00 |`.
        The adapter `shell_hyperfine` cannot read the output at line 2: expected a mean, its deviation, the user time and the system time, found `Time (mean ± σ):  1.0 ms  [User: 1.0 ms, System: 1.0 ms]`.
        The adapter `shell_hyperfine` cannot read the output at line 2: expected a mean, its deviation, the user time and the system time, found `Time (median):  1.0 ms  [User: 1.0 ms, System: 1.0 ms]`.
        ");
        let text = include_str!("../fixtures/shell_hyperfine/one_run.txt");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"The adapter `shell_hyperfine` cannot read the output at line 2: expected a median, which Hyperfine exports only as JSON and CSV, found `Time (abs ≡):          0.5 ms               [User: 0.4 ms, S…`.");
    }
}
