//! Detects the tool from its output, for the adapter `magic`.
//!
//! A tool claims an output if one of its formats parses it. `magic` succeeds only if exactly one tool claims the output, so
//! that no output is read by the wrong adapter. Formats that only one tool prints come before generic formats.

use std::collections::HashSet;

use tidemark_api::{Adapter, Average};

use crate::{
    ADAPTERS, Detection, Format, Input, ParseError, Results, Skipped, Syntax, Tool, error::Failure, text,
};

/// Adapters of the contract, in its order. If several of them, and no other adapter, claim an output, the contract requires the
/// first one.
const CONTRACT_ORDER: &[Adapter] = {
    use Adapter::*;
    &[
        Json,
        CSharpDotNet,
        CppCatch2,
        CppGoogle,
        DartBenchmarkHarness,
        GoBench,
        JavaJmh,
        JsBenchmark,
        JsTime,
        JsVitest,
        PythonAsv,
        PythonPytest,
        RubyBenchmark,
        RustBench,
        RustCriterion,
        RustIai,
        RustGungraun,
        ShellHyperfine,
    ]
};

/// Maximum number of similar formats in an error.
const NEAREST: usize = 3;

/// Minimum number of bytes of the marks that a similar format and the output have in common. Shorter marks occur in any text.
const NEAREST_LENGTH: usize = 8;

/// Parses an output with the only tool that claims it.
pub(crate) fn detect(input: &Input<'_>) -> Result<(Results, Vec<Skipped>), ParseError> {
    for detection in [Detection::Specific, Detection::Generic] {
        let (mut claims, invalid) = claims(input, detection);
        match (claims.len(), invalid) {
            (0, None) => {}
            (0, Some(error)) => return Err(error),
            (1, _) => return Ok(claims.remove(0)),
            _ => {
                let rank = |(results, _): &(Results, _)| {
                    CONTRACT_ORDER.iter().position(|adapter| *adapter == results.adapter)
                };
                if claims.iter().all(|claim| rank(claim).is_some()) {
                    claims.sort_by_key(rank);
                    return Ok(first_of(claims));
                }
                let count = |(results, _): &(Results, _)| (results.adapter, results.entries.len());
                return Err(ParseError::Ambiguous { candidates: claims.iter().map(count).collect() });
            }
        }
    }
    Err(unrecognized(input))
}

/// Reason if the output contains benchmarks of several tools.
pub(crate) const OTHER_TOOL: &str =
    "another tool printed them; send the output of each tool as a separate result, or set the adapter";

/// Returns the results of the first claim. Records the benchmarks that only another claim has as skipped, with the adapter of that
/// claim.
fn first_of(mut claims: Vec<(Results, Vec<Skipped>)>) -> (Results, Vec<Skipped>) {
    let (results, mut skipped) = claims.remove(0);
    let known: HashSet<&str> = results.entries.iter().map(|entry| entry.label.as_str()).collect();
    for (other, _) in &claims {
        let lost = other.entries.iter().filter(|entry| !known.contains(entry.label.as_str()));
        for entry in lost {
            let name = format!("{} ({})", entry.label.as_str(), other.adapter.short());
            Skipped::add(&mut skipped, name, false, OTHER_TOOL);
        }
    }
    (results, skipped)
}

/// Returns the adapters whose tools claim an output, in the order in which `magic` considers them. `magic` reads the output if
/// there is one.
pub(crate) fn candidates(input: &Input<'_>) -> Vec<Adapter> {
    let claims = [Detection::Specific, Detection::Generic].map(|detection| claims(input, detection).0);
    let first = claims.into_iter().find(|claims| !claims.is_empty()).unwrap_or_default();
    first.iter().map(|(results, _)| results.adapter).collect()
}

