//! Damaged outputs: every fixture is truncated, and its lines and bytes are changed. No adapter may panic, and every error is
//! short. The changes are the same in each run; `fuzz/` searches for others.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{env, fs, path::Path};

use tidemark_adapters::{parse, unread_lines};
use tidemark_api::Adapter;

/// Returns the number of truncations, changed lines and changed bytes per fixture. Set `TIDEMARK_TEST_MUTATIONS` for a longer run.
fn mutations() -> usize {
    env::var("TIDEMARK_TEST_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(2)
}

/// Bytes that have a meaning in one of the syntaxes.
const SPECIAL: &[u8] = b"0-9.e,{}[]\"<>|\n \t";

/// Returns the fixtures with their adapters.
fn fixtures() -> Vec<(Adapter, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files: Vec<_> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .collect();
    files.sort();
    let adapter = |path: &Path| {
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        *Adapter::ALL.iter().find(|adapter| adapter.to_string() == folder).unwrap()
    };
    files.iter().map(|path| (adapter(path), fs::read_to_string(path).unwrap())).collect()
}

/// A generator of pseudorandom numbers (xorshift), so that each run has the same changes.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap()
    }
}

fn check(adapter: Adapter, text: &str) {
    for adapter in [adapter, Adapter::Magic] {
        match parse(adapter, text, None) {
            Ok(results) => {
                let metrics = results.entries.iter().flat_map(|entry| entry.metrics());
                for metric in metrics {
                    let numbers = [Some(metric.value), metric.lower_value, metric.upper_value];
                    assert!(numbers.into_iter().flatten().all(f64::is_finite), "{adapter}: {metric:?}");
                }
                let _ = unread_lines(text, &results, None);
            }
            Err(error) => {
                let message = error.to_string();
                assert!(message.ends_with('.') && message.chars().count() < 600, "{adapter}: {message}");
            }
        }
    }
}

#[test]
fn damaged_outputs_are_parsed_or_rejected() {
    let (mut random, mutations) = (Random(0x5eed), mutations());
    for (adapter, text) in fixtures() {
        for part in 1..=mutations {
            let end = (0..=text.len() * part / (mutations + 1)).rev().find(|end| text.is_char_boundary(*end));
            check(adapter, &text[..end.unwrap_or_default()]);
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for _ in 0..mutations {
            let (one, other) = (random.below(lines.len()), random.below(lines.len()));
            let mut swapped = lines.clone();
            swapped.swap(one, other);
            check(adapter, &swapped.concat());
            let mut repeated = lines.clone();
            repeated.insert(other, lines[one]);
            check(adapter, &repeated.concat());
            let mut without = lines.clone();
            without.remove(one);
            check(adapter, &without.concat());
        }
        for _ in 0..mutations {
            let mut bytes = text.clone().into_bytes();
            let (one, other) = (random.below(bytes.len()), random.below(bytes.len()));
            bytes.swap(one, other);
            let third = random.below(bytes.len());
            bytes[third] = SPECIAL[random.below(SPECIAL.len())];
            check(adapter, &String::from_utf8_lossy(&bytes));
        }
    }
}
