//! Parts of an output that an adapter does not read, so that programs can report them.

/// A result that an adapter skipped, or whose parameters it skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Name of the result in the output.
    pub name: String,
    /// Whether the adapter read the result without its parameters.
    pub only_parameters: bool,
    /// Reason, as the end of a sentence about several results or their parameters.
    pub reason: &'static str,
}

/// Reason if parameters are not stored as parameters of a variant.
pub(crate) const PARAMETERS: &str = "they are objects or longer than 256 bytes; they stay a part of the name";

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::{effective_average, parse_with_skipped};

    /// Returns the number of benchmarks, and each skipped result with its reason.
    fn skipped(adapter: Adapter, text: &str) -> (usize, Vec<String>) {
        let (results, skipped) = parse_with_skipped(adapter, text, None).unwrap();
        let lines = skipped.iter().map(|skipped| format!("{}: {}", skipped.name, skipped.reason));
        (results.entries.len(), lines.collect())
    }

    #[test]
    fn parameter_tables_of_asv_are_reported() {
        for adapter in [Adapter::PythonAsv, Adapter::Magic] {
            let (read, skipped) = skipped(adapter, include_str!("../fixtures/python_asv/run.txt"));
            assert_eq!(read, 1);
            insta::allow_duplicates! {
                insta::assert_snapshot!(skipped.join("\n"), @r"
                suite.Sorting.time_sort: asv prints their parameters as a table; read its result files with `tidemark import`
                suite.Two.time_two: asv prints their parameters as a table; read its result files with `tidemark import`
                suite.mem_list: they are not times; read the result files of asv with `tidemark import`
                suite.peakmem_list: they are not times; read the result files of asv with `tidemark import`
                suite.time_fails: they failed
                suite.track_count: they are not times; read the result files of asv with `tidemark import`
                ");
            }
        }
    }

    #[test]
    fn results_without_values_are_reported() {
        let google = r#"{"context":{"caches":[]},"benchmarks":[
            {"name":"a","real_time":1,"time_unit":"ms"},
            {"name":"b","real_time":0,"time_unit":"ms","skipped":true,"skip_message":"no GPU"}]}"#;
        assert_eq!(
            skipped(Adapter::CppGoogle, google),
            (1, vec!["b: the benchmark skipped them".to_owned()])
        );
        let jmh = r#"[{"benchmark":"a","mode":"avgt","primaryMetric":{"score":1.0,"scoreConfidence":[0.9,1.1],"scoreUnit":"ms/op"},
            "secondaryMetrics":{"gc.alloc.rate":{},"gc.count":{}}}]"#;
        let reason = "they are secondary metrics of a profiler";
        let expected = vec![format!("a: gc.alloc.rate: {reason}"), format!("a: gc.count: {reason}")];
        assert_eq!(skipped(Adapter::JavaJmh, jmh), (1, expected));
        let divan = "lib  fastest │ slowest │ median │ mean │ samples │ iters\n\
                     ├─ a  1 ns  │ 2 ns    │ 1 ns   │ 1 ns │ 100     │ 100\n\
                     ╰─ b  (ignored)  │  │  │  │  │ \n";
        assert_eq!(
            skipped(Adapter::RustDivan, divan),
            (1, vec!["lib::b: the benchmark ignored them".to_owned()])
        );
    }

    #[test]
    fn parameters_that_stay_in_the_name_are_reported() {
        let row = |params: &str| {
            let stats = r#"{"mean":0.002,"stddev":0.0005,"median":0.0019,"iqr":0.0001}"#;
            format!(
                r#"{{"machine_info":{{}},"commit_info":{{}},"benchmarks":[{{"fullname":"t.py::test_a[x]","param":"x","params":{params},"stats":{stats}}}]}}"#
            )
        };
        let expected = vec![format!("t.py::test_a[x]: {}", super::PARAMETERS)];
        assert_eq!(skipped(Adapter::PythonPytest, &row(r#"{"n":[1,2]}"#)), (1, expected.clone()));
        assert_eq!(
            skipped(Adapter::PythonPytest, &row(r#"{"n":"UNSERIALIZABLE[<object>]"}"#)),
            (1, expected)
        );
        for nothing in [r#"{"n":"x"}"#, "null", "{}"] {
            assert_eq!(skipped(Adapter::PythonPytest, &row(nothing)), (1, Vec::new()), "{nothing}");
        }
        let hyperfine = r#"{"results":[{"command":"sleep","mean":1,"stddev":0.1,"median":1,"min":1,"max":1,"parameters":{"n":{}}}]}"#;
        assert_eq!(skipped(Adapter::ShellHyperfine, hyperfine).1, [format!("sleep: {}", super::PARAMETERS)]);
    }

    #[test]
    fn the_effective_average_is_the_default_unless_requested() {
        assert_eq!(effective_average(Adapter::PythonPytest, None), Some(Average::Mean));
        assert_eq!(effective_average(Adapter::PythonPytest, Some(Average::Median)), Some(Average::Median));
        assert_eq!(effective_average(Adapter::RustBench, Some(Average::Median)), None);
        assert_eq!(effective_average(Adapter::Json, Some(Average::Median)), None);
        assert_eq!(effective_average(Adapter::RubyBenchmark, None), None);
    }
}
