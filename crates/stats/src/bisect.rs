//! Bayesian search for the commit that changed the level of a benchmark, despite noise: the posterior probability of each commit and
//! of no change at all, and the commit whose measurement is most informative. `docs/statistics.md` describes the model.

mod fit;
pub(crate) mod simulation;

use std::ops::RangeInclusive;

use fit::{Fit, Series};

/// Minimum number of measurements of the good and of the bad commit: without them, nothing is known about the two levels.
pub const MIN_END_MEASUREMENTS: usize = 3;

/// Prior probability that the good and the bad commit do not differ.
const PRIOR_NO_CHANGE: f64 = 0.5;

/// Probability from which on the level of a commit counts as known.
const SURE: f64 = 0.95;

/// Candidates for the correlation of successive measurements, with their prior probabilities.
const CORRELATIONS: [(f64, f64); 4] = [(0.0, 0.55), (0.3, 0.2), (0.6, 0.15), (0.9, 0.1)];

/// Measurements of commits between a good and a bad one, in the order of the history. The good commit has the index 0; the bad commit
/// is the last.
#[derive(Clone, Debug)]
pub struct Bisection {
    /// Number of commits after the good one.
    commits: usize,
    /// Measurements in the order of time.
    measurements: Vec<Measurement>,
    /// Commits that cannot be measured, for example because they do not build.
    skipped: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Measurement {
    commit: usize,
    value: f64,
    source: usize,
}

/// What the measurements say.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// Probability that each commit changed the level; the element at 0 belongs to the first commit after the good one.
    pub probabilities: Vec<f64>,
    /// Probability that no commit changed the level.
    pub no_change: f64,
    /// Estimated difference between the bad and the good level; `None` before both are measured.
    pub difference: Option<Difference>,
    /// Whether [`Assessment::difference`] is a share of the good level; otherwise it is in the units of the values.
    pub is_relative: bool,
}

/// Difference between the level since the culprit and the level before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Most probable difference.
    pub estimate: f64,
    /// Limits of the 95 % interval.
    pub lower: f64,
    /// Upper limit.
    pub upper: f64,
    /// Difference in multiples of the noise of one measurement.
    pub in_deviations: f64,
}

/// Most probable commits.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// One commit, or a range that is not divisible because only its last commit can be measured.
    pub commits: RangeInclusive<usize>,
    /// Probability that one of the commits changed the level.
    pub probability: f64,
}

impl Bisection {
    /// Starts a search among this number of commits, of which the last is bad.
    pub fn new(commits: usize) -> Self {
        Self { commits, measurements: Vec::new(), skipped: vec![false; commits + 1] }
    }

    /// Records a value of a commit: 0 is the good commit, the last is the bad one. Values are recorded in the order of time. Each
    /// source, for example a machine, has a level of its own.
    pub fn record(&mut self, commit: usize, value: f64, source: usize) {
        self.measurements.push(Measurement { commit, value, source });
    }

    /// Excludes a commit from further measurements.
    pub fn skip(&mut self, commit: usize) {
        self.skipped[commit] = true;
    }

    /// Whether a commit is excluded from measurements.
    pub fn is_skipped(&self, commit: usize) -> bool {
        self.skipped[commit]
    }

    /// Returns the number of measurements of a commit.
    pub fn count(&self, commit: usize) -> usize {
        self.measurements.iter().filter(|measurement| measurement.commit == commit).count()
    }

