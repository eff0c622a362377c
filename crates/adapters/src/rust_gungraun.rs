//! Adapter for Gungraun, formerly Iai-Callgrind, in both of its formats. The counters depend on the Valgrind tools that it
//! runs.

use tidemark_api::{Adapter, BuiltIn, built_in};

use crate::{Format, ParsedMetric, Syntax, Tool, rust_gungraun_json, rust_gungraun_stdout};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RustGungraun,
    title: "Gungraun",
    metrics: "the counters of Callgrind, Cachegrind, DHAT, Memcheck, Helgrind and DRD",
    parameters: "",
    averages: &[],
    formats: &[
        Format::new(
            Syntax::Ndjson,
            "cargo bench -- --output-format=json",
            &[r#""version""#, r#""profiles""#],
            rust_gungraun_json::parse,
        ),
        // The metrics of a benchmark are indented.
        Format::new(Syntax::Text, "cargo bench", &["\n  "], rust_gungraun_stdout::parse),
    ],
};

/// Creates a metric from a counter of a tool; `None` if the counter has no measure.
pub(crate) fn counter_metric(tool: &str, name: &str, count: f64) -> Option<ParsedMetric> {
    let measure = measure(tool, name)?;
    Some(ParsedMetric::of(measure.slug, count))
}

/// Returns the measure of a counter. The error-checking tools use the same counter names, so each of them has its own
/// measures.
fn measure(tool: &str, name: &str) -> Option<&'static BuiltIn> {
    let kind = match tool.to_ascii_uppercase().as_str() {
        "MEMCHECK" => "Memcheck",
        "HELGRIND" => "Helgrind",
        "DRD" => "DRD",
        _ => return built_in(name),
    };
    built_in(&format!("{kind} {name}"))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, RustGungraun, RustIaiCallgrind};

    use crate::tests::read;

    #[test]
    fn both_formats_are_parsed() {
        let printed = include_str!("../fixtures/rust_gungraun/tools.txt");
        let summary = include_str!("../fixtures/rust_gungraun/tools.json");
        for adapter in [RustGungraun, RustIaiCallgrind, Magic] {
            assert!(
                read(adapter, printed).contains("gung::numbers::bench_sort short:(10) instructions 602\n")
            );
            assert!(read(adapter, summary).contains("gung::numbers::bench_sort::short instructions 602\n"));
        }
        insta::assert_snapshot!(read(RustGungraun, "a::b::c\n  d"), @"The adapter `rust_gungraun` cannot read the output: expected the path of a benchmark with a line such as `  Instructions:  1734|N/A  (***)` below it.");
    }
}
