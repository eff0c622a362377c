//! Output of benchmark tools, from files and standard input, and the options for parsing it. `tidemark-adapters` parses it.

use std::{
    collections::HashSet,
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
    sync::{Mutex, PoisonError},
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tidemark_adapters::{Results, Skipped};
use tidemark_api::{Adapter, Average, Fold};

use crate::{
    failure::{Exit, Failure, Result},
    output,
};

/// Maximum number of names in a warning.
const NAMES: usize = 3;

/// Tools whose default output is text for people, which cannot be parsed: a text in their output, their name, and the flag for
/// JSON.
const TEXT_FORMATS: [(&str, &str, &str); 6] = [
    ("Name (time in ", "pytest-benchmark", "--benchmark-json results.json"),
    ("Time (mean ± σ)", "hyperfine", "--export-json results.json"),
    ("CPU   Iterations", "Google Benchmark", "--benchmark_out=results.json"),
    ("Mode  Cnt", "JMH", "-rf json -rff results.json"),
    ("Mean +- std dev: ", "pyperf", "-o results.json"),
    ("BENCH  Summary", "Vitest", "--outputJson results.json"),
];

/// Options for parsing outputs.
#[derive(clap::Args)]
pub(crate) struct ParseFlags {
    /// Adapter for the output; `magic` detects the tool
    #[arg(long, value_name = "TOOL", env = "TIDEMARK_ADAPTER", default_value = "magic",
        value_parser = PossibleValuesParser::new(Adapter::ALL.iter().map(|word| word.as_str()))
            .try_map(|word| word.parse::<Adapter>()))]
    pub(crate) adapter: Adapter,
    /// Average of the tool to use
    #[arg(long, value_parser = PossibleValuesParser::new(Average::ALL.iter().map(|word| word.as_str()))
        .try_map(|word| word.parse::<Average>()))]
    pub(crate) average: Option<Average>,
    /// Combine several results into one, with one metric per benchmark and measure
    #[arg(long, value_name = "HOW",
        value_parser = PossibleValuesParser::new(Fold::ALL.iter().map(|word| word.as_str()))
            .try_map(|word| word.parse::<Fold>()))]
    pub(crate) fold: Option<Fold>,
}

/// Output of a tool.
pub(crate) struct ToolOutput {
    /// Source of the output, for messages.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl ToolOutput {
    /// Reads a file; `-` is standard input.
    pub(crate) fn from_file(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Self::from_stdin();
        }
        let name = path.display().to_string();
        match fs::read(path) {
            Ok(bytes) => Ok(Self::new(name, bytes)),
            Err(error) => {
                Err(Failure::new(format!("{name} cannot be read ({error}); check the path of the file.")))
            }
        }
    }

    /// Reads standard input to its end.
    pub(crate) fn from_stdin() -> Result<Self> {
        let mut stdin = io::stdin().lock();
        if stdin.is_terminal() {
            return Err(Failure::usage(
                "There is no input: name a file, or pipe in the output of a benchmark tool.",
            ));
        }
        let mut bytes = Vec::new();
        match stdin.read_to_end(&mut bytes) {
            Ok(_) => Ok(Self::new("standard input".to_owned(), bytes)),
            Err(error) => Err(Failure::new(format!("Standard input cannot be read ({error})."))),
        }
    }

    /// Decodes bytes. Replaces bytes that are not UTF-8 and prints a warning, so that one invalid byte does not discard a whole
    /// run.
    pub(crate) fn new(name: String, bytes: Vec<u8>) -> Self {
        let text = String::from_utf8(bytes).unwrap_or_else(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            message!(
                "warning: {name} has bytes that are not UTF-8, first in line {line}; they were replaced."
            );
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        });
        Self { name, text }
    }
}

impl ParseFlags {
    /// Parses outputs, and folds them if requested. Fails with the position and the reason if an output cannot be parsed, and if
    /// an output has no metric.
    pub(crate) fn parse(&self, outputs: &[ToolOutput]) -> Result<Vec<Results>> {
        let mut results = Vec::with_capacity(outputs.len());
        for ToolOutput { name, text } in outputs {
            if text.trim().is_empty() {
                return Err(Failure::with(
                    Exit::Empty,
                    format!("{name}: The output is empty; check that the benchmarks ran."),
                ));
            }
            let parsed = tidemark_adapters::parse_with_skipped(self.adapter, text, self.average);
            let (read, skipped) = parsed.map_err(|error| {
                let failure = Failure::with(Exit::Unreadable, format!("{name}: {error}"));
                match TEXT_FORMATS.iter().find(|(mark, ..)| text.contains(mark)) {
                    Some((_, tool, flag)) => failure.and(&format!(
                        "It looks like the default output of {tool}: run {tool} with `{flag}`, and read the \
                         file with `--file results.json`."
                    )),
                    None => failure,
                }
            })?;
            if read.entries.iter().all(|entry| entry.metrics.is_empty()) {
                return Err(Failure::with(
                    Exit::Empty,
                    format!("{name}: The output contains no metric; check that the benchmarks ran."),
                ));
            }
            warn_about_skipped(name, &skipped);
            results.push(read);
        }
        match self.fold.map(|how| Results::fold(&results, how)) {
            Some(folded) => Ok(folded.into_iter().collect()),
            None => Ok(results),
        }
    }
}

/// Prints a warning for each reason why an adapter skipped results, with the first names. Several outputs of one tool skip the same
/// results, so each warning is printed once.
fn warn_about_skipped(output: &str, skipped: &[Skipped]) {
    static PRINTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    for warning in skipped_warnings(skipped) {
        let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.get_or_insert_default().insert(warning.clone()) {
            message!("warning: {}: {warning}", output::plain(output));
        }
    }
}

/// Returns a sentence for each reason, in order of appearance.
fn skipped_warnings(skipped: &[Skipped]) -> Vec<String> {
    let mut reasons: Vec<(&str, bool)> = Vec::new();
    for Skipped { reason, only_parameters, .. } in skipped {
        if !reasons.contains(&(reason, *only_parameters)) {
            reasons.push((reason, *only_parameters));
        }
    }
    let warning = |(reason, only_parameters): (&str, bool)| {
        let names = || skipped.iter().filter(|one| one.reason == reason).map(|one| output::plain(&one.name));
        let count = names().count();
        let results = if count == 1 { "1 result".to_owned() } else { format!("{count} results") };
        let what = if only_parameters { format!("The parameters of {results}") } else { results };
        let are = if count == 1 && !only_parameters { "is" } else { "are" };
        let more = if count > NAMES { format!(" and {} more", count - NAMES) } else { String::new() };
        let shown = names().take(NAMES).collect::<Vec<_>>().join(", ");
        format!("{what} {are} not read ({reason}): {shown}{more}.")
    };
    reasons.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_the_first_skipped_results() {
        let skipped =
            |name: &str, only_parameters, reason| Skipped { name: name.to_owned(), only_parameters, reason };
        let failed = ["a", "b\u{1b}", "c", "d", "e"].map(|name| skipped(name, false, "they failed"));
        let others = [skipped("x", false, "they are not times"), skipped("y", true, "they are objects")];
        assert_eq!(
            skipped_warnings(&[&failed[..], &others].concat()),
            [
                "5 results are not read (they failed): a, b\\u{1b}, c and 2 more.",
                "1 result is not read (they are not times): x.",
                "The parameters of 1 result are not read (they are objects): y.",
            ]
        );
        assert!(skipped_warnings(&[]).is_empty());
    }
}
