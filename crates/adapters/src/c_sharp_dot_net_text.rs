//! CSV and tables of BenchmarkDotNet: the printed summary and its Markdown exporters. Both have the same columns.

use std::{collections::BTreeMap, rc::Rc};

use tidemark_api::Average;

use crate::{
    Entries, Entry, Failure, Input, ParsedMetric, Position,
    records::Records,
    table,
    text::{self, is_blank},
    variant,
};

/// Columns in front of the mean that are not parameters: descriptions of the benchmark and settings of the job.
const DESCRIPTIONS: [&str; 50] = [
    "Namespace",
    "Type",
    "Method",
    "Categories",
    "Baseline",
    "Logical Group",
    "Rank",
    "Job",
    "AnalyzeLaunchVariance",
    "EvaluateOverhead",
    "MaxAbsoluteError",
    "MaxRelativeError",
    "MinInvokeCount",
    "MinIterationTime",
    "OutlierMode",
    "Affinity",
    "EnvironmentVariables",
    "Jit",
    "LargeAddressAware",
    "Platform",
    "PowerPlanMode",
    "Runtime",
    "AllowVeryLargeObjects",
    "Concurrent",
    "CpuGroups",
    "Force",
    "HeapAffinitizeMask",
    "HeapCount",
    "NoAffinitize",
    "RetainVm",
    "Server",
    "Arguments",
    "BuildConfiguration",
    "Clock",
    "EngineFactory",
    "NuGetReferences",
    "Toolchain",
    "IsMutator",
    "IsDefault",
    "InvocationCount",
    "IterationCount",
    "IterationTime",
    "LaunchCount",
    "MaxIterationCount",
    "MaxWarmupIterationCount",
    "MemoryRandomization",
    "MinIterationCount",
    "MinWarmupIterationCount",
    "RunStrategy",
    "UnrollFactor",
];

/// Cells of a row.
struct Row {
    line: usize,
    method: String,
    r#type: Option<String>,
    job: Option<String>,
    parameters: BTreeMap<String, String>,
    mean: String,
    median: Option<String>,
    deviation: Option<String>,
    allocated: Option<String>,
}

/// Entries of the rows of a table.
struct Rows<'a> {
    input: &'a Input<'a>,
    entries: Entries,
    /// Properties of each entry.
    properties: Vec<Properties>,
}

/// Properties of an entry that distinguish it from others.
struct Properties {
    line: usize,
    r#type: Option<Rc<str>>,
    job: Option<Rc<str>>,
}

/// Parses the output of the CSV exporter, whose delimiter depends on the locale.
pub(crate) fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let required = ["Method", "Job", "AnalyzeLaunchVariance"];
    let records = Records::read(input.text, ',', &required).or_else(|failure| match failure {
        Failure::Unrecognized(_) => Records::read(input.text, ';', &required),
        invalid @ Failure::Invalid(_) => Err(invalid),
    })?;
    let mut entries = Rows::new(input);
    for record in records.iter() {
        entries.push(Row::new(record.line(), record.cells())?)?;
    }
    entries.finish()
}

/// Parses the tables of the console or of Markdown.
pub(crate) fn parse_tables(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Rows::new(input);
    let mut has_rows = false;
    let mut header: Option<Vec<&str>> = None;
    for line in text::lines(input.text) {
        let Some(cells) = table::bordered_cells(line.text) else {
            header = None;
            continue;
        };
        match &header {
            _ if table::is_rule(line.text) => {}
            None if is_header(&cells) => header = Some(cells),
            None => {}
            Some(header) if header.len() == cells.len() => {
                let cells = cells.into_iter().map(|cell| cell.trim_matches('*'));
                let cells = header.iter().copied().zip(cells).filter(|(_, cell)| !cell.is_empty());
                entries.push(Row::new(line.number, cells)?)?;
                has_rows = true;
            }
            Some(header) => return Err(line.invalid(&format!("a row with {} cells", header.len()))),
        }
    }
    if !has_rows {
        return Err(Failure::unrecognized(
            "a table with the columns `Method`, `Mean` and `Error` or `StdDev`",
        ));
    }
    entries.finish()
}

