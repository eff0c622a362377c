//! Which adapter claims which output: each fixture belongs to the tool of its folder, and no tool claims texts that are not the
//! output of a benchmark.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use tidemark_adapters::{candidates, parse, unread_lines};
use tidemark_api::Adapter;

/// Fixtures that no adapter reads, with the reason.
const ERRORS: &[(&str, &str)] = &[
    ("cpp_catch2/reporter.json", "the JSON reporter writes no benchmarks"),
    ("cpp_google/errored.json", "a benchmark failed"),
    ("cpp_google/errored.txt", "a benchmark failed"),
    ("cpp_google/python_bindings_errored.json", "a benchmark failed"),
    ("hey/no_answer.txt", "no request was answered"),
    ("iperf3/refused.json", "the client could not connect"),
    ("js_mitata/errored.json", "a benchmark threw an exception"),
    ("js_mitata/errored.md", "a benchmark threw an exception"),
    ("js_mitata/errored.txt", "a benchmark threw an exception"),
    ("lighthouse/refused.json", "the page did not load"),
    ("load_oha/no_answer.json", "no request was answered"),
    ("load_oha/no_answer.txt", "no request was answered"),
];

/// Lines of fixtures that are results, but not read.
const UNREAD: &[&str] = &[];

/// Start of the line with the title of a text in the corpus.
const SEPARATOR: &str = "\n%%% ";

/// Minimum number of texts in the corpus.
const CORPUS_SIZE: usize = 200;

/// Returns the files of a folder with their names, sorted.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn each_fixture_is_claimed_by_its_tool_only() {
    let mut problems = Vec::new();
    let mut folders: Vec<_> =
        fs::read_dir(folder("fixtures")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    for path in folders {
        let tool = path.file_name().unwrap().to_str().unwrap();
        let adapter = *Adapter::ALL.iter().find(|adapter| adapter.to_string() == tool).unwrap();
        for (name, text) in files(&path) {
            let file = format!("{tool}/{name}");
            let is_error = ERRORS.iter().any(|(known, _)| *known == file);
            match parse(Adapter::Magic, &text, None) {
                Ok(_) if is_error => problems.push(format!("{file}: listed as an error, but read")),
                Ok(results) if results.adapter == adapter => {}
                Ok(results) => problems.push(format!("{file}: read by {}", results.adapter)),
                Err(_) if is_error => {}
                Err(error) => problems.push(format!("{file}: {error}")),
            }
            let claims = candidates(&text);
            let others: Vec<_> = claims.iter().filter(|other| **other != adapter).collect();
            if !others.is_empty() {
                problems.push(format!("{file}: also claimed by {others:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_tool_claims_other_texts() {
    let mut problems = Vec::new();
    let mut count = 0;
    let mut titles = std::collections::HashSet::new();
    for (file, texts) in files(&folder("tests/corpus")) {
        for section in texts.split(SEPARATOR).skip(1) {
            let (title, text) = section.split_once('\n').unwrap();
            count += 1;
            assert!(titles.insert(title.to_owned()), "{file}: the title {title} is not unique");
            let Ok(results) = parse(Adapter::Magic, text, None) else { continue };
            let metrics: usize = results.entries.iter().map(|entry| entry.metrics().len()).sum();
            if metrics > 0 {
                problems.push(format!("{file}: {title}: {metrics} metrics read by {}", results.adapter));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count >= CORPUS_SIZE, "the corpus has {count} texts");
}

#[test]
fn few_lines_of_fixtures_look_like_results_but_are_not_read() {
    let mut unread = Vec::new();
    let folders = fs::read_dir(folder("fixtures")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    for path in folders {
        for (name, text) in files(&path) {
            let Ok(results) = parse(Adapter::Magic, &text, None) else { continue };
            let lines = unread_lines(&text, &results, None);
            unread.extend(
                lines
                    .iter()
                    .flat_map(|lines| &lines.names)
                    .map(|line| format!("{}/{name}: {line}", results.adapter)),
            );
        }
    }
    assert_eq!(unread, UNREAD);
}
