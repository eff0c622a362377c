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
use crate::{level::MAD_TO_SIGMA, moments::mean};

/// Bets: stake per standard deviation of the differences, and share of the capital. Small stakes win slowly but detect small
/// changes.
const BETS: [(f64, f64); 4] = [(0.15, 0.15), (0.4, 0.45), (1.0, 0.15), (2.5, 0.25)];
/// Maximum size of a difference, in standard deviations, so that an outlier does not lose the capital.
const MAX_SIZE: f64 = 2.0;
/// Distance from the median, in standard deviations, from which on a difference is an outlier: half of the capital bets nothing on
/// it. Between the maximum size and this distance, these bets decrease (F. R. Hampel, "The influence curve and its role in robust
/// estimation", 1974). The other half finds changes of which only a minority of runs is affected.
const OUTLIER: f64 = 5.0;
/// Number of halvings in the search for an end of the interval: more digits than anyone reads.
const HALVINGS: usize = 40;
/// Number of steps of iteratively reweighted least squares from the median to the center.
const CENTER_STEPS: usize = 8;
/// Factor by which successive bets of the mixture delay a decision, as the logarithm of a capital; for predictions only.
const MIXTURE_COST: f64 = 1.5;

/// Differences of pairs, in the order of measurement. A further difference costs a constant number of bets; only the interval
/// inspects all differences again.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    differences: Vec<f64>,
    /// Distribution of the earlier differences, for each difference.
    earlier: Vec<Distribution>,
    sorted: Vec<f64>,
    /// Bets that the differences are not symmetric about zero, and the logarithm of their maximum capital.
    bets: Bets,
    maximum: f64,
}

/// Location and scale of differences; zero while they are unknown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distribution {
    median: f64,
    spread: f64,
}

impl Sequence {
    /// Adds a difference, and returns the distribution of the earlier ones.
    pub(super) fn push(&mut self, difference: f64) -> Distribution {
        let earlier = Distribution { median: self.median().unwrap_or(0.0), spread: self.spread() };
        self.maximum = self.maximum.max(self.bets.bet(difference, earlier));
        self.differences.push(difference);
        self.earlier.push(earlier);
        let index = self.sorted.partition_point(|other| other.total_cmp(&difference).is_lt());
        self.sorted.insert(index, difference);
        earlier
    }

    /// Replaces the differences by those on another scale, on which they have the same signs. The bets on the signs remain.
    pub(super) fn rescale(&mut self, differences: impl Iterator<Item = f64>) {
        let rescaled: Self = differences.collect();
        *self = Self { bets: self.bets, maximum: self.maximum, ..rescaled };
    }

    /// Returns the p-value: the reciprocal of the maximum capital so far.
    pub(super) fn p(&self) -> f64 {
        (-self.maximum).exp()
    }

    /// Whether the bets against symmetry about zero have more capital now than at the start.
    pub(super) fn favors_difference(&self) -> bool {
        self.bets.capital() > 0.0
    }

    /// Returns the median of the differences.
    pub(super) fn median(&self) -> Option<f64> {
        let middle = self.sorted.len().checked_sub(1)? / 2;
        let below = self.sorted[middle];
        let is_even = self.sorted.len().is_multiple_of(2);
        Some(if is_even { below + (self.sorted[middle + 1] - below) / 2.0 } else { below })
    }

    /// Returns the center of the differences, weighted as by the bets that have more capital: Hampel's M-estimate, which leaves out
    /// outliers, or Huber's, which limits them. The mean would follow the bursts of load on one side. While the spread is zero, it
    /// is the mean.
    pub(super) fn center(&self) -> Option<f64> {
        let mut center = self.median()?;
        let spread = self.spread();
        if spread == 0.0 {
            return Some(mean(&self.differences));
        }
        let includes_outliers = self.bets.favor_outliers();
        for _ in 0..CENTER_STEPS {
            let (mut sum, mut weights) = (0.0, 0.0);
            for difference in &self.differences {
                let distance = (difference - center).abs() / spread;
                let of_outlier = if includes_outliers { 1.0 } else { weight(distance) };
                let weight = of_outlier * (MAX_SIZE / distance).min(1.0);
                sum += weight * (difference - center);
                weights += weight;
            }
            center += sum / weights;
        }
        Some(center)
    }

