//! Simulated searches with a known culprit, to measure how often a search is correct and how many runs it needs; and plain `git
//! bisect` with repetitions, for comparison. Reproducible for the same seed on every machine.

use super::{Bisection, MIN_END_MEASUREMENTS};
use crate::random::Random;

/// Probability at which a search ends.
const TARGET: f64 = 0.97;
/// Maximum number of runs of a search.
const MAX_RUNS: usize = 600;

/// What a search has to find.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Number of commits after the good one.
    pub commits: usize,
    /// Relative change of the level; 0 is no change.
    pub step: f64,
    /// Relative standard deviation of one run.
    pub deviation: f64,
    /// Distribution of the noise.
    pub tails: Tails,
    /// Correlation of successive runs.
    pub correlation: f64,
    /// Share of the commits that cannot be measured.
    pub broken: f64,
}

/// Distribution of the noise, with a standard deviation of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tails {
    /// Normal.
    Normal,
    /// Student's t distribution with three degrees of freedom.
    Heavy,
    /// Exponential: often a little faster, rarely much slower.
    Skewed,
}

/// End of a simulated search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The culprit is among the named commits.
    Culprit,
    /// Other commits are named.
    Other,
    /// No difference between the good and the bad commit.
    NoChange,
    /// The maximum number of runs was reached.
    Nothing,
}

impl Scenario {
    /// 64 commits, a step of 5 % in normal noise of 5 %.
    pub const STANDARD: Self = Self {
        commits: 64,
        step: 0.05,
        deviation: 0.05,
        tails: Tails::Normal,
        correlation: 0.0,
        broken: 0.0,
    };

    /// Searches for a random culprit; returns the end and the number of runs.
    pub fn search(&self, seed: u64) -> (Found, usize) {
        self.search_on(&mut Source::new(self, seed), Bisection::new(self.commits))
    }

    /// Measures this number of series, chooses the one whose change is most probable, and searches for its culprit. The values that
    /// chose the series are evidence only if `keeps` is true. Returns the end of the search.
    pub fn search_among(&self, series: usize, keeps: bool, seed: u64) -> Found {
        let mut best: Option<(f64, Source<'_>, Bisection)> = None;
        for number in 0..series {
            let mut source = Source::new(self, seed * series as u64 + number as u64);
            let mut bisection = Bisection::new(self.commits);
            for commit in [0, self.commits].repeat(MIN_END_MEASUREMENTS) {
                bisection.record(commit, source.measure(commit), 0);
            }
            let change = 1.0 - bisection.assess().no_change;
            if best.as_ref().is_none_or(|(most, ..)| change > *most) {
                best = Some((change, source, bisection));
            }
        }
        let Some((_, mut source, bisection)) = best else { return Found::Nothing };
        let bisection = if keeps { bisection } else { Bisection::new(self.commits) };
        self.search_on(&mut source, bisection).0
    }

    fn search_on(&self, source: &mut Source<'_>, mut bisection: Bisection) -> (Found, usize) {
        for runs in 0..MAX_RUNS {
            let assessment = bisection.assess();
            let found = bisection.culprit(&assessment);
            let has_ends = bisection.count(0).min(bisection.count(self.commits)) >= MIN_END_MEASUREMENTS;
            if has_ends && found.probability >= TARGET {
                let is_correct = found.commits.contains(&source.culprit) && self.step != 0.0;
                return (if is_correct { Found::Culprit } else { Found::Other }, runs);
            }
            if has_ends && assessment.no_change >= TARGET {
                return (Found::NoChange, runs);
            }
            let mut commit = bisection.next(&assessment);
            while source.broken[commit] {
                bisection.skip(commit);
                commit = bisection.next(&assessment);
            }
            bisection.record(commit, source.measure(commit), 0);
        }
        (Found::Nothing, MAX_RUNS)
    }

    /// Searches as `git bisect` does: measures each commit of a binary search this many times and compares the mean with the center
    /// of the means of the good and the bad commit, which are measured `end_runs` times each. Returns whether it found the culprit,
    /// and the number of runs.
    pub fn binary_search(&self, seed: u64, runs: usize, end_runs: usize) -> (bool, usize) {
        let mut source = Source::new(self, seed);
        let mut mean =
            |commit: usize, runs: usize| (0..runs).map(|_| source.measure(commit)).sum::<f64>() / runs as f64;
        let (good, bad) = (mean(0, end_runs), mean(self.commits, end_runs));
        let (mut lower, mut upper, mut count) = (0, self.commits, 2 * end_runs);
        while upper - lower > 1 {
            let middle = usize::midpoint(lower, upper);
            let value = mean(middle, runs);
            count += runs;
            if (value - good).abs() < (value - bad).abs() { lower = middle } else { upper = middle }
        }
        (upper == source.culprit, count)
    }
}

/// Source of measurements.
struct Source<'a> {
    scenario: &'a Scenario,
    random: Random,
    culprit: usize,
    broken: Vec<bool>,
    noise: f64,
}

impl<'a> Source<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut random = Random::seeded(seed);
        let commits = scenario.commits;
        let culprit = 1 + random.index(commits);
        let mut is_broken = |commit| commit > 0 && commit < commits && random.uniform() < scenario.broken;
        let broken = (0..=commits).map(&mut is_broken).collect();
        Self { scenario, random, culprit, broken, noise: 0.0 }
    }

    fn measure(&mut self, commit: usize) -> f64 {
        let innovation = match self.scenario.tails {
            Tails::Normal => self.random.normal(),
            Tails::Heavy => self.random.student_t() / 3.0_f64.sqrt(),
            Tails::Skewed => -self.random.uniform().ln() - 1.0,
        };
        let correlation = self.scenario.correlation;
        self.noise = correlation * self.noise + (1.0 - correlation * correlation).sqrt() * innovation;
        let level = if commit >= self.culprit { 1.0 + self.scenario.step } else { 1.0 };
        level * (self.scenario.deviation * self.noise).exp()
    }
}
