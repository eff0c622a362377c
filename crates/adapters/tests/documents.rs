//! Properties of all adapters for JSON documents, on valid and damaged documents.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use proptest::{prelude::*, sample};
use tidemark_adapters::{ADAPTERS, Results, parse};
use tidemark_api::Adapter;

/// Returns all captured documents, each with the adapter that its directory is named after.
fn documents() -> Vec<(Adapter, String)> {
    let mut documents = Vec::new();
    for directory in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")).unwrap() {
        let directory = directory.unwrap().path();
        let Ok(adapter) = directory.file_name().unwrap().to_str().unwrap().parse::<Adapter>() else {
            continue;
        };
        for file in fs::read_dir(&directory).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "json") {
                documents.push((adapter, fs::read_to_string(&file).unwrap()));
            }
        }
    }
    assert!(documents.len() > 15);
    documents
}

fn adapters() -> impl Iterator<Item = Adapter> {
    ADAPTERS.iter().map(|tool| tool.adapter).chain([Adapter::Magic])
}

/// Checks the invariants of results.
fn check(results: &Results) -> Result<(), TestCaseError> {
    let mut keys: Vec<_> = results.entries.iter().map(|entry| (entry.label, entry.parameters())).collect();
    keys.sort();
    keys.dedup();
    prop_assert_eq!(keys.len(), results.entries.len());
    for metric in results.entries.iter().flat_map(|entry| entry.metrics()) {
        let numbers = [Some(metric.value), metric.lower_value, metric.upper_value];
        prop_assert!(numbers.into_iter().flatten().all(f64::is_finite), "{:?}", metric);
    }
    Ok(())
}

#[test]
fn magic_detects_each_document() {
    for (adapter, text) in documents() {
        let (own, magic) = (parse(adapter, &text, None), parse(Adapter::Magic, &text, None));
        assert_eq!(own, magic, "{adapter}");
    }
}

#[test]
fn no_adapter_accepts_the_document_of_another_tool() {
    for (adapter, text) in documents() {
        for tool in ADAPTERS.iter().filter(|tool| tool.adapter != adapter) {
            let whole_of_it = matches!(
                (adapter, tool.adapter),
                (Adapter::RustGungraun, Adapter::RustGungraunJson)
                    | (Adapter::RustGungraunJson, Adapter::RustGungraun)
            );
            if !whole_of_it {
                let read = parse(tool.adapter, &text, None);
                assert!(read.is_err(), "{} reads a document of {adapter}: {read:?}", tool.adapter);
            }
        }
    }
}

#[test]
fn line_ends_colors_and_a_byte_order_mark_make_no_difference() {
    for (adapter, text) in documents() {
        let dressed = format!("\u{feff}\u{1b}[32m{}\u{1b}[0m", text.replace('\n', "\r\n"));
        assert_eq!(parse(adapter, &dressed, None), parse(adapter, &text, None), "{adapter}");
    }
}

/// Generates a document with parts removed, duplicated, or replaced by problematic text.
fn damaged() -> impl Strategy<Value = String> {
    const MUTATIONS: [&str; 14] =
        ["", "null", "{}", "[]", "\"\"", "0", "-1", "1e308", "1e999", "\"NaN\"", "{", "]", ",", "\u{0}"];
    let harm = (any::<sample::Index>(), 0_usize..40, sample::select(&MUTATIONS[..]), any::<bool>());
    (sample::select(documents()), prop::collection::vec(harm, 1..4)).prop_map(|((_, mut text), harms)| {
        for (index, length, harm, doubled) in harms {
            // Cuts at the edges of words and punctuation, so that the result is often still valid JSON.
            let edges: Vec<usize> = text
                .char_indices()
                .filter(|(_, character)| !character.is_ascii_alphanumeric())
                .map(|(at, _)| at)
                .collect();
            if edges.is_empty() {
                continue;
            }
            let start = index.index(edges.len());
            let end = edges[(start + length / 8).min(edges.len() - 1)];
            let part = text[edges[start]..end].to_owned();
            let new = if doubled { format!("{part}{harm}{part}") } else { harm.to_owned() };
            text.replace_range(edges[start]..end, &new);
        }
        text
    })
}

proptest! {
    #[test]
    fn a_damaged_document_causes_no_panic(text in damaged()) {
        for adapter in adapters() {
            match parse(adapter, &text, None) {
                Ok(results) => check(&results)?,
                Err(error) => prop_assert!(error.to_string().chars().count() < 500, "{}", error),
            }
        }
    }

    #[test]
    fn a_text_causes_no_panic(text in "(?s).{0,200}|[{}\\[\\]\",:a-z0-9. \n-]{0,200}") {
        for adapter in adapters() {
            if let Ok(results) = parse(adapter, &text, None) {
                check(&results)?;
            }
        }
    }
}
