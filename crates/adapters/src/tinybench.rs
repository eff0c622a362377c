//! Adapter for Tinybench: the rows of `bench.table()`, as JSON or printed with `console.table`, and the tasks as JSON.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    table::{bordered_cells, is_rule},
    text::{self, Unit, decimal},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Tinybench,
    title: "Tinybench",
    metrics: "latency and throughput ± margin of error (medians ± median absolute deviation); in the JSON of the tasks also the percentiles 75, 99 and 99.9 of the latency",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "JSON.stringify(bench.tasks.map(({ name, result }) => ({ name, result })))",
            &[r#""name""#, r#""totalTime""#, r#""period""#],
            parse_tasks,
        ),
        Format::new(Syntax::Json, "JSON.stringify(bench.table())", &[r#""Task "#, "(ns)"], parse_rows),
        Format::new(Syntax::Text, "console.table(bench.table())", &["Task ", "(ns)"], parse_printed),
    ],
};

const NO_RESULT: &str = "they did not complete";

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeTask {
    name: IgnoredAny,
}

/// A task: its result is a member, or its members are merged into the task.
#[derive(Deserialize)]
struct Task {
    name: String,
    result: Option<Outcome>,
    #[serde(flatten)]
    own: Outcome,
}

/// The result of a task; times are in milliseconds. Version 2 has no separate statistics of latency and throughput.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    total_time: Option<f64>,
    latency: Option<Statistics>,
    throughput: Option<Statistics>,
    mean: Option<f64>,
    rme: Option<f64>,
    hz: Option<f64>,
    p75: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
}

#[derive(Deserialize)]
struct Statistics {
    mean: Option<f64>,
    /// Relative margin of error of the mean, in percent.
    rme: Option<f64>,
    p50: Option<f64>,
    /// Median absolute deviation.
    mad: Option<f64>,
    p75: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
}

fn parse_tasks(input: &Input<'_>) -> Result<Entries, Failure> {
    let tasks: Vec<Task> = document::read::<Vec<ShapeTask>, _>(input.text)?;
    let outcome = |task: &Task| task.result.as_ref().unwrap_or(&task.own).total_time;
    if !tasks.iter().any(|task| outcome(task).is_some()) {
        return Err(Failure::unrecognized("tasks with the member `totalTime` in their result"));
    }
    let mut entries = Entries::default();
    for (index, task) in tasks.iter().enumerate() {
        let position = || Position::Path(format!("[{index}]"));
        match task.result.as_ref().unwrap_or(&task.own).metrics(input.average.unwrap_or(Average::Mean)) {
            Some(metrics) => entries.push(Entry::new(position, &task.name, metrics)?),
            None => input.skip(&task.name, NO_RESULT),
        }
    }
    require_entries(entries, input)
}

impl Outcome {
    /// Returns the metrics; `None` without a result or without the requested average.
    fn metrics(&self, average: Average) -> Option<Vec<ParsedMetric>> {
        let (latency, throughput, percentiles) = match (&self.latency, &self.throughput) {
            (Some(latency), Some(throughput)) => (
                latency.average(average)?,
                throughput.average(average)?,
                [latency.p75, latency.p99, latency.p999],
            ),
            _ if average == Average::Mean => (
                (self.mean?, relative(self.mean?, self.rme)),
                (self.hz?, relative(self.hz?, self.rme)),
                [self.p75, self.p99, self.p999],
            ),
            _ => return None,
        };
        let nanoseconds = |milliseconds| Unit::Milliseconds.nanoseconds(milliseconds);
        let mut metrics = vec![
            with_spread(ParsedMetric::latency(nanoseconds(latency.0)), latency.1.map(nanoseconds)),
            with_spread(ParsedMetric::throughput(throughput.0), throughput.1),
        ];
        for (slug, value) in ["latency-p75", "latency-p99", "latency-p99-9"].into_iter().zip(percentiles) {
            metrics.extend(value.map(|value| ParsedMetric::of(slug, nanoseconds(value))));
        }
        Some(metrics)
    }
}

impl Statistics {
    /// Returns an average and its spread.
    fn average(&self, average: Average) -> Option<(f64, Option<f64>)> {
        match average {
            Average::Mean => Some((self.mean?, relative(self.mean?, self.rme))),
            Average::Median => Some((self.p50?, self.mad)),
        }
    }
}

