//! What holds for every adapter and every text, however broken: an answer within linear time, finite numbers, each
//! benchmark once, and errors that are short.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::HashSet, fs, path::Path, time::Duration};

use proptest::prelude::*;
use tidemark_adapters::{ADAPTERS, fold, parse};
use tidemark_api::{Adapter, Average, Fold};

/// The real outputs, so that mutations start close to what adapters accept.
fn fixtures() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let directories =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files: Vec<_> =
        directories.flat_map(|path| fs::read_dir(path).unwrap()).map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Reads a text by every adapter and checks the answers.
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
                            keys.insert((&entry.label, &entry.parameters)),
                            "{adapter}: {:?}",
                            entry.label
                        );
                        let mut measures = HashSet::new();
                        for metric in &entry.metrics {
                            assert!(measures.insert(&metric.measure), "{adapter}: {}", metric.measure);
                            let numbers = [Some(metric.value), metric.lower_value, metric.upper_value];
                            assert!(
                                numbers.into_iter().flatten().all(f64::is_finite),
                                "{adapter}: {metric:?}"
                            );
                        }
                    }
                    for metric in results.entries.iter().flat_map(|entry| &entry.metrics) {
                        for how in Fold::ALL {
                            assert_eq!(fold(vec![metric, metric], *how), *metric, "{adapter} {how}");
                        }
                    }
                }
            }
        }
    }
}

/// A piece of a line or document that adapters look for.
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
    fn any_text_has_an_answer(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_fragments_have_an_answer(fragments in prop::collection::vec(fragment(), 0..40)) {
        check(&fragments.concat());
    }

    #[test]
    fn any_mutation_of_an_output_has_an_answer(
        output in prop::sample::select(fixtures()),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, fragment()), 1..4),
    ) {
        let mut characters: Vec<char> = output.chars().collect();
        for (place, removed, inserted) in mutations {
            let start = place.index(characters.len() + 1);
            let end = characters.len().min(start + removed);
            characters.splice(start..end, inserted.chars());
        }
        check(&characters.into_iter().collect::<String>());
    }
}

#[test]
fn real_outputs_have_answers() {
    for output in fixtures() {
        check(&output);
    }
}

/// The CPU time of this thread, where the system tells it: other processes do not count.
fn cpu_time() -> Option<Duration> {
    let numbers = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    numbers.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// How much CPU time it takes to read a text so many times.
fn cost(adapter: Adapter, text: &str, times: usize) -> Option<Duration> {
    let before = cpu_time()?;
    for _ in 0..times {
        // What is read does not matter here.
        let _ = parse(adapter, text, None);
    }
    Some(cpu_time()?.saturating_sub(before))
}

/// A linear adapter needs as long for a text as for its parts, a quadratic one as many times as long as there are parts.
#[test]
fn time_is_linear_in_the_length() {
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
        const PARTS: usize = 16;
        const ATTEMPTS: usize = 10;
        let part = fragment.repeat(12_500 / fragment.len());
        let text = part.repeat(PARTS);
        for adapter in ADAPTERS.iter().map(|tool| tool.adapter) {
            // The CPU time of a busy machine is far too long now and then; that of a quadratic adapter is so each time.
            let is_linear = || {
                let (parts, whole) = (cost(adapter, &part, PARTS), cost(adapter, &text, 1));
                // The system counts in steps of some milliseconds.
                parts.zip(whole).is_none_or(|(parts, whole)| whole <= 4 * parts + Duration::from_millis(100))
            };
            assert!((0..ATTEMPTS).any(|_| is_linear()), "{adapter} {fragment:?}");
        }
    }
}
