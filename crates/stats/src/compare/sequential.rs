//! Always-valid test and confidence interval for pairs that arrive one by one: they may be inspected after every pair, and the
//! measurement may stop at any time.
//!
//! The e-value bets on the sign of the next difference. If both sides are the same and the order within a pair is random, each
//! difference is as likely positive as negative, given its size and all earlier pairs. A bet that multiplies the capital by
//! 2 / (1 + exp(-2x)) for a difference *x* and by 2 / (1 + exp(2x)) for *-x* then has the expected value 1, and the capital
//! exceeds 1 / significance with at most this probability, ever (Ville's inequality). No distribution, variance or independence
//! is assumed; `docs/statistics.md` gives the details.

use std::f64::consts::LN_2;

use super::ROUNDING_ERROR;
use crate::level::{MAD_TO_SIGMA, median, median_in_place};

/// Bets: stake per standard deviation of the differences, and share of the capital. Small stakes win slowly but detect small
/// changes.
const BETS: [(f64, f64); 4] = [(0.15, 0.15), (0.4, 0.45), (1.0, 0.15), (2.5, 0.25)];
/// Maximum size of a difference, in standard deviations, so that an outlier does not lose the capital.
const MAX_SIZE: f64 = 2.0;
/// Number of halvings in the search for an end of the interval: more digits than anyone reads.
const HALVINGS: usize = 40;
/// Factor by which successive bets of the mixture delay a decision, as the logarithm of a capital; for predictions only.
const MIXTURE_COST: f64 = 1.5;

/// Differences of pairs, in the order of measurement.
pub(super) struct Sequence<'a> {
    differences: &'a [f64],
    /// Standard deviation before each difference, from the earlier ones; zero if unknown.
    scales: Vec<f64>,
}

impl<'a> Sequence<'a> {
    pub(super) fn new(differences: &'a [f64]) -> Self {
        let mut buffer = Vec::with_capacity(differences.len());
        let scales = (0..differences.len()).map(|count| spread(&differences[..count], &mut buffer)).collect();
        Self { differences, scales }
    }

    /// Returns the p-value: the reciprocal of the maximum capital so far.
    pub(super) fn p(&self) -> f64 {
        (-self.capital(0.0).fold(0.0, f64::max)).exp()
    }

    /// Returns the confidence interval: all shifts against which the capital is too small at the end. `None` while it is
    /// unbounded.
    pub(super) fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let limit = -(1.0 - confidence).ln();
        let is_excluded = |shift: f64| self.capital(shift).last().is_some_and(|capital| capital >= limit);
        let center = median(self.differences)?;
        let (lowest, highest) = self
            .differences
            .iter()
            .fold((center, center), |(low, high), difference| (low.min(*difference), high.max(*difference)));
        // Beyond all differences, by more than their range, every bet wins the maximum.
        let reach = (highest - lowest).max(ROUNDING_ERROR * center.abs().max(1.0)) * (1.0 + MAX_SIZE);
        let end = |outside: f64| {
            if !is_excluded(outside) {
                return None;
            }
            let (mut inside, mut outside) = (center, outside);
            for _ in 0..HALVINGS {
                let middle = inside + (outside - inside) / 2.0;
                if is_excluded(middle) { outside = middle } else { inside = middle }
            }
            Some(outside)
        };
        Some((end(lowest - reach)?, end(highest + reach)?))
    }

    /// Returns the logarithm of the capital after each pair, for bets that the differences are not symmetric about `shift`.
    fn capital(&self, shift: f64) -> impl Iterator<Item = f64> {
        let start = |(_, share): (f64, f64)| (share / 2.0).ln();
        let mut higher = BETS.map(start);
        let mut lower = higher;
        self.differences.iter().zip(&self.scales).map(move |(difference, scale)| {
            let distance = difference - shift;
            let size = if *scale > 0.0 {
                (distance / scale).clamp(-MAX_SIZE, MAX_SIZE)
            } else if distance == 0.0 {
                0.0
            } else {
                MAX_SIZE.copysign(distance)
            };
            for ((higher, lower), (stake, _)) in higher.iter_mut().zip(&mut lower).zip(BETS) {
                *higher += log_win(stake * size);
                *lower += log_win(-stake * size);
            }
            log_sum(higher.iter().chain(&lower))
        })
    }
}

