//! Result files of airspeed velocity: one JSON document per commit and environment. The names of parameters and the units of tracked
//! values are in another file, so parameters are named by their position.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::{Entries, Entry, Failure, Input, ParsedMetric, Position, document, python_asv::Kind, variant};

/// Default columns of a result.
const COLUMNS: [&str; 2] = ["result", "params"];

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    commit_hash: IgnoredAny,
    env_name: IgnoredAny,
    results: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    commit_hash: IgnoredAny,
    #[expect(dead_code, reason = "its presence identifies the tool")]
    env_name: IgnoredAny,
    result_columns: Option<Vec<String>>,
    /// Benchmarks, which are read one by one.
    #[expect(dead_code, reason = "its presence identifies the tool")]
    results: IgnoredAny,
}

/// Parses a result file.
pub(crate) fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let text = document::without_python_numbers(input.text);
    let Document { result_columns, .. } = document::read::<Shape, _>(&text)?;
    let columns = result_columns.unwrap_or_else(|| COLUMNS.map(str::to_owned).into());
    let mut entries = Entries::default();
    document::read_members(&text, "results", |name, result: Value| {
        // A list in the order of the columns, an object or a number, depending on the version of asv.
        let column = |wanted: &str| match &result {
            Value::Array(row) => row.get(columns.iter().position(|column| column == wanted)?),
            Value::Object(row) => row.get(wanted),
            bare => Some(bare).filter(|_| wanted == "result"),
        };
        Benchmark { name, kind: Kind::of(name), column: &column }.read(input, &mut entries)
    })?;
    document::require_entries(entries, "results")
}

/// A benchmark with one value per combination of its parameters.
struct Benchmark<'a> {
    name: &'a str,
    kind: Kind,
    column: &'a dyn Fn(&str) -> Option<&'a Value>,
}

impl Benchmark<'_> {
    fn read(&self, input: &Input<'_>, entries: &mut Entries) -> Result<(), Failure> {
        let values = match (self.column)("result") {
            Some(Value::Array(values)) => values.iter().collect(),
            Some(Value::Null) | None => Vec::new(),
            Some(value) => vec![value],
        };
        let lists: Vec<&Vec<Value>> = match (self.column)("params").and_then(Value::as_array) {
            Some(lists) => lists.iter().filter_map(Value::as_array).collect(),
            None => Vec::new(),
        };
        let count = lists.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
        if values.is_empty() {
            input.skip(self.name, "they failed");
            return Ok(());
        }
        if count != Some(values.len()) {
            let found = format!("{} values", values.len());
            return Err(Failure::invalid(self.position(), "one value per combination of parameters", &found));
        }
        let before = entries.len();
        for (index, value) in values.iter().enumerate() {
            let value = match value {
                Value::Null => continue,
                value => value.as_f64().ok_or_else(|| {
                    Failure::invalid(self.position(), "a number or null for each value", &value.to_string())
                })?,
            };
            let Some(metric) = self.kind.metric(value) else { continue };
            let metric = ParsedMetric {
                lower_value: self.end("stats_ci_99_a", index),
                upper_value: self.end("stats_ci_99_b", index),
                ..metric
            };
            let parameters = variant::of_texts(|| self.position(), combination(&lists, index))?;
            entries.push(Entry { parameters, ..Entry::new(|| self.position(), self.name, vec![metric])? });
        }
        match entries.len() - before {
            0 => input.skip(self.name, "they failed"),
            read if read < values.len() => {
                input.skip(self.name, "some of their parameters failed or were skipped");
            }
            _ => {}
        }
        Ok(())
    }

    fn position(&self) -> Position {
        Position::Path(format!("results.{}", self.name))
    }

    /// Returns an end of the confidence interval.
    fn end(&self, column: &str, index: usize) -> Option<f64> {
        (self.column)(column)?.get(index)?.as_f64().map(|end| self.kind.scaled(end))
    }
}

/// Returns the parameters of a value; the last parameter changes fastest.
fn combination(lists: &[&Vec<Value>], mut index: usize) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    for (number, list) in lists.iter().enumerate().rev() {
        let value = &list[index % list.len()];
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        parameters.insert(format!("param{}", number + 1), value.trim_matches(['\'', '"']).to_owned());
        index /= list.len();
    }
    parameters
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, PythonAsv};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn a_real_file() {
        let text = include_str!("../fixtures/python_asv/result.json");
        insta::assert_snapshot!(read(PythonAsv, text), @"
        suite.Half.time_half {param1=1} latency 256.7362405179824 [148.65, 352.64]
        suite.Sorting.time_sort {param1=10} latency 718.4999049059115 [366.63, 1221]
        suite.Sorting.time_sort {param1=1000} latency 6110.500180511735 [4214.4, 7992.6]
        suite.Two.time_two {param1=10, param2=heap} latency 1182.5000001408625 [523.65, 2418]
        suite.Two.time_two {param1=10, param2=list} latency 721.0001058410853 [-142.79, 3052]
        suite.Two.time_two {param1=100, param2=heap} latency 2254.0000372828217 [753.41, 6615]
        suite.time_sum latency 24424.593051849984 [13017, 43296]
        suite.Two.mem_two {param1=10, param2=heap} allocated 136
        suite.Two.mem_two {param1=10, param2=list} allocated 136
        suite.Two.mem_two {param1=100, param2=heap} allocated 856
        suite.mem_list allocated 8056
        suite.peakmem_list peak-memory 24920064
        suite.track_count value 42
        ");
        assert_eq!(read(Magic, text), read(PythonAsv, text));
        let (_, skipped) = parse_with_skipped(PythonAsv, text, None).unwrap();
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        suite.Half.time_half: some of their parameters failed or were skipped
        suite.Two.time_two: some of their parameters failed or were skipped
        suite.Two.mem_two: some of their parameters failed or were skipped
        suite.time_fails: they failed
        ");
    }

    #[test]
    fn older_files_have_bare_values() {
        let file = |results: &str| format!(r#"{{"commit_hash":"a","env_name":"b","results":{results}}}"#);
        let text = file(r#"{"a.time_a":0.5,"a.time_b":{"result":[1,null],"params":[["1","2"]]}}"#);
        insta::assert_snapshot!(read(PythonAsv, &text), @"
        a.time_a latency 500000000
        a.time_b {param1=1} latency 1000000000
        ");
        insta::assert_snapshot!(read(PythonAsv, &file(r#"{"a.time_a":[[1],[["1","2"]]]}"#)), @"The adapter `python_asv` cannot read the output at `results.a.time_a`: expected one value per combination of parameters, found `1 values`.");
        insta::assert_snapshot!(read(PythonAsv, &file(r#"{"a.time_a":[["x"],[]]}"#)), @r#"The adapter `python_asv` cannot read the output at `results.a.time_a`: expected a number or null for each value, found `"x"`."#);
        insta::assert_snapshot!(read(Magic, &file("{}")), @"The adapter `python_asv` cannot read the output at `results`: expected at least one benchmark.");
    }
}
