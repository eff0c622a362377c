//! Inputs that are made to exhaust memory, time or the stack are rejected with an error that states the limit.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use tidemark_adapters::{ADAPTERS, Syntax, parse};
use tidemark_api::Adapter;

/// Number of nested values, which a recursive parser without a limit could not read.
const DEPTH: usize = 20_000;

/// Returns the error message of an input that must be rejected.
fn rejected(adapter: Adapter, text: &str) -> String {
    parse(adapter, text, None).unwrap_err().to_string()
}

/// Returns the adapters with a format of a syntax.
fn adapters(syntax: &[Syntax]) -> Vec<Adapter> {
    let has =
        |tool: &&&tidemark_adapters::Tool| tool.formats.iter().any(|format| syntax.contains(&format.syntax));
    ADAPTERS.iter().filter(has).map(|tool| tool.adapter).chain([Adapter::Magic]).collect()
}

#[test]
fn deep_nesting_is_rejected() {
    let documents = [
        "[".repeat(DEPTH),
        format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        r#"{"a":"#.repeat(DEPTH),
        format!("{}1{}", r#"{"benchmarks":["#.repeat(DEPTH), "]}".repeat(DEPTH)),
        format!("{}1{}", r#"{"results":"#.repeat(DEPTH), "}".repeat(DEPTH)),
    ];
    for adapter in adapters(&[Syntax::Json, Syntax::Ndjson]) {
        for document in &documents {
            assert!(rejected(adapter, document).len() < 600, "{adapter}");
        }
    }
    for member in ["benchmarks", "results", "data", "suites", "measures"] {
        let deep = format!(
            r#"{{"a": {{"latency": {{"value": 1, "{member}": {}1{}}}}}}}"#,
            "[".repeat(DEPTH),
            "]".repeat(DEPTH)
        );
        // Ignored members have any depth, without recursion.
        assert_eq!(parse(Adapter::Json, &deep, None).unwrap().entries.len(), 1);
    }
    let julia = format!(
        r#"[{{"Julia":"1","BenchmarkTools":"1"}},[{}5{}]]"#,
        r#"["BenchmarkGroup",{"data":{"a":"#.repeat(DEPTH),
        "}}]".repeat(DEPTH)
    );
    assert!(rejected(Adapter::BenchmarkTools, &julia).contains("recursion limit exceeded"));
    let elements = format!("<testsuite name='a'>{}", "<testcase name='b' time='1'>".repeat(DEPTH));
    assert!(rejected(Adapter::Junit, &elements).contains("more than 64 nested elements"));
}

#[test]
fn entities_are_not_expanded() {
    let bomb = "<!DOCTYPE testsuites [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n\
        <testsuites><testsuite name=\"s\"><testcase name=\"&b;\" time=\"1\"/></testsuite></testsuites>";
    let message = rejected(Adapter::Junit, bomb);
    assert!(message.contains("valid XML") && message.contains('b'), "{message}");
    for adapter in adapters(&[Syntax::Xml]) {
        let _ = rejected(adapter, bomb);
    }
}

#[test]
fn numbers_outside_of_doubles_are_rejected() {
    let long = "9".repeat(401);
    for number in ["1e999", "-1e999", &long, "NaN", "Infinity", "-Infinity", "nan", "inf", "1e"] {
        let json = format!(r#"{{"a": {{"latency": {{"value": {number}}}}}}}"#);
        assert!(rejected(Adapter::Json, &json).contains("valid JSON"), "{number}");
        let csv = format!("name,latency (ns)\na,{number}\n");
        assert!(rejected(Adapter::Csv, &csv).contains("line 2: expected a number"), "{number}");
        let xml = format!("<testsuite name=\"s\"><testcase name=\"a\" time=\"{number}\"/></testsuite>");
        assert!(
            rejected(Adapter::Junit, &xml).contains("cannot read the output at line 1: expected"),
            "{number}"
        );
        let hyperfine = format!(
            r#"{{"results":[{{"command":"a","mean":{number},"stddev":0.1,"median":1,"min":1,"max":1,"user":1,"system":1}}]}}"#
        );
        let _ = rejected(Adapter::ShellHyperfine, &hyperfine);
    }
    // Numbers that a conversion of units makes infinite.
    assert!(rejected(Adapter::Csv, "name,latency (s)\na,1e305\n").contains("within the range of a double"));
    assert!(rejected(Adapter::GoBench, &format!("BenchmarkA-8 \t 1 \t {long} ns/op\n")).len() < 600);
    assert!(rejected(Adapter::RustBench, &format!("test a ... bench: {long} ns/iter (+/- 1)\n")).len() < 600);
}

#[test]
fn the_number_of_columns_and_attributes_is_limited() {
    let columns = ",x (ns)".repeat(100_000);
    let values = ",1".repeat(100_000);
    let csv = format!("name,latency (ns){columns}\na,1{values}\n");
    for adapter in [Adapter::Csv, Adapter::Magic] {
        assert!(rejected(adapter, &csv).contains("line 1: expected at most 10000 columns"), "{adapter}");
    }
    // Records may have more cells than the header.
    let wide = format!("name,latency (ns)\na,1{values}\n");
    assert_eq!(parse(Adapter::Csv, &wide, None).unwrap().entries.len(), 1);
    let attributes: String = (0..10_000).map(|index| format!(" a{index}='1'")).collect();
    let xml = format!("<testsuite name='s'{attributes}><testcase name='a' time='1'/></testsuite>");
    // Before the first element, the document is not known to be from the tool.
    assert!(rejected(Adapter::Junit, &xml).contains("an XML document"));
    let xml = format!("<testsuite name='s'><testcase name='a' time='1'{attributes}/></testsuite>");
    assert!(rejected(Adapter::Junit, &xml).contains("more than 256 attributes"));
    let cells = "| a ".repeat(20_000);
    for adapter in adapters(&[Syntax::Text]) {
        let _ = parse(adapter, &format!("{cells}|\n{}|\n{cells}|\n", "|---".repeat(20_000)), None);
    }
}
