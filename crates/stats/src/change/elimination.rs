//! Accepts or rejects the proposed changes. The score of a proposal combines a rank test of the values before and after it,
//! in windows of several sizes, with the difference between the levels relative to the residuals around them and to the
//! overall spread of the series.
//!
//! The weakest proposal is removed until all remaining scores reach the threshold, because each removal extends the levels on
//! which the neighboring proposals are scored (backward elimination; P. Fryzlewicz, "Tail-greedy bottom-up data
//! decompositions and fast multiple change-point detection", 2018).

use super::{
    mann_whitney,
    sample::{first, last, median},
};
use crate::level::MEAN_DEVIATION_TO_SIGMA;

/// Minimum score of a change; calibrated on series that engineers have annotated, see `docs/statistics.md`.
const THRESHOLD: f64 = 3.9;
/// Decrease of the threshold per factor of e in accepted false alarms.
pub(super) const TOLERANCE_WEIGHT: f64 = 0.55;
/// Window sizes of the rank tests on each side: small windows show a clear step, large ones whether it lasts.
const WINDOWS: [usize; 3] = [12, 24, 48];
/// Number of values on each side from which the difference between the levels is estimated. It is small, so that a drift does
/// not add to the difference.
const LEVEL_WINDOW: usize = 17;
/// Ratio of step to residual scatter above which a larger step adds nothing to the score.
const MAX_SIGMA: f64 = 3.0;
/// Weight of the step relative to the overall spread of the series.
const SPREAD_WEIGHT: f64 = 0.42;
/// Minimum of the step relative to the spread; a smaller ratio counts as this value.
const MIN_SPREAD_RATIO: f64 = 0.055;
/// Exponent of the inflation by which the rank statistic is divided: less than 0.5, because the variance in a window of 12
/// values is inflated less than that of a long mean.
const INFLATION_EXPONENT: f64 = 0.42;
/// Minimum length of a level; anything shorter is a spike.
const MIN_LENGTH: usize = 8;
/// Minimum length of the newest level, whose final length is unknown.
const MIN_NEWEST_LENGTH: usize = 12;
/// Less than any possible score.
const MIN_SCORE: f64 = -1e6;

/// A proposal and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Proposal {
    /// Index of the first value of the new level.
    pub(super) at: usize,
    /// Score above the threshold.
    pub(super) margin: f64,
    /// Difference between the levels, in units of the residual scatter.
    pub(super) sigma: f64,
    /// Whether the neighboring proposals are unchanged since the score was computed.
    is_current: bool,
}

/// Noise of a series, common to all its proposals.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesNoise {
    /// Range between the 10 % and 90 % quantiles of all values, across levels; at least one unit of noise.
    pub(super) spread: f64,
    /// Variance of a mean relative to that of independent values.
    pub(super) inflation: f64,
}

/// Values in units of noise, and twice their ranks.
pub(super) struct RankedSeries<'a> {
    pub(super) values: &'a [f64],
    pub(super) ranks: &'a [i16],
}

/// Buffers that are reused for the next series.
#[derive(Clone, Debug, Default)]
pub(super) struct BackwardElimination {
    proposals: Vec<Proposal>,
    buffer: Vec<f64>,
}

impl BackwardElimination {
    /// Removes the insignificant proposals and returns the others. `cuts` are in ascending order and lie after `start`, the
    /// start of the level after the last final change.
    /// `tolerance` is the logarithm of the factor by which false alarms may exceed the default rate.
    pub(super) fn run(
        &mut self,
        series: &RankedSeries<'_>,
        start: usize,
        cuts: &[usize],
        noise: SeriesNoise,
        tolerance: f64,
    ) -> &[Proposal] {
        self.proposals.clear();
        self.proposals.extend(cuts.iter().map(|at| Proposal {
            at: *at,
            margin: 0.0,
            sigma: 0.0,
            is_current: false,
        }));
        let threshold = THRESHOLD - TOLERANCE_WEIGHT * tolerance;
        if max_score(noise.inflation) < threshold {
            self.proposals.clear();
        }
        loop {
            self.update(series, start, noise, threshold);
            let weakest = self
                .proposals
                .iter()
                .enumerate()
                .min_by(|(_, one), (_, two)| one.margin.total_cmp(&two.margin));
            let Some((index, _)) = weakest.filter(|(_, weakest)| weakest.margin < 0.0) else { break };
            self.proposals.remove(index);
            for neighbor in [index.wrapping_sub(1), index] {
                if let Some(neighbor) = self.proposals.get_mut(neighbor) {
                    neighbor.is_current = false;
                }
            }
        }
        &self.proposals
    }

