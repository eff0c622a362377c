//! Properties of every adapter for any text, including invalid ones: linear time, finite numbers, unique benchmarks, and
//! short errors.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::HashSet, fs, path::Path};

use proptest::prelude::*;
use tidemark_adapters::{ADAPTERS, fold, parse};
use tidemark_api::{Adapter, Average, Fold};

/// Returns the captured outputs, so that mutations start close to valid input.
fn fixtures() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let directories =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files: Vec<_> =
        directories.flat_map(|path| fs::read_dir(path).unwrap()).map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Parses a text with every adapter and checks the results.
fn check(text: &str) {
    let adapters = ADAPTERS.iter().map(|tool| tool.adapter).chain([Adapter::Magic]);
    for adapter in adapters {
        for average in [None, Some(Average::Mean), Some(Average::Median)] {
            match parse(adapter, text, average) {
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.ends_with('.') && message.chars().count() < 600, "{adapter}: {message}");
                }
                Ok(results) => {
                    let mut keys = HashSet::new();
                    for entry in &results.entries {
                        assert!(
                            keys.insert((entry.label, entry.parameters())),
                            "{adapter}: {:?}",
                            entry.label
                        );
                        let mut measures = HashSet::new();
                        for metric in entry.metrics() {
                            assert!(measures.insert(metric.measure), "{adapter}: {}", metric.measure);
                            let numbers = [Some(metric.value), metric.lower_value, metric.upper_value];
                            assert!(
                                numbers.into_iter().flatten().all(f64::is_finite),
                                "{adapter}: {metric:?}"
                            );
                        }
                    }
                    for metric in results.entries.iter().flat_map(|entry| entry.metrics()) {
                        for how in Fold::ALL {
                            assert_eq!(fold(vec![metric, metric], *how), metric, "{adapter} {how}");
                        }
                    }
                }
            }
        }
    }
}

/// Generates a part of a line or document that adapters look for.
fn fragment() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "test a ... bench: ",
        " ns/iter (+/- ",
        "time:   [",
        " ns",
        "µs",
        "]",
        "ops/sec ±",
        "% (",
        "a: ",
        "1:02.5 (m:ss.mmm)",
        "Running 1s test @ u\n",
        "Latency ",
        "Benchmark ",
        " B/op",
        "(RunTime): ",
        " us.",
        "a::b::c\n",
        "  Errors: 1|2 (",
        " user system total real\n",
        "{\n",
        "}\n",
        "{\"a\":",
        "[",
        "\"value\":",
        "1e308",
        "9999999999",
        "\n",
        "\r\n",
        "\t",
        " ",
        "\u{1b}[31m",
        "\u{1b}]",
        "├─ ",
        "│ ",
        "fastest",
        "··· ",
        "[1%] ",
        "±",
        "_bencher_ignore",
        "\u{feff}",
        "0",
        "1",
        ".",
        ",",
        "-------------------------------------------------------------------------------\n",
    ]);
    prop_oneof![3 => known.prop_map(str::to_owned), 1 => ".{0,8}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_parsed_or_rejected(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_fragments_are_parsed_or_rejected(fragments in prop::collection::vec(fragment(), 0..40)) {
        check(&fragments.concat());
    }

    #[test]
    fn any_mutation_of_an_output_is_parsed_or_rejected(
        output in prop::sample::select(fixtures()),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, fragment()), 1..4),
    ) {
        let mut characters: Vec<char> = output.chars().collect();
        for (position, removed, inserted) in mutations {
            let start = position.index(characters.len() + 1);
            let end = characters.len().min(start + removed);
            characters.splice(start..end, inserted.chars());
        }
        check(&characters.into_iter().collect::<String>());
    }
}

#[test]
fn real_outputs_are_parsed() {
    for output in fixtures() {
        check(&output);
    }
}

/// A linear adapter parses half a mebibyte within a second. A quadratic one takes 10¹¹ steps, longer than the timeout of a
/// hung test, so the test measures no time.
#[test]
fn no_text_takes_quadratic_time() {
    for fragment in [
        " ",
        "\t1",
        "time: ",
        " x ",
        "x 1 ",
        "1:",
        ": 1",
        "a: 1:",
        "a::",
        "\u{1b}]",
        "\u{1b}[",
        "{\n",
        "{\"a\":",
        "[",
        "{}\n",
        "(",
        "(RunTime):",
        "1 ns ",
        "9",
        "1,",
        "·",
        "[1%] ·",
        "├─ ",
        "│  ",
        "a\n",
        "\r",
        "test a ... bench: ",
        "Running 1s test @ ",
        "a::b::c\n",
        "a::b::c\n  x\n",
        " 1 2 3 (",
        " user system total real\n",
        "-------------------------------------------------------------------------------\n",
        "a \n",
        "a 1 1 1 ns\n",
    ] {
        let text = fragment.repeat((1 << 18) / fragment.len());
        for adapter in ADAPTERS.iter().map(|tool| tool.adapter) {
            // The result does not matter here.
            let _ = parse(adapter, &text, None);
        }
    }
}
