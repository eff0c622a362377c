//! Pairs of values of one benchmark that are measured one by one. A further pair does not repeat the tests of the earlier pairs, so
//! that a comparison can be inspected after every pair.

use super::{
    Comparison, EQUAL_PAIRS, ROUNDING_ERROR,
    sequential::{Bets, Sequence, capital_limit},
};
use crate::moments::mean;

/// Runs of base and new side in pairs, in random order within a pair: the values of a pair share the state of the machine. The
/// comparison is valid whenever the measurement stops, even if it decides when.
#[derive(Clone, Debug)]
pub struct Pairs {
    confidence: f64,
    same_within: f64,
    values: Vec<(f64, f64)>,
    /// Whether all values are positive, so that the differences are those of the logarithms.
    is_positive: bool,
    /// Whether the values of neither side vary.
    is_constant: bool,
    /// Sum of the values of the base, or of their logarithms.
    base_sum: f64,
    sequence: Sequence,
    /// Bets against the ends of the range within which the sides count as the same.
    ends: [Bets; 2],
}

impl Pairs {
    /// Creates an empty sequence. `confidence` is 1 minus the accepted share of false positives, `same_within` the maximum relative
    /// difference of two sides that count as the same.
    pub fn new(confidence: f64, same_within: f64) -> Self {
        Self {
            confidence,
            same_within,
            values: Vec::new(),
            is_positive: true,
            is_constant: true,
            base_sum: 0.0,
            sequence: Sequence::default(),
            ends: [Bets::default(); 2],
        }
    }

    /// Creates the sequence of these pairs.
    pub fn of(pairs: &[(f64, f64)], confidence: f64, same_within: f64) -> Self {
        let mut sequence = Self::new(confidence, same_within);
        for (base, new) in pairs {
            sequence.push(*base, *new);
        }
        sequence
    }