fn relative(value: f64, percent: Option<f64>) -> Option<f64> {
    percent.map(|percent| value * percent / 100.0)
}

fn with_spread(metric: ParsedMetric, spread: Option<f64>) -> ParsedMetric {
    match spread {
        Some(spread) => metric.with_deviation(spread),
        None => metric,
    }
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeRow {
    #[serde(rename = "Task name", alias = "Task Name")]
    name: IgnoredAny,
}

/// A row of the table: texts such as `113.00 ± 7.00`, or numbers in version 2. A task that failed has only its name and an
/// error.
#[derive(Default, Deserialize)]
struct Row {
    #[serde(rename = "Task name", alias = "Task Name")]
    name: String,
    #[serde(rename = "Latency avg (ns)", alias = "Latency average (ns)")]
    latency_mean: Option<Value>,
    #[serde(rename = "Latency med (ns)", alias = "Latency median (ns)")]
    latency_median: Option<Value>,
    #[serde(rename = "Throughput avg (ops/s)", alias = "Throughput average (ops/s)")]
    throughput_mean: Option<Value>,
    #[serde(rename = "Throughput med (ops/s)", alias = "Throughput median (ops/s)")]
    throughput_median: Option<Value>,
    /// Version 2. Its column `ops/sec` is the inverse, formatted for a locale.
    #[serde(rename = "Average Time (ns)")]
    time: Option<Value>,
    #[serde(rename = "Margin")]
    margin: Option<Value>,
}

fn parse_rows(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    document::read_rows::<ShapeRow, Row>(input.text, |index, row| {
        entries.extend(row.entry(&|| Position::Path(format!("[{index}]")), input)?);
        Ok(())
    })?;
    require_entries(entries, input)
}

/// Parses the tables that `console.table` prints.
fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut columns: Option<Vec<&str>> = None;
    let mut entries = Entries::default();
    let mut recognized = false;
    for line in text::lines(input.text) {
        let Some(cells) = bordered_cells(line.text).filter(|_| !is_rule(line.text)) else {
            if !is_rule(line.text) {
                columns = None;
            }
            continue;
        };
        match &columns {
            _ if cells.iter().any(|cell| matches!(*cell, "Task name" | "Task Name")) => {
                columns = Some(cells);
                recognized = true;
            }
            Some(columns) if columns.len() == cells.len() => {
                let members = columns
                    .iter()
                    .zip(&cells)
                    .filter(|(column, cell)| !column.is_empty() && !cell.is_empty());
                let members =
                    members.map(|(column, cell)| ((*column).to_owned(), Value::from(unquoted(cell))));
                let row = serde_json::from_value::<Row>(Value::Object(members.collect()));
                let row = row.map_err(|_| line.invalid("a row with the name of a task"))?;
                entries.extend(row.entry(&|| Position::Line(line.number), input)?);
            }
            Some(_) => return Err(line.invalid("a row with as many cells as the header")),
            None => {}
        }
    }
    if !recognized {
        return Err(Failure::unrecognized("a table with the columns `Task name` and `Latency avg (ns)`"));
    }
    require_entries(entries, input)
}

