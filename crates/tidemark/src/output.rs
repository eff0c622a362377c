//! Output for terminals: numbers with their units, and texts without control characters. `table.rs` has the tables; commands
//! decide the content.

use std::{
    env,
    io::{self, IsTerminal},
};

use serde::Serialize;
use tidemark_api::{Adapter, Parameters, ResourceName, Timestamp, measure};
pub(crate) use tidemark_render::format::{benchmark, percent, plain, quantity, range};

use crate::failure::{Failure, Result};

/// Output format of results.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Table with a verdict
    Human,
    /// All data as JSON
    Json,
    /// HTML page
    Html,
    /// Markdown page, for a comment or a summary
    Markdown,
}

/// Whether standard output is a terminal with colors.
pub(crate) fn has_colors() -> bool {
    io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns a document as indented JSON.
pub(crate) fn json(what: &str, document: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(document)
        .map(|json| format!("{json}\n"))
        .map_err(|error| Failure::new(format!("{what} cannot be written as JSON ({error}).")))
}

/// Returns a time, precise to the second.
pub(crate) fn time(time: Timestamp) -> String {
    let text = time.to_string();
    let (moment, _) = text.split_once('.').unwrap_or((&text, ""));
    format!("{}Z", moment.replace('T', " "))
}

/// Indents JSON without any other change: the order of the names and the text of the numbers stay the same.
pub(crate) fn pretty(json: &str) -> String {
    let mut pretty = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for character in json.chars() {
        if in_text {
            pretty.push(character);
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        if matches!(character, '}' | ']') {
            depth = depth.saturating_sub(1);
            // Empty objects and arrays stay on one line.
            if !pretty.ends_with(['{', '[']) {
                new_line(&mut pretty, depth);
            }
        } else if pretty.ends_with(['{', '[']) && !character.is_ascii_whitespace() {
            new_line(&mut pretty, depth);
        }
        match character {
            '{' | '[' => {
                pretty.push(character);
                depth += 1;
            }
            ',' => {
                pretty.push(',');
                new_line(&mut pretty, depth);
            }
            ':' => pretty.push_str(": "),
            character if character.is_ascii_whitespace() => {}
            character => {
                in_text = character == '"';
                pretty.push(character);
            }
        }
    }
    pretty
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

/// Returns a benchmark of a result, with a mark if it raises no alerts.
pub(crate) fn entry(label: &str, parameters: Option<&Parameters>, ignored: bool) -> String {
    let title = benchmark(label, parameters);
    if ignored { format!("{title} (ignored)") } else { title }
}

/// Returns the units of a measure, if they are known without a project: those of a built-in measure, otherwise the given ones.
pub(crate) fn units<'a>(measure: &ResourceName, units: Option<&'a ResourceName>) -> &'a str {
    let built_in = measure::built_in(measure.as_str()).map(|measure| measure.units);
    built_in.or_else(|| units.map(ResourceName::as_str)).unwrap_or("")
}

/// Returns the adapter and a number of benchmarks; without the adapter if it is not known.
pub(crate) fn benchmark_count(adapter: Adapter, count: usize) -> String {
    let benchmarks = if count == 1 { "1 benchmark".to_owned() } else { format!("{count} benchmarks") };
    if adapter == Adapter::Magic { benchmarks } else { format!("{}: {benchmarks}", adapter.short()) }
}

/// Capitalizes the first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_without_other_changes() {
        let json = r#"{"b":[1.50, 2e3,{}],"a\"{":"x: [y]\\","c":[ ],"d":{"e":null}}"#;
        let expected = "{\n  \"b\": [\n    1.50,\n    2e3,\n    {}\n  ],\n  \"a\\\"{\": \"x: [y]\\\\\",\n  \
                        \"c\": [],\n  \"d\": {\n    \"e\": null\n  }\n}";
        assert_eq!(pretty(json), expected);
        assert_eq!(pretty(&pretty(json)), expected);
        assert_eq!(pretty("null"), "null");
    }
}
