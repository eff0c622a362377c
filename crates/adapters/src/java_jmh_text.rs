//! Parses the CSV formats of JMH and the table of its console. Both have a row per benchmark, and below it a row per secondary
//! metric, whose name follows a colon.

use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use tidemark_api::Parameters;

use crate::{
    Entries, Entry, Failure, Input, ParsedMetric, Position,
    java_jmh::{PROFILER, Secondary, measured},
    records::Records,
    text::{self, Line},
    variant,
};

/// Maximum number of methods of a group.
const MAXIMUM_METHODS: usize = 100;

/// A row of the CSV or of the console.
struct Score<'a> {
    line: usize,
    benchmark: &'a str,
    mode: &'a str,
    parameters: Option<Parameters>,
    score: f64,
    error: Option<f64>,
    unit: &'a str,
}

/// Entries of the scores.
#[derive(Default)]
struct Scores {
    entries: Entries,
    /// The last entries, to which the next rows may add metrics.
    last: VecDeque<Entry>,
    /// Line and mode of each entry.
    rows: Vec<(usize, Option<Rc<str>>)>,
}

/// Parses the output of `-rf csv`, and of `-rf scsv`, whose separator is a semicolon.
pub(crate) fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let required = ["Benchmark", "Mode", "Threads", "Samples", "Score", "Unit"];
    let records = match Records::read(input.text, ',', &required) {
        Err(Failure::Unrecognized(reason)) => {
            Records::read(input.text, ';', &required).map_err(|_| Failure::Unrecognized(reason))?
        }
        records => records?,
    };
    let header = records.header();
    let is_error = |column: &&String| column.starts_with("Score Error (");
    let error =
        header.iter().find(is_error).ok_or_else(|| Failure::unrecognized("a column `Score Error`"))?;
    let mut scores = Scores::default();
    for record in records.iter() {
        let benchmark = record.require_text("Benchmark")?;
        let unit = record.require_text("Unit")?;
        let mode = record.require_text("Mode")?;
        if is_skipped(input, benchmark, mode, unit) {
            continue;
        }
        let parameters =
            record.cells().filter_map(|(column, value)| Some((column.strip_prefix("Param: ")?, value)));
        let parameters: BTreeMap<&str, &str> = parameters.collect();
        let score = record.require_text("Score")?;
        scores.push(Score {
            line: record.line(),
            benchmark,
            mode,
            parameters: variant::of_texts(|| record.position(), parameters)?,
            score: number(score).ok_or_else(|| record.invalid("a number in the column `Score`", score))?,
            error: record.text(error).and_then(number),
            unit,
        })?;
    }
    scores.finish()
}

/// Parses the table that the console shows at the end of a run.
pub(crate) fn parse_console(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut scores = Scores::default();
    let mut columns: Option<Columns> = None;
    for line in text::lines(input.text) {
        if let Some(header) = Columns::new(line.text) {
            columns = Some(header);
        } else if line.text.trim().is_empty() {
            columns = None;
        } else if let Some(columns) = &columns
            && let Some(score) = columns.score(input, line)?
        {
            scores.push(score)?;
        }
    }
    if scores.rows.is_empty() {
        return Err(Failure::unrecognized(
            "a table with the columns `Benchmark`, `Mode`, `Cnt`, `Score`, `Error` and `Units`",
        ));
    }
    scores.finish()
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

    /// Returns the score of a row; `None` if it is rounded to a power of ten, or not read.
    fn score<'a>(&self, input: &Input<'_>, line: Line<'a>) -> Result<Option<Score<'a>>, Failure> {
        let expected = || line.invalid("a row with parameters, mode, score and unit below their titles");
        let mut offsets = line.text.char_indices().map(|(offset, _)| offset);
        let benchmark = line.text.split_whitespace().next().ok_or_else(expected)?;
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
                parameters.insert(name.as_str(), value);
            }
        }
        let mode = cell(self.mode).ok_or_else(expected)?;
        let words: Vec<_> = line.text[start..].split_whitespace().collect();
        let (score, error, unit) = match words.as_slice() {
            [.., unit] if is_skipped(input, benchmark, mode, unit) => return Ok(None),
            [_, score, "±", error, unit] => (score, Some(error), unit),
            [_, "≈", _, _] | ["≈", _, _] => {
                input.skip(benchmark, "JMH rounded them to a power of ten");
                return Ok(None);
            }
            [_, score, unit] | [score, unit] => (score, None, unit),
            _ => return Err(expected()),
        };
        let number = |text: &str| number(text).ok_or_else(|| line.invalid("a number as score and error"));
        let score = number(score)?;
        let error = error.map(|error| number(error)).transpose()?;
        let parameters = variant::of_texts(|| Position::Line(line.number), parameters)?;
        Ok(Some(Score { line: line.number, benchmark, mode, parameters, score, error, unit }))
    }
}

