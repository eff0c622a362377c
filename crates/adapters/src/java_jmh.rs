//! Adapter for JMH: parses its JSON and CSV formats and the table of the console. It does not read secondary metrics, which
//! profilers add.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, Visitor},
};

use tidemark_api::{Adapter, Average};

use crate::{
    Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    records::Records,
    text::{self, Line, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::JavaJmh,
    title: "JMH",
    metrics: "latency or throughput within its confidence interval; the table of the console shortens the names of benchmarks",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Json,
            "java -jar benchmarks.jar -rf json",
            &[r#""benchmark""#, r#""primaryMetric""#],
            parse,
        ),
        Format::new(
            Syntax::Csv,
            "java -jar benchmarks.jar -rf csv",
            &["Benchmark", "Mode", "Score Error ("],
            parse_csv,
        ),
        Format::new(
            Syntax::Text,
            "java -jar benchmarks.jar",
            &["Benchmark ", " Mode ", " Score ", " Units"],
            parse_console,
        ),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    benchmark: IgnoredAny,
    #[serde(rename = "primaryMetric")]
    primary_metric: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    benchmark: String,
    mode: Option<String>,
    params: Option<BTreeMap<String, String>>,
    primary_metric: Metric,
    /// Metrics that profilers add.
    secondary_metrics: Option<BTreeMap<String, IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score: f64,
    score_confidence: [Bound; 2],
    score_unit: String,
}

/// One end of a confidence interval. A single iteration has none; JMH then writes a string.
#[derive(Clone, Copy)]
struct Bound(Option<f64>);

/// Parses a document: time per operation as latency, operations per time as throughput.
fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let rows: Vec<Row> = document::read::<Vec<Shape>, _>(input.text)?;
    let position = |index| Position::Path(format!("[{index}]"));
    let entries = rows.iter().enumerate().map(|(index, row)| {
        let Row { benchmark, params, primary_metric, .. } = row;
        let metric = primary_metric.measured().ok_or_else(|| {
            let expected = "a unit such as `ms/op` or `ops/s` as `scoreUnit`";
            Failure::invalid(position(index), expected, &primary_metric.score_unit)
        })?;
        for name in row.secondary_metrics.iter().flat_map(BTreeMap::keys) {
            input.skip(format!("{benchmark}: {name}"), "they are secondary metrics of a profiler");
        }
        let parameters = variant::of_texts(|| position(index), params.clone().unwrap_or_default())?;
        Ok(Entry { parameters, ..Entry::new(|| position(index), benchmark, vec![metric])? })
    });
    let mut entries = entries.collect::<Result<Vec<_>, Failure>>()?;
    // Average, sampled and single-shot times are all latencies.
    variant::distinguish(position, &mut entries, &[("mode", &|index| rows[index].mode.as_deref())])?;
    document::require_entries(entries, "[]")
}

impl Metric {
    fn measured(&self) -> Option<ParsedMetric> {
        let [Bound(lower), Bound(upper)] = self.score_confidence;
        measured(self.score, [lower, upper], &self.score_unit)
    }
}

/// Converts a score and its confidence interval from a unit such as `ms/op` or `ops/s`.
fn measured(score: f64, [lower, upper]: [Option<f64>; 2], unit: &str) -> Option<ParsedMetric> {
    let convert = |slug, convert: &dyn Fn(f64) -> f64| ParsedMetric {
        lower_value: lower.map(convert),
        upper_value: upper.map(convert),
        ..ParsedMetric::of(slug, convert(score))
    };
    match unit.split_once('/')? {
        ("ops", unit) => {
            let unit = Unit::from_symbol(unit)?;
            Some(convert("throughput", &|score| unit.per_second(score)))
        }
        (unit, "op") => {
            let unit = Unit::from_symbol(unit)?;
            Some(convert("latency", &|score| unit.nanoseconds(score)))
        }
        _ => None,
    }
}

/// A row of the CSV or of the console.
struct Score<'a> {
    line: usize,
    benchmark: &'a str,
    mode: String,
    parameters: BTreeMap<String, String>,
    score: f64,
    error: Option<f64>,
    unit: &'a str,
}