/// Returns the expected number of further pairs until a verdict, if the values continue as they are: until a change is significant
/// among this number of comparisons, or until the interval is within ± `same_within`. `None` if no number is enough.
pub fn pairs_left(
    pairs: &[(f64, f64)],
    comparisons: usize,
    confidence: f64,
    same_within: f64,
) -> Option<u32> {
    let level = pairs.iter().map(|(base, _)| base).sum::<f64>().abs() / pairs.len() as f64;
    let is_positive = pairs.iter().all(|(base, new)| *base > 0.0 && *new > 0.0);
    let difference =
        |(base, new): &(f64, f64)| if is_positive { (new / base).ln() } else { (new - base) / level };
    let differences: Vec<f64> = pairs.iter().map(difference).collect();
    let (step, spread) = (median(&differences)?.abs(), spread(&differences, &mut Vec::new()));
    let significance = 1.0 - confidence;
    let capital = |chance: f64| MIXTURE_COST - chance.ln();
    let growth = ((step / spread).powi(2).ln_1p() / 2.0).min(LN_2);
    let until_change = capital(significance / comparisons as f64) / growth;
    let margin = same_within - step;
    let until_same = if margin > 0.0 {
        capital(significance) / (margin / spread).powi(2).min(2.0 * LN_2) * 2.0
    } else {
        f64::INFINITY
    };
    let left = until_change.min(until_same) - pairs.len() as f64;
    left.is_finite().then(|| left.ceil().clamp(1.0, f64::from(u32::MAX)) as u32)
}

/// Returns the standard deviation of the differences, estimated from the median absolute deviation; zero if it is unknown.
fn spread(differences: &[f64], buffer: &mut Vec<f64>) -> f64 {
    let mut center = |values: &mut dyn Iterator<Item = f64>| {
        buffer.clear();
        buffer.extend(values);
        median_in_place(buffer)
    };
    let Some(middle) = center(&mut differences.iter().copied()) else { return 0.0 };
    center(&mut differences.iter().map(|difference| (difference - middle).abs()))
        .map_or(0.0, |deviation| MAD_TO_SIGMA * deviation)
}

/// Returns the logarithm of the factor by which a bet multiplies its capital.
fn log_win(size: f64) -> f64 {
    LN_2 - (-2.0 * size).exp().ln_1p()
}