    /// Adds a pair.
    pub fn push(&mut self, base: f64, new: f64) {
        self.is_constant &= self.values.first().is_none_or(|first| *first == (base, new));
        if self.is_positive && (base <= 0.0 || new <= 0.0) {
            // From now on, the values themselves are compared. The capital of the bets on their logarithms remains: the sign of a
            // difference is the same on both scales, and a second capital of 1 would double the rate of false positives.
            self.is_positive = false;
            self.base_sum = self.values.iter().map(|(base, _)| base).sum();
            self.sequence.rescale(self.values.iter().map(|(base, new)| new - base));
        }
        self.values.push((base, new));
        if self.is_positive {
            self.add(base.ln(), new.ln());
        } else {
            self.add(base, new);
        }
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the comparison without the interval, which costs much more. Its verdict is that of [`Pairs::comparison`].
    pub fn quick_comparison(&self) -> Comparison {
        let mean = self.base_sum / self.values.len() as f64;
        let step = self.sequence.center().filter(|step| step.abs() > ROUNDING_ERROR).unwrap_or(0.0);
        let (base, new) = match self.values.first() {
            Some(first) if self.is_constant => *first,
            _ if self.is_positive => (mean.exp(), (mean + step).exp()),
            _ => (mean, mean + step),
        };
        let change =
            if self.is_constant && self.is_positive { Some(new / base - 1.0) } else { self.share(step) };
        Comparison {
            base,
            new,
            change,
            interval: None,
            p: Some(self.sequence.p()),
            rank_p: None,
            min_rank_p: 0.0,
            has_tail_test: false,
            is_same: Some(self.is_same()),
            favors_difference: self.sequence.favors_difference(),
            rank_significance: 1.0 - self.confidence,
            significance: 1.0 - self.confidence,
            detectable: None,
        }
    }

    /// Returns the comparison. The search for the interval inspects all pairs.
    pub fn comparison(&self) -> Comparison {
        let quick = self.quick_comparison();
        let interval = self.interval().and_then(|(lower, upper)| self.share(lower).zip(self.share(upper)));
        let half_width = |(change, (lower, upper)): (f64, (f64, f64))| (change - lower).max(upper - change);
        Comparison { interval, detectable: quick.change.zip(interval).map(half_width), ..quick }
    }

    /// Returns the expected number of further pairs until a verdict, if the values continue as they are: until a change is
    /// significant among this number of comparisons, or until both sides count as the same. `None` if no number is enough.
    pub fn pairs_left(&self, comparisons: usize) -> Option<u32> {
        if self.is_positive {
            return self.sequence.pairs_left(comparisons, self.confidence, self.same_within);
        }
        let level = self.base_sum.abs() / self.values.len() as f64;
        let relative: Sequence = self.values.iter().map(|(base, new)| (new - base) / level).collect();
        relative.pairs_left(comparisons, self.confidence, self.same_within)
    }

    /// Adds a pair on the scale of the comparison.
    fn add(&mut self, base: f64, new: f64) {
        self.base_sum += base;
        let earlier = self.sequence.push(new - base);
        let ends = self.end_shifts();
        for (bets, shift) in self.ends.iter_mut().zip(ends) {
            bets.bet(new - base - shift, earlier.shifted(shift));
        }
    }

    /// Returns the ends of the range of sides that count as the same, on the scale of logarithms.
    fn end_shifts(&self) -> [f64; 2] {
        [(-self.same_within.min(1.0)).ln_1p(), self.same_within.ln_1p()]
    }

    /// Whether the confidence interval is within the range of sides that count as the same: whether its ends are excluded.
    fn is_same(&self) -> bool {
        if !self.is_positive {
            // The range depends on the level of the base, which every pair changes.
            let ends = self.interval().and_then(|(lower, upper)| self.share(lower).zip(self.share(upper)));
            return ends
                .is_some_and(|(lower, upper)| -self.same_within <= lower && upper <= self.same_within);
        }
        if self.is_equal() {
            return true;
        }
        let [lower, upper] = self.end_shifts();
        let limit = capital_limit(self.confidence);
        let is_inside = |place: Option<f64>| place.is_some_and(|place| lower < place && place < upper);
        is_inside(self.sequence.median())
            && is_inside(self.sequence.center())
            && self.ends.iter().all(|bets| bets.capital() >= limit)
    }

    /// Returns the confidence interval on the scale of the comparison.
    fn interval(&self) -> Option<(f64, f64)> {
        if self.is_equal() {
            return Some((0.0, 0.0));
        }
        let interval = self.sequence.interval(self.confidence)?;
        let only = self.values.first().filter(|_| self.is_constant);
        // Every other shift is excluded; the search ends close to the difference.
        Some(only.map_or(interval, |(base, new)| {
            let step = if self.is_positive { new.ln() - base.ln() } else { new - base };
            (step, step)
        }))
    }

    /// Whether no run of either side differs from another, for example in its number of instructions. Sides that differ need the
    /// bets, even if neither varies: with a low resolution of the timer, or if the second run of a pair always takes longer, a few
    /// pairs without a change may differ by the same amount.
    fn is_equal(&self) -> bool {
        let is_same = self.values.first().is_some_and(|(base, new)| base == new);
        self.is_constant && is_same && self.values.len() >= EQUAL_PAIRS
    }

    /// Converts a difference on the scale to a share of the base.
    fn share(&self, step: f64) -> Option<f64> {
        if self.is_positive {
            return Some(step.exp_m1());
        }
        let base = mean(&self.values.iter().map(|(base, _)| *base).collect::<Vec<_>>());
        if base == 0.0 { (step == 0.0).then_some(0.0) } else { Some(step / base.abs()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::{Criteria, Verdict, verdicts},
        model::Worse,
        random::Random,
    };

    const CRITERIA: Criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };

    /// The incremental verdict and the verdict from the interval agree after every pair.
    #[test]
    fn the_quick_verdict_is_that_of_the_interval() {
        for (seed, (noise, factor)) in
            [(0.01, 1.0), (0.01, 1.03), (0.05, 1.0), (0.05, 1.2), (0.02, 1.05)].into_iter().enumerate()
        {
            let mut random = Random::seeded(seed as u64);
            let mut pairs = Pairs::new(0.99, CRITERIA.same_within);
            for _ in 0..120 {
                pairs.push((noise * random.normal()).exp(), factor * (noise * random.normal()).exp());
                let by_interval = Comparison { is_same: None, ..pairs.comparison() };
                let all = [pairs.quick_comparison(), pairs.comparison(), by_interval];
                let found = all.map(|one| verdicts(&[(one, Worse::Up)], &CRITERIA)[0].0);
                assert!(found.iter().all(|one| *one == found[0]), "{found:?} after {}", pairs.len());
            }
        }
    }

    /// Bursts of load that last for one side of a pair: a fifth of the runs take up to five times as long.
    #[test]
    fn bursts_of_load_do_not_move_the_change() {
        let mut random = Random::seeded(7);
        for factor in [1.0_f64, 0.97, 1.03] {
            for _ in 0..50 {
                let mut run = |factor: f64| {
                    let load = if random.uniform() < 0.2 { 1.0 + 4.0 * random.uniform() } else { 1.0 };
                    factor * load * (0.02 * random.normal()).exp()
                };
                let runs: Vec<(f64, f64)> = (0..150).map(|_| (run(1.0), run(factor))).collect();
                let comparison = Pairs::of(&runs, 0.99, 0.03).comparison();
                let (change, (lower, upper)) = (comparison.change.unwrap(), comparison.interval.unwrap());
                assert!((lower..=upper).contains(&change), "{change} is not in {lower} to {upper}");
                assert!((change - (factor - 1.0)).abs() < 0.04, "{change} instead of {}", factor - 1.0);
                assert!((comparison.new / comparison.base - 1.0 - change).abs() < 1e-12);
            }
        }
    }

    fn verdict(pairs: &Pairs, benchmarks: usize) -> Verdict {
        verdicts(&vec![(pairs.quick_comparison(), Worse::Up); benchmarks], &CRITERIA)[0].0
    }

    /// Returns the exact probability that a benchmark is reported as changed within `count` pairs, each of which is one of `possible`
    /// with the same probability.
    fn alarm_probability(possible: &[(f64, f64)], count: usize, pairs: &Pairs) -> f64 {
        if !pairs.is_empty() && verdict(pairs, 1) < Verdict::Inconclusive {
            return 1.0;
        }
        if pairs.len() == count {
            return 0.0;
        }
        let after = |pair: &(f64, f64)| {
            let mut pairs = pairs.clone();
            pairs.push(pair.0, pair.1);
            alarm_probability(possible, count, &pairs)
        };
        possible.iter().map(after).sum::<f64>() / possible.len() as f64
    }

    /// Durations of 10 and 20 ms, measured with a resolution of 10 ms. The significance level is that of one of eight benchmarks.
    #[test]
    fn a_timer_with_a_low_resolution_causes_no_alarms() {
        let significance = 0.01 / 8.0;
        let possible = [(0.01, 0.01), (0.01, 0.02), (0.02, 0.01), (0.02, 0.02)];
        let alarms = alarm_probability(&possible, 7, &Pairs::new(1.0 - significance, 0.05));
        assert!(alarms <= significance, "{alarms}");
    }

    /// The second run of a pair always takes the same time longer, and the order is random.
    #[test]
    fn an_effect_of_the_order_causes_alarms_at_most_at_the_nominal_rate() {
        for possible in [[(0.01, 0.02), (0.02, 0.01)], [(0.0, 1.0), (1.0, 0.0)]] {
            let alarms = alarm_probability(&possible, 10, &Pairs::new(0.99, 0.05));
            assert!((0.001..=0.01).contains(&alarms), "{possible:?}: {alarms}");
        }
    }

    /// Returns the number of equal pairs after which one of these benchmarks has a verdict, and the verdict.
    fn pairs_until_verdict(pair: (f64, f64), benchmarks: usize) -> (usize, Verdict) {
        let mut pairs = Pairs::new(0.99, CRITERIA.same_within);
        while pairs.is_empty() || verdict(&pairs, benchmarks) == Verdict::Inconclusive {
            pairs.push(pair.0, pair.1);
        }
        let by_interval =
            [(Comparison { is_same: None, ..pairs.comparison() }, Worse::Up)].repeat(benchmarks);
        assert_eq!(verdicts(&by_interval, &CRITERIA)[0].0, verdict(&pairs, benchmarks));
        (pairs.len(), verdict(&pairs, benchmarks))
    }

    #[test]
    fn values_that_never_vary_need_few_pairs() {
        for value in [1e9, 0.0, -3.0] {
            assert_eq!(pairs_until_verdict((value, value), 8), (EQUAL_PAIRS, Verdict::Unchanged), "{value}");
        }
        assert_eq!(pairs_until_verdict((1000.0, 1001.0), 8), (9, Verdict::Unchanged));
        assert_eq!(pairs_until_verdict((1000.0, 1020.0), 1), (9, Verdict::Regression));
        assert_eq!(pairs_until_verdict((1000.0, 980.0), 8), (12, Verdict::Improvement));
        assert_eq!(pairs_until_verdict((-1000.0, -980.0), 8), (12, Verdict::Regression));
        let comparison = Pairs::of(&[(1000.0, 1020.0); 9], 0.99, 0.05).comparison();
        let (lower, upper) = comparison.interval.unwrap();
        assert!((lower - 0.02).abs() < 1e-12 && lower == upper, "{lower} {upper}");
    }

    /// Otherwise, each of both scales would have its own chance of a false positive.
    #[test]
    fn the_capital_remains_when_a_value_is_zero() {
        let mut pairs = Pairs::new(0.99, 0.05);
        for value in [(1.0, 2.0), (1.0, 30.0), (5.0, 6.0), (8.0, 7.9), (1.0, 500.0), (2.0, 3.0)] {
            pairs.push(value.0, value.1);
        }
        let before = pairs.quick_comparison().p.unwrap();
        pairs.push(0.0, 0.0);
        assert_eq!(pairs.quick_comparison().p, Some(before));
        assert!(before < 0.5, "{before}");
        for pair in 0..30 {
            pairs.push(f64::from(pair), 7.0);
            assert!(pairs.quick_comparison().p <= Some(before));
        }
    }

    #[test]
    fn zero_and_negative_values_are_compared_without_logarithms() {
        let mut pairs = Pairs::new(0.99, 0.05);
        for value in [(10.0, 12.0), (0.0, 2.0), (-1.0, 1.0), (5.0, 7.0)] {
            pairs.push(value.0, value.1);
        }
        let comparison = pairs.comparison();
        assert_eq!((comparison.base, comparison.new), (3.5, 5.5));
        assert!((comparison.change.unwrap() - 2.0 / 3.5).abs() < 1e-12);
        assert_eq!(pairs.len(), 4);
    }
}
