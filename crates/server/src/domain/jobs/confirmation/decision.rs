//! Decides whether the pairs of a job confirm or refute the suspected series of an event.

use std::collections::HashMap;

use tidemark_api::ConfirmationState;
use tidemark_stats::{Criteria, Verdict as Outcome};
use tidemark_store::{TestbedId, confirmation::Suspect, series::SeriesKey};

use crate::domain::verdict::paired::PairedComparison;

/// Smallest difference that a comparison has to resolve.
const MIN_CHANGE: f64 = 0.001;

/// Returns the criteria of a comparison: it has to resolve half of the suspected difference. Without a level before the event, the
/// size of the difference is unknown.
pub(super) fn criteria(suspect: &Suspect) -> Criteria {
    let half = suspect.size().map_or(f64::INFINITY, |size| size / 2.0);
    let limit = |default: f64| default.min(half).max(MIN_CHANGE);
    Criteria {
        smallest_change: limit(Criteria::DEFAULT.smallest_change),
        same_within: limit(Criteria::DEFAULT.same_within),
    }
}

/// Whether a series changed in the suspected direction.
pub(super) fn is_confirmed(suspect: &Suspect, compared: &PairedComparison) -> bool {
    let is_different =
        matches!(compared.outcome, Outcome::Regression | Outcome::Improvement | Outcome::Difference);
    let comparison = &compared.comparison;
    is_different && comparison.base.is_none_or(|base| (comparison.head > base) == suspect.is_higher)
}

/// Decides by the comparisons of a testbed. An event is confirmed if any series changed in the suspected direction. It is refuted
/// only if every suspected series of all testbeds was compared, is unchanged, and has the level before the event.
pub(super) fn decide(
    suspects: &[Suspect],
    testbed: TestbedId,
    compared: &[PairedComparison],
) -> (ConfirmationState, Option<String>) {
    let compared: HashMap<SeriesKey, &PairedComparison> =
        compared.iter().map(|one| (one.series_key, one)).collect();
    let of = |suspect: &Suspect| compared.get(&suspect.series_key).filter(|_| suspect.testbed == testbed);
    if suspects.iter().any(|suspect| of(suspect).is_some_and(|one| is_confirmed(suspect, one))) {
        return (ConfirmationState::Confirmed, None);
    }
    let measured: Vec<(&Suspect, &PairedComparison)> =
        suspects.iter().filter_map(|suspect| of(suspect).map(|one| (suspect, *one))).collect();
    let is_moved = |(suspect, one): &(&Suspect, &PairedComparison)| !suspect.is_before(one.comparison.head);
    let reason = if measured.is_empty() {
        "The job did not measure the suspected benchmarks of both versions in pairs.".to_owned()
    } else if measured.iter().any(|(_, one)| one.outcome == Outcome::Inconclusive) {
        let rounds = measured.iter().map(|(_, one)| one.comparison.head_runs).max().unwrap_or_default();
        format!("The comparison was inconclusive after {rounds} rounds.")
    } else if measured.len() < suspects.len() {
        format!(
            "The job measured {} of {} suspected series in pairs, and these did not change.",
            measured.len(),
            suspects.len()
        )
    } else if measured.iter().any(is_moved) {
        "The versions do not differ, but the measured level is not the level before the event: an earlier version or the \
         machine may be the cause."
            .to_owned()
    } else {
        return (ConfirmationState::Refuted, None);
    };
    (ConfirmationState::Suspected, Some(reason))
}

#[cfg(test)]
mod tests {
    use tidemark_store::{BenchmarkId, MeasureId, VersionId};

    use super::*;

    fn suspect(before: Option<f64>, after: f64, limit: f64) -> Suspect {
        Suspect {
            testbed: TestbedId::from(1),
            series_key: SeriesKey {
                benchmark: BenchmarkId::from(1),
                variant: 0,
                measure: MeasureId::from(1),
            },
            is_change: false,
            is_higher: after > before.unwrap_or(limit),
            before,
            after,
            limit: Some(limit),
            first: VersionId::from(1),
            last: VersionId::from(1),
        }
    }

    #[test]
    fn each_series_has_criteria_of_its_own() {
        let of = |before, after| {
            let found = criteria(&suspect(before, after, 100.0));
            (found.smallest_change, found.same_within)
        };
        let (smallest, same) = of(Some(100.0), 100.8);
        assert!((smallest - 0.004).abs() < 1e-9 && (same - 0.004).abs() < 1e-9, "{smallest} {same}");
        assert_eq!(of(Some(100.0), 150.0), (0.01, 0.05));
        // The distance from the limit of a threshold without a baseline is no size of a change.
        assert_eq!(of(None, 100.1), (0.01, 0.05));
        assert_eq!(of(Some(100.0), 100.0), (0.001, 0.001));
    }

    #[test]
    fn the_level_before_is_nearer_than_the_level_since() {
        let values = [99.0, 124.0, 126.0, 160.0];
        let is_before = |suspect: Suspect| values.map(|value| suspect.is_before(value));
        assert_eq!(is_before(suspect(Some(100.0), 150.0, 110.0)), [true, true, false, false]);
        assert_eq!(is_before(suspect(None, 150.0, 125.0)), [true, true, false, false]);
        assert_eq!(is_before(suspect(None, 90.0, 125.0)), [false, false, true, true]);
    }
}