/// Returns the logarithm of the sum of numbers that are given by their logarithms.
fn log_sum<'a>(logarithms: impl Iterator<Item = &'a f64> + Clone) -> f64 {
    let maximum = logarithms.clone().copied().fold(f64::NEG_INFINITY, f64::max);
    maximum + logarithms.map(|one| (one - maximum).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::{Criteria, Samples, Verdict, compare, verdicts},
        model::Worse,
        random::Random,
    };

    const CONFIDENCE: f64 = 0.99;
    const EXACT: usize = super::super::EXACT_PAIRS;
    const CRITERIA: Criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };
    const BENCHMARKS: usize = 8;
    /// Significance level of one of the benchmarks.
    const SIGNIFICANCE: f64 = (1.0 - CONFIDENCE) / BENCHMARKS as f64;

    /// Generates a pair of values, in the order of measurement.
    type Noise = fn(&mut Random, &mut f64) -> (f64, f64);

    /// Noise of pairs on a shared machine, as logarithms. The second argument is the state of the machine.
    const NOISES: [(&str, Noise); 6] = [
        ("normal", |random, _| (0.05 * random.normal(), 0.05 * random.normal())),
        ("heavy tails", |random, _| (0.05 * random.student_t(), 0.05 * random.student_t())),
        ("skewed", |random, _| (-0.1 * random.uniform().ln(), -0.1 * random.uniform().ln())),
        ("two values", |random, _| (0.1 * random.index(2) as f64, 0.1 * random.index(2) as f64)),
        ("intermittent load", |random, state| {
            let mut next = || {
                if random.uniform() < 0.1 {
                    *state = 0.5 - *state;
                }
                *state + 0.02 * random.normal()
            };
            (next(), next())
        }),
        ("autocorrelated, and the second run is slower", |random, state| {
            let mut next = || {
                *state = 0.95 * *state + 0.05 * random.normal();
                *state
            };
            (next(), next() + 0.1)
        }),
    ];

    /// Simulates differences of pairs in random order; the new side takes longer by this factor.
    fn differences(random: &mut Random, noise: Noise, count: usize, factor: f64) -> Vec<f64> {
        let mut state = 0.0;
        (0..count)
            .map(|_| {
                let (first, second) = noise(random, &mut state);
                let difference = if random.uniform() < 0.5 { first - second } else { second - first };
                difference + factor.ln()
            })
            .collect()
    }

    /// Whether eight benchmarks without a change raise an alarm at any time within 100 pairs. The p-value never increases, so
    /// the last one decides.
    fn is_alarm(random: &mut Random, noise: Noise) -> bool {
        let lowest = (0..BENCHMARKS).map(|_| Sequence::new(&differences(random, noise, 100, 1.0)).p());
        lowest.fold(1.0, f64::min) <= SIGNIFICANCE
    }

    #[test]
    fn continuous_monitoring_raises_alarms_at_most_at_the_nominal_rate() {
        for (name, noise) in NOISES {
            let mut random = Random::seeded(1);
            let alarms = (0..200).filter(|_| is_alarm(&mut random, noise)).count();
            // Two are expected at most; more than six have a probability of 0.5 %.
            assert!(alarms <= 6, "{name}: {alarms} of 200");
        }
    }

    #[test]
    fn the_p_value_never_increases() {
        let mut random = Random::seeded(2);
        let differences: Vec<f64> = (0..60).map(|_| random.normal()).collect();
        let p = |count: usize| Sequence::new(&differences[..count]).p();
        assert!((1..60).all(|count| p(count + 1) <= p(count)));
        assert!((p(0) - 1.0).abs() < 1e-12, "{}", p(0));
    }

    #[test]
    fn intervals_contain_the_change_at_the_nominal_rate() {
        for (name, noise) in &NOISES[..3] {
            let mut random = Random::seeded(3);
            let missed = (0..200).filter(|_| {
                let values = differences(&mut random, *noise, 40, 1.1);
                let interval = Sequence::new(&values).interval(CONFIDENCE);
                interval.is_none_or(|(lower, upper)| !(lower..=upper).contains(&1.1_f64.ln()))
            });
            let missed = missed.count();
            assert!(missed <= 6, "{name}: {missed} of 200");
        }
    }

    /// Returns the first number of pairs after which the verdict on the first of eight benchmarks is this one.
    fn pairs_until(verdict: Verdict, seed: u64, noise: f64, factor: f64) -> usize {
        let mut random = Random::seeded(seed);
        let values: Vec<(f64, f64)> = (0..600)
            .map(|_| ((noise * random.normal()).exp(), factor * (noise * random.normal()).exp()))
            .collect();
        let others = compare(Samples::Paired(&[(1.0, 1.0); EXACT]), CONFIDENCE);
        let is_reached = |count: &usize| {
            let mut compared = vec![(others, Worse::Up); BENCHMARKS];
            compared[0].0 = compare(Samples::Paired(&values[..*count]), CONFIDENCE);
            verdicts(&compared, &CRITERIA)[0].0 == verdict
        };
        (1..=600).find(is_reached).unwrap_or(usize::MAX)
    }

    #[test]
    fn clear_results_need_few_pairs() {
        for seed in 0..5 {
            assert!(pairs_until(Verdict::Regression, seed, 0.01, 1.2) <= 13);
            assert!(pairs_until(Verdict::Improvement, seed, 0.01, 0.8) <= 13);
            assert!(pairs_until(Verdict::Unchanged, seed, 0.01, 1.0) <= 12);
        }
    }

    /// A test with a fixed number of pairs, the same significance level (two-sided) and a power of 99.9 % requires 228 pairs:
    /// ((3.227 + 3.090) / (ln 1.03 / (0.05 √2)))².
    #[test]
    fn small_changes_in_noise_need_half_of_the_pairs_of_a_fixed_design() {
        let mut random = Random::seeded(5);
        let mut counts: Vec<usize> = (0..201)
            .map(|_| {
                let values = differences(&mut random, NOISES[0].1, 600, 1.03);
                let limit = -SIGNIFICANCE.ln();
                let capital = Sequence::new(&values).capital(0.0).position(|capital| capital >= limit);
                capital.map_or(usize::MAX, |index| index + 1)
            })
            .collect();
        counts.sort_unstable();
        assert!(counts[100] <= 114, "{counts:?}");
        assert!(counts[200] < usize::MAX, "{counts:?}");
    }

    #[test]
    fn exact_values_are_compared_without_noise() {
        let comparison = compare(Samples::Paired(&[(1000.0, 1020.0); EXACT]), CONFIDENCE);
        assert_eq!(comparison.p, Some(0.0));
        let (lower, upper) = comparison.interval.unwrap();
        assert!((lower - 0.02).abs() < 1e-9 && (upper - 0.02).abs() < 1e-9);
        assert_eq!(compare(Samples::Paired(&[(1000.0, 1020.0); EXACT - 1]), CONFIDENCE).interval, None);
    }

    #[test]
    fn the_expected_number_of_pairs_is_near_the_actual_one() {
        let mut random = Random::seeded(4);
        let mut pairs = |count: usize, noise: f64, factor: f64| -> Vec<(f64, f64)> {
            (0..count)
                .map(|_| ((noise * random.normal()).exp(), factor * (noise * random.normal()).exp()))
                .collect()
        };
        let left = |pairs: &[(f64, f64)]| pairs_left(pairs, BENCHMARKS, CONFIDENCE, CRITERIA.same_within);
        assert!(matches!(left(&pairs(30, 0.05, 1.1)), Some(1..30)));
        assert!(matches!(left(&pairs(30, 0.05, 1.03)), Some(1..400)));
        assert!(matches!(left(&pairs(6, 0.001, 1.0)), Some(1..6)));
        assert!(matches!(left(&pairs(6, 0.001, 2.0)), Some(4..9)));
        assert_eq!(left(&[]), None);
    }
}