    /// Recomputes the scores of the proposals whose neighbors have changed.
    fn update(&mut self, series: &RankedSeries<'_>, start: usize, noise: SeriesNoise, threshold: f64) {
        for index in 0..self.proposals.len() {
            let at = self.proposals[index].at;
            if self.proposals[index].is_current {
                continue;
            }
            let start = index.checked_sub(1).map_or(start, |before| self.proposals[before].at);
            let end = self.proposals.get(index + 1).map(|after| after.at);
            let stop = end.unwrap_or(series.values.len());
            let (before, after) = (&series.values[start..at], &series.values[at..stop]);
            let shortest = before.len().min(after.len());
            let is_short = shortest < MIN_LENGTH || (end.is_none() && after.len() < MIN_NEWEST_LENGTH);
            let (score, sigma) = if is_short {
                // Removes the shortest level first, and of its two edges the one with the smaller step: a spike causes two proposals, and
                // without one the other is not significant.
                let (step, _) = step_and_scatter(
                    last(before, LEVEL_WINDOW),
                    first(after, LEVEL_WINDOW),
                    &mut self.buffer,
                );
                (MIN_SCORE + shortest as f64 + step / (1.0 + step), 0.0)
            } else {
                let (old, new) = (&series.ranks[start..at], &series.ranks[at..stop]);
                let statistics = WINDOWS
                    .iter()
                    .map(|window| mann_whitney::statistic(last(old, *window), first(new, *window)));
                score(statistics.sum(), before, after, noise, &mut self.buffer)
            };
            self.proposals[index] = Proposal { at, margin: score - threshold, sigma, is_current: true };
        }
    }
}

/// Computes the score of a change between two levels, and their difference in units of the residual scatter. `statistics` is
/// the sum of the rank statistics over all windows.
fn score(
    statistics: f64,
    before: &[f64],
    after: &[f64],
    noise: SeriesNoise,
    buffer: &mut Vec<f64>,
) -> (f64, f64) {
    // Dependence between values reduces their effective number.
    let ranks = statistics / WINDOWS.len() as f64 / noise.inflation.powf(INFLATION_EXPONENT);
    let (distance, scatter) =
        step_and_scatter(last(before, LEVEL_WINDOW), first(after, LEVEL_WINDOW), buffer);
    let sigma = distance / scatter;
    let ratio = (distance / noise.spread).clamp(MIN_SPREAD_RATIO, 1.0);
    // The logarithm of a step of zero is minus infinity, which rejects the proposal.
    (ranks + sigma.min(MAX_SIGMA).ln() + SPREAD_WEIGHT * ratio.ln(), sigma)
}

/// Returns the maximum possible score: perfect separation of the ranks in all windows, and a clear step.
fn max_score(inflation: f64) -> f64 {
    let statistics = WINDOWS.map(|window| {
        let window = window as f64;
        window * (3.0 / (2.0 * window + 1.0)).sqrt()
    });
    statistics.iter().sum::<f64>() / WINDOWS.len() as f64 / inflation.powf(INFLATION_EXPONENT)
        + MAX_SIGMA.ln()
}

/// Returns the difference between two levels and the residual scatter around them as a standard deviation, at least 10⁻⁶
/// units of noise.
pub(super) fn step_and_scatter(before: &[f64], after: &[f64], buffer: &mut Vec<f64>) -> (f64, f64) {
    let (old, new) = (median(before, buffer), median(after, buffer));
    let around = |level: &[f64], center: f64| level.iter().map(|value| (value - center).abs()).sum::<f64>();
    let total = around(before, old) + around(after, new);
    let scatter = MEAN_DEVIATION_TO_SIGMA * total / (before.len() + after.len()) as f64;
    ((new - old).abs(), scatter.max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::{super::sort_order::SortOrder, *};
    use crate::synthetic::normal;

    fn eliminate(values: &[f64], cuts: &[usize], inflation: f64, tolerance: f64) -> Vec<Proposal> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let noise = SeriesNoise { spread: sorted[107] - sorted[11], inflation };
        let mut ranks = Vec::new();
        SortOrder::of(values).rank(values, &mut ranks);
        BackwardElimination::default()
            .run(&RankedSeries { values, ranks: &ranks }, 0, cuts, noise, tolerance)
            .to_vec()
    }

    fn accepted(values: &[f64], cuts: &[usize]) -> Vec<usize> {
        eliminate(values, cuts, 1.0, 0.0).iter().map(|proposal| proposal.at).collect()
    }

    #[test]
    fn only_true_changes_are_accepted() {
        let mut values = normal(5, 120);
        values[60..].iter_mut().for_each(|value| *value += 4.0);
        assert_eq!(accepted(&values, &[20, 60, 63, 100]), [60]);
        assert_eq!(accepted(&values, &[]), []);
    }

    #[test]
    fn both_edges_of_a_spike_are_rejected() {
        let mut values = normal(6, 120);
        values[60..64].iter_mut().for_each(|value| *value += 40.0);
        assert_eq!(accepted(&values, &[60, 64]), []);
    }

    #[test]
    fn autocorrelated_values_count_less() {
        let mut values = normal(5, 120);
        values[60..].iter_mut().for_each(|value| *value += 2.0);
        let margin = |inflation: f64| {
            eliminate(&values, &[60], inflation, 0.0).first().map(|proposal| proposal.margin)
        };
        assert!(margin(1.0) > margin(4.0), "{:?} {:?}", margin(1.0), margin(4.0));
        assert_eq!(margin(400.0), None);
    }

    #[test]
    fn tolerance_accepts_smaller_changes() {
        let mut values = normal(7, 120);
        values[60..].iter_mut().for_each(|value| *value += 0.9);
        assert_eq!(accepted(&values, &[60]), []);
        let margin = eliminate(&values, &[60], 1.0, 6.0)[0].margin;
        assert!(margin > 0.0, "{margin}");
    }
}