fn is_header(cells: &[&str]) -> bool {
    let has = |title: &str| cells.iter().any(|cell| split_unit(cell).0 == title);
    has("Method") && has("Mean") && (has("Error") || has("StdDev"))
}

/// Splits a title such as `Mean [ns]`, with which the cells have no units.
fn split_unit(title: &str) -> (&str, Option<&str>) {
    match title.strip_suffix(']').and_then(|title| title.split_once(" [")) {
        Some((title, unit)) => (title, Some(unit)),
        None => (title, None),
    }
}

impl Row {
    /// Reads the cells that are not empty, with their titles.
    fn new<'a>(line: usize, cells: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, Failure> {
        let [mut method, mut kind, mut job, mut mean, mut median, mut deviation, mut allocated] =
            [const { None::<String> }; 7];
        let mut parameters = BTreeMap::new();
        for (title, cell) in cells {
            let (title, unit) = split_unit(title);
            if mean.is_some() || title == "Mean" || DESCRIPTIONS.contains(&title) {
                let value = match title {
                    "Method" => &mut method,
                    "Type" => &mut kind,
                    "Job" => &mut job,
                    "Mean" => &mut mean,
                    "Median" => &mut median,
                    "StdDev" => &mut deviation,
                    "Allocated" => &mut allocated,
                    _ => continue,
                };
                value.get_or_insert_with(|| {
                    unit.map_or_else(|| cell.to_owned(), |unit| format!("{cell} {unit}"))
                });
            } else if cell != "?" {
                // A parameter that does not apply is printed as a question mark.
                parameters.insert(title.to_owned(), cell.to_owned());
            }
        }
        let missing =
            |title: &str| Failure::missing(Position::Line(line), format!("a cell in the column `{title}`"));
        let method = method.ok_or_else(|| missing("Method"))?;
        let mean = mean.ok_or_else(|| missing("Mean"))?;
        let quoted = method.strip_prefix('\'').and_then(|method| method.strip_suffix('\''));
        let method = quoted.map(str::to_owned).unwrap_or(method);
        Ok(Self { line, method, r#type: kind, job, parameters, mean, median, deviation, allocated })
    }

    fn metrics(&self, average: Average) -> Result<Vec<ParsedMetric>, Failure> {
        let latency = match (average, &self.median) {
            (Average::Mean, _) => {
                let latency = ParsedMetric::latency(self.time(&self.mean)?);
                match self.deviation.as_deref().filter(|deviation| !is_missing(deviation)) {
                    Some(deviation) => latency.with_deviation(self.time(deviation)?),
                    None => latency,
                }
            }
            (Average::Median, Some(median)) => ParsedMetric::latency(self.time(median)?),
            (Average::Median, None) => {
                return Err(Failure::missing(Position::Line(self.line), "a cell in the column `Median`"));
            }
        };
        let mut metrics = vec![latency];
        if let Some(allocated) = self.allocated.as_deref().filter(|allocated| !is_missing(allocated)) {
            metrics.push(ParsedMetric::of("allocated", self.bytes(allocated)?));
        }
        Ok(metrics)
    }

    fn time(&self, cell: &str) -> Result<f64, Failure> {
        let time = cell.split_once(is_blank).and_then(|(number, unit)| {
            Some(grouped(number, false)? * text::duration(&format!("1 {}", unit.trim()))?)
        });
        time.ok_or_else(|| Failure::invalid(Position::Line(self.line), "a time such as `1,234.5 ns`", cell))
    }

    /// Parses bytes. A dash means that nothing was allocated. Prefixes are powers of 1024.
    fn bytes(&self, cell: &str) -> Result<f64, Failure> {
        if cell.split(is_blank).next() == Some("-") {
            return Ok(0.0);
        }
        let bytes = cell.split_once(is_blank).and_then(|(number, unit)| {
            grouped(number, unit == "B")?;
            text::binary_bytes(cell)
        });
        bytes.ok_or_else(|| {
            Failure::invalid(Position::Line(self.line), "a number of bytes such as `1.5 KB`", cell)
        })
    }
}

/// Parses a number whose digits may be grouped by commas in front of a decimal point; alone, a comma could be a decimal comma.
fn grouped(text: &str, is_whole: bool) -> Option<f64> {
    let (whole, _) = text.split_once('.').unwrap_or((text, ""));
    if !whole.contains(',') {
        return text::decimal(text);
    }
    let (number, rest) = text::quantity(text)?;
    (rest.is_empty() && (is_whole || text.contains('.'))).then_some(number)
}

/// Whether a cell states that there is no value.
fn is_missing(cell: &str) -> bool {
    matches!(cell.split(is_blank).next(), Some("NA" | "N/A" | "?"))
}

impl<'a> Rows<'a> {
    fn new(input: &'a Input<'a>) -> Self {
        Self { input, entries: Entries::default(), properties: Vec::new() }
    }