    /// Returns the standard deviation of the differences, estimated from the median absolute deviation; zero if it is unknown.
    pub(super) fn spread(&self) -> f64 {
        let Some(center) = self.median() else { return 0.0 };
        let count = self.sorted.len();
        let middle = (count - 1) / 2;
        let below = self.deviation(center, middle);
        let deviation = if count.is_multiple_of(2) {
            below + (self.deviation(center, middle + 1) - below) / 2.0
        } else {
            below
        };
        MAD_TO_SIGMA * deviation
    }

    /// Returns the absolute deviation from the center with this rank. The deviations to each side are sorted; a binary search finds
    /// how many of the smallest ones are on the left.
    fn deviation(&self, center: f64, rank: usize) -> f64 {
        let split = self.sorted.partition_point(|difference| *difference < center);
        let left = |index: usize| center - self.sorted[split - 1 - index];
        let right = |index: usize| self.sorted[split + index] - center;
        let wanted = rank + 1;
        let (mut low, mut high) = (wanted.saturating_sub(self.sorted.len() - split), wanted.min(split));
        while low < high {
            let middle = low.midpoint(high);
            if left(middle) < right(rank - middle) { low = middle + 1 } else { high = middle }
        }
        let of_left = if low > 0 { left(low - 1) } else { 0.0 };
        let of_right = if wanted > low { right(rank - low) } else { 0.0 };
        of_left.max(of_right)
    }

    /// Returns the confidence interval: all shifts against which the capital is too small at the end, and the center, which may be
    /// beyond them if the distribution changed by more than a shift. `None` while it is unbounded.
    pub(super) fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let limit = capital_limit(confidence);
        let is_excluded = |shift: f64| self.capital(shift).last().is_some_and(|capital| capital >= limit);
        let median = self.median()?;
        let (lowest, highest) = self.sorted.first().zip(self.sorted.last())?;
        // Beyond all differences, by more than their range, every bet that includes outliers wins the maximum.
        let reach = (highest - lowest).max(ROUNDING_ERROR * median.abs().max(1.0)) * (1.0 + MAX_SIZE);
        let end = |outside: f64| {
            if !is_excluded(outside) {
                return None;
            }
            let (mut inside, mut outside) = (median, outside);
            for _ in 0..HALVINGS {
                let middle = inside + (outside - inside) / 2.0;
                if is_excluded(middle) { outside = middle } else { inside = middle }
            }
            Some(outside)
        };
        let center = self.center()?;
        Some((end(lowest - reach)?.min(center), end(highest + reach)?.max(center)))
    }

    /// Returns the logarithm of the capital after each pair, for bets that the differences are not symmetric about `shift`.
    fn capital(&self, shift: f64) -> impl Iterator<Item = f64> {
        let mut bets = Bets::default();
        self.differences
            .iter()
            .zip(&self.earlier)
            .map(move |(difference, earlier)| bets.bet(difference - shift, earlier.shifted(shift)))
    }

    /// Returns the expected number of further pairs until a verdict, if the values continue as they are: until a change is
    /// significant among this number of comparisons, or until the interval is within ± `same_within`. `None` if no number is
    /// enough.
    pub(super) fn pairs_left(&self, comparisons: usize, confidence: f64, same_within: f64) -> Option<u32> {
        let (step, spread) = (self.median()?.abs(), self.spread());
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
        let left = until_change.min(until_same) - self.differences.len() as f64;
        left.is_finite().then(|| left.ceil().clamp(1.0, f64::from(u32::MAX)) as u32)
    }
}

impl FromIterator<f64> for Sequence {
    fn from_iter<T: IntoIterator<Item = f64>>(differences: T) -> Self {
        let mut sequence = Self::default();
        for difference in differences {
            sequence.push(difference);
        }
        sequence
    }
}

