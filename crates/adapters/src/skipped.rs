//! Parts of an output that an adapter does not read, so that programs can report them.

use std::collections::{HashMap, HashSet};

use tidemark_api::{Average, excerpt};

use crate::{
    Results, Syntax, parse_with_skipped,
    text::{self, Unit},
};

/// Results that an adapter skipped for the same reason, or whose parameters it skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Names of the first results in the output, at most 20.
    pub names: Vec<String>,
    /// Number of results.
    pub count: usize,
    /// Whether the adapter read the results without their parameters.
    pub only_parameters: bool,
    /// Reason, as the end of a sentence about several results or their parameters.
    pub reason: &'static str,
}

impl Skipped {
    /// Adds a result to those that were skipped for the same reason.
    pub(crate) fn add(all: &mut Vec<Self>, name: String, only_parameters: bool, reason: &'static str) {
        let same = |one: &&mut Self| (one.only_parameters, one.reason) == (only_parameters, reason);
        match all.iter_mut().find(same) {
            Some(same) => {
                same.count += 1;
                if same.names.len() < MAX_NAMES {
                    same.names.push(name);
                }
            }
            None => all.push(Self { names: vec![name], count: 1, only_parameters, reason }),
        }
    }

    /// Returns a line for each name.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(|name| format!("{name}: {}", self.reason))
    }
}

/// Reason if parameters are not stored as parameters of a variant.
pub(crate) const PARAMETERS: &str = "they are objects or longer than 256 bytes; they stay a part of the name";

/// Reason if lines look like results.
const UNREAD: &str = "they look like results, but the adapter does not know their format";

/// Maximum number of names that are kept per reason: an output can have a million results that failed.
const MAX_NAMES: usize = 20;

/// Returns the lines of a text that look like the results that were read, but that the adapter did not read. Programs call it
/// to warn about an incomplete report; documents in JSON or XML are either read as a whole or rejected.
///
/// A line looks like a result if it contains a number with a unit and most of the words that all lines with results have in
/// common. Such lines were not read if the results are the same without them. This takes two more parses, whatever the number of
/// lines is, and none if no line looks like a result.
pub fn unread_lines(text: &str, results: &Results, average: Option<Average>) -> Vec<Skipped> {
    let text = text::without_colors(text.strip_prefix('\u{feff}').unwrap_or(text));
    if Syntax::of(&text) != Syntax::Text {
        return Vec::new();
    }
    let names = names(results);
    let (rows, others): (Vec<_>, Vec<_>) = text::lines(&text).partition(|line| is_row(line.text, &names));
    let common = common_words(rows.iter().map(|row| row.text), &names);
    let is_similar = |line: &str| {
        let found: HashSet<_> =
            words(line).map(without_prefix).filter(|word| common.contains(word)).collect();
        found.len() * 2 > common.len() && has_unit(line)
    };
    let candidates: Vec<_> = others.into_iter().filter(|line| is_similar(line.text)).collect();
    let numbers: HashSet<usize> = candidates.iter().map(|line| line.number).collect();
    if numbers.is_empty() {
        return Vec::new();
    }
    let mut without = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if !numbers.contains(&(index + 1)) {
            without.push_str(line);
        }
        without.push('\n');
    }
    let parse = |text: &str| parse_with_skipped(results.adapter, text, average).ok();
    if parse(&without) != parse(&text) {
        return Vec::new();
    }
    let mut unread = Vec::new();
    for line in candidates {
        let name = format!("line {}: {}", line.number, excerpt::of_text(line.text.trim()));
        Skipped::add(&mut unread, name, false, UNREAD);
    }
    unread
}

/// Returns the first word of each benchmark's name and of the last segment of its path, as they occur in a line.
fn names(results: &Results) -> HashSet<&str> {
    let segments = results.entries.iter().flat_map(|entry| {
        let label = entry.label.as_str();
        let segment = label.rsplit("::").next().unwrap_or(label);
        [label, segment, segment.rsplit('/').next().unwrap_or(segment)]
    });
    segments.filter_map(|name| words(name).next()).collect()
}

/// Whether a line contains the name of a benchmark that was read, and a number in another word.
fn is_row(line: &str, names: &HashSet<&str>) -> bool {
    let is_number = |word: &str| word.contains(|character: char| character.is_ascii_digit());
    words(line).any(|word| names.contains(word))
        && words(line).any(|word| is_number(word) && !names.contains(word))
}

/// Returns the words that all rows contain, except the names of benchmarks.
fn common_words<'a>(rows: impl Iterator<Item = &'a str>, names: &HashSet<&str>) -> HashSet<&'a str> {
    let mut count = 0;
    let mut rows_by_word: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        count += 1;
        let is_text = |word: &&str| !word.contains(|character: char| character.is_ascii_digit());
        let is_unit = |word: &&str| Unit::from_symbol(word).is_some();
        let words = words(row).filter(|word| !names.contains(word) && !is_unit(word)).filter(is_text);
        for word in words.map(without_prefix).collect::<HashSet<_>>() {
            *rows_by_word.entry(word).or_default() += 1;
        }
    }
    rows_by_word.into_iter().filter(|(_, rows)| *rows == count).map(|(word, _)| word).collect()
}

/// Returns the end of a unit such as `ns/op`, so that rows with other units of time are similar.
fn without_prefix(word: &str) -> &str {
    word.find('/').filter(|start| (1..=3).contains(start)).map_or(word, |start| &word[start..])
}

