//! Adapter for pytest-benchmark: parses the JSON of `--benchmark-json`, not the printed table.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tidemark_api::{Average, Parameters};

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, text::Unit, variant};

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
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
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

#[cfg(test)]
mod tests {
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