impl Distribution {
    /// Returns the distribution of the differences minus a shift.
    pub(super) fn shifted(self, shift: f64) -> Self {
        Self { median: self.median - shift, ..self }
    }
}

/// Bets that differences are not symmetric about zero: the logarithms of the capitals for each direction and stake, of the bets on
/// all differences and of those that leave out outliers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bets {
    higher: [[f64; 2]; BETS.len()],
    lower: [[f64; 2]; BETS.len()],
}

impl Default for Bets {
    fn default() -> Self {
        let start = BETS.map(|(_, share)| [(share / 4.0).ln(); 2]);
        Self { higher: start, lower: start }
    }
}

impl Bets {
    /// Bets on the next difference, given the distribution of the earlier ones. Returns the logarithm of the capital. The size of
    /// a bet is the same for a difference and its opposite.
    pub(super) fn bet(&mut self, difference: f64, earlier: Distribution) -> f64 {
        let Distribution { median, spread } = earlier;
        let sizes = if spread > 0.0 {
            let size = (difference / spread).clamp(-MAX_SIZE, MAX_SIZE);
            // A difference of the size of the median is not an outlier, however far from zero.
            let distance = (difference.abs() - median.abs()) / spread;
            [size, weight(distance) * size]
        } else if difference == 0.0 {
            [0.0; 2]
        } else {
            [MAX_SIZE.copysign(difference); 2]
        };
        for ((higher, lower), (stake, _)) in self.higher.iter_mut().zip(&mut self.lower).zip(BETS) {
            for ((higher, lower), size) in higher.iter_mut().zip(lower).zip(sizes) {
                *higher += log_win(stake * size);
                *lower += log_win(-stake * size);
            }
        }
        self.capital()
    }

    /// Returns the logarithm of the capital.
    pub(super) fn capital(&self) -> f64 {
        log_sum(self.higher.iter().chain(&self.lower).flatten())
    }

    /// Whether the bets on all differences have more capital than those that leave out outliers.
    fn favor_outliers(&self) -> bool {
        let of =
            |kind: usize| log_sum(self.higher.iter().chain(&self.lower).map(move |capitals| &capitals[kind]));
        of(0) > of(1)
    }
}

/// Returns the logarithm of the capital that is significant at this confidence.
pub(super) fn capital_limit(confidence: f64) -> f64 {
    -(1.0 - confidence).ln()
}