/// Parses a number. The decimal separator is that of the locale; JMH does not group digits.
fn number(text: &str) -> Option<f64> {
    match text.split_once(',') {
        Some((integer, fraction)) => text::decimal(&format!("{integer}.{fraction}")),
        None => text::decimal(text),
    }
}

/// Whether a row is a secondary metric that is not read. A metric of a profiler is reported as skipped.
fn is_skipped(input: &Input<'_>, name: &str, mode: &str, unit: &str) -> bool {
    let Some((_, metric)) = name.split_once(':') else { return false };
    let secondary = Secondary::of(metric, Some(mode), unit);
    if secondary.is_none() {
        input.skip(name, PROFILER);
    }
    matches!(secondary, None | Some(Secondary::Percentile(None)))
}

impl Scores {
    fn push(&mut self, score: Score<'_>) -> Result<(), Failure> {
        let position = || Position::Line(score.line);
        let range =
            [score.error.map(|error| score.score - error), score.error.map(|error| score.score + error)];
        let secondary = score.benchmark.split_once(':').and_then(|(benchmark, metric)| {
            Some((benchmark, Secondary::of(metric, Some(score.mode), score.unit)?))
        });
        let metric = match secondary {
            Some((_, Secondary::Allocated)) => {
                let [lower_value, upper_value] = range;
                Some(ParsedMetric { lower_value, upper_value, ..ParsedMetric::of("allocated", score.score) })
            }
            Some((_, Secondary::Percentile(Some(slug)))) => measured(score.score, range, score.unit)
                .map(|metric| ParsedMetric { value: metric.value, ..ParsedMetric::of(slug, 0.0) }),
            _ => measured(score.score, range, score.unit),
        };
        let metric = metric
            .ok_or_else(|| Failure::invalid(position(), "a unit such as `ms/op` or `ops/s`", score.unit))?;
        if let Some((benchmark, Secondary::Allocated | Secondary::Percentile(_))) = secondary {
            // The row of the benchmark is above, perhaps with rows of its methods between.
            let first = self.rows.len() - self.last.len();
            let mut near = self.last.iter_mut().enumerate().rev();
            let same = near.find(|(index, entry)| {
                entry.label.as_str() == benchmark
                    && self.rows[first + index].1.as_deref() == Some(score.mode)
                    && entry.parameters == score.parameters
            });
            if let Some((_, entry)) = same {
                entry.metrics.push(metric);
            }
            return Ok(());
        }
        let entry = Entry::new(position, score.benchmark, vec![metric])?;
        self.last.push_back(Entry { parameters: score.parameters, ..entry });
        let mode = variant::shared(Some(score.mode), self.rows.last().and_then(|(_, mode)| mode.as_ref()));
        self.rows.push((score.line, mode));
        if self.last.len() > MAXIMUM_METHODS + 1 {
            self.entries.extend(self.last.pop_front());
        }
        Ok(())
    }

