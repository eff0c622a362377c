//! Adapter for pytest-benchmark: parses the JSON of `--benchmark-json` and the printed table, which has shorter names.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tidemark_api::{Adapter, Average, Parameters};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, table,
    text::{self, Line, Scan, Unit},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::PythonPytest,
    title: "pytest-benchmark",
    metrics: "latency ± standard deviation (median ± interquartile range)",
    parameters: "`params`, without which `fullname` is the name; parameters that are objects remain in the brackets; printed tables keep all in the name",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "pytest --benchmark-json bench.json",
            &[r#""machine_info""#, r#""commit_info""#, r#""benchmarks""#],
            parse,
        ),
        Format::new(Syntax::Text, "pytest", &["- benchmark", "Name (time in "], parse_tables),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    machine_info: IgnoredAny,
    commit_info: IgnoredAny,
    benchmarks: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    machine_info: BTreeMap<String, IgnoredAny>,
    #[expect(dead_code, reason = "its presence identifies the tool")]
    commit_info: BTreeMap<String, IgnoredAny>,
    benchmarks: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    fullname: String,
    /// Text in brackets at the end of the full name.
    param: Option<String>,
    params: Option<Value>,
    stats: Statistics,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Statistics {
    mean: f64,
    stddev: f64,
    median: f64,
    iqr: f64,
}

/// Parses a document.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { benchmarks: rows, .. } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut taken = HashSet::new();
    let entries = rows.iter().enumerate().map(|(index, row)| {
        let position = || Position::Path(format!("benchmarks[{index}]"));
        // Values with the same text can be different objects; the full name then distinguishes the benchmarks.
        let variant = row.variant();
        if variant.is_none() && variant::is_given(row.params.as_ref()) {
            input.skip_parameters(&row.fullname);
        }
        let variant = variant.filter(|variant| taken.insert(variant.clone()));
        let (name, parameters) =
            variant.map_or((row.fullname.as_str(), None), |(name, all)| (name, Some(all)));
        Ok(Entry { parameters, ..Entry::new(position, name, vec![row.stats.latency(average)])? })
    });
    document::require_entries(entries.collect::<Result<_, Failure>>()?, "benchmarks")
}

impl Row {
    /// Returns the name without the brackets, and the parameters; `None` if a parameter is an object, whose text differs
    /// between runs.
    fn variant(&self) -> Option<(&str, Parameters)> {
        let parameters = variant::of_object(self.params.as_ref()?)?;
        if parameters.iter().any(|(_, value)| value.starts_with("UNSERIALIZABLE[")) {
            return None;
        }
        let inner = self.fullname.strip_suffix(']')?;
        let name = match &self.param {
            Some(param) => inner.strip_suffix(param.as_str())?.strip_suffix('[')?,
            None => inner.split_once('[')?.0,
        };
        Some((name, parameters))
    }
}

impl Statistics {
    fn latency(&self, average: Average) -> ParsedMetric {
        let (value, spread) = match average {
            Average::Mean => (self.mean, self.stddev),
            Average::Median => (self.median, self.iqr),
        };
        ParsedMetric::latency(Unit::Seconds.nanoseconds(value))
            .with_deviation(Unit::Seconds.nanoseconds(spread))
    }
}

/// Parses the printed tables, one per group. The names have no file, so benchmarks with the same name are distinguished by their
/// group, or rejected.
fn parse_tables(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut rows: Vec<TableRow<'_>> = Vec::new();
    let mut group = "";
    let mut header: Option<Header<'_>> = None;
    for line in text::lines(input.text) {
        if let Some(title) = group_of(line.text) {
            (group, header) = (title, None);
        } else if let Some(new) = Header::read(line)? {
            header = Some(new);
        } else if table::is_rule(line.text) {
            continue;
        } else if line.text.trim().is_empty() {
            header = None;
        } else if let Some(header) = &header {
            rows.push(TableRow { line, group, ..header.row(line, input.average)? });
        }
    }
    // A comparison also contains the results of saved runs.
    if rows.iter().any(|row| row.name.ends_with(NOW)) {
        rows.retain(|row| {
            let is_new = row.name.ends_with(NOW);
            if !is_new {
                input.skip(row.name, "they are from a saved run");
            }
            is_new
        });
    }
    let mut entries = Entries::default();
    for row in &rows {
        let name = row.name.strip_suffix(NOW).unwrap_or(row.name);
        entries.push(row.line.entry(name, vec![row.latency.clone()])?);
    }
    let groups = |index: usize| Some(rows[index].group);
    variant::distinguish(
        |index| Position::Line(rows[index].line.number),
        &mut entries,
        &[("group", &groups)],
    )?;
    text::require_entries(entries, "a table with the header `Name (time in us)`")
}