/// Returns the weight of a difference at this distance from the median, in standard deviations, if outliers are left out.
fn weight(distance: f64) -> f64 {
    ((OUTLIER - distance) / (OUTLIER - MAX_SIZE)).clamp(0.0, 1.0)
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
        compare::{Criteria, EQUAL_PAIRS, Pairs, Samples, Verdict, compare, verdicts},
        level::median_absolute_deviation,
        model::Worse,
        random::Random,
    };

    const CONFIDENCE: f64 = 0.99;
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
        let lowest = (0..BENCHMARKS).map(|_| Sequence::from_iter(differences(random, noise, 100, 1.0)).p());
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
    fn the_spread_is_the_median_absolute_deviation() {
        let mut random = Random::seeded(6);
        for round in 0..200 {
            // Ties occur in every other sequence.
            let digits = if round % 2 == 0 { 1.0 } else { 1e9 };
            let mut sequence = Sequence::default();
            let mut values = Vec::new();
            for _ in 0..random.index(40) {
                values.push((random.normal() * digits).round() / digits);
                sequence.push(*values.last().unwrap());
                let expected = MAD_TO_SIGMA * median_absolute_deviation(&values).unwrap();
                assert!((sequence.spread() - expected).abs() < 1e-12, "{values:?}");
            }
        }
    }

    #[test]
    fn the_p_value_never_increases() {
        let mut random = Random::seeded(2);
        let differences: Vec<f64> = (0..60).map(|_| random.normal()).collect();
        let p = |count: usize| Sequence::from_iter(differences[..count].iter().copied()).p();
        assert!((1..60).all(|count| p(count + 1) <= p(count)));
        assert!((p(0) - 1.0).abs() < 1e-12, "{}", p(0));
    }

    #[test]
    fn intervals_contain_the_change_at_the_nominal_rate() {
        for (name, noise) in &NOISES[..3] {
            let mut random = Random::seeded(3);
            let missed = (0..200).filter(|_| {
                let values = differences(&mut random, *noise, 40, 1.1);
                let interval = Sequence::from_iter(values).interval(CONFIDENCE);
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
        let others = compare(Samples::Paired(&[(1.0, 1.0); EQUAL_PAIRS]), CONFIDENCE);
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
            assert!(pairs_until(Verdict::Regression, seed, 0.01, 1.2) <= 15);
            assert!(pairs_until(Verdict::Improvement, seed, 0.01, 0.8) <= 15);
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
                let sequence = Sequence::from_iter(values);
                let capital = sequence.capital(0.0).position(|capital| capital >= limit);
                capital.map_or(usize::MAX, |index| index + 1)
            })
            .collect();
        counts.sort_unstable();
        assert!(counts[100] <= 114, "{counts:?}");
        assert!(counts[200] < usize::MAX, "{counts:?}");
    }

    /// Load that slows down one side of a third of the pairs, by a factor of up to four.
    #[test]
    fn bursts_of_load_cost_few_pairs() {
        let counts = [0.0, 0.35].map(|share| {
            let mut random = Random::seeded(8);
            let mut counts: Vec<usize> = (0..101)
                .map(|_| {
                    let mut run = || {
                        let load = if random.uniform() < share / 2.0 { 1.5 * random.uniform() } else { 0.0 };
                        load + 0.05 * random.normal()
                    };
                    let sequence: Sequence = (0..1_000).map(|_| run() - run() + 1.03_f64.ln()).collect();
                    let limit = -SIGNIFICANCE.ln();
                    sequence.capital(0.0).position(|capital| capital >= limit).unwrap_or(usize::MAX)
                })
                .collect();
            counts.sort_unstable();
            counts[50]
        });
        // With bets of full size on outliers, it is six times.
        let [quiet, loaded] = counts;
        assert!(loaded < 3 * quiet, "{loaded} instead of {quiet}");
    }

    /// A sixth of the runs of one side takes three times as long.
    #[test]
    fn a_change_of_a_minority_of_runs_is_found() {
        let mut random = Random::seeded(9);
        for _ in 0..20 {
            let pairs: Vec<(f64, f64)> = (0..400)
                .map(|_| {
                    let tail = if random.uniform() < 1.0 / 6.0 { 3.0 } else { 1.0 };
                    ((0.05 * random.normal()).exp(), tail * (0.05 * random.normal()).exp())
                })
                .collect();
            let comparison = compare(Samples::Paired(&pairs), CONFIDENCE);
            let (change, (lower, upper)) = (comparison.change.unwrap(), comparison.interval.unwrap());
            assert!((lower..=upper).contains(&change), "{change} is not in {lower} to {upper}");
            assert_eq!(verdicts(&[(comparison, Worse::Up)], &CRITERIA)[0].0, Verdict::Regression);
        }
    }

    #[test]
    fn the_expected_number_of_pairs_is_near_the_actual_one() {
        let mut random = Random::seeded(4);
        let mut pairs = |count: usize, noise: f64, factor: f64| -> Vec<(f64, f64)> {
            (0..count)
                .map(|_| ((noise * random.normal()).exp(), factor * (noise * random.normal()).exp()))
                .collect()
        };
        let left =
            |pairs: &[(f64, f64)]| Pairs::of(pairs, CONFIDENCE, CRITERIA.same_within).pairs_left(BENCHMARKS);
        assert!(matches!(left(&pairs(30, 0.05, 1.1)), Some(1..30)));
        assert!(matches!(left(&pairs(30, 0.05, 1.03)), Some(1..400)));
        assert!(matches!(left(&pairs(6, 0.001, 1.0)), Some(1..6)));
        assert!(matches!(left(&pairs(6, 0.001, 2.0)), Some(4..9)));
        assert_eq!(left(&[]), None);
    }
}
