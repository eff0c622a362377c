//! `tidemark noise`: the values depend on the machine, but there is always a result.

use serde_json::Value;

use crate::{parse::with_input, process::tidemark};

#[test]
fn measurements_are_printed_as_results() {
    let output = tidemark(&["noise", "--duration", "1", "--format", "json", "--quiet"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, measure) in [
        ("compute_jitter", "compute-jitter"),
        ("cache_jitter", "cache-jitter"),
        ("io_jitter", "io-jitter"),
        ("composite", "noise-score"),
    ] {
        let value = results[format!("tidemark::noise::{name}")][measure]["value"].as_f64();
        assert!(value.is_some_and(|value| value >= 0.0), "{name}: {results}");
    }
    let score = results["tidemark::noise::composite"]["noise-score"]["value"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&score));
    let run = with_input(&["run", "--dry-run"], &output.stdout);
    assert!(run.status.success(), "{run:?}");
}

#[test]
fn the_text_has_a_verdict() {
    let output = tidemark(&["noise", "--duration", "1"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let verdict = text.lines().find(|line| line.starts_with("This machine is ")).unwrap();
    assert!(verdict.ends_with(" of 100 dB."), "{verdict}");
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("Measuring compute …\n"));
}