/// Parses the output of `-rf csv`.
fn parse_csv(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let records =
        Records::read(input.text, ',', &["Benchmark", "Mode", "Threads", "Samples", "Score", "Unit"])?;
    let header = records.header();
    let is_error = |column: &&String| column.starts_with("Score Error (");
    let error =
        header.iter().find(is_error).ok_or_else(|| Failure::unrecognized("a column `Score Error`"))?;
    let mut scores = Vec::new();
    for record in records.iter() {
        let benchmark = record.require_text("Benchmark")?;
        if is_secondary(input, benchmark) {
            continue;
        }
        let parameters = record.cells().filter_map(|(column, value)| {
            Some((column.strip_prefix("Param: ")?.to_owned(), value.to_owned()))
        });
        let Position::Line(line) = record.position() else { continue };
        scores.push(Score {
            line,
            benchmark,
            mode: record.require_text("Mode")?.to_owned(),
            parameters: parameters.collect(),
            score: record.require_number("Score")?,
            error: record.number(error),
            unit: record.require_text("Unit")?,
        });
    }
    entries(&scores)
}

/// Parses the table that the console shows at the end of a run.
fn parse_console(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut scores = Vec::new();
    let mut columns: Option<Columns> = None;
    for line in text::lines(input.text) {
        if let Some(header) = Columns::new(line.text) {
            columns = Some(header);
        } else if line.text.trim().is_empty() {
            columns = None;
        } else if let Some(columns) = &columns {
            scores.extend(columns.score(input, line)?);
        }
    }
    if scores.is_empty() {
        return Err(Failure::unrecognized(
            "a table with the columns `Benchmark`, `Mode`, `Cnt`, `Score`, `Error` and `Units`",
        ));
    }
    entries(&scores)
}

/// The header of a table: all columns but the first end with their title.
struct Columns {
    /// Name and end of each parameter.
    parameters: Vec<(String, usize)>,
    /// End of the mode.
    mode: usize,
}

impl Columns {
    fn new(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let rest = words.strip_prefix(&["Benchmark"])?;
        let parameters = rest.strip_suffix(&["Mode", "Cnt", "Score", "Error", "Units"])?;
        let mut end = 0;
        let mut ends = Vec::new();
        for word in &words {
            end += line[end..].find(word)? + word.len();
            ends.push(end);
        }
        let names = parameters.iter().map(|name| Some(name.strip_prefix('(')?.strip_suffix(')')?.to_owned()));
        let names = names.collect::<Option<Vec<_>>>()?;
        let mode = *ends.get(names.len() + 1)?;
        Some(Self { parameters: names.into_iter().zip(ends.into_iter().skip(1)).collect(), mode })
    }

    /// Returns the score of a row; `None` if it is rounded to a power of ten.
    fn score<'a>(&self, input: &Input<'_>, line: Line<'a>) -> Result<Option<Score<'a>>, Failure> {
        let expected = || line.invalid("a row with parameters, mode, score and unit below their titles");
        let mut offsets = line.text.char_indices().map(|(offset, _)| offset);
        let benchmark = line.text.split_whitespace().next().ok_or_else(expected)?;
        if is_secondary(input, benchmark) {
            return Ok(None);
        }
        let mut start = benchmark.len();
        let mut at = 0;
        let mut cell = |end: usize| {
            let offset = offsets.nth(end - at)?;
            at = end + 1;
            let cell = line.text.get(start..offset)?;
            start = offset;
            Some(cell.trim()).filter(|cell| !cell.is_empty())
        };
        let mut parameters = BTreeMap::new();
        for (name, end) in &self.parameters {
            let value = cell(*end).ok_or_else(expected)?;
            if value != "N/A" {
                parameters.insert(name.clone(), value.to_owned());
            }
        }
        let mode = cell(self.mode).ok_or_else(expected)?.to_owned();
        let words: Vec<_> = line.text[start..].split_whitespace().collect();
        let (score, error, unit) = match words.as_slice() {
            [_, score, "±", error, unit] => (score, Some(error), unit),
            [_, "≈", _, _] | ["≈", _, _] => {
                input.skip(benchmark, "JMH rounded them to a power of ten");
                return Ok(None);
            }
            [_, score, unit] | [score, unit] => (score, None, unit),
            _ => return Err(expected()),
        };
        let number =
            |text: &str| text::decimal(text).ok_or_else(|| line.invalid("a number as score and error"));
        let score = number(score)?;
        let error = error.map(|error| number(error)).transpose()?;
        Ok(Some(Score { line: line.number, benchmark, mode, parameters, score, error, unit }))
    }
}