/// Returns the results of all tools that claim an output, and the error of the first tool that recognizes but cannot read it.
fn claims(input: &Input<'_>, detection: Detection) -> (Vec<(Results, Vec<Skipped>)>, Option<ParseError>) {
    let mut claims = Vec::new();
    let mut invalid = None;
    let is_document = is_json_document(input.text);
    let fits = |format: &Format| {
        format.detection == detection
            && (!is_document || matches!(format.syntax, Syntax::Json | Syntax::Ndjson))
            && format.is_marked(input)
    };
    for tool in ADAPTERS {
        if !tool.supports_average(input.average) || !tool.formats.iter().any(fits) {
            continue;
        }
        match tool.read(input, fits) {
            Ok(results) => claims.push((results, input.skipped.take())),
            Err(Failure::Unrecognized(_)) => {}
            Err(failure @ Failure::Invalid(_)) => {
                invalid.get_or_insert_with(|| failure.into_error(tool.adapter));
            }
        }
    }
    (claims, invalid)
}

/// Whether an output is JSON from its first to its last character, so that no format of text can fit. Log lines in brackets are not.
fn is_json_document(text: &str) -> bool {
    let text = text.trim();
    let is_object = text.starts_with('{') && text.ends_with('}');
    let element = text.strip_prefix('[').map(str::trim_start);
    is_object || text.ends_with(']') && element.is_some_and(|element| element.starts_with(['{', '[']))
}

fn unrecognized(input: &Input<'_>) -> ParseError {
    let marked = |format: &Format| format.detection != Detection::Named && format.is_marked(input);
    let other_average = ADAPTERS
        .iter()
        .filter(|tool| !tool.supports_average(input.average) && tool.formats.iter().any(marked))
        .find(|tool| tool.read(&Input::new(input.text, None), marked).is_ok());
    match other_average {
        Some(tool) => tool.unsupported_average().into_error(tool.adapter),
        None => ParseError::Unrecognized { nearest: nearest(input) },
    }
}

/// Returns the tools of specific formats whose marks occur in a text, those with the longest marks first.
fn nearest(input: &Input<'_>) -> Vec<&'static str> {
    let found = |tool: &Tool| {
        let length = |format: &Format| {
            let found = format.marks.iter().filter(|mark| input.has_mark(mark));
            found.map(|mark| mark.len()).sum::<usize>()
        };
        let formats = tool.formats.iter().filter(|format| format.detection == Detection::Specific);
        formats.map(length).max().unwrap_or_default()
    };
    let mut tools: Vec<_> = ADAPTERS.iter().map(|tool| (found(tool), tool.title)).collect();
    tools.retain(|(found, _)| *found >= NEAREST_LENGTH);
    tools.sort_by_key(|(found, _)| std::cmp::Reverse(*found));
    tools.into_iter().take(NEAREST).map(|(_, title)| title).collect()
}

/// How a format of a tool reads an output, for people who want to know why an output is read as it is.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Adapter of the tool.
    pub adapter: Adapter,
    /// Syntax of the format.
    pub syntax: Syntax,
    /// Number of benchmarks, or the reason why the format does not read the output.
    pub outcome: Result<usize, String>,
}

/// Tries the formats of an adapter, or, for `magic`, all formats whose marks the output contains at least partly.
pub fn explain(adapter: Adapter, text: &str, average: Option<Average>) -> Vec<Explanation> {
    let text = text::without_colors(text.strip_prefix('\u{feff}').unwrap_or(text));
    let input = Input::new(&text, average);
    let mut explanations = Vec::new();
    for tool in ADAPTERS {
        let is_named = tool.adapter == adapter.plain();
        for format in tool.formats {
            let missing: Vec<_> = format.marks.iter().filter(|mark| !input.has_mark(mark)).collect();
            let is_tried = format.detection != Detection::Named && missing.len() < format.marks.len().max(1);
            if !(is_named || adapter.plain() == Adapter::Magic && is_tried) {
                continue;
            }
            let outcome = match missing.first() {
                Some(mark) if !is_named => Err(format!("the output does not contain `{mark}`")),
                _ => match tool.read(&input, |other| std::ptr::eq(other, format)) {
                    Ok(results) => Ok(results.entries.len()),
                    Err(failure) => Err(failure.into_error(tool.adapter).reason()),
                },
            };
            explanations.push(Explanation { adapter: tool.adapter, syntax: format.syntax, outcome });
        }
    }
    explanations
}
