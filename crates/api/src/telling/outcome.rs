//! What a run shows against the history of its branch, in words and as a table.

use super::{
    markup::{Align, Block, Span},
    shown,
};
use crate::{Change, ChangeCause, ChangeDirection, Verdict, VerdictAnswer, VerdictComparison};

/// The most comparisons and changes that are told one by one.
const MOST: usize = 20;
/// How many runs it takes to hold one against: fewer can all be nearer to their level than one run in twenty is.
const ENOUGH: u32 = 19;
/// As much of a hash as tells commits apart.
const SHORT_HASH: usize = 10;

/// A comparison that came to a change, as texts.
pub struct Line {
    /// Which way it goes.
    pub word: &'static str,
    /// The benchmark with its parameters.
    pub benchmark: String,
    /// The measure.
    pub measure: String,
    /// The level before.
    pub base: String,
    /// What was measured.
    pub head: String,
    /// The change in percent, with its interval.
    pub change: String,
}

/// The comparisons that came to a change, the worst first.
pub fn lines(verdict: &Verdict) -> Vec<Line> {
    let changed = verdict.comparisons.iter().filter(|one| one.answer == VerdictAnswer::Changed);
    changed.take(MOST).map(line).collect()
}

fn line(comparison: &VerdictComparison) -> Line {
    let units = comparison.measure.units.as_str();
    let percent = shown::percent;
    let change = match (comparison.change, comparison.lower, comparison.upper) {
        (Some(change), Some(lower), Some(upper)) => {
            format!("{} ({} … {})", percent(change), percent(lower), percent(upper))
        }
        (Some(change), ..) => percent(change),
        (None, ..) => String::new(),
    };
    Line {
        word: word(comparison.direction),
        benchmark: benchmark(&comparison.benchmark, comparison.variant.as_ref()),
        measure: shown::plain(comparison.measure.name.as_str()),
        base: comparison.base.map_or_else(String::new, |base| shown::quantity(base, units)),
        head: shown::quantity(comparison.head, units),
        change,
    }
}

/// What a direction is called.
pub fn word(direction: ChangeDirection) -> &'static str {
    match direction {
        ChangeDirection::Regression => "regression",
        ChangeDirection::Improvement => "improvement",
        ChangeDirection::Unknown => "change",
    }
}

fn benchmark(benchmark: &crate::Benchmark, variant: Option<&crate::Variant>) -> String {
    shown::benchmark(benchmark.name.as_str(), variant.map(|variant| &variant.parameters))
}

/// How many comparisons come to what, the worst first.
pub fn counts(verdict: &Verdict) -> String {
    let counts = &verdict.counts;
    let counted = |count: u32, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let parts: Vec<String> = [
        counted(counts.regressions, "regression", "regressions"),
        counted(counts.differences, "change", "changes"),
        counted(counts.improvements, "improvement", "improvements"),
        counted(counts.unchanged, "unchanged", "unchanged"),
        counted(counts.inconclusive, "inconclusive", "inconclusive"),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join(", ")
}

/// All of it in a few sentences.
pub fn sentences(verdict: &Verdict) -> Vec<String> {
    let mut sentences = Vec::new();
    let most = verdict.comparisons.iter().map(|one| one.base_runs).max();
    match most {
        None => {}
        Some(runs) if runs < ENOUGH && verdict.answer == VerdictAnswer::Inconclusive => {
            sentences.push(format!(
                "Against the runs before: it takes {ENOUGH} of them to tell, and there are {runs}."
            ));
        }
        Some(_) => sentences.push(format!("Against the runs before: {}.", counts(verdict))),
    }
    let mut seen: Vec<f64> = verdict
        .comparisons
        .iter()
        .filter(|one| one.answer == VerdictAnswer::Unchanged)
        .filter_map(|one| one.detectable)
        .collect();
    seen.sort_by(f64::total_cmp);
    if let Some(median) = seen.get(seen.len() / 2) {
        sentences.push(format!(
            "In half of those that are unchanged, a change of {:.1}% would have been seen.",
            median * 100.0
        ));
    }
    match verdict.cause {
        ChangeCause::Code => {}
        ChangeCause::Noise => {
            sentences.push("The same was measured before, so that all differences are noise.".to_owned());
        }
        ChangeCause::Host => {
            let factors = verdict.factors.iter().filter(|factor| factor.is_host).map(|factor| {
                let name = shown::plain(factor.measure.name.as_str());
                format!("{name} {}", shown::percent(factor.change))
            });
            sentences.push(format!(
                "Most benchmarks moved together ({}): look at the machine first; what is said here is without that.",
                factors.collect::<Vec<_>>().join(", ")
            ));
        }
    }
    let changes: Vec<&Change> =
        verdict.changes.iter().filter(|change| change.cause != ChangeCause::Noise).collect();
    sentences.extend(changes.iter().take(MOST).map(|change| found(change)));
    if let Some(more) = changes.len().checked_sub(MOST).filter(|more| *more > 0) {
        sentences.push(format!("… and {more} more changes."));
    }
    sentences
}

/// A change that was found with a report.
fn found(change: &Change) -> String {
    let units = change.measure.units.as_str();
    let since = match &change.at.version.hash {
        Some(hash) => hash.as_str().chars().take(SHORT_HASH).collect(),
        None => format!("version {}", change.at.version.number),
    };
    let effect = change.effect.map_or_else(String::new, |effect| format!(" ({})", shown::percent(effect)));
    format!(
        "Found now: a lasting {} of {} {} since {since}, from {} to {}{effect}.",
        word(change.direction),
        benchmark(&change.benchmark, change.variant.as_ref()),
        shown::plain(change.measure.name.as_str()),
        shown::quantity(change.before, units),
        shown::quantity(change.after, units),
    )
}

/// The same for a document; nothing where nothing can be told.
pub(super) fn blocks(verdict: &Verdict) -> Vec<Block> {
    if verdict.answer == VerdictAnswer::Inconclusive && verdict.changes.is_empty() {
        return Vec::new();
    }
    let mut blocks: Vec<Block> = Vec::new();
    let lines = lines(verdict);
    if !lines.is_empty() {
        let titles = vec![
            ("Against the runs before", Align::Left),
            ("Benchmark", Align::Left),
            ("Measure", Align::Left),
            ("Level", Align::Right),
            ("Now", Align::Right),
            ("Change (95%)", Align::Right),
        ];
        let rows = lines.into_iter().map(|line| {
            vec![
                Span::text(line.word),
                Span::name(line.benchmark),
                Span::text(line.measure),
                Span::text(line.base),
                Span::text(line.head),
                Span::text(line.change),
            ]
        });
        blocks.push(Block::Table { titles, rows: rows.collect() });
    }
    let sentences = sentences(verdict);
    if !sentences.is_empty() {
        blocks.push(Block::Paragraph(vec![Span::text(sentences.join(" "))]));
    }
    blocks
}
