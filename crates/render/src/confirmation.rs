//! Second measurements of events, as text in notifications.

use tidemark_api::{
    BenchmarkUuid, Confirmation, ConfirmationState, MeasureUuid, VariantUuid, VerdictAnswer,
    VerdictComparison,
};

use crate::format;

/// UUIDs of a series.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeriesUuids {
    pub(crate) benchmark: BenchmarkUuid,
    pub(crate) variant: Option<VariantUuid>,
    pub(crate) measure: MeasureUuid,
}

/// Returns the reasons why events are not confirmed.
pub(crate) fn reasons<'a>(confirmations: &'a [&Confirmation]) -> impl Iterator<Item = String> + 'a {
    let suspected = confirmations.iter().filter(|one| one.state == ConfirmationState::Suspected);
    suspected.filter_map(|one| one.reason.as_ref()).map(|reason| format!("Not confirmed: {reason}"))
}

/// Returns the second measurement of a series.
pub(crate) fn comparison<'a>(
    confirmations: &[&'a Confirmation],
    series: &SeriesUuids,
) -> Option<&'a VerdictComparison> {
    let is_own = |one: &&VerdictComparison| {
        let variant = one.variant.as_ref().map(|variant| variant.uuid);
        *series == SeriesUuids { benchmark: one.benchmark.uuid, variant, measure: one.measure.uuid }
    };
    confirmations.iter().flat_map(|one| &one.comparisons).find(is_own)
}

/// Returns a second measurement as the end of a line.
pub(crate) fn text(comparison: &VerdictComparison) -> String {
    let units = comparison.measure.units.as_str();
    let change = comparison.change.map_or_else(String::new, |change| format!(" {}", format::percent(change)));
    let base =
        comparison.base.map_or_else(String::new, |base| format!(" from {}", format::quantity(base, units)));
    let head = format::quantity(comparison.head, units);
    let answer = match comparison.answer {
        VerdictAnswer::Changed => "confirmed",
        VerdictAnswer::Unchanged => "not confirmed",
        VerdictAnswer::Inconclusive => "inconclusive",
    };
    format!("; measured again in {} pairs:{change}{base} to {head}, {answer}", comparison.head_runs)
}
