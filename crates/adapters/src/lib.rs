//! Parses the output of benchmark tools: from text to benchmarks with metrics, or to an error.
//!
//! The crate has no I/O and does not know projects: the server matches benchmarks and checks thresholds. To add a tool, add a
//! file and its row in [`ADAPTERS`].

mod c_sharp_dot_net;
mod cpp_catch2;
mod cpp_google;
mod dart_benchmark_harness;
mod document;
mod error;
mod fold;
mod go_bench;
mod java_jmh;
mod js_benchmark;
mod js_mitata;
mod js_time;
mod js_vitest;
mod json;
mod load_k6;
mod load_oha;
mod load_wrk;
mod python_asv;
mod python_pyperf;
mod python_pytest;
mod results;
mod ruby_benchmark;
mod rust_bench;
mod rust_criterion;
mod rust_divan;
mod rust_gungraun;
mod rust_gungraun_json;
mod rust_gungraun_stdout;
mod rust_iai;
mod shell_hyperfine;
mod skipped;
mod text;
mod variant;

use std::cell::RefCell;

use tidemark_api::{Adapter, Average};

use crate::error::Failure;
pub use crate::{
    error::{ParseError, Position},
    fold::fold,
    results::{Entry, Label, ParsedMetric, Results},
    skipped::Skipped,
};