    fn finish(self) -> Result<Entries, Failure> {
        let Self { mut entries, last, rows } = self;
        entries.extend(last);
        let position = |index: usize| Position::Line(rows[index].0);
        variant::distinguish(position, &mut entries, &[("mode", &|index| rows[index].1.as_deref())])?;
        if entries.is_empty() {
            return Err(Failure::missing(Position::Line(1), "at least one benchmark"));
        }
        Ok(entries)
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

    #[test]
    fn csv() {
        let text = include_str!("../fixtures/java_jmh/modes.csv");
        insta::assert_snapshot!(read(text), @"
        org.example.Collections.counter throughput 793075465 [-5244438297, 6830589227]
        org.example.Collections.counter:read throughput 359236366 [-3682541065, 4401013797]
        org.example.Collections.counter:write throughput 433839099 [-1980811477, 2848489675]
        org.example.Collections.log throughput 17458847.485 [-18083810.768000003, 53001505.738]
        org.example.Collections.sum {kind=array,list, size=10} latency 17.908 [-254.836, 290.652]
        org.example.Collections.sum {kind=array,list, size=1000} latency 677.8349999999999 [-1763.839, 3119.509]
        org.example.Collections.sum {kind=linked, size=10} latency 15.827 [-44.992, 76.64599999999999]
        org.example.Collections.sum {kind=linked, size=1000} latency 2854.475 [-17568.683, 23277.633]
        org.example.Collections.allocate latency 7423.129999999999 [-1239.865000000001, 16086.125]
        org.example.Collections.allocate latency-p50 1432
        org.example.Collections.allocate latency-p90 1810
        org.example.Collections.allocate latency-p95 3152
        org.example.Collections.allocate latency-p99 6329.28
        org.example.Collections.allocate latency-p99-9 1148238.848
        org.example.Collections.allocate latency-max 14860288
        org.example.Collections.start latency 308173 [22424.999999999975, 593920.9999999999]
        ");
        let header = text.lines().next().unwrap();
        let row = |row: &str| read(&format!("{header}\n{row}\n"));
        let errors = [
            row(r#""a.B.c","avgt",1,5,1204,500000,12,500000,"ns/op""#),
            row(r#""a.B.c","avgt",1,5,x,1,"ns/op""#),
            row(r#""a.B.c:x","avgt",1,5,1,1,"---""#),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `java_jmh` cannot read the output at line 2: expected a unit such as `ms/op` or `ops/s`, found `12`.
        The adapter `java_jmh` cannot read the output at line 2: expected a number in the column `Score`, found `x`.
        The adapter `java_jmh` cannot read the output at line 1: expected at least one benchmark.
        ");
        assert_eq!(row(r#""a.B.c","avgt",1,1,2.0,NaN,"s/op""#), "a.B.c latency 2000000000\n");
    }

    #[test]
    fn csv_with_profilers_and_other_separators() {
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/single.csv")), @"
        org.example.Collections.log throughput 8442243.263
        org.example.Collections.log allocated 0.006864
        org.example.Collections.sum {kind=array,list, size=10} latency 33.277
        org.example.Collections.sum {kind=array,list, size=10} allocated 0.010159
        org.example.Collections.sum {kind=linked, size=10} latency 29.114
        org.example.Collections.sum {kind=linked, size=10} allocated 0.008938
        org.example.Collections.start latency 308676
        org.example.Collections.start allocated 5760
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/comma.csv")), @"
        org.example.Collections.counter throughput 591415776.0000001 [-679042058, 1861873610.0000002]
        org.example.Collections.counter:read throughput 299216503 [-385273840.00000006, 983706846.0000001]
        org.example.Collections.counter:write throughput 292199273 [-353948238, 938346784.0000001]
        org.example.Collections.log throughput 12805622.214000002 [-48103162.635, 73714407.06300001]
        org.example.Collections.sum {kind=array,list, size=10} latency 84.372 [-142.82999999999998, 311.574]
        org.example.Collections.sum {kind=array,list, size=1000} latency 3323.849 [-25082.853, 31730.551]
        org.example.Collections.sum {kind=linked, size=10} latency 38.449 [-459.98499999999996, 536.883]
        org.example.Collections.sum {kind=linked, size=1000} latency 30926.77 [-585145.255, 646998.795]
        org.example.Collections.allocate latency 13558.130000000001 [-12105.757, 39222.017]
        org.example.Collections.allocate latency-p50 1482
        org.example.Collections.allocate latency-p90 1925.6
        org.example.Collections.allocate latency-p95 2607.6000000000004
        org.example.Collections.allocate latency-p99 7340.320000000001
        org.example.Collections.allocate latency-p99-9 115193.088
        org.example.Collections.allocate latency-max 40042496
        org.example.Collections.start latency 303459 [-25761.000000000033, 632679]
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/semicolons.csv")), @"org.example.Collections.log throughput 14751503.587 [-18191189.725000005, 47694196.899000004]");
    }

    #[test]
    fn console() {
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/modes.txt")), @"
        Collections.counter throughput 793075000.0000001 [-5244439000.000001, 6830589000]
        Collections.counter:read throughput 359236000 [-3682541000.0000005, 4401013000]
        Collections.counter:write throughput 433839000 [-1980812000, 2848490000]
        Collections.log throughput 17458847 [-18083811, 53001505]
        Collections.sum {kind=array,list, size=10} latency 18 [-255, 291.00000000000006]
        Collections.sum {kind=array,list, size=1000} latency 678 [-1764.0000000000002, 3120]
        Collections.sum {kind=linked, size=10} latency 16 [-45, 77]
        Collections.sum {kind=linked, size=1000} latency 2854 [-17569, 23276.999999999996]
        Collections.allocate latency 7423 [-1240.0000000000002, 16085.999999999998]
        Collections.allocate latency-p50 1432
        Collections.allocate latency-p90 1810
        Collections.allocate latency-p95 3152
        Collections.allocate latency-p99 6329
        Collections.allocate latency-p99-9 1148239
        Collections.allocate latency-max 14860288
        Collections.start latency 308000 [22000.00000000002, 594000]
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/single.txt")), @"
        Collections.log throughput 8442243
        Collections.log allocated 0.007
        Collections.sum {kind=array,list, size=10} latency 33
        Collections.sum {kind=array,list, size=10} allocated 0.01
        Collections.sum {kind=linked, size=10} latency 29
        Collections.sum {kind=linked, size=10} allocated 0.009
        Collections.start latency 309000
        Collections.start allocated 5760
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/comma.txt")), @"
        Collections.counter throughput 591416000.0000001 [-679042000.0000001, 1861874000.0000002]
        Collections.counter:read throughput 299217000 [-385273000.00000006, 983707000]
        Collections.counter:write throughput 292199000 [-353949000, 938347000]
        Collections.log throughput 12805622 [-48103163, 73714407]
        Collections.sum {kind=array,list, size=10} latency 84 [-143.00000000000003, 311]
        Collections.sum {kind=array,list, size=1000} latency 3324 [-25083, 31731]
        Collections.sum {kind=linked, size=10} latency 38 [-460, 536]
        Collections.sum {kind=linked, size=1000} latency 30927 [-585145, 646999]
        Collections.allocate latency 13558 [-12106.000000000002, 39222]
        Collections.allocate latency-p50 1482
        Collections.allocate latency-p90 1926
        Collections.allocate latency-p95 2608
        Collections.allocate latency-p99 7340
        Collections.allocate latency-p99-9 115193
        Collections.allocate latency-max 40042496
        Collections.start latency 303000 [-26000.000000000022, 632000]
        ");
    }

    #[test]
    fn rows_of_the_console() {
        let table = |row: &str| read(&format!("Benchmark  Mode  Cnt  Score  Error  Units\n{row}\n"));
        assert_eq!(table("a.b        avgt    5  1.500 ± 0.5  us/op"), "a.b latency 1500 [1000, 2000]\n");
        let parameters =
            |row: &str| read(&format!("Benchmark  (kind)  Mode  Cnt  Score  Error  Units\n{row}\n"));
        assert_eq!(
            parameters("a.b        in two  avgt    2  1.500         us/op"),
            "a.b {kind=in two} latency 1500\n"
        );
        let errors = [
            table("a.b        avgt    5  1.5.0 ± 0.5  us/op"),
            table("a.b        avgt    5  1.500 ± 0.5  us/x"),
            table("a.b        avgt    5 ≈ 10⁻⁴         us/op"),
            table("a.b"),
            table(""),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `java_jmh` cannot read the output at line 2: expected a number as score and error, found `a.b        avgt    5  1.5.0 ± 0.5  us/op`.
        The adapter `java_jmh` cannot read the output at line 2: expected a unit such as `ms/op` or `ops/s`, found `us/x`.
        The adapter `java_jmh` cannot read the output: expected a table with the columns `Benchmark`, `Mode`, `Cnt`, `Score`, `Error` and `Units`.
        The adapter `java_jmh` cannot read the output at line 2: expected a row with parameters, mode, score and unit below their titles, found `a.b`.
        The adapter `java_jmh` cannot read the output: expected a table with the columns `Benchmark`, `Mode`, `Cnt`, `Score`, `Error` and `Units`.
        ");
    }
}
