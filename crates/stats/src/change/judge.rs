//! Which of the proposed changes to believe. Two things speak for one: that ranks tell the values before it from those
//! after it, near and far; and that the two levels are far apart, both for how much values scatter around them and for
//! how much the series moves about anyway.
//!
//! The weakest proposal is dropped until all that remain are strong enough, as each that goes gives its neighbors longer
//! levels to be judged by (backward elimination; P. Fryzlewicz, "Tail-greedy bottom-up data decompositions and fast
//! multiple change-point detection", 2018).

use super::{
    rank,
    sample::{first, last, median},
};
use crate::level::NORMAL_MEAN;

/// What must speak for a change; calibrated on series that engineers have annotated, see `docs/statistics.md`.
const THRESHOLD: f64 = 3.9;
/// By how much the threshold falls where e times as many false alarms are fine.
pub(super) const PER_ALARM: f64 = 0.55;
/// How many values on both sides are ranked: near ones show a clear step, far ones whether it lasts.
const WINDOWS: [usize; 3] = [12, 24, 48];
/// How many values on both sides the distance of the levels is measured with. Few, so that a drift does not add to it.
const REACH: usize = 17;
/// A step of so many times the scatter is clear; more adds nothing.
const CLEAR: f64 = 3.0;
/// How much it counts that a step is small for how much the series moves about anyway.
const SHARE: f64 = 0.42;
/// The smallest share that is told apart from none.
const LEAST_SHARE: f64 = 0.055;
/// The power of the inflation by which ranks count less: less than the root, as a window of 12 values is inflated less
/// than a long mean.
const DISCOUNT: f64 = 0.42;
/// A level is at least so many values long; anything shorter is a spike.
const SHORTEST: usize = 8;
/// The newest level is at least so many values long, as nobody knows yet how long it will be.
const SHORTEST_OPEN: usize = 12;
/// Below any score there can be.
const NONE: f64 = -1e6;

/// A proposal that has been looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// The first place of the new level.
    pub(super) at: usize,
    /// How much more speaks for it than must.
    pub(super) margin: f64,
    /// How far apart the levels are, in units of the scatter around them.
    pub(super) sigma: f64,
    /// Whether both neighbors are still those that it was judged with.
    is_current: bool,
}

/// The noise that all proposals of a series are judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    /// The range that four of five values keep to, with all their levels; at least one unit of noise.
    pub(super) spread: f64,
    /// How many times greater the variance of a mean is than with independent values.
    pub(super) inflation: f64,
}

/// Values in units of noise, and twice their ranks.
pub(super) struct Ranked<'a> {
    pub(super) values: &'a [f64],
    pub(super) ranks: &'a [i16],
}

/// What the judge reuses from one series to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Judge {
    proposals: Vec<Judged>,
    buffer: Vec<f64>,
}

impl Judge {
    /// Goes through the proposals, which are in ascending order and all lie after `start`, where a level begins that is
    /// not in doubt. `tolerance` is the logarithm of how many times more false alarms than usual are fine.
    pub(super) fn judge(
        &mut self,
        series: &Ranked<'_>,
        start: usize,
        cuts: &[usize],
        noise: Noise,
        tolerance: f64,
    ) -> &[Judged] {
        self.proposals.clear();
        self.proposals.extend(cuts.iter().map(|at| Judged {
            at: *at,
            margin: 0.0,
            sigma: 0.0,
            is_current: false,
        }));
        let threshold = THRESHOLD - PER_ALARM * tolerance;
        if most(noise.inflation) < threshold {
            self.proposals.clear();
        }
        loop {
            self.update(series, start, noise, threshold);
            let weakest = self
                .proposals
                .iter()
                .enumerate()
                .min_by(|(_, one), (_, two)| one.margin.total_cmp(&two.margin));
            let Some((place, _)) = weakest.filter(|(_, weakest)| weakest.margin < 0.0) else { break };
            self.proposals.remove(place);
            for neighbor in [place.wrapping_sub(1), place] {
                if let Some(neighbor) = self.proposals.get_mut(neighbor) {
                    neighbor.is_current = false;
                }
            }
        }
        &self.proposals
    }