    fn push(&mut self, row: Row) -> Result<(), Failure> {
        if is_missing(&row.mean) {
            self.input.skip(row.method, "they have no result");
            return Ok(());
        }
        let position = || Position::Line(row.line);
        let average = self.input.average.unwrap_or(Average::Mean);
        let entry = Entry::new(position, &row.method, row.metrics(average)?)?;
        let parameters = variant::of_texts(position, row.parameters)?;
        self.entries.push(Entry { parameters, ..entry });
        let last = self.properties.last();
        let r#type = variant::shared(row.r#type.as_deref(), last.and_then(|last| last.r#type.as_ref()));
        let job = variant::shared(row.job.as_deref(), last.and_then(|last| last.job.as_ref()));
        self.properties.push(Properties { line: row.line, r#type, job });
        Ok(())
    }

    fn finish(self) -> Result<Entries, Failure> {
        let Self { mut entries, properties: rows, .. } = self;
        let properties: [variant::Property<'_>; 2] =
            [("type", &|index| rows[index].r#type.as_deref()), ("job", &|index| rows[index].job.as_deref())];
        variant::distinguish(|index| Position::Line(rows[index].line), &mut entries, &properties)?;
        if entries.is_empty() {
            return Err(Failure::missing(Position::Line(1), "at least one benchmark that ran"));
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{CSharpDotNet, Magic},
        Average,
    };

    use super::grouped;
    use crate::{parse, parse_with_skipped, tests::read};

    #[test]
    fn csv() {
        let text = include_str!("../fixtures/c_sharp_dot_net/report.csv");
        insta::assert_snapshot!(read(CSharpDotNet, text), @"
        Sort {Kind=random, N=64} latency 20.5 [20, 21]
        Sort {Kind=random, N=64} allocated 64
        Sort {Kind=random, N=512} latency 1240.25 [1237.75, 1242.75]
        Sort {Kind=random, N=512} allocated 1536
        Parse: all latency 1000 [990, 1010]
        Parse: all allocated 0
        ");
        assert_eq!(read(Magic, text), read(CSharpDotNet, text));
        let (_, skipped) = parse_with_skipped(Magic, text, None).unwrap();
        assert_eq!(skipped.len(), 1);
        let semicolons = "Method;Job;AnalyzeLaunchVariance;Mean [us];Error [us];StdDev [us];Allocated [KB]\na;J;False;1.5;0.1;0.5;2\n";
        insta::assert_snapshot!(read(Magic, semicolons), @"
        a latency 1500 [1000, 2000]
        a allocated 2048
        ");
    }

    #[test]
    fn tables() {
        let text = include_str!("../fixtures/c_sharp_dot_net/console.txt");
        insta::assert_snapshot!(read(CSharpDotNet, text), @"
        Sort {Kind=random, N=64} latency 20.5 [20, 21]
        Sort {Kind=random, N=64} allocated 64
        Sort {Kind=random, N=512} latency 1240.25 [1237.75, 1242.75]
        Sort {Kind=random, N=512} allocated 1536
        Parse: all latency 1000 [990, 1010]
        Parse: all allocated 0
        ");
        assert_eq!(read(Magic, text), read(CSharpDotNet, text));
        let median = parse(Magic, text, Some(Average::Median)).unwrap().to_string();
        insta::assert_snapshot!(median.lines().next().unwrap(), @"Sort {Kind=random, N=64} latency 20.4");
        let markdown = include_str!("../fixtures/c_sharp_dot_net/report-github.md");
        insta::assert_snapshot!(read(Magic, markdown), @"
        Parse {job=.NET 6.0} latency 2500000 [2480000, 2520000]
        Parse {job=.NET 6.0} allocated 2396.16
        Parse {job=.NET 8.0} latency 1500000 [1490000, 1510000]
        Parse {job=.NET 8.0} allocated 1198.08
        Read latency 3500000000 [3490000000, 3510000000]
        Read allocated 1226833.92
        ");
        insta::assert_snapshot!(parse(CSharpDotNet, markdown, Some(Average::Median)).unwrap_err(), @"The adapter `c_sharp_dot_net` cannot read the output at line 14: expected a cell in the column `Median`.");
    }

    #[test]
    fn errors_have_the_line() {
        let table = |row: &str| {
            read(CSharpDotNet, &format!("| Method | Mean | StdDev | Allocated |\n|---|---|---|---|\n{row}\n"))
        };
        let errors = [
            table("| a | 20,50 ns | 1.0 ns | 1 B |"),
            table("| a | 1,250 ns | 1.0 ns | 1 B |"),
            table("| a | 20.50 | 1.0 ns | 1 B |"),
            table("| a | 1.0 ns | 1.0 ns | 1,5 KB |"),
            table("| a | 1.0 ns | 1.0 ns |"),
            table("| a | NA | NA | NA |"),
            table("| a | 1.0 ns | 1.0 ns | 1 B |\n| a | 1.0 ns | 1.0 ns | 1 B |"),
            table(""),
            table("| a | 1.0 min | 1.0 ns | 1 B |"),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `c_sharp_dot_net` cannot read the output at line 3: expected a time such as `1,234.5 ns`, found `20,50 ns`.
        The adapter `c_sharp_dot_net` cannot read the output at line 3: expected a time such as `1,234.5 ns`, found `1,250 ns`.
        The adapter `c_sharp_dot_net` cannot read the output at line 3: expected a time such as `1,234.5 ns`, found `20.50`.
        The adapter `c_sharp_dot_net` cannot read the output at line 3: expected a number of bytes such as `1.5 KB`, found `1,5 KB`.
        The adapter `c_sharp_dot_net` cannot read the output at line 3: expected a row with 4 cells, found `| a | 1.0 ns | 1.0 ns |`.
        The adapter `c_sharp_dot_net` cannot read the output at line 1: expected at least one benchmark that ran.
        The adapter `c_sharp_dot_net` cannot read the output at line 4: expected a benchmark with a unique combination of name and parameters, found `a`.
        The adapter `c_sharp_dot_net` cannot read the output: expected a table with the columns `Method`, `Mean` and `Error` or `StdDev`.
        a latency 60000000000 [59999999999, 60000000001]
        a allocated 1
        ");
        assert_eq!(
            table("| a | 1.5 m | 0.5 m | 1 B |"),
            "a latency 90000000000 [60000000000, 120000000000]\na allocated 1\n"
        );
        assert_eq!((grouped("1,234.5", false), grouped("1,234", true)), (Some(1234.5), Some(1234.0)));
    }
}
