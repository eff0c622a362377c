//! Filters of benchmark tools: the arguments that limit a command to some of its benchmarks. A filter may select more benchmarks
//! than wanted, but not fewer.

use std::path::Path;

use tidemark_api::Adapter;

use crate::cmd::run::command::BenchmarkCommand;

/// Maximum length of the arguments of a filter, in bytes; the system limits the length of an argument.
const MAX_LENGTH: usize = 64 << 10;

/// Filter of a tool.
struct ToolFilter {
    /// Adapter that reads the output of the tool.
    adapter: Adapter,
    /// First words of the commands that the filter applies to; an empty list means any program.
    commands: &'static [&'static str],
    /// Returns the words of the filtered command; `None` if it cannot select the benchmarks.
    apply: fn(&[String], &Selection<'_>) -> Option<Vec<String>>,
}

/// Benchmarks of a command.
pub(crate) struct Selection<'a> {
    /// Names of the benchmarks to run.
    pub(crate) wanted: &'a [String],
    /// Names of the other benchmarks.
    pub(crate) others: &'a [String],
}

const CARGO: &[&str] = &["cargo bench"];
const PYTEST: &[&str] =
    &["pytest", "py.test", "python -m pytest", "python3 -m pytest", "uv run pytest", "poetry run pytest"];

/// Filters, one per tool; docs/cli.md has the same table.
const FILTERS: [ToolFilter; 8] = [
    tool(Adapter::RustCriterion, CARGO, |words, all| after_dashes(words, vec![any_of(all, "", escaped, "")])),
    tool(Adapter::RustBench, CARGO, libtest),
    tool(Adapter::RustDivan, CARGO, |words, all| {
        after_dashes(words, vec![any_of(all, "", divan_item, "(::|$)")])
    }),
    tool(Adapter::PythonPytest, PYTEST, |words, all| {
        with(words, vec!["-k".to_owned(), pytest_expression(all)?])
    }),
    tool(Adapter::GoBench, &["go test"], |words, all| {
        with(words, vec![format!("-bench={}", go_pattern(all))])
    }),
    tool(Adapter::CppGoogle, &[], |words, all| {
        with(words, vec![format!("--benchmark_filter={}", any_of(all, "^", google_family, "(/|$)"))])
    }),
    tool(Adapter::JavaJmh, &["java"], |words, all| {
        with(words, all.wanted.iter().map(|name| jmh_method(name)).collect())
    }),
    tool(Adapter::ShellHyperfine, &["hyperfine"], hyperfine),
];

const fn tool(
    adapter: Adapter,
    commands: &'static [&'static str],
    apply: fn(&[String], &Selection<'_>) -> Option<Vec<String>>,
) -> ToolFilter {
    ToolFilter { adapter, commands, apply }
}

/// Returns the command limited to the wanted benchmarks of a tool; `None` if the tool or the command has no filter.
pub(crate) fn narrow(
    adapter: Adapter,
    command: &BenchmarkCommand,
    selection: &Selection<'_>,
) -> Option<BenchmarkCommand> {
    let filter = FILTERS.iter().find(|filter| filter.adapter == adapter)?;
    command.with_words(|words| filter.words(words, selection))
}

impl ToolFilter {
    fn words(&self, words: &[String], selection: &Selection<'_>) -> Option<Vec<String>> {
        // Variables before the program and the toolchain of cargo do not matter.
        let is_assignment = |word: &&String| word.contains('=') && !word.starts_with('-');
        let from = words.iter().take_while(is_assignment).count();
        let relevant =
            words[from..].iter().enumerate().filter(|(index, word)| *index != 1 || !word.starts_with('+'));
        let mut relevant: Vec<&str> = relevant.map(|(_, word)| word.as_str()).collect();
        if let Some(program) = relevant.first_mut() {
            *program = Path::new(*program).file_name()?.to_str()?;
        }
        let is_command = |command: &&str| {
            let command: Vec<&str> = command.split(' ').collect();
            relevant.starts_with(&command)
        };
        if selection.wanted.is_empty() || !(self.commands.is_empty() || self.commands.iter().any(is_command))
        {
            return None;
        }
        let filtered = (self.apply)(words, selection)?;
        let length: usize = filtered.iter().map(String::len).sum();
        (length <= MAX_LENGTH).then_some(filtered)
    }
}