/// Suffix of the new results in a comparison.
const NOW: &str = " (NOW)";

/// Returns the group in the title of a table: `--- benchmark 'name': 2 tests ---`; empty without a group.
fn group_of(line: &str) -> Option<&str> {
    let title = line.strip_prefix('-')?.trim_matches('-').trim();
    let (group, tests) = title.strip_prefix("benchmark")?.rsplit_once(": ")?;
    tests.ends_with(" tests").then(|| group.trim().trim_matches('\''))
}

/// Columns of a table.
struct Header<'a> {
    unit: Unit,
    columns: Vec<&'a str>,
}

struct TableRow<'a> {
    line: Line<'a>,
    group: &'a str,
    name: &'a str,
    latency: ParsedMetric,
}

impl<'a> Header<'a> {
    fn read(line: Line<'a>) -> Result<Option<Self>, Failure> {
        let Some(rest) = line.text.strip_prefix("Name (time in ") else { return Ok(None) };
        let unit = rest.split_once(')').and_then(|(unit, _)| Unit::from_symbol(unit));
        let unit = unit.ok_or_else(|| line.invalid("a unit of time in the header"))?;
        Ok(Some(Self { unit, columns: table::cells(line.text) }))
    }

    fn row(&self, line: Line<'a>, average: Option<Average>) -> Result<TableRow<'a>, Failure> {
        let cells = table::cells(line.text);
        if cells.len() != self.columns.len() {
            return Err(line.invalid("one value per column of the header"));
        }
        let time = |column: &str| {
            let index = self.columns.iter().position(|name| *name == column)?;
            let mut scan = Scan::new(cells[index]);
            let value = scan.number()?;
            // The ratio to the best value is in parentheses.
            (scan.rest().is_empty() || scan.rest().starts_with(" (")).then(|| self.unit.nanoseconds(value))
        };
        let (column, spread) = match average {
            Some(Average::Median) => ("Median", "IQR"),
            _ => ("Mean", "StdDev"),
        };
        let value =
            time(column).ok_or_else(|| line.invalid(&format!("a number in the column `{column}`")))?;
        let latency = ParsedMetric::latency(value);
        let latency = time(spread).map_or(latency.clone(), |spread| latency.with_deviation(spread));
        Ok(TableRow { line, group: "", name: cells[0], latency })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn printed_tables() {
        let text = include_str!("../fixtures/python_pytest/table.txt");
        insta::assert_snapshot!(read(text, None), @"
        test_text[c] latency 215.5618 [-3646.4577, 4077.5813]
        test_text[a b] latency 198.9069 [-3338.0652, 3735.879]
        test_sort[10] latency 699.7929 [-11696.5291, 13096.1149]
        test_sort[1000] latency 18044.8989 [-288860.7193, 324950.51710000006]
        test_one latency 1403798 [1403798, 1403798]
        test_sleep latency 12248300 [10354400, 14142200]
        ");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"
        test_text[c] latency 55.39 [52.160000000000004, 58.62]
        test_text[a b] latency 57.29 [54.79, 59.79]
        test_sort[10] latency 189.8518 [182.8148, 196.8888]
        test_sort[1000] latency 5204 [4180.0004, 6227.9996]
        test_one latency 1403798 [1403798, 1403798]
        test_sleep latency 12913800 [10207800, 15619800]
        ");
        assert_eq!(crate::tests::read(Adapter::Magic, text), read(text, None));
        let compared = include_str!("../fixtures/python_pytest/compare.txt");
        insta::assert_snapshot!(read(compared, None), @"
        test_sort[10] latency 531.1326 [-6180.4775, 7242.7427]
        test_sort[1000] latency 13770.7295 [-89412.488, 116953.947]
        ");
        let (_, skipped) = crate::parse_with_skipped(Adapter::Magic, compared, None).unwrap();
        assert_eq!((skipped.len(), skipped[0].count), (1, 2));
        assert_eq!(skipped[0].reason, "they are from a saved run");
    }

    #[test]
    fn an_invalid_table_is_reported_with_its_line() {
        let errors = [
            "-- benchmark: 1 tests --\nName (time in us)  Min  Max\ntest_a  1.0  2.0\n",
            "-- benchmark: 1 tests --\nName (time in us)  Min  Mean\ntest_a  1.0\n",
            "-- benchmark: 1 tests --\nName (time in days)  Min  Mean\n",
            "-- benchmark: 1 tests --\nName (time in us)  Mean\na  1\na  2\n",
            "-- benchmark: 1 tests --\nName (time in us)  Mean\n",
        ]
        .map(|text| read(text, None));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `python_pytest` cannot read the output at line 3: expected a number in the column `Mean`, found `test_a  1.0  2.0`.
        The adapter `python_pytest` cannot read the output at line 3: expected one value per column of the header, found `test_a  1.0`.
        The adapter `python_pytest` cannot read the output at line 2: expected a unit of time in the header, found `Name (time in days)  Min  Mean`.
        The adapter `python_pytest` cannot read the output at line 4: expected a benchmark with a unique combination of name and parameters, found `a`.
        The adapter `python_pytest` cannot read the output: expected a table with the header `Name (time in us)`.
        ");
    }

    use tidemark_api::{Adapter, Average};

    use crate::parse;

    const EXAMPLE: &str = r#"{"machine_info":{},"commit_info":{},"benchmarks":[{"fullname":"t.py::test_a[1]","stats":{"mean":0.002,"stddev":0.0005,"median":0.0019,"iqr":0.0001}}]}"#;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::PythonPytest, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn mean_and_median() {
        assert_eq!(read(EXAMPLE, None), "t.py::test_a[1] latency 2000000 [1500000, 2500000]\n");
        assert_eq!(
            read(EXAMPLE, Some(Average::Median)),
            "t.py::test_a[1] latency 1900000 [1800000, 2000000]\n"
        );
    }

    #[test]
    fn parameters_are_removed_from_the_name() {
        insta::assert_snapshot!(read(include_str!("../fixtures/python_pytest/parametrized.json"), None), @"
        test_bench.py::test_sum {kind=list, size=10} latency 290.04102651872677 [-4614.063701849735, 5194.145754887188]
        test_bench.py::test_sum {kind=list, size=1000} latency 9475.781589562375 [-106853.91247040348, 125805.47564952823]
        test_bench.py::test_sum {kind=tuple, size=10} latency 265.9492361252953 [-1847.8073892878303, 2379.705861538421]
        test_bench.py::test_join latency 26656.530510244585 [-172294.60869515588, 225607.66971564508]
        ");
        let text = EXAMPLE.replace("\"stats\"", r#""params":{"x":1},"stats""#);
        assert!(read(&text, None).starts_with("t.py::test_a {x=1} latency"));
    }

    #[test]
    fn object_parameters_stay_in_the_name() {
        for params in [r#"{"x":[1]}"#, r#"{"x":"UNSERIALIZABLE[<object at 0x7f>]"}"#, "{}", "null"] {
            let text = EXAMPLE.replace("\"stats\"", &format!(r#""params":{params},"stats""#));
            assert!(read(&text, None).starts_with("t.py::test_a[1] latency"), "{params}");
        }
    }

    #[test]
    fn benchmarks_with_equal_parameters_are_distinguished() {
        let row = |id: &str| {
            format!(
                r#"{{"fullname":"t.py::f[{id}]","param":"{id}","params":{{"x":"a[b]"}},"stats":{{"mean":1,"stddev":0,"median":1,"iqr":0}}}}"#
            )
        };
        let rows = [row("a[b]0"), row("a[b]1")].join(",");
        let text = format!(r#"{{"machine_info":{{}},"commit_info":{{}},"benchmarks":[{rows}]}}"#);
        insta::assert_snapshot!(read(&text, None), @"
        t.py::f {x=a[b]} latency 1000000000 [1000000000, 1000000000]
        t.py::f[a[b]1] latency 1000000000 [1000000000, 1000000000]
        ");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            EXAMPLE.replace("0.002", "null"),
            EXAMPLE.replace(",\"iqr\":0.0001", ""),
            EXAMPLE.replace("t.py::test_a[1]", ""),
            EXAMPLE.replace("\"commit_info\":{},", ""),
            EXAMPLE.replace("\"commit_info\":{},", "\"commit_info\":5,"),
            r#"{"machine_info":{},"commit_info":{},"benchmarks":[]}"#.to_owned(),
        ]
        .map(|text| read(&text, None));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `python_pytest` cannot read the output at `benchmarks[0].stats.mean`: expected a number, found `null`.
        The adapter `python_pytest` cannot read the output at `benchmarks[0].stats`: expected the member `iqr`.
        The adapter `python_pytest` cannot read the output at `benchmarks[0]`: expected a benchmark name of 1 to 1024 bytes without the character NUL.
        The adapter `python_pytest` cannot read the output: expected the member `commit_info`.
        The adapter `python_pytest` cannot read the output at `commit_info`: expected an object, found `integer 5`.
        The adapter `python_pytest` cannot read the output at `benchmarks`: expected at least one benchmark.
        ");
    }
}