/// Removes the quotation marks with which `console.table` prints a text.
fn unquoted(cell: &str) -> &str {
    ['\'', '"', '`'].iter().find_map(|quote| cell.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(cell)
}

fn require_entries(entries: Entries, input: &Input<'_>) -> Result<Entries, Failure> {
    if entries.is_empty() {
        return Err(Failure::missing(
            Position::Path("[0]".to_owned()),
            match input.average {
                Some(Average::Median) => "a task that completed, with a median",
                _ => "a task that completed",
            },
        ));
    }
    Ok(entries)
}

impl Row {
    /// Returns the entry; `None` if the task did not complete.
    fn entry(&self, position: &dyn Fn() -> Position, input: &Input<'_>) -> Result<Option<Entry>, Failure> {
        let (latency, throughput) = match (input.average, &self.time) {
            (None | Some(Average::Mean), Some(time)) => {
                let (time, spread) = self.of_version_2(position, time)?;
                let rate = Unit::Nanoseconds.per_second(1.0) / time;
                let metrics = vec![
                    with_spread(ParsedMetric::latency(time), spread),
                    with_spread(ParsedMetric::throughput(rate), spread.map(|spread| spread / time * rate)),
                ];
                return Entry::new(position, &self.name, metrics).map(Some);
            }
            (Some(Average::Median), _) => (&self.latency_median, &self.throughput_median),
            _ => (&self.latency_mean, &self.throughput_mean),
        };
        let (Some(latency), Some(throughput)) = (latency, throughput) else {
            input.skip(&self.name, NO_RESULT);
            return Ok(None);
        };
        let (latency, latency_spread) = with_margin(position, latency)?;
        let (throughput, throughput_spread) = with_margin(position, throughput)?;
        let metrics = vec![
            ParsedMetric::latency(latency).with_deviation(latency_spread),
            ParsedMetric::throughput(throughput).with_deviation(throughput_spread),
        ];
        Entry::new(position, &self.name, metrics).map(Some)
    }

    fn of_version_2(
        &self,
        position: &dyn Fn() -> Position,
        time: &Value,
    ) -> Result<(f64, Option<f64>), Failure> {
        let value = time.as_f64().or_else(|| decimal(time.as_str()?)).filter(|time| *time > 0.0);
        let value =
            value.ok_or_else(|| Failure::invalid(position(), "a time in nanoseconds", &time.to_string()))?;
        let margin = self.margin.as_ref().and_then(Value::as_str);
        let percent = margin.and_then(|margin| decimal(margin.strip_prefix('±')?.strip_suffix('%')?));
        Ok((value, relative(value, percent)))
    }
}

/// Parses a value and its spread: `658.83 ± 113.23%` or `113.00 ± 7.00`.
fn with_margin(position: &dyn Fn() -> Position, cell: &Value) -> Result<(f64, f64), Failure> {
    let parse = |cell: &str| {
        let (value, spread) = cell.split_once(" ± ")?;
        let value = decimal(value)?;
        let spread = match spread.strip_suffix('%') {
            Some(percent) => value * decimal(percent)? / 100.0,
            None => decimal(spread)?,
        };
        Some((value, spread))
    };
    cell.as_str().and_then(parse).ok_or_else(|| {
        Failure::invalid(position(), "a value with its spread, such as `113.00 ± 7.00`", &cell.to_string())
    })
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Magic, Tinybench},
        Average,
    };

    use crate::{parse, parse_with_skipped, tests::read};

    #[test]
    fn tasks() {
        let text = include_str!("../fixtures/tinybench/tasks.json");
        insta::assert_snapshot!(read(Tinybench, text), @"
        faster task latency 658.831467250193 [-87.15260724317397, 1404.81554174356]
        faster task throughput 8349414.244042681 [8340697.189183754, 8358131.298901607]
        faster task latency-p75 131.9999998941057
        faster task latency-p99 273.9999999903375
        faster task latency-p99-9 1028.3109999688966
        slower task latency 4909096.468750007 [3591204.086639421, 6226988.850860594]
        slower task throughput 517.6109020188244 [430.07678504446574, 605.145018993183]
        slower task latency-p75 7175859.00000006
        slower task latency-p99 19574414.300000098
        slower task latency-p99-9 20745093.529999927
        ");
        assert_eq!(read(Tinybench, text), read(Magic, text));
        assert_eq!(read(Tinybench, text), read(Magic, include_str!("../fixtures/tinybench/results.json")));
        insta::assert_snapshot!(parse(Magic, text, Some(Average::Median)).unwrap(), @"
        faster task latency 113.00000005576294 [105.9999999597494, 120.00000015177648]
        faster task throughput 8849557.517756838 [8265152.767780444, 9433962.267733233]
        faster task latency-p75 131.9999998941057
        faster task latency-p99 273.9999999903375
        faster task latency-p99-9 1028.3109999688966
        slower task latency 1530911.00000006 [1130247.9999999376, 1931574.0000001825]
        slower task throughput 668.5313495379346 [455.74661979987724, 881.316079275992]
        slower task latency-p75 7175859.00000006
        slower task latency-p99 19574414.300000098
        slower task latency-p99-9 20745093.529999927
        ");
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/tinybench/tasks_v4.json")), @"
        faster task latency 409.71952393849165 [97.45550326977758, 721.9835446072057]
        faster task throughput 7431282.174917432 [7424598.49738934, 7437965.852445523]
        faster task latency-p75 156.99999994467362
        faster task latency-p99 254.99999992462108
        faster task latency-p99-9 445.1140001137915
        slower task latency 7883676.187500001 [-416138.73129084986, 16183491.10629085]
        slower task throughput 722.1471994122836 [643.4911414569467, 800.8032573676205]
        slower task latency-p75 2087763.25000008
        slower task latency-p99 189458696.95000014
        slower task latency-p99-9 196434517.79499957
        ");
        let text = include_str!("../fixtures/tinybench/tasks_v2.json");
        insta::assert_snapshot!(read(Magic, text), @"
        faster task latency 2263.2129989681434 [-1860.1597528259526, 6386.5857507622395]
        faster task throughput 441849.7067911529 [-363161.15263812133, 1246860.5662204272]
        faster task latency-p75 188.99999986388138
        faster task latency-p99 221.00000001046283
        faster task latency-p99-9 420.9999999602587
        slower task latency 8591191.49999999 [1145643.5465256982, 16036739.453474283]
        slower task throughput 116.39829003928048 [15.52182253301281, 217.27475754554814]
        slower task latency-p75 13504502.000000002
        slower task latency-p99 33879202.000000075
        slower task latency-p99-9 33879202.000000075
        ");
        insta::assert_snapshot!(parse(Tinybench, text, Some(Average::Median)).unwrap_err(), @"The adapter `tinybench` cannot read the output at `[0]`: expected a task that completed, with a median.");
    }

    #[test]
    fn tables() {
        let text = include_str!("../fixtures/tinybench/table.json");
        insta::assert_snapshot!(read(Magic, text), @"
        faster task latency 658.83 [-87.16320900000005, 1404.8232090000001]
        faster task throughput 8349414 [8341064.586, 8357763.414]
        slower task latency 4909096 [3591003.724, 6227188.276000001]
        slower task throughput 518 [430.4062, 605.5938]
        ");
        assert_eq!(read(Magic, text), read(Magic, include_str!("../fixtures/tinybench/table.txt")));
        insta::assert_snapshot!(parse(Magic, text, Some(Average::Median)).unwrap(), @"
        faster task latency 113 [106, 120]
        faster task throughput 8849558 [8265153, 9433963]
        slower task latency 1530911 [1130248, 1931574]
        slower task throughput 669 [456, 882]
        ");
        let text = include_str!("../fixtures/tinybench/table_v2.json");
        insta::assert_snapshot!(read(Magic, text), @"
        faster task latency 2263.2129989681434 [-1860.1347638519173, 6386.560761788204]
        faster task throughput 441849.7067911528 [-363156.2740116485, 1246855.6875939541]
        slower task latency 8591191.49999999 [1146064.9460999994, 16036318.053899981]
        slower task throughput 116.39829003928047 [15.527531891240017, 217.26904818732092]
        ");
        assert_eq!(read(Magic, text), read(Magic, include_str!("../fixtures/tinybench/table_v2.txt")));
    }

    #[test]
    fn tasks_without_a_result_are_skipped() {
        let text = r#"[{"Task name":"a","Error":"no such table","Stack":""},
            {"Task name":"b","Latency avg (ns)":"1.00 ± 2.00%","Throughput avg (ops/s)":"5 ± 1.00%"}]"#;
        let (results, skipped) = parse_with_skipped(Magic, text, None).unwrap();
        assert_eq!((results.entries.len(), skipped.len()), (1, 1));
    }

    #[test]
    fn errors_have_a_position() {
        let errors = [
            r#"[{"Task name":"b","Latency avg (ns)":"NaN ± 2.00%","Throughput avg (ops/s)":"5 ± 1.00%"}]"#,
            r#"[{"Task Name":"b","Average Time (ns)":null}]"#,
            "│ Task name │ Latency avg (ns) │\n│ a │ 1 │ 2 │",
            r#"[{"name":"a"}]"#,
            "x",
        ]
        .map(|text| read(Tinybench, text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `tinybench` cannot read the output at `[0]`: expected a value with its spread, such as `113.00 ± 7.00`, found `"NaN ± 2.00%"`.
        The adapter `tinybench` cannot read the output at `[0]`: expected a task that completed.
        The adapter `tinybench` cannot read the output at line 2: expected a row with as many cells as the header, found `│ a │ 1 │ 2 │`.
        The adapter `tinybench` cannot read the output at `[0]`: expected the member `Task name`.
        The adapter `tinybench` cannot read the output: expected a table with the columns `Task name` and `Latency avg (ns)`.
        "#);
    }
}
