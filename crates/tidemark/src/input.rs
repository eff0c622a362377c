//! Output of benchmark tools, from files and standard input, and the options for parsing it. `tidemark-adapters` parses it.

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
    sync::{Mutex, PoisonError},
};

use clap::{
    Arg, Command,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tidemark_adapters::{CustomFormat, Results, Skipped};
use tidemark_api::{Adapter, Average, Fold};

use crate::{
    failure::{Exit, Failure, Result},
    manifest::{self, Manifest},
    output,
};

/// Maximum number of names in a warning.
const NAMES: usize = 3;

/// Options for parsing outputs.
#[derive(Clone, clap::Args)]
pub(crate) struct ParseFlags {
    /// Adapter for the output: a tool, such as `criterion` or `pytest`, or a format of `tidemark.toml`; `magic` detects it
    #[arg(long, value_name = "TOOL", env = "TIDEMARK_ADAPTER", default_value = "magic", hide_possible_values = true,
        value_parser = AdapterParser)]
    pub(crate) adapter: AdapterChoice,
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

/// Adapter of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AdapterChoice {
    /// A tool that Tidemark knows, or `magic`.
    Known(Adapter),
    /// A format that `tidemark.toml` describes.
    Custom(&'static CustomFormat),
}

impl AdapterChoice {
    /// Returns the adapter for the server. Outputs of a described format are sent in the format of the adapter `json`.
    pub(crate) fn on_server(self) -> Adapter {
        match self {
            Self::Known(adapter) => adapter,
            Self::Custom(_) => Adapter::Json,
        }
    }
}

/// Parses the name of an adapter: a short name, a name of the API, or the name of a described format.
#[derive(Clone)]
struct AdapterParser;

impl TypedValueParser for AdapterParser {
    type Value = AdapterChoice;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<AdapterChoice, clap::Error> {
        let text = value.to_string_lossy();
        let is_named = |adapter: &&Adapter| adapter.short() == text || adapter.as_str() == text;
        if let Some(adapter) = Adapter::ALL.iter().find(is_named) {
            return Ok(AdapterChoice::Known(*adapter));
        }
        let described = manifest::current().map(Manifest::adapters).unwrap_or_default();
        match described.iter().find(|format| format.name() == text) {
            Some(format) => Ok(AdapterChoice::Custom(format)),
            // For its message, which names all values and the most similar one.
            None => {
                let names = self.possible_values().into_iter().flatten();
                let names = names.chain(described.iter().map(|format| PossibleValue::new(format.name())));
                PossibleValuesParser::new(names).parse_ref(command, argument, value)?;
                Ok(AdapterChoice::Known(Adapter::Magic))
            }
        }
    }

    /// Returns the names of the known tools. The names of the API are aliases of the short names, and the names of languages, which
    /// only mean `magic`, are hidden.
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |adapter: &Adapter| {
            let (short, name) = (adapter.short(), adapter.as_str());
            let value = PossibleValue::new(short).hide(adapter.plain() != *adapter);
            if short == name { value } else { value.alias(name) }
        };
        Some(Box::new(Adapter::ALL.iter().map(value)))
    }
}

/// Output of a tool.
pub(crate) struct ToolOutput {
    /// Source of the output, for messages.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Format of `tidemark.toml` that read the output; `None` before parsing, or if an adapter reads it.
    pub(crate) described: Option<String>,
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

    /// Creates an output from its text.
    pub(crate) fn of_text(name: impl Into<String>, text: String) -> Self {
        Self { name: name.into(), text, described: None }
    }

    /// Decodes bytes: UTF-16 with a byte order mark, as Windows PowerShell 5 redirects it, or UTF-8. Replaces bytes that are not
    /// UTF-8 and prints a warning, so that one invalid byte does not discard a whole run.
    pub(crate) fn new(name: String, bytes: Vec<u8>) -> Self {
        if let Some(text) = utf_16(&bytes) {
            return Self::of_text(name, text);
        }
        let text = String::from_utf8(bytes).unwrap_or_else(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            message!(
                "warning: {name} has bytes that are not UTF-8, first in line {line}; they were replaced."
            );
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        });
        Self::of_text(name, text)
    }
}