fn with(words: &[String], arguments: Vec<String>) -> Option<Vec<String>> {
    Some(words.iter().cloned().chain(arguments).collect())
}

/// Appends arguments after `--`, where cargo passes them to the benchmarks.
fn after_dashes(words: &[String], mut arguments: Vec<String>) -> Option<Vec<String>> {
    if !words.iter().any(|word| word == "--") {
        arguments.insert(0, "--".to_owned());
    }
    with(words, arguments)
}

/// Returns a pattern that matches any of the wanted names, each as a pattern. Without a prefix and a suffix, it matches whole
/// names.
fn any_of(selection: &Selection<'_>, prefix: &str, pattern: fn(&str) -> String, suffix: &str) -> String {
    let mut patterns: Vec<String> = selection.wanted.iter().map(|name| pattern(name)).collect();
    patterns.sort();
    patterns.dedup();
    let (prefix, suffix) = if prefix.is_empty() && suffix.is_empty() { ("^", "$") } else { (prefix, suffix) };
    format!("{prefix}({}){suffix}", patterns.join("|"))
}

/// Escapes a name for regular expressions.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// The benchmarks of libtest have exact names. Criterion prints the same format on request, and takes one pattern.
fn libtest(words: &[String], selection: &Selection<'_>) -> Option<Vec<String>> {
    if words.iter().any(|word| word.starts_with("--output-format")) {
        return after_dashes(words, vec![any_of(selection, "", escaped, "")]);
    }
    let mut arguments = vec!["--exact".to_owned()];
    arguments.extend_from_slice(selection.wanted);
    after_dashes(words, arguments)
}

/// Returns the first item below the crate: a benchmark or a module. The arguments of a benchmark are no part of its path.
fn divan_item(name: &str) -> String {
    escaped(name.split("::").nth(1).unwrap_or(name))
}

/// Returns an expression of the functions, without files and parameters; `None` if a name is not the name of a function.
fn pytest_expression(selection: &Selection<'_>) -> Option<String> {
    let function = |name: &String| {
        let function = name.split('[').next()?.rsplit("::").next()?.to_owned();
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        (!function.is_empty() && function.chars().all(is_word)).then_some(function)
    };
    let mut functions = selection.wanted.iter().map(function).collect::<Option<Vec<_>>>()?;
    functions.sort();
    functions.dedup();
    Some(functions.join(" or "))
}

/// Returns a pattern per level of the names. The last number may be the number of processors, which is no part of a name.
fn go_pattern(selection: &Selection<'_>) -> String {
    let pattern = |name: &String| {
        let (name, processors) = match name.rsplit_once('-') {
            Some((name, number))
                if !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit()) =>
            {
                (name, format!("(-{number})?"))
            }
            _ => (name.as_str(), String::new()),
        };
        let levels: Vec<String> = name.split('/').map(|level| format!("^{}", escaped(level))).collect();
        format!("{}{processors}$", levels.join("$/"))
    };
    selection.wanted.iter().map(pattern).collect::<Vec<_>>().join("|")
}

/// Returns the name of a family: the arguments that follow it are parameters.
fn google_family(name: &str) -> String {
    escaped(name.split('/').next().unwrap_or(name))
}

/// Returns a pattern of a method. The console omits the package, and the methods of a group follow a colon.
fn jmh_method(name: &str) -> String {
    format!("{}$", escaped(name.split(':').next().unwrap_or(name)))
}

