//! The result of a search as text: the culprit, the sizes before and after it, and a plot of the measured commits that fits into 80
//! columns.

use std::fmt::Write;

use tidemark_api::NewBisection;

use super::{
    commits::CommitRange,
    search::{End, SearchResult},
};
use crate::output;

/// Width of the strip of values, so that a row has at most 80 columns.
const STRIP: usize = 52;
/// Maximum number of rows of the plot.
const MAX_ROWS: usize = 24;

/// Returns the text of a result.
pub(super) fn show(result: &SearchResult, range: &CommitRange) -> String {
    let document = &result.document;
    let mut text = String::new();
    let percent = document.probability * 100.0;
    match (result.end, &document.culprit) {
        (End::NoDifference, _) | (_, None) => {
            let _ =
                writeln!(text, "No difference between good and bad, with a probability of {percent:.1}%.");
        }
        (end, Some(culprit)) => {
            let hash: String = culprit.hash.as_str().chars().take(10).collect();
            let title = if end == End::Found { "Culprit" } else { "Most probable commit" };
            let _ = writeln!(text, "{title}: {hash} {}", cut(&culprit.subject, 50));
            let _ = writeln!(text, "Author: {}, {}", cut(&culprit.author, 50), culprit.date);
            let _ = writeln!(text, "Probability: {percent:.1}%");
        }
    }
    let _ = writeln!(text, "Benchmark: {} ({})", document.benchmark.as_str(), document.measure.as_str());
    text.push_str(&sizes(document));
    let skipped = document.commits.iter().filter(|commit| commit.skipped.is_some()).count();
    let measured = document.commits.len() - skipped;
    let mut counts = vec![format!("{} runs", document.runs)];
    if document.reused > 0 {
        counts.push(format!("{} earlier results", document.reused));
    }
    counts.push(format!("{measured} of {} commits measured", range.commits.len()));
    if skipped > 0 {
        counts.push(format!("{skipped} skipped"));
    }
    let _ = writeln!(text, "Evidence: {}", counts.join(", "));
    text.push('\n');
    text.push_str(&plot(result, range));
    text.push_str(&hints(result, range));
    text
}

fn sizes(document: &NewBisection) -> String {
    let Some((before, after)) = document.before.zip(document.after) else { return String::new() };
    let units = document.units.as_str();
    let difference = document.difference.map_or_else(String::new, |difference| {
        let amount = |amount: f64| match difference.relative {
            true => format!("{:+.1}%", amount * 100.0),
            false => output::quantity(amount, units),
        };
        format!(
            "; difference {} ({} to {})",
            amount(difference.estimate),
            amount(difference.lower),
            amount(difference.upper)
        )
    });
    format!(
        "Level: {} before, {} after{difference}\n",
        output::quantity(before, units),
        output::quantity(after, units)
    )
}

/// Returns a row per measured commit: its number of runs, its probability, and its values on a common scale.
fn plot(result: &SearchResult, range: &CommitRange) -> String {
    let document = &result.document;
    let rows: Vec<(usize, &tidemark_api::BisectionCommit)> = result
        .numbers
        .iter()
        .copied()
        .zip(&document.commits)
        .filter(|(_, row)| !row.values.is_empty())
        .collect();
    let all = rows.iter().flat_map(|(_, row)| &row.values);
    let (low, high) = all
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    if !(low.is_finite() && high.is_finite()) {
        return String::new();
    }
    let units = document.units.as_str();
    let (left, right) = (output::quantity(low, units), output::quantity(high, units));
    let gap = STRIP.saturating_sub(left.chars().count() + right.chars().count());
    let mut text = format!("  {:<10} {:>4} {:>6}  {left}{:gap$}{right}\n", "Commit", "Runs", "Prob.", "");
    let place = |value: f64| {
        let share = (value - low) / (high - low);
        if share.is_finite() { (share * (STRIP - 1) as f64).round() as usize } else { STRIP / 2 }
    };
    for (number, row) in nearest(&rows, *result.culprit.commits.end()) {
        let mut counts = [0_usize; STRIP];
        for value in &row.values {
            counts[place(*value).min(STRIP - 1)] += 1;
        }
        let mean = row.values.iter().sum::<f64>() / row.values.len() as f64;
        let mut strip: Vec<char> = counts
            .iter()
            .map(|count| match count {
                0 => ' ',
                1 => '·',
                2..=3 => '•',
                _ => '●',
            })
            .collect();
        strip[place(mean).min(STRIP - 1)] = '|';
        let strip: String = strip.into_iter().collect();
        let is_culprit = result.end != End::NoDifference && number == *result.culprit.commits.end();
        let mark = if is_culprit { '>' } else { ' ' };
        let probability = match row.probability * 100.0 {
            percent if percent < 0.05 => String::new(),
            percent => format!("{percent:.1}%"),
        };
        let line = format!(
            "{mark} {:<10} {:>4} {probability:>6}  {strip}",
            range.commits[number].short(),
            row.values.len()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str("  | is the mean of a commit; · • ● are 1, 2 to 3 and more values.\n");
    text
}

/// Returns the rows closest to the culprit, and always the first and the last.
fn nearest<T>(rows: &[(usize, T)], culprit: usize) -> Vec<(usize, &T)> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|place| {
        let is_end = *place == 0 || *place == rows.len() - 1;
        (!is_end, rows[*place].0.abs_diff(culprit))
    });
    order.truncate(MAX_ROWS);
    order.sort_unstable();
    order.into_iter().map(|place| (rows[place].0, &rows[place].1)).collect()
}

fn hints(result: &SearchResult, range: &CommitRange) -> String {
    let mut text = String::new();
    let count = result.culprit.commits.clone().count();
    if result.end == End::Found && count > 1 {
        let first = range.commits[*result.culprit.commits.start()].short();
        let last = range.commits[*result.culprit.commits.end()].short();
        let _ = writeln!(
            text,
            "\nThe culprit is one of {count} commits from {first} to {last}; only the last can be measured."
        );
    }
    let culprit = &range.commits[*result.culprit.commits.end()];
    if result.end == End::Found && culprit.is_merge {
        let hash = culprit.short();
        let _ = writeln!(
            text,
            "\nThe culprit is a merge. To search the merged branch:\n  \
             tidemark bisect --good \"$(git merge-base {hash}^1 {hash}^2)\" --bad {hash}^2 …"
        );
    }
    text
}

/// Cuts a text at this number of characters.
fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