/// Whether a row is a secondary metric, whose name follows a colon. It is reported as skipped.
fn is_secondary(input: &Input<'_>, name: &str) -> bool {
    let is_secondary = name.contains(':');
    if is_secondary {
        input.skip(name, "they are secondary metrics of a profiler");
    }
    is_secondary
}

fn entries(scores: &[Score<'_>]) -> Result<Vec<Entry>, Failure> {
    let position = |index: usize| Position::Line(scores[index].line);
    let mut entries = Vec::with_capacity(scores.len());
    for (index, score) in scores.iter().enumerate() {
        let range =
            [score.error.map(|error| score.score - error), score.error.map(|error| score.score + error)];
        let metric = measured(score.score, range, score.unit).ok_or_else(|| {
            Failure::invalid(position(index), "a unit such as `ms/op` or `ops/s`", score.unit)
        })?;
        let parameters = variant::of_texts(|| position(index), score.parameters.clone())?;
        entries.push(Entry { parameters, ..Entry::new(|| position(index), score.benchmark, vec![metric])? });
    }
    variant::distinguish(position, &mut entries, &[("mode", &|index| Some(scores[index].mode.as_str()))])?;
    if entries.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one benchmark"));
    }
    Ok(entries)
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BoundVisitor;

        impl Visitor<'_> for BoundVisitor {
            type Value = Bound;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number or `NaN`")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Bound, E> {
                Ok(Bound(Some(value)))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Bound, E> {
                Ok(Bound(Some(value as f64)))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Bound, E> {
                Ok(Bound(Some(value as f64)))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Bound, E> {
                match value {
                    "NaN" | "Infinity" | "-Infinity" => Ok(Bound(None)),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }
        }

        deserializer.deserialize_any(BoundVisitor)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    fn read(text: &str) -> String {
        parse(Adapter::JavaJmh, text, Some(Average::Mean))
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    fn row(score: &str, confidence: &str, unit: &str) -> String {
        format!(
            r#"[{{"benchmark":"a.B.c","primaryMetric":{{"score":{score},"scoreConfidence":{confidence},"scoreUnit":"{unit}"}},"secondaryMetrics":{{}}}}]"#
        )
    }

    #[test]
    fn latency_and_throughput() {
        assert_eq!(read(&row("2.0", "[1.5,2.5]", "ms/op")), "a.B.c latency 2000000 [1500000, 2500000]\n");
        assert_eq!(read(&row("2", "[1,3]", "ops/ms")), "a.B.c throughput 2000 [1000, 3000]\n");
    }

    #[test]
    fn parameters_and_single_iterations() {
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/parameters.json")), @"
        org.sample.SortBenchmark.sort {kind=random, size=64} latency 1204.5 [1192, 1217]
        org.sample.SortBenchmark.sort {kind=random, size=512} latency 14750 [14500, 15000]
        org.sample.ParseBenchmark.parse throughput 2500 [2000, 3000]
        org.sample.ParseBenchmark.coldStart latency 125000000
        ");
    }

    #[test]
    fn the_mode_is_a_parameter_if_two_modes_have_the_same_measure() {
        let rows = |modes: &[(&str, &str)]| {
            let rows = modes.iter().enumerate().map(|(score, (mode, unit))| {
                format!(
                    r#"{{"benchmark":"a.B.c","mode":"{mode}","primaryMetric":{{"score":{score},"scoreConfidence":["NaN","NaN"],"scoreUnit":"{unit}"}}}}"#
                )
            });
            read(&format!("[{}]", rows.collect::<Vec<_>>().join(",")))
        };
        insta::assert_snapshot!(rows(&[("thrpt", "ops/s"), ("avgt", "ns/op")]), @"
        a.B.c throughput 0
        a.B.c latency 1
        ");
        insta::assert_snapshot!(rows(&[("thrpt", "ops/s"), ("avgt", "ns/op"), ("sample", "ns/op")]), @"
        a.B.c throughput 0
        a.B.c {mode=avgt} latency 1
        a.B.c {mode=sample} latency 2
        ");
        insta::assert_snapshot!(rows(&[("avgt", "ns/op"), ("ss", "ns/op"), ("ss", "ns/op")]), @"The adapter `java_jmh` cannot read the output at `[2]`: expected a benchmark with a unique combination of name and parameters, found `a.B.c`.");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            row("2.0", "[1.5,2.5]", "min/op"),
            row("2.0", "[1.5,2.5]", "op"),
            row("\"NaN\"", "[1.5,2.5]", "s/op"),
            row("2.0", "[1.5]", "s/op"),
            row("2.0", "[1.5,\"x\"]", "s/op"),
            r#"[{"benchmark":"a","primaryMetric":{}}]"#.to_owned(),
            "[]".to_owned(),
            "[{}]".to_owned(),
        ]
        .map(|text| read(&text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `java_jmh` cannot read the output at `[0]`: expected a unit such as `ms/op` or `ops/s` as `scoreUnit`, found `min/op`.
        The adapter `java_jmh` cannot read the output at `[0]`: expected a unit such as `ms/op` or `ops/s` as `scoreUnit`, found `op`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric.score`: expected a number, found `string "NaN"`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric.scoreConfidence`: expected an array of length 2, found `1`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric.scoreConfidence[1]`: expected a number or `NaN`, found `string "x"`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric`: expected the member `score`.
        The adapter `java_jmh` cannot read the output at `[]`: expected at least one benchmark.
        The adapter `java_jmh` cannot read the output at `[0]`: expected the member `benchmark`.
        "#);
    }

    #[test]
    fn csv() {
        let text = include_str!("../fixtures/java_jmh/results.csv");
        insta::assert_snapshot!(read(text), @"
        org.sample.SortBenchmark.sort {kind=random, size=64} latency 1204.5 [1192, 1217]
        org.sample.SortBenchmark.sort {kind=sorted, then reversed, size=512} latency 14750 [14500, 15000]
        org.sample.ParseBenchmark.parse throughput 2500 [2000, 3000]
        org.sample.ParseBenchmark.coldStart latency 125000000
        ");
        assert_eq!(crate::tests::read(Adapter::Magic, text), read(text));
        let header = text.lines().next().unwrap();
        let row = |row: &str| read(&format!("{header}\n{row}\n"));
        let errors = [
            row(r#""a.B.c","avgt",1,5,1204,500000,12,500000,"ns/op""#),
            row(r#""a.B.c","avgt",1,5,x,1,"ns/op""#),
            row(r#""a.B.c:x","avgt",1,5,1,1,"ns/op""#),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `java_jmh` cannot read the output at line 2: expected a unit such as `ms/op` or `ops/s`, found `12`.
        The adapter `java_jmh` cannot read the output at line 2: expected a number in the column `Score`, found `x`.
        The adapter `java_jmh` cannot read the output at line 1: expected at least one benchmark.
        ");
        assert_eq!(row(r#""a.B.c","avgt",1,1,2.0,NaN,"s/op""#), "a.B.c latency 2000000000\n");
    }

    #[test]
    fn console() {
        let text = include_str!("../fixtures/java_jmh/console.txt");
        insta::assert_snapshot!(read(text), @"
        ParseBenchmark.coldStart latency 125000000
        ParseBenchmark.parse throughput 2500 [2000, 3000]
        SortBenchmark.sort {kind=random, size=64} latency 1204.5 [1192, 1217]
        SortBenchmark.sort {kind=in two, size=64} latency 14750
        ");
        assert_eq!(crate::tests::read(Adapter::Magic, text), read(text));
        let table = |row: &str| read(&format!("Benchmark  Mode  Cnt  Score  Error  Units\n{row}\n"));
        assert_eq!(table("a.b        avgt    5  1.500 ± 0.5  us/op"), "a.b latency 1500 [1000, 2000]\n");
        let errors = [
            table("a.b        avgt    5  1,500 ± 0.5  us/op"),
            table("a.b        avgt    5  1.500 ± 0.5  us/x"),
            table("a.b"),
            table(""),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `java_jmh` cannot read the output at line 2: expected a number as score and error, found `a.b        avgt    5  1,500 ± 0.5  us/op`.
        The adapter `java_jmh` cannot read the output at line 2: expected a unit such as `ms/op` or `ops/s`, found `us/x`.
        The adapter `java_jmh` cannot read the output at line 2: expected a row with parameters, mode, score and unit below their titles, found `a.b`.
        The adapter `java_jmh` cannot read the output: expected a table with the columns `Benchmark`, `Mode`, `Cnt`, `Score`, `Error` and `Units`.
        ");
    }
}