    /// Computes the probabilities of all commits and of no change.
    ///
    /// For each commit, the values have one level before and another since the commit, and noise with heavy tails of unknown size and
    /// unknown correlation of successive values. The probability is proportional to the likelihood, integrated over the unknowns.
    pub fn assess(&self) -> Assessment {
        let is_relative = self.measurements.iter().all(|measurement| measurement.value > 0.0);
        let mut measured: Vec<usize> =
            self.measurements.iter().map(|measurement| measurement.commit).collect();
        measured.sort_unstable();
        measured.dedup();
        let uniform = (1.0 - PRIOR_NO_CHANGE) / self.commits as f64;
        let undecided = Assessment {
            probabilities: vec![uniform; self.commits],
            no_change: PRIOR_NO_CHANGE,
            difference: None,
            is_relative,
        };
        if measured.len() < 2 {
            return undecided;
        }
        let series = Series::new(self.measurements.iter().map(|measurement| {
            let value = if is_relative { measurement.value.ln() } else { measurement.value };
            (measurement.commit, value, measurement.source)
        }));
        let evidence = |threshold: Option<usize>| -> (f64, Option<Fit>) {
            let fits = CORRELATIONS.iter().filter_map(|(correlation, prior)| {
                let fit = series.fit(threshold, *correlation)?;
                Some((fit.evidence + prior.ln(), fit))
            });
            let fits: Vec<(f64, Fit)> = fits.collect();
            let best = fits.iter().max_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, fit)| *fit);
            (log_sum(fits.iter().map(|(evidence, _)| *evidence)), best)
        };
        // Commits between the same neighboring measured commits have the same likelihood.
        let mut logarithms = vec![f64::NEG_INFINITY; self.commits + 1];
        logarithms[0] = evidence(None).0 + PRIOR_NO_CHANGE.ln();
        let mut best: Option<(f64, Fit)> = None;
        for pair in measured.windows(2) {
            let (logarithm, fit) = evidence(Some(pair[1]));
            logarithms[pair[0] + 1..=pair[1]].fill(logarithm + uniform.ln());
            let weight = logarithm + ((pair[1] - pair[0]) as f64).ln();
            if let Some(fit) = fit.filter(|_| best.is_none_or(|(most, _)| weight > most)) {
                best = Some((weight, fit));
            }
        }
        let total = log_sum(logarithms.iter().copied());
        let Some((_, fit)) = best.filter(|_| total.is_finite()) else { return undecided };
        let scale = |difference: f64| if is_relative { difference.exp_m1() } else { difference };
        let difference = Difference {
            estimate: scale(fit.step),
            lower: scale(fit.step - 1.96 * fit.error),
            upper: scale(fit.step + 1.96 * fit.error),
            in_deviations: fit.step / fit.deviation,
        };
        Assessment {
            probabilities: logarithms[1..].iter().map(|logarithm| (logarithm - total).exp()).collect(),
            no_change: (logarithms[0] - total).exp(),
            difference: Some(difference),
            is_relative,
        }
    }

    /// Returns the most probable commits with their probability.
    pub fn culprit(&self, assessment: &Assessment) -> Culprit {
        let mut best = Culprit { commits: 1..=self.commits, probability: 0.0 };
        let (mut start, mut sum) = (1, 0.0);
        for (index, probability) in assessment.probabilities.iter().enumerate() {
            let commit = index + 1;
            sum += probability;
            if !self.skipped[commit] {
                if sum > best.probability {
                    best = Culprit { commits: start..=commit, probability: sum };
                }
                (start, sum) = (commit + 1, 0.0);
            }
        }
        best
    }

    /// Returns the commit to measure next: the good and the bad one until they probably differ. Then the commit that divides the
    /// probability most evenly, or a commit of a level that is known less precisely than the comparison with it requires.
    pub fn next(&self, assessment: &Assessment) -> usize {
        let mut counts = vec![0_usize; self.commits + 1];
        for measurement in &self.measurements {
            counts[measurement.commit] += 1;
        }
        let (good, bad) = (counts[0], counts[self.commits]);
        if good.min(bad) < MIN_END_MEASUREMENTS || assessment.no_change > 0.5 {
            return if good <= bad { 0 } else { self.commits };
        }
        // Probability that each commit has the level of the bad one, if there is a change.
        let change: f64 = assessment.probabilities.iter().sum();
        let mut reached = 0.0;
        let since: Vec<f64> = std::iter::once(&0.0)
            .chain(&assessment.probabilities)
            .map(|probability| {
                reached += probability / change;
                reached.min(1.0)
            })
            .collect();
        let (mut before_count, mut since_count, mut undecided_count) = (0.0, 0.0, 0.0);
        for (since, count) in since.iter().zip(&counts) {
            let count = *count as f64;
            before_count += count * (1.0 - 2.0 * since).max(0.0);
            since_count += count * (2.0 * since - 1.0).max(0.0);
            undecided_count += count * 4.0 * since * (1.0 - since);
        }
        let measurable = || (0..=self.commits).filter(|commit| !self.skipped[*commit]);
        // Further values of an undecided commit say little while a level that it is compared with has fewer values.
        if before_count.min(since_count) < undecided_count {
            return if before_count <= since_count {
                measurable().rfind(|commit| since[*commit] < 1.0 - SURE).unwrap_or(0)
            } else {
                measurable().find(|commit| since[*commit] > SURE).unwrap_or(self.commits)
            };
        }
        let distance = |commit: usize| (since[commit] - 0.5).abs();
        let closest = measurable().map(distance).fold(f64::INFINITY, f64::min);
        let candidates = measurable().filter(|commit| distance(*commit) < closest + 1e-9);
        candidates.min_by_key(|commit| counts[*commit]).unwrap_or(self.commits)
    }

    /// Returns the expected number of further measurements until a commit has the probability `target`.
    pub fn remaining(&self, assessment: &Assessment, target: f64) -> Option<usize> {
        let difference = assessment.difference?;
        if self.culprit(assessment).probability >= target || assessment.no_change >= target {
            return Some(0);
        }
        let square = difference.in_deviations * difference.in_deviations;
        let entropy: f64 = assessment
            .probabilities
            .iter()
            .chain([&assessment.no_change])
            .filter(|probability| **probability > 0.0)
            .map(|probability| -probability * probability.ln())
            .sum();
        let left = -target * target.ln() - (1.0 - target) * (1.0 - target).ln();
        // A measurement between two levels reveals at most the capacity of a channel with this signal-to-noise ratio.
        let rate = (1.0 + square / 4.0).ln() / 2.0;
        let count = ((entropy - left).max(0.0) / rate.min(std::f64::consts::LN_2)).ceil();
        (count < 10_000.0).then_some((count as usize).max(1))
    }
}

