//! `tidemark parse`: outputs of tools as a table or as JSON, and the errors for invalid outputs.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Output, Stdio},
};

use serde_json::Value;

use crate::process::tidemark;

/// Runs the command with a text as standard input.
pub(crate) fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut process = tidemark(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails early may not read its input.
    let _ = process.stdin.take().unwrap().write_all(input);
    process.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../adapters/fixtures").join(path)
}

#[test]
fn a_table_names_the_tool_and_reads_well() {
    let criterion = "sort/10                 time:   [1.2000 µs 1.2345 µs 1.3000 µs]\n";
    let output = with_input(&["parse"], criterion.as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        text(&output.stdout),
        "standard input, read as criterion: 1 benchmark\n\n\
         Benchmark  Measure     Value             Range\n\
         sort/10    latency  1.234 µs  1.200 … 1.300 µs\n"
    );
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn every_output_that_the_adapters_are_tested_with_can_be_shown() {
    let mut files = Vec::new();
    for folder in fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap().path()) {
        if folder.is_dir() {
            files.extend(fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    let (all, mut refused) = (files.len(), 0);
    for file in files {
        let adapter = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let output = tidemark(&["parse", "--json", "--adapter", adapter]).arg(&file).output().unwrap();
        // Some fixtures are invalid on purpose.
        if output.status.code() == Some(5) {
            refused += 1;
            continue;
        }
        assert!(output.status.success(), "{}: {output:?}", file.display());
        let again = with_input(&["parse", "--json"], &output.stdout);
        assert_eq!(again.stdout, output.stdout, "{}", file.display());
    }
    assert!(refused < 15 && all > 150, "{refused} of {all} were refused");
}

#[test]
fn several_files_are_separate_or_folded() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, value: u32| {
        let path = folder.path().join(name);
        fs::write(&path, format!(r#"{{"a": {{"latency": {{"value": {value}}}}}}}"#)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (first, second) = (file("first", 1000), file("second", 3000));
    let apart = tidemark(&["parse", "--json", &first, &second]).output().unwrap();
    assert_eq!(text(&apart.stdout).lines().count(), 2);
    let folded = tidemark(&["parse", "--json", "--fold", "mean", &first, &second]).output().unwrap();
    let folded: Value = serde_json::from_slice(&folded.stdout).unwrap();
    assert_eq!(folded["a"]["latency"]["value"], 2000.0);
    let piped = with_input(&["parse", "-", &second], br#"{"b": {"latency": {"value": 1}}}"#);
    let table = text(&piped.stdout);
    assert!(
        table.starts_with("standard input, read as json: 1 benchmark\n") && table.contains(&second),
        "{table}"
    );
}

#[test]
fn an_unparsable_output_is_named_with_its_position() {
    let long = format!("goos: linux\nBenchmark{} 100 5 ns/op\n", "x".repeat(1025));
    for (arguments, input, code, sentence) in [
        (&["parse"] as &[&str], "hello", 5, "error: standard input: No adapter recognized"),
        (&["parse"], &long, 5, "The adapter `go_bench` cannot read the output at line 2: expected"),
        (&["parse"], r#"{"a": {"latency": {"value": "1"}}}"#, 5, "at `a.latency.value`: expected a number"),
        (&["parse"], r#"{"a": {}}"#, 6, "no metric"),
        (&["parse", "missing"], "", 1, "missing cannot be read"),
        (&["parse", "--adapter", "abacus"], "", 2, "abacus"),
        (&["parse", "--fold", "sum"], "", 2, "sum"),
    ] {
        let output = with_input(arguments, input.as_bytes());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(text(&output.stderr).contains(sentence), "{output:?}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn an_invalid_byte_does_not_discard_the_output() {
    let output = with_input(&["parse", "--json"], b"BenchmarkA 1 5 ns/op\n\xff\nBenchmarkB 1 7 ns/op\n");
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("B\":"), "{output:?}");
    assert!(text(&output.stderr).contains("line 2"), "{output:?}");
}

#[test]
fn an_empty_variable_counts_as_none() {
    let file = fixture("rust_criterion/groups.txt");
    let run = |adapter| tidemark(&["parse"]).arg(&file).env("TIDEMARK_ADAPTER", adapter).output().unwrap();
    assert!(run("").status.success());
    assert_eq!(run("go_bench").status.code(), Some(5));
    assert_eq!(run("abacus").status.code(), Some(2));
}

#[test]
fn a_repository_describes_its_own_format() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "tidemark.toml",
        "[adapter.lap]\n\
         pattern = '^(?<name>\\w+) n=(?<n>\\d+) took (?<t>[\\d.]+) ms, (?<hits>\\d+) hits'\n\
         parameters = { n = \"n\" }\n\
         measures.latency = { value = \"t\", unit = \"ms\" }\n\
         measures.Hits = { value = \"hits\", unit = \"hits\", direction = \"higher\" }\n",
    );
    write("laps.txt", "start\nsort n=4 took 1.5 ms, 7 hits\nsort n=8 took 3 ms, 9 hits\n");
    let run = |arguments: &[&str]| tidemark(arguments).current_dir(folder.path()).output().unwrap();
    for adapter in ["magic", "lap"] {
        let output = run(&["parse", "--adapter", adapter, "laps.txt"]);
        assert!(output.status.success(), "{output:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(text(&output.stdout), @"
            laps.txt, read as lap: 2 benchmarks

            Benchmark   Measure     Value
            sort {n=4}  Hits       7 hits
            sort {n=4}  latency  1.500 ms
            sort {n=8}  Hits       9 hits
            sort {n=8}  latency      3 ms
            ");
        }
        assert_eq!(text(&output.stderr), "laps.txt: read as `lap`, described in tidemark.toml.\n");
    }
    insta::assert_snapshot!(text(&run(&["parse", "--explain", "laps.txt"]).stdout), @"
    laps.txt

    Adapter    Format  Result
    lap        line 2  sort {n=4}: Hits 7 hits (higher is better), latency 1.500 ms
    lap        line 3  sort {n=8}: Hits 9 hits (higher is better), latency 3 ms
    csv        CSV     expected a header with the column `name` or `benchmark` and a column of a measure such as `latency (ns)`
    gobench    text    expected a line such as `BenchmarkName-8  1000  1234.5 ns/op`
    json       JSON    expected valid JSON (expected value at line 1 column 1)
    perf_stat  CSV     expected lines such as `16,,context-switches,17340976,100.00,922.670,/sec`
    ");
    write("other.txt", "nothing");
    let other = run(&["parse", "--adapter", "lap", "other.txt"]);
    assert_eq!(other.status.code(), Some(5), "{other:?}");
    insta::assert_snapshot!(text(&other.stderr), @"error: other.txt: No part of the output matches `lap` in tidemark.toml; `tidemark parse --explain` shows why.");
    write(
        "tidemark.toml",
        "project = \"lab\"\n\n[adapter.lap]\npattern = '('\nmeasures.latency = { value = \"t\" }\n",
    );
    let invalid = run(&["parse", "laps.txt"]);
    assert_eq!(invalid.status.code(), Some(2), "{invalid:?}");
    insta::assert_snapshot!(text(&invalid.stderr), @"error: tidemark.toml, line 3: The adapter `lap` cannot be used: its `pattern` is not a valid regular expression (unclosed group).");
}

#[test]
fn each_format_is_explained() {
    let output = with_input(&["parse", "--explain"], b"sort  time:   [1.2 us 1.3 us 1.4 us]\n");
    insta::assert_snapshot!(text(&output.stdout), @"
    standard input

    Adapter       Format  Result
    criterion     text    reads 1 benchmark
    csv           CSV     the output does not contain `,`
    gobench       text    expected a line such as `BenchmarkName-8  1000  1234.5 ns/op`
    console_time  text    expected a line such as `name: 12.5ms` or `name: 12ms - timer ended`
    json          JSON    expected valid JSON (expected value at line 1 column 1)
    tasty_bench   text    the output does not contain ` ± `
    ");
    let output = with_input(&["parse", "--explain"], b"hello");
    insta::assert_snapshot!(text(&output.stdout), @"
    standard input

    Adapter  Format  Result
    gobench  text    expected a line such as `BenchmarkName-8  1000  1234.5 ns/op`
    json     JSON    expected valid JSON (expected value at line 1 column 1)
    ");
}

/// The output of asv has seven benchmarks, and the adapter reads one of them.
#[test]
fn skipped_results_are_reported() {
    let output = tidemark(&["parse"]).arg(fixture("python_asv/run.txt")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let messages = text(&output.stderr);
    let expected = "run.txt: 1 result is not read (they failed): suite.time_fails.\n";
    assert!(messages.ends_with(expected), "{messages}");
    assert_eq!(messages.lines().count(), 1, "{messages}");
    // Several outputs skip the same results; one warning is enough.
    let twice =
        tidemark(&["parse"]).args([fixture("python_asv/run.txt"), fixture("python_asv/run.txt")]).output();
    assert_eq!(text(&twice.unwrap().stderr).lines().count(), 1);
}