/// Returns the words of a line without surrounding punctuation.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_mark = |character: char| !(character.is_alphanumeric() || matches!(character, '_' | '/' | '%'));
    line.split_whitespace().map(move |word| word.trim_matches(is_mark)).filter(|word| !word.is_empty())
}

/// Whether a line contains a number that a unit follows: `12.5ms`, `3 ns/iter`, `10 ops/sec`.
fn has_unit(line: &str) -> bool {
    let mut words = words(line).peekable();
    while let Some(word) = words.next() {
        let Some((_, unit)) = text::quantity(word) else { continue };
        let unit = if unit.is_empty() { words.peek().copied().unwrap_or_default() } else { unit };
        // A unit of time has at most three letters, even one that the adapter does not know.
        let is_time = (1..=3).contains(&unit.chars().count()) && unit.chars().all(char::is_lowercase);
        if is_time || unit.split_once('/').is_some_and(|(_, per)| !per.is_empty()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::{Skipped, effective_average, parse_with_skipped, unread_lines};

    /// Returns the lines that look like results, but were not read.
    fn unread(adapter: Adapter, text: &str) -> Vec<String> {
        let (results, _) = parse_with_skipped(adapter, text, None).unwrap();
        let skipped = unread_lines(text, &results, None);
        assert!(skipped.iter().all(|skipped| skipped.reason == super::UNREAD && !skipped.only_parameters));
        skipped.into_iter().flat_map(|skipped| skipped.names).collect()
    }

    #[test]
    fn lines_that_look_like_results_are_reported() {
        let go =
            "BenchmarkA-8  \t  100\t  12.5 ns/op\nBenchmarkB-8  \t  many\t  1.5 ms/op\nok  demo 0.598s\n";
        assert_eq!(unread(Adapter::GoBench, go), ["line 2: BenchmarkB-8     many   1.5 ms/op"]);
        let benchmark_js = "a x 2,000 ops/sec ±1.50% (90 runs sampled)\nb x 5 ops/ms ±0.00% (2 runs sampled)\n\
            Fastest is a\n";
        assert_eq!(
            unread(Adapter::JsBenchmark, benchmark_js),
            ["line 2: b x 5 ops/ms ±0.00% (2 runs sampled)"]
        );
        let criterion = "a  time:   [1.10 us 1.25 us 1.40 us]\nb  time:   [1.10 fs 1.25 fs 1.40 fs]\n\
            \x20        time:   [-1.2% +0.1% +1.3%] (p = 0.31 > 0.05)\n    Finished in 3.2s\n";
        assert_eq!(
            unread(Adapter::RustCriterion, criterion),
            ["line 2: b  time:   [1.10 fs 1.25 fs 1.40 fs]"]
        );
        assert!(unread(Adapter::Json, r#"{"a": {"latency": {"value": 1}}}"#).is_empty());
    }

    #[test]
    fn a_limited_number_of_lines_is_reported() {
        let text = "b x 5 ops/ms ±0.00% (2 runs sampled)\n".repeat(100);
        let text = format!("a x 2,000 ops/sec ±1.50% (90 runs sampled)\n{text}");
        assert_eq!(unread(Adapter::JsBenchmark, &text).len(), super::MAX_NAMES);
        let (results, _) = parse_with_skipped(Adapter::JsBenchmark, &text, None).unwrap();
        assert_eq!(unread_lines(&text, &results, None)[0].count, 100);
    }

    /// Returns the number of benchmarks, and each skipped result with its reason.
    fn skipped(adapter: Adapter, text: &str) -> (usize, Vec<String>) {
        let (results, skipped) = parse_with_skipped(adapter, text, None).unwrap();
        (results.entries.len(), skipped.iter().flat_map(Skipped::lines).collect())
    }

    #[test]
    fn failures_of_asv_are_reported() {
        for adapter in [Adapter::PythonAsv, Adapter::Magic] {
            let (read, skipped) = skipped(adapter, include_str!("../fixtures/python_asv/run.txt"));
            assert_eq!((read, skipped), (10, vec!["suite.time_fails: they failed".to_owned()]));
        }
        let text = "[1.00%] ··· suite.time_a   1.0±0.1ns\n[2.00%] ··· suite.time_b   ok\n";
        let reason = "the output contains no table of their parameters";
        assert_eq!(skipped(Adapter::PythonAsv, text), (1, vec![format!("suite.time_b: {reason}")]));
    }

    #[test]
    fn benchmarks_of_a_second_tool_are_reported() {
        let libtest = "test a ... bench: 1 ns/iter (+/- 1)\n";
        let go = "BenchmarkA-8  100  12.5 ns/op\n";
        let hyperfine = include_str!("../fixtures/shell_hyperfine/one_run.txt");
        let reason = super::super::detect::OTHER_TOOL;
        let both = format!("{libtest}{hyperfine}");
        assert_eq!(skipped(Adapter::Magic, &both), (1, vec![format!("true (hyperfine): {reason}")]));
        assert_eq!(
            skipped(Adapter::Magic, &format!("{go}{libtest}{hyperfine}")),
            (1, vec![format!("a (libtest): {reason}"), format!("true (hyperfine): {reason}")])
        );
        assert_eq!(skipped(Adapter::RustBench, &both), (1, Vec::new()));
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
