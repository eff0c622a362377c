//! Detection of the benchmark tool of a repository from its files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidemark_api::Adapter;

/// A benchmark tool and its command.
#[derive(Debug)]
pub(super) struct Tool {
    /// File that names the tool.
    manifest: &'static str,
    /// Word in that file; empty if the file alone identifies the tool.
    word: &'static str,
    pub(super) adapter: Adapter,
    pub(super) command: &'static str,
    /// Files that the command writes results to instead of printing them.
    pub(super) files: &'static [&'static str],
}

/// Placeholder for an unknown tool.
pub(super) const UNKNOWN: Tool =
    Tool { manifest: "", word: "", adapter: Adapter::Magic, command: "./benchmark.sh", files: &[] };

const PYTEST: &str = "pytest --benchmark-only --benchmark-json=benchmark.json";

/// Tools, the more specific ones first.
const TOOLS: &[Tool] = &[
    tool("Cargo.toml", "gungraun", Adapter::RustGungraun, "cargo bench", &[]),
    tool("Cargo.toml", "iai-callgrind", Adapter::RustGungraun, "cargo bench", &[]),
    tool("Cargo.toml", "iai", Adapter::RustIai, "cargo bench", &[]),
    tool("Cargo.toml", "divan", Adapter::RustDivan, "cargo bench", &[]),
    tool("Cargo.toml", "criterion", Adapter::RustCriterion, "cargo bench", &[]),
    tool("Cargo.toml", "", Adapter::Magic, "cargo bench", &[]),
    tool("pyproject.toml", "pytest-benchmark", Adapter::PythonPytest, PYTEST, &["benchmark.json"]),
    tool("requirements.txt", "pytest-benchmark", Adapter::PythonPytest, PYTEST, &["benchmark.json"]),
    tool("requirements-dev.txt", "pytest-benchmark", Adapter::PythonPytest, PYTEST, &["benchmark.json"]),
    tool("setup.cfg", "pytest-benchmark", Adapter::PythonPytest, PYTEST, &["benchmark.json"]),
    tool("setup.py", "pytest-benchmark", Adapter::PythonPytest, PYTEST, &["benchmark.json"]),
    tool("asv.conf.json", "", Adapter::PythonAsv, "asv run --python=same", &[]),
    tool(
        "package.json",
        "vitest",
        Adapter::JsVitest,
        "npx vitest bench --run --outputJson benchmark.json",
        &["benchmark.json"],
    ),
    tool("package.json", "mitata", Adapter::JsMitata, "npm run --silent bench", &[]),
    tool("package.json", "benchmark", Adapter::JsBenchmark, "npm run --silent bench", &[]),
    tool("go.mod", "", Adapter::GoBench, "go test -run '^$' -bench . ./...", &[]),
    tool(
        "CMakeLists.txt",
        "benchmark::benchmark",
        Adapter::CppGoogle,
        "cmake --build build && ./build/benchmarks --benchmark_format=json",
        &[],
    ),
    tool("CMakeLists.txt", "Catch2", Adapter::CppCatch2, "cmake --build build && ./build/benchmarks", &[]),
    tool(
        "pom.xml",
        "jmh-core",
        Adapter::JavaJmh,
        "mvn --quiet package && java -jar target/benchmarks.jar -rf json -rff benchmark.json",
        &["benchmark.json"],
    ),
    tool("build.gradle", "jmh", Adapter::JavaJmh, "./gradlew jmh", &["build/results/jmh/results.json"]),
    tool("build.gradle.kts", "jmh", Adapter::JavaJmh, "./gradlew jmh", &["build/results/jmh/results.json"]),
    tool(
        "pubspec.yaml",
        "benchmark_harness",
        Adapter::DartBenchmarkHarness,
        "dart run benchmark/benchmark.dart",
        &[],
    ),
    tool("Gemfile", "benchmark", Adapter::RubyBenchmark, "ruby benchmark.rb", &[]),
];

const fn tool(
    manifest: &'static str,
    word: &'static str,
    adapter: Adapter,
    command: &'static str,
    files: &'static [&'static str],
) -> Tool {
    Tool { manifest, word, adapter, command, files }
}

/// Returns the tool of a repository, if it is detected.
pub(super) fn detect(root: &Path) -> Option<&'static Tool> {
    let folders = folders(root);
    TOOLS.iter().find(|tool| {
        // A Cargo command covers all crates of a workspace; other tools run in the folder of their file.
        let reached = if tool.manifest == "Cargo.toml" { folders.as_slice() } else { &folders[..1] };
        root.join(tool.manifest).is_file()
            && reached.iter().any(|folder| {
                fs::read_to_string(folder.join(tool.manifest)).is_ok_and(|text| names(&text, tool.word))
            })
    })
}

/// Returns the most useful measure of a tool.
pub(super) fn measure(adapter: Adapter) -> &'static str {
    match adapter {
        Adapter::RustGungraun
        | Adapter::RustIaiCallgrind
        | Adapter::RustGungraunJson
        | Adapter::RustGungraunStdout
        | Adapter::RustIai => "instructions",
        Adapter::JsBenchmark => "throughput",
        _ => "latency",
    }
}

/// Returns the root and its subfolders, two levels deep, without build, dependency and hidden folders.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.to_owned()];
    let mut level = all.clone();
    for _ in 0..2 {
        let entries = level.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        level = entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !is_foreign(path)).collect();
        all.extend(level.iter().cloned());
    }
    all
}

fn is_foreign(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || matches!(&*name, "target" | "node_modules" | "vendor" | "build")
}

/// Whether a text contains a word as a whole word.
fn names(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    word.is_empty()
        || text.match_indices(word).any(|(start, _)| {
            !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_whole_words() {
        assert!(names("iai = \"1\"", "iai") && !names("iai-callgrind = \"1\"", "iai"));
        assert!(names("[dev-dependencies.criterion]", "criterion") && names("", ""));
    }
}