/// A tool whose output can be parsed.
pub struct Tool {
    /// Adapter of the tool.
    pub adapter: Adapter,
    /// Averages that the output provides, default first; empty if the tool does not support the setting.
    pub averages: &'static [Average],
    /// Whether `magic` tries this row; formats that another row already covers are not tried again.
    pub detected: bool,
    parse: fn(&Input<'_>) -> Result<Vec<Entry>, Failure>,
}

/// All tools, in the order in which `magic` tries them.
///
/// The order is part of the contract for outputs that several adapters accept. Newer tools are placed so that they do not
/// take outputs from the others. An adapter with two rows is recognized early by one of its formats; its last row parses all
/// of them.
pub const ADAPTERS: &[Tool] = {
    use Adapter::*;
    use Average::{Mean, Median};
    &[
        tool(Json, &[Mean, Median], json::parse),
        tool(CSharpDotNet, &[Mean, Median], c_sharp_dot_net::parse),
        tool(CppCatch2, &[Mean], cpp_catch2::parse),
        tool(CppGoogle, &[Mean, Median], cpp_google::parse),
        tool(DartBenchmarkHarness, &[Mean], dart_benchmark_harness::parse),
        tool(GoBench, &[Mean], go_bench::parse),
        tool(JavaJmh, &[Mean], java_jmh::parse),
        tool(JsBenchmark, &[Median], js_benchmark::parse),
        tool(JsTime, &[], js_time::parse_browser),
        tool(JsVitest, &[Mean, Median], js_vitest::parse),
        tool(PythonAsv, &[Median], python_asv::parse),
        tool(PythonPytest, &[Mean, Median], python_pytest::parse),
        tool(RubyBenchmark, &[], ruby_benchmark::parse),
        tool(RustBench, &[Median], rust_bench::parse),
        tool(RustCriterion, &[Mean], rust_criterion::parse),
        tool(RustIai, &[], rust_iai::parse),
        tool(RustGungraun, &[], rust_gungraun::parse),
        undetected_tool(RustGungraunJson, &[], rust_gungraun_json::parse),
        undetected_tool(RustGungraunStdout, &[], rust_gungraun_stdout::parse),
        tool(ShellHyperfine, &[Mean, Median], shell_hyperfine::parse),
        tool(RustDivan, &[Mean, Median], rust_divan::parse),
        tool(JsMitata, &[Mean, Median], js_mitata::parse),
        tool(PythonPyperf, &[Mean, Median], python_pyperf::parse),
        tool(LoadK6, &[Mean, Median], load_k6::parse),
        tool(LoadOha, &[Mean, Median], load_oha::parse),
        tool(LoadWrk, &[Mean, Median], load_wrk::parse),
        // The lines of Node are so generic that the output of another tool may contain one.
        tool(JsTime, &[], js_time::parse),
    ]
};

const fn tool(
    adapter: Adapter,
    averages: &'static [Average],
    parse: fn(&Input<'_>) -> Result<Vec<Entry>, Failure>,
) -> Tool {
    Tool { adapter, averages, detected: true, parse }
}

/// Creates a tool whose format another row covers for `magic`.
const fn undetected_tool(
    adapter: Adapter,
    averages: &'static [Average],
    parse: fn(&Input<'_>) -> Result<Vec<Entry>, Failure>,
) -> Tool {
    Tool { detected: false, ..tool(adapter, averages, parse) }
}

/// Input of an adapter.
struct Input<'a> {
    /// Output of the tool, without color codes.
    text: &'a str,
    /// Requested average; always one that the tool provides.
    average: Option<Average>,
    /// Parts of the output that the adapter does not read.
    skipped: RefCell<Vec<Skipped>>,
}

impl<'a> Input<'a> {
    fn new(text: &'a str, average: Option<Average>) -> Self {
        Self { text, average, skipped: RefCell::default() }
    }

    /// Records that the adapter does not read a result.
    fn skip(&self, name: impl Into<String>, reason: &'static str) {
        self.skipped.borrow_mut().push(Skipped { name: name.into(), only_parameters: false, reason });
    }

    /// Records that the adapter reads a result without its parameters.
    fn skip_parameters(&self, name: &str) {
        let reason = skipped::PARAMETERS;
        self.skipped.borrow_mut().push(Skipped { name: name.to_owned(), only_parameters: true, reason });
    }
}

/// Parses the output of a tool.
///
/// `magic` uses the first tool whose adapter succeeds. If none does, it returns the error of the tool that recognized the
/// output.
pub fn parse(adapter: Adapter, text: &str, average: Option<Average>) -> Result<Results, ParseError> {
    parse_with_skipped(adapter, text, average).map(|(results, _)| results)
}

/// Parses the output of a tool, and returns what the adapter skipped, in the order of the output.
pub fn parse_with_skipped(
    adapter: Adapter,
    text: &str,
    average: Option<Average>,
) -> Result<(Results, Vec<Skipped>), ParseError> {
    let text = text::without_colors(text.strip_prefix('\u{feff}').unwrap_or(text));
    let input = Input::new(&text, average);
    let results = match adapter.plain() {
        Adapter::Magic => detect(&input),
        adapter => {
            let tool =
                ADAPTERS.iter().rfind(|tool| tool.adapter == adapter).expect("every adapter has its row");
            tool.read(&input).map_err(|failure| failure.into_error(adapter))
        }
    }?;
    Ok((results, input.skipped.into_inner()))
}

/// Returns the average of a tool that the values of a setting are: the requested average, or the default of the tool. `None` if the
/// tool provides at most one average, so that the setting makes no difference.
pub fn effective_average(adapter: Adapter, average: Option<Average>) -> Option<Average> {
    let tool = ADAPTERS.iter().find(|tool| tool.adapter == adapter.plain())?;
    // The format `json` contains final values.
    if adapter == Adapter::Json || tool.averages.len() < 2 {
        return None;
    }
    average.or(tool.averages.first().copied())
}

/// Detects the tool from its output.
fn detect(input: &Input<'_>) -> Result<Results, ParseError> {
    let mut invalid = None;
    for tool in ADAPTERS.iter().filter(|tool| tool.detected && tool.supports_average(input.average)) {
        match tool.read(input) {
            Ok(results) => return Ok(results),
            Err(Failure::Unrecognized(_)) => {}
            Err(failure @ Failure::Invalid(_)) => {
                invalid.get_or_insert_with(|| failure.into_error(tool.adapter));
            }
        }
    }
    if let Some(error) = invalid {
        return Err(error);
    }
    let other_average = ADAPTERS
        .iter()
        .filter(|tool| tool.detected && !tool.supports_average(input.average))
        .find(|tool| (tool.parse)(&Input::new(input.text, None)).is_ok());
    Err(match other_average {
        Some(tool) => tool.unsupported_average().into_error(tool.adapter),
        None => {
            Failure::unrecognized("set the adapter, or write the results in the format of the adapter `json`")
                .into_error(Adapter::Magic)
        }
    })
}

impl Tool {
    fn read(&self, input: &Input<'_>) -> Result<Results, Failure> {
        if !self.supports_average(input.average) {
            return Err(self.unsupported_average());
        }
        // `magic` may have tried another tool before.
        input.skipped.borrow_mut().clear();
        (self.parse)(input).and_then(|entries| Results::collect(self.adapter, entries))
    }

    fn supports_average(&self, average: Option<Average>) -> bool {
        average.is_none_or(|average| self.averages.contains(&average))
    }

    fn unsupported_average(&self) -> Failure {
        Failure::unrecognized(match self.averages.first() {
            Some(average) => format!("the average `{average}`, or no average setting"),
            None => "no average setting, because the tool provides no averages".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parsed results, or the error message.
    pub(crate) fn read(adapter: Adapter, text: &str) -> String {
        parse(adapter, text, None).map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn every_adapter_has_its_row() {
        for adapter in Adapter::ALL {
            let adapter = adapter.plain();
            let rows = ADAPTERS.iter().filter(|tool| tool.adapter == adapter).count();
            let expected = match adapter {
                Adapter::Magic => 0,
                Adapter::JsTime => 2,
                _ => 1,
            };
            assert_eq!(rows, expected, "{adapter}");
        }
    }

    #[test]
    fn the_error_of_magic_states_what_to_do() {
        insta::assert_snapshot!(read(Adapter::Rust, "hello"), @"No adapter recognized the output; set the adapter, or write the results in the format of the adapter `json`.");
        insta::assert_snapshot!(read(Adapter::Magic, r#"{"a": {"latency": {"value": "1"}}}"#), @r#"The adapter `json` cannot read the output at `a.latency.value`: expected a number, found `string "1"`."#);
        let libtest = "test a ... bench: 1 ns/iter (+/- 1)";
        insta::assert_snapshot!(parse(Adapter::Magic, libtest, Some(Average::Mean)).unwrap_err(), @"The adapter `rust_bench` cannot read the output: expected the average `median`, or no average setting.");
        let ruby = " user system total real\na 1 1 1 ( 1)";
        insta::assert_snapshot!(parse(Adapter::Magic, ruby, Some(Average::Mean)).unwrap_err(), @"The adapter `ruby_benchmark` cannot read the output: expected no average setting, because the tool provides no averages.");
    }

    #[test]
    fn a_byte_order_mark_makes_no_difference() {
        assert_eq!(read(Adapter::Magic, "\u{feff}{\"a\": {}}"), "a\n");
    }
}