/// Decodes UTF-16 with a byte order mark; `None` without the mark.
fn utf_16(bytes: &[u8]) -> Option<String> {
    let (mark, rest) = bytes.split_first_chunk::<2>()?;
    let decode: fn([u8; 2]) -> u16 = match mark {
        [0xFF, 0xFE] => u16::from_le_bytes,
        [0xFE, 0xFF] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = rest.chunks_exact(2).map(|pair| decode([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

/// Returns the distinct adapters and described formats that read results, separated by commas.
pub(crate) fn readers(outputs: &[ToolOutput], results: &[Results]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let name = reader(outputs, index, result);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Returns sentences about which adapter read how many benchmarks. Outputs that are read alike share a sentence.
pub(crate) fn reading_sentences(outputs: &[ToolOutput], results: &[Results]) -> Vec<String> {
    let mut groups: Vec<(&str, usize, String, usize)> = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let (reader, count) = (reader(outputs, index, result), result.entries.len());
        let alike = groups.iter_mut().find(|group| (group.0, group.1) == (reader, count));
        if let Some((.., others)) = alike {
            *others += 1;
            continue;
        }
        // Folded results come from all outputs together.
        let name = match outputs.get(index) {
            Some(output) if outputs.len() == results.len() => output::plain(&output.name),
            _ => format!("{} outputs", outputs.len()),
        };
        groups.push((reader, count, name, 0));
    }
    let sentence = |(reader, count, name, others): (&str, usize, String, usize)| {
        let more = match others {
            0 => String::new(),
            1 => " and 1 more output".to_owned(),
            others => format!(" and {others} more outputs"),
        };
        let benchmarks = output::benchmark_count(Adapter::Magic, count);
        format!("{name}{more}: read {benchmarks} as {}.", output::plain(reader))
    };
    groups.into_iter().map(sentence).collect()
}

/// Returns the described format or the adapter that read a result.
pub(crate) fn reader<'a>(outputs: &'a [ToolOutput], index: usize, result: &Results) -> &'a str {
    outputs.get(index).and_then(|output| output.described.as_deref()).unwrap_or(result.adapter.short())
}

impl ParseFlags {
    /// Parses outputs, and folds them if requested. Fails with the position and the reason if an output cannot be parsed, and if
    /// an output has no metric. An output of a described format becomes the format of the adapter `json`, which every server
    /// reads.
    pub(crate) fn parse(&self, outputs: &mut [ToolOutput]) -> Result<Vec<Results>> {
        let mut results = Vec::with_capacity(outputs.len());
        for ToolOutput { name, text, described } in outputs {
            if text.trim().is_empty() {
                return Err(Failure::with(
                    Exit::Empty,
                    format!("{name}: The output is empty; check that the benchmarks ran."),
                ));
            }
            if let Some((format, json)) = self.convert(name, text)? {
                (*described, *text) = (Some(format), json);
            }
            let (read, mut skipped) =
                tidemark_adapters::parse_with_skipped(self.adapter.on_server(), text, self.average)
                    .map_err(|error| Failure::with(Exit::Unreadable, format!("{name}: {error}")))?;
            if read.entries.iter().all(|entry| entry.metrics().len() == 0) {
                return Err(Failure::with(
                    Exit::Empty,
                    format!("{name}: The output contains no metric; check that the benchmarks ran."),
                ));
            }
            skipped.extend(tidemark_adapters::unread_lines(text, &read, self.average));
            warn_about_skipped(name, &skipped);
            results.push(read);
        }
        match self.fold.map(|how| Results::fold(&results, how)) {
            Some(folded) => Ok(folded.into_iter().collect()),
            None => Ok(results),
        }
    }
}

impl ParseFlags {
    /// Converts an output of a described format to the format of the adapter `json`, and returns it after the name of the described
    /// format. `magic` tries the described formats first, because their author knows the output.
    fn convert(&self, name: &str, text: &str) -> Result<Option<(String, String)>> {
        let formats = match self.adapter {
            AdapterChoice::Custom(format) => std::slice::from_ref(format),
            AdapterChoice::Known(Adapter::Magic) => manifest::current()?.adapters(),
            AdapterChoice::Known(_) => &[],
        };
        for format in formats {
            let read = format.parse(text);
            let read = read.map_err(|error| Failure::with(Exit::Unreadable, format!("{name}: {error}")))?;
            if let Some(results) = read {
                message!("{name}: read as `{}`, described in {}.", format.name(), manifest::FILE);
                let json = output::json("The results", &results)?;
                return Ok(Some((format.name().to_owned(), json)));
            }
        }
        match self.adapter {
            AdapterChoice::Custom(format) => Err(Failure::with(
                Exit::Unreadable,
                format!(
                    "{name}: No part of the output matches `{}` in {}; `tidemark parse --explain` shows why.",
                    format.name(),
                    manifest::FILE
                ),
            )),
            AdapterChoice::Known(_) => Ok(None),
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
    let warning = |Skipped { names, count, only_parameters, reason }: &Skipped| {
        let results = if *count == 1 { "1 result".to_owned() } else { format!("{count} results") };
        let what = if *only_parameters { format!("The parameters of {results}") } else { results };
        let are = if *count == 1 && !only_parameters { "is" } else { "are" };
        let shown: Vec<_> = names.iter().take(NAMES).map(|name| output::plain(name)).collect();
        let more =
            if *count > shown.len() { format!(" and {} more", count - shown.len()) } else { String::new() };
        format!("{what} {are} not read ({reason}): {}{more}.", shown.join(", "))
    };
    skipped.iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_decoded() {
        let text = "ab \u{b5}s \u{1f600}\r\n";
        let bytes = |mark: u16, encode: fn(u16) -> [u8; 2]| -> Vec<u8> {
            [mark].into_iter().chain(text.encode_utf16()).flat_map(encode).collect()
        };
        for encode in [u16::to_le_bytes, u16::to_be_bytes] {
            assert_eq!(ToolOutput::new("a".to_owned(), bytes(0xFEFF, encode)).text, text);
        }
        assert_eq!(ToolOutput::new("a".to_owned(), b"plain".to_vec()).text, "plain");
        assert_eq!(ToolOutput::new("a".to_owned(), vec![0xFF, 0xFE, b'a', 0, b'b']).text, "a");
    }

    #[test]
    fn outputs_that_are_read_alike_share_a_sentence() {
        let read = |text: &str| tidemark_adapters::parse(Adapter::Magic, text, None).unwrap();
        let output = |name: &str| ToolOutput::of_text(name, String::new());
        let (libtest, timer) = (read("test a ... bench: 1 ns/iter (+/- 1)"), read("a: 1ms - timer ended"));
        let mut outputs = ["x", "y", "z", "c"].map(output);
        outputs[3].described = Some("lap".to_owned());
        let results = [libtest.clone(), libtest.clone(), timer.clone(), timer];
        assert_eq!(
            reading_sentences(&outputs, &results),
            [
                "x and 1 more output: read 1 benchmark as libtest.",
                "z: read 1 benchmark as console_time.",
                "c: read 1 benchmark as lap.",
            ]
        );
        assert_eq!(readers(&outputs, &results), "libtest, console_time, lap");
        assert_eq!(reading_sentences(&outputs[..2], &[libtest]), ["2 outputs: read 1 benchmark as libtest."]);
    }

    #[test]
    fn a_warning_names_the_first_skipped_results() {
        let skipped = |names: &[&str], only_parameters, reason| Skipped {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            count: names.len(),
            only_parameters,
            reason,
        };
        let failed = skipped(&["a", "b\u{1b}", "c", "d", "e"], false, "they failed");
        let others =
            [skipped(&["x"], false, "they are not times"), skipped(&["y"], true, "they are objects")];
        assert_eq!(
            skipped_warnings(&[&[failed][..], &others].concat()),
            [
                "5 results are not read (they failed): a, b\\u{1b}, c and 2 more.",
                "1 result is not read (they are not times): x.",
                "The parameters of 1 result are not read (they are objects): y.",
            ]
        );
        assert!(skipped_warnings(&[]).is_empty());
    }
}
