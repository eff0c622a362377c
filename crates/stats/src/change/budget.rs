//! False-alarm budget: selects the changes to notify about. The caller decides whom to notify.
//!
//! Every run of a month has the same probability of a false notification. Among the changes that begin together, the
//! procedure notifies about those with a small enough p-value, given the number of series (R. J. Simes, "An improved
//! Bonferroni procedure for multiple tests of significance", 1986; Y. Benjamini and Y. Hochberg, "Controlling the False
//! Discovery Rate", 1995). Many slight changes in one commit therefore support each other. Unrelated changes that are merely
//! unreviewed at the same time do not.

use std::collections::BTreeMap;

/// Maximum distance in runs between the first values of changes that begin together.
const MAX_DISTANCE: usize = 1;

/// False-alarm budget per month, divided equally among the runs of a month.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FalseAlarmBudget {
    per_run: f64,
}

impl FalseAlarmBudget {
    /// Creates a budget from the false alarms per month and the runs per month.
    pub fn new(per_month: f64, runs: f64) -> Self {
        Self { per_run: (per_month / runs.max(1.0)).clamp(0.0, 1.0) }
    }

    /// Returns which changes to notify about. Each change is given by the number of its first run and its p-value; `series`
    /// is the number of series per run.
    pub fn select(self, changes: &[(usize, f64)], series: usize) -> Vec<bool> {
        let mut starting: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (run, p_value) in changes {
            starting.entry(*run).or_default().push(*p_value);
        }
        let limits: BTreeMap<usize, f64> = starting
            .keys()
            .map(|run| {
                let nearby = starting.range(run.saturating_sub(MAX_DISTANCE)..=run + MAX_DISTANCE);
                (*run, self.limit(nearby.flat_map(|(_, p_values)| p_values).copied().collect(), series))
            })
            .collect();
        changes.iter().map(|(run, p_value)| *p_value <= limits[run]).collect()
    }

    /// Returns the greatest p-value of an event that is within the budget.
    fn limit(self, mut p_values: Vec<f64>, series: usize) -> f64 {
        p_values.sort_by(f64::total_cmp);
        let allowed = |place: usize| self.per_run * (place + 1) as f64 / series.max(p_values.len()) as f64;
        let last = p_values.iter().enumerate().rev().find(|(place, p_value)| **p_value <= allowed(*place));
        last.map_or(f64::NEG_INFINITY, |(_, p_value)| *p_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Agrees with `p.adjust(p, "BH")` of R: of five tests, 0.008 is adjusted to 0.02 and 0.03 to 0.05.
    #[test]
    fn the_false_discovery_rate_is_within_the_budget() {
        let p_values = [0.03, 0.004, 0.9, 0.008, 0.4];
        let selected =
            |share: f64| FalseAlarmBudget { per_run: share }.select(&p_values.map(|p_value| (7, p_value)), 5);
        assert_eq!(selected(0.05), [true, true, false, true, false]);
        assert_eq!(selected(0.03), [false, true, false, true, false]);
        assert_eq!(selected(0.019), [false; 5]);
        assert_eq!(FalseAlarmBudget { per_run: 0.05 }.select(&[(7, 0.004)], 100), [false]);
        assert_eq!(FalseAlarmBudget { per_run: 0.5 }.select(&[(7, 0.004)], 100), [true]);
        assert_eq!(FalseAlarmBudget::new(2.0, 400.0), FalseAlarmBudget { per_run: 0.005 });
        assert_eq!(FalseAlarmBudget::new(2.0, 0.0), FalseAlarmBudget { per_run: 1.0 });
    }

    #[test]
    fn only_changes_that_begin_together_support_each_other() {
        let selected =
            |runs: [usize; 2]| FalseAlarmBudget { per_run: 0.01 }.select(&runs.map(|run| (run, 1e-3)), 20);
        assert_eq!((selected([40, 41]), selected([40, 42])), (vec![true; 2], vec![false; 2]));
    }
}
