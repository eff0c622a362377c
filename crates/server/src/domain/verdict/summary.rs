//! Conversions of comparisons to the API: verdicts, counts and order.

use tidemark_api::{ChangeDirection, VerdictAnswer, VerdictComparison, VerdictCounts};
use tidemark_stats::Verdict as Outcome;

/// Returns the verdict of a comparison for the API.
pub(super) fn answer(outcome: Outcome) -> (VerdictAnswer, ChangeDirection) {
    match outcome {
        Outcome::Regression => (VerdictAnswer::Changed, ChangeDirection::Regression),
        Outcome::Improvement => (VerdictAnswer::Changed, ChangeDirection::Improvement),
        Outcome::Difference => (VerdictAnswer::Changed, ChangeDirection::Unknown),
        Outcome::Unchanged => (VerdictAnswer::Unchanged, ChangeDirection::Unknown),
        Outcome::Inconclusive => (VerdictAnswer::Inconclusive, ChangeDirection::Unknown),
    }
}

/// Returns the verdict on all comparisons.
pub(super) fn counts_answer(counts: &VerdictCounts) -> VerdictAnswer {
    match (counts.regressions + counts.improvements + counts.differences, counts.unchanged) {
        (1.., _) => VerdictAnswer::Changed,
        (0, 1..) => VerdictAnswer::Unchanged,
        (0, 0) => VerdictAnswer::Inconclusive,
    }
}

pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

pub(super) fn count(comparisons: &[VerdictComparison]) -> VerdictCounts {
    let mut counts = VerdictCounts::default();
    for comparison in comparisons {
        *match (comparison.answer, comparison.direction) {
            (VerdictAnswer::Changed, _) if comparison.muted.is_some() => &mut counts.muted,
            (VerdictAnswer::Changed, ChangeDirection::Regression) => &mut counts.regressions,
            (VerdictAnswer::Changed, ChangeDirection::Improvement) => &mut counts.improvements,
            (VerdictAnswer::Changed, ChangeDirection::Unknown) => &mut counts.differences,
            (VerdictAnswer::Unchanged, _) => &mut counts.unchanged,
            (VerdictAnswer::Inconclusive, _) => &mut counts.inconclusive,
        } += 1;
    }
    counts
}

/// Returns the sort key of a comparison, in ascending order.
pub(super) fn sort_key(comparison: &VerdictComparison) -> f64 {
    let kind = match (comparison.answer, comparison.direction) {
        (VerdictAnswer::Changed, _) if comparison.muted.is_some() => 3.0,
        (VerdictAnswer::Changed, ChangeDirection::Regression) => 0.0,
        (VerdictAnswer::Changed, ChangeDirection::Unknown) => 1.0,
        (VerdictAnswer::Changed, ChangeDirection::Improvement) => 2.0,
        (VerdictAnswer::Inconclusive, _) => 4.0,
        (VerdictAnswer::Unchanged, _) => 5.0,
    };
    // The second term is below one and decreases with the size of the change.
    kind + 1.0 / (2.0 + comparison.change.unwrap_or(0.0).abs())
}