/// Returns the logarithm of the sum of the exponentials.
fn log_sum(logarithms: impl Iterator<Item = f64> + Clone) -> f64 {
    let maximum = logarithms.clone().fold(f64::NEG_INFINITY, f64::max);
    if maximum == f64::NEG_INFINITY {
        return maximum;
    }
    maximum + logarithms.map(|logarithm| (logarithm - maximum).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::{
        simulation::{Found, Scenario, Tails},
        *,
    };

    /// Runs searches; returns the number of searches that end in this way, and the mean number of runs.
    fn searches(scenario: Scenario, count: u64, end: Found) -> (usize, f64) {
        let ends: Vec<(Found, usize)> = (0..count).map(|seed| scenario.search(seed)).collect();
        let runs: usize = ends.iter().map(|(_, runs)| runs).sum();
        (ends.iter().filter(|(found, _)| *found == end).count(), runs as f64 / count as f64)
    }

    #[test]
    fn the_commit_is_found_despite_noise() {
        let standard = Scenario::STANDARD;
        for (name, scenario, mean) in [
            ("normal", standard, 140.0),
            ("improvement", Scenario { step: -0.05, ..standard }, 140.0),
            ("heavy tails", Scenario { tails: Tails::Heavy, ..standard }, 100.0),
            ("correlated", Scenario { correlation: 0.5, ..standard }, 180.0),
            ("large step", Scenario { deviation: 0.002, ..standard }, 15.0),
        ] {
            let (correct, runs) = searches(scenario, 20, Found::Culprit);
            assert!(correct >= 18, "{name}: {correct} of 20");
            assert!(runs <= mean, "{name}: {runs} runs");
        }
    }

    #[test]
    fn no_difference_is_reported_as_none() {
        let (correct, runs) = searches(Scenario { step: 0.0, ..Scenario::STANDARD }, 20, Found::NoChange);
        assert!(correct >= 18, "{correct} of 20");
        assert!(runs <= 200.0, "{runs} runs");
    }

    /// The values that chose a series of many exaggerate its difference.
    #[test]
    fn the_choice_of_a_series_is_not_evidence() {
        let scenario = Scenario { step: 0.0, ..Scenario::STANDARD };
        let wrong = |keeps: bool| {
            let ends = (0..40).map(|seed| scenario.search_among(50, keeps, seed));
            ends.filter(|end| *end == Found::Other).count()
        };
        let (without, with) = (wrong(false), wrong(true));
        assert!(without <= 3, "{without} of 40");
        assert!(with > without, "{with} of 40 with the values of the choice");
    }

    #[test]
    fn commits_that_cannot_be_measured_are_not_divided() {
        let (correct, _) = searches(Scenario { broken: 0.3, ..Scenario::STANDARD }, 20, Found::Culprit);
        assert!(correct >= 18, "{correct} of 20");
        let mut bisection = Bisection::new(4);
        for commit in [1, 2] {
            bisection.skip(commit);
        }
        for run in 0..40 {
            let assessment = bisection.assess();
            let commit = bisection.next(&assessment);
            assert!([0, 3, 4].contains(&commit));
            bisection.record(commit, if commit >= 2 { 2.0 } else { 1.0 } + f64::from(run % 3) / 100.0, 0);
        }
        let culprit = bisection.culprit(&bisection.assess());
        assert_eq!(culprit.commits, 1..=3);
        assert!(culprit.probability > 0.99, "{culprit:?}");
    }

    #[test]
    fn exact_values_need_about_one_measurement_per_step() {
        let mut bisection = Bisection::new(1_000);
        let mut runs = 0;
        let difference = loop {
            let assessment = bisection.assess();
            let culprit = bisection.culprit(&assessment);
            if runs >= 6 && culprit.probability > 0.97 {
                assert_eq!(culprit.commits, 700..=700);
                break assessment.difference.unwrap();
            }
            let commit = bisection.next(&assessment);
            bisection.record(commit, if commit >= 700 { -2.0 } else { -1.0 }, 0);
            runs += 1;
            assert!(runs < 30, "{culprit:?}");
        };
        assert!((difference.estimate + 1.0).abs() < 1e-6, "{difference:?}");
    }

    #[test]
    fn sources_with_other_levels_do_not_mislead() {
        // The other machine is twice as fast and measured only commits since the culprit.
        let mut bisection = Bisection::new(8);
        for commit in 5..=8 {
            bisection.record(commit, 50.0 + commit as f64 / 100.0, 1);
        }
        for run in 0..40 {
            let commit = bisection.next(&bisection.assess());
            let level = if commit >= 3 { 110.0 } else { 100.0 };
            bisection.record(commit, level + f64::from(run % 5), 0);
        }
        let assessment = bisection.assess();
        let culprit = bisection.culprit(&assessment);
        assert_eq!(culprit.commits, 3..=3);
        assert!(culprit.probability > 0.97, "{culprit:?}");
        let estimate = assessment.difference.unwrap().estimate;
        assert!((0.07..0.13).contains(&estimate), "{estimate}");
        assert_eq!(bisection.remaining(&assessment, 0.97), Some(0));
    }

    #[test]
    fn before_both_ends_are_measured_nothing_is_known() {
        let mut bisection = Bisection::new(3);
        bisection.record(0, 1.0, 0);
        let assessment = bisection.assess();
        assert!(assessment.difference.is_none());
        assert_eq!(bisection.next(&assessment), 3);
        assert_eq!(bisection.remaining(&assessment, 0.97), None);
        bisection.record(3, 1.0, 0);
        let total: f64 = bisection.assess().probabilities.iter().sum::<f64>() + bisection.assess().no_change;
        assert!((total - 1.0).abs() < 1e-9, "{total}");
    }
}