    /// Looks again at those whose neighbors have changed.
    fn update(&mut self, series: &Ranked<'_>, start: usize, noise: Noise, threshold: f64) {
        for place in 0..self.proposals.len() {
            let at = self.proposals[place].at;
            if self.proposals[place].is_current {
                continue;
            }
            let start = place.checked_sub(1).map_or(start, |before| self.proposals[before].at);
            let end = self.proposals.get(place + 1).map(|after| after.at);
            let stop = end.unwrap_or(series.values.len());
            let (before, after) = (&series.values[start..at], &series.values[at..stop]);
            let shortest = before.len().min(after.len());
            let is_short = shortest < SHORTEST || (end.is_none() && after.len() < SHORTEST_OPEN);
            let (score, sigma) = if is_short {
                // The shortest goes first, by its lesser edge: a spike makes two proposals, and without the one the other
                // is nothing.
                let (step, _) = apart(last(before, REACH), first(after, REACH), &mut self.buffer);
                (NONE + shortest as f64 + step / (1.0 + step), 0.0)
            } else {
                let (old, new) = (&series.ranks[start..at], &series.ranks[at..stop]);
                let separations =
                    WINDOWS.iter().map(|window| rank::separation(last(old, *window), first(new, *window)));
                score(separations.sum(), before, after, noise, &mut self.buffer)
            };
            self.proposals[place] = Judged { at, margin: score - threshold, sigma, is_current: true };
        }
    }
}

/// What speaks for a change between two levels, which ranks tell apart by `separations` in all windows together, and how far
/// apart they are in units of the scatter.
fn score(separations: f64, before: &[f64], after: &[f64], noise: Noise, buffer: &mut Vec<f64>) -> (f64, f64) {
    // Values that depend on each other are worth as many as the inflation leaves of them.
    let ranks = separations / WINDOWS.len() as f64 / noise.inflation.powf(DISCOUNT);
    let (distance, scatter) = apart(last(before, REACH), first(after, REACH), buffer);
    let sigma = distance / scatter;
    let share = (distance / noise.spread).clamp(LEAST_SHARE, 1.0);
    // A step of nothing has a logarithm of minus infinity, which is as it should be.
    (ranks + sigma.min(CLEAR).ln() + SHARE * share.ln(), sigma)
}

/// The most that can speak for a change: ranks that tell all values of all windows apart, and a clear step.
fn most(inflation: f64) -> f64 {
    let separations = WINDOWS.map(|window| {
        let window = window as f64;
        window * (3.0 / (2.0 * window + 1.0)).sqrt()
    });
    separations.iter().sum::<f64>() / WINDOWS.len() as f64 / inflation.powf(DISCOUNT) + CLEAR.ln()
}

/// How far apart two levels are, and how much values scatter around them as a standard deviation: at least a trace, in units
/// of the noise.
pub(super) fn apart(before: &[f64], after: &[f64], buffer: &mut Vec<f64>) -> (f64, f64) {
    let (old, new) = (median(before, buffer), median(after, buffer));
    let around = |level: &[f64], center: f64| level.iter().map(|value| (value - center).abs()).sum::<f64>();
    let total = around(before, old) + around(after, new);
    let scatter = NORMAL_MEAN * total / (before.len() + after.len()) as f64;
    ((new - old).abs(), scatter.max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::{super::order::Order, *};
    use crate::synthetic::normal;

    fn judge(values: &[f64], cuts: &[usize], inflation: f64, tolerance: f64) -> Vec<Judged> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let noise = Noise { spread: sorted[107] - sorted[11], inflation };
        let mut ranks = Vec::new();
        Order::of(values).rank(values, &mut ranks);
        Judge::default().judge(&Ranked { values, ranks: &ranks }, 0, cuts, noise, tolerance).to_vec()
    }

    fn judged(values: &[f64], cuts: &[usize]) -> Vec<usize> {
        judge(values, cuts, 1.0, 0.0).iter().map(|judged| judged.at).collect()
    }

    #[test]
    fn only_what_is_there_survives() {
        let mut values = normal(5, 120);
        values[60..].iter_mut().for_each(|value| *value += 4.0);
        assert_eq!(judged(&values, &[20, 60, 63, 100]), [60]);
        assert_eq!(judged(&values, &[]), []);
    }

    #[test]
    fn both_sides_of_a_spike_go() {
        let mut values = normal(6, 120);
        values[60..64].iter_mut().for_each(|value| *value += 40.0);
        assert_eq!(judged(&values, &[60, 64]), []);
    }

    #[test]
    fn values_that_depend_on_each_other_count_less() {
        let mut values = normal(5, 120);
        values[60..].iter_mut().for_each(|value| *value += 2.0);
        let margin =
            |inflation: f64| judge(&values, &[60], inflation, 0.0).first().map(|judged| judged.margin);
        assert!(margin(1.0) > margin(4.0), "{:?} {:?}", margin(1.0), margin(4.0));
        assert_eq!(margin(400.0), None);
    }

    #[test]
    fn tolerance_lets_more_through() {
        let mut values = normal(7, 120);
        values[60..].iter_mut().for_each(|value| *value += 0.9);
        assert_eq!(judged(&values, &[60]), []);
        let margin = judge(&values, &[60], 1.0, 6.0)[0].margin;
        assert!(margin > 0.0, "{margin}");
    }
}