/// Hyperfine has no filter: its commands are its arguments.
fn hyperfine(words: &[String], selection: &Selection<'_>) -> Option<Vec<String>> {
    let is_named = |word: &String| {
        ["-n", "--command-name", "-L", "-P", "--parameter"].iter().any(|flag| word.starts_with(flag))
    };
    let has = |name: &String| words.contains(name);
    if words.iter().any(is_named) || !selection.wanted.iter().chain(selection.others).all(has) {
        return None;
    }
    Some(words.iter().filter(|word| !selection.others.contains(word)).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn every_tool_is_limited_to_the_wanted_benchmarks() {
        let narrowed = |adapter: Adapter, command: &str, wanted: &[&str]| {
            let (wanted, others) = (strings(wanted), strings(&["other"]));
            let filter = FILTERS.iter().find(|filter| filter.adapter == adapter).unwrap();
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let selection = Selection { wanted: &wanted, others: &others };
            filter.words(&words, &selection).map_or_else(|| "none".to_owned(), |words| words.join(" "))
        };
        for (adapter, command, wanted, expected) in [
            (
                Adapter::RustCriterion,
                "cargo bench",
                &["sort/10", "a+b"] as &[&str],
                r"cargo bench -- ^(a\+b|sort/10)$",
            ),
            (
                Adapter::RustCriterion,
                "A=1 cargo +nightly bench -p x -- --quick",
                &["sort"],
                "A=1 cargo +nightly bench -p x -- --quick ^(sort)$",
            ),
            (Adapter::RustCriterion, "make bench", &["sort"], "none"),
            (Adapter::RustCriterion, "cargo bench", &[], "none"),
            (
                Adapter::RustBench,
                "cargo bench",
                &["m::sort", "m::sum"],
                "cargo bench -- --exact m::sort m::sum",
            ),
            (
                Adapter::RustBench,
                "cargo bench -- --output-format bencher",
                &["sort"],
                "cargo bench -- --output-format bencher ^(sort)$",
            ),
            (
                Adapter::RustDivan,
                "cargo bench",
                &["div::sort::10", "div::sort::1000", "div::group::threaded::t=1"],
                "cargo bench -- (group|sort)(::|$)",
            ),
            (
                Adapter::PythonPytest,
                "python3 -m pytest benches",
                &["test_bench.py::TestSum::test_sum", "test_text[a b]"],
                "python3 -m pytest benches -k test_sum or test_text",
            ),
            (Adapter::PythonPytest, "pytest", &["a b"], "none"),
            (
                Adapter::GoBench,
                "/usr/bin/go test -bench=. ./...",
                &["BenchmarkSum-2", "BenchmarkSort/n=10-2"],
                "/usr/bin/go test -bench=. ./... -bench=^BenchmarkSum(-2)?$|^BenchmarkSort$/^n=10(-2)?$",
            ),
            (
                Adapter::CppGoogle,
                "./bench --benchmark_format=json",
                &["BM_Sort", "BM_Threads/real_time", "BM_Push<int>"],
                "./bench --benchmark_format=json --benchmark_filter=^(BM_Push<int>|BM_Sort|BM_Threads)(/|$)",
            ),
            (
                Adapter::JavaJmh,
                "java -jar b.jar",
                &["org.x.Collections.counter:read", "Collections.log"],
                r"java -jar b.jar org\.x\.Collections\.counter$ Collections\.log$",
            ),
            (Adapter::ShellHyperfine, "hyperfine --runs 5 true other", &["true"], "hyperfine --runs 5 true"),
            (Adapter::ShellHyperfine, "hyperfine -n a true other", &["true"], "none"),
            (Adapter::ShellHyperfine, "hyperfine true", &["true"], "none"),
        ] {
            assert_eq!(narrowed(adapter, command, wanted), expected, "{command}");
        }
    }

    #[test]
    fn a_filter_is_limited_in_length() {
        let wanted: Vec<String> = (0..10_000).map(|index| format!("benchmark_{index}")).collect();
        let selection = Selection { wanted: &wanted, others: &[] };
        assert_eq!(FILTERS[0].words(&strings(&["cargo", "bench"]), &selection), None);
    }
}
