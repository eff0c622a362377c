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
        "standard input, read as rust_criterion\n\n\
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
    assert!(refused < 5 && all > 30, "{refused} of {all} were refused");
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
    assert!(table.starts_with("standard input, read as json\n") && table.contains(&second), "{table}");
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

/// The output of asv has seven benchmarks, and the adapter reads one of them.
#[test]
fn skipped_results_are_reported() {
    let output = tidemark(&["parse"]).arg(fixture("python_asv/run.txt")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let messages = text(&output.stderr);
    for expected in [
        "run.txt: 2 results are not read (asv prints their parameters as a table; read its result files with `tidemark \
         import`): suite.Sorting.time_sort, suite.Two.time_two.\n",
        "run.txt: 3 results are not read (they are not times; read the result files of asv with `tidemark import`): \
         suite.mem_list, suite.peakmem_list, suite.track_count.\n",
        "run.txt: 1 result is not read (they failed): suite.time_fails.\n",
    ] {
        assert!(messages.contains(expected), "{messages}");
    }
    assert_eq!(messages.lines().count(), 3, "{messages}");
    // Several outputs skip the same results; one warning is enough.
    let twice =
        tidemark(&["parse"]).args([fixture("python_asv/run.txt"), fixture("python_asv/run.txt")]).output();
    assert_eq!(text(&twice.unwrap().stderr).lines().count(), 3);
}
