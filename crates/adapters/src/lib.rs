//! Parses the output of benchmark tools: from text to benchmarks with metrics, or to an error.
//!
//! The crate has no I/O and does not know projects: the server matches benchmarks and checks thresholds. To add a tool, add a
//! file and its row in [`ADAPTERS`].

mod ab;
mod autocannon;
mod benchee;
mod benchmark_ips;
mod benchmark_tools;
mod benchmark_tools_text;
mod c_sharp_dot_net;
mod c_sharp_dot_net_text;
mod clickbench;
mod cpp_catch2;
mod cpp_google;
mod cpp_google_row;
mod cpp_google_text;
mod csv;
mod ctest;
mod custom;
mod dart_benchmark_harness;
mod detect;
mod document;
mod entries;
mod error;
mod fio;
mod fold;
mod gatling;
mod go_bench;
mod group;
mod haskell_criterion;
mod hey;
mod iperf3;
mod java_jmh;
mod java_jmh_text;
mod jmeter;
mod js_benchmark;
mod js_mitata;
mod js_mitata_v0;
mod js_time;
mod js_vitest;
mod json;
mod junit;
mod lighthouse;
mod llama_bench;
mod load_k6;
mod load_k6_text;
mod load_oha;
mod load_wrk;
mod locust;
mod marks;
mod memtier;
mod mocha;
mod nanobench;
mod ndjson;
mod nyrkio;
mod packed;
mod perf_stat;
mod pgbench;
mod phpbench;
mod playwright;
mod python_asv;
mod python_asv_result;
mod python_asv_show;
mod python_pyperf;
mod python_pytest;
mod records;
mod redis_benchmark;
mod results;
mod ruby_benchmark;
mod rust_bench;
mod rust_criterion;
mod rust_divan;
mod rust_gungraun;
mod rust_gungraun_json;
mod rust_gungraun_stdout;
mod rust_iai;
mod sample;
mod shared;
mod shell_hyperfine;
mod skipped;
mod sysbench;
mod table;
mod tasty_bench;
mod text;
mod time;
mod tinybench;
mod tool;
mod trx;
mod variant;
mod vegeta;
mod xml;
mod zbench;

use tidemark_api::{Adapter, Average};

pub use crate::{
    custom::{CustomFormat, Description, Match, MeasureDescription},
    detect::{Explanation, explain},
    entries::{Entries, EntryRef, Iter, Metrics},
    error::{ParseError, Position},
    fold::fold,
    results::{Entry, Label, MetricRef, ParsedMetric, Results},
    skipped::{Skipped, unread_lines},
    tool::{Detection, Format, Syntax, Tool},
};
use crate::{error::Failure, tool::Input};

/// All tools, in alphabetical order of their adapters.
pub const ADAPTERS: &[&Tool] = &[
    &ab::TOOL,
    &autocannon::TOOL,
    &benchee::TOOL,
    &benchmark_ips::TOOL,
    &benchmark_tools::TOOL,
    &c_sharp_dot_net::TOOL,
    &clickbench::TOOL,
    &cpp_catch2::TOOL,
    &cpp_google::TOOL,
    &csv::TOOL,
    &ctest::TOOL,
    &dart_benchmark_harness::TOOL,
    &fio::TOOL,
    &gatling::TOOL,
    &go_bench::TOOL,
    &haskell_criterion::TOOL,
    &hey::TOOL,
    &iperf3::TOOL,
    &java_jmh::TOOL,
    &jmeter::TOOL,
    &js_benchmark::TOOL,
    &js_mitata::TOOL,
    &js_time::TOOL,
    &js_vitest::TOOL,
    &json::TOOL,
    &junit::TOOL,
    &lighthouse::TOOL,
    &llama_bench::TOOL,
    &load_k6::TOOL,
    &load_oha::TOOL,
    &load_wrk::TOOL,
    &locust::TOOL,
    &memtier::TOOL,
    &mocha::TOOL,
    &nanobench::TOOL,
    &nyrkio::TOOL,
    &perf_stat::TOOL,
    &pgbench::TOOL,
    &phpbench::TOOL,
    &playwright::TOOL,
    &python_asv::TOOL,
    &python_pyperf::TOOL,
    &python_pytest::TOOL,
    &redis_benchmark::TOOL,
    &ruby_benchmark::TOOL,
    &rust_bench::TOOL,
    &rust_criterion::TOOL,
    &rust_divan::TOOL,
    &rust_gungraun::TOOL,
    &rust_gungraun_json::TOOL,
    &rust_gungraun_stdout::TOOL,
    &rust_iai::TOOL,
    &shell_hyperfine::TOOL,
    &sysbench::TOOL,
    &tasty_bench::TOOL,
    &time::TOOL,
    &tinybench::TOOL,
    &trx::TOOL,
    &vegeta::TOOL,
    &zbench::TOOL,
];

/// Parses the output of a tool. `magic` detects the tool.
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
    match adapter.plain() {
        Adapter::Magic => detect::detect(&input),
        adapter => {
            let results =
                tool(adapter).read(&input, |_| true).map_err(|failure| failure.into_error(adapter))?;
            Ok((results, input.skipped.take()))
        }
    }
}

/// Returns the adapters that claim an output. `magic` reads an output that one adapter claims.
pub fn candidates(text: &str) -> Vec<Adapter> {
    let text = text::without_colors(text.strip_prefix('\u{feff}').unwrap_or(text));
    detect::candidates(&Input::new(&text, None))
}

/// Returns the tool of an adapter, which must not be `magic`.
fn tool(adapter: Adapter) -> &'static Tool {
    ADAPTERS.iter().find(|tool| tool.adapter == adapter).expect("every adapter has its row")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parsed results, or the error message.
    pub(crate) fn read(adapter: Adapter, text: &str) -> String {
        parse(adapter, text, None).map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    /// Returns the value of the first metric.
    pub(crate) fn first_value(results: &Results) -> f64 {
        results.entries.iter().next().unwrap().metrics().next().unwrap().value
    }

    #[test]
    fn every_adapter_has_its_row() {
        for adapter in Adapter::ALL {
            let adapter = adapter.plain();
            let rows = ADAPTERS.iter().filter(|tool| tool.adapter == adapter).count();
            assert_eq!(rows, usize::from(adapter != Adapter::Magic), "{adapter}");
        }
    }

    #[test]
    fn the_error_of_magic_states_what_to_do() {
        insta::assert_snapshot!(read(Adapter::Rust, "hello"), @"No adapter recognized the output; set the adapter, describe the format as `[adapter.NAME]` in tidemark.toml, or write the results in the format of the adapter `json`.");
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
