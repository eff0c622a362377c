//! Synthetic noise without a change, to measure false alarms; reproducible for the same seed on every machine.

use crate::random::Random;

pub use crate::{
    bisect::simulation::{Found, Scenario, Tails},
    change::simulation::{MIXED_NOISE, NotifiedChange, count_events, notified_changes, project},
    compare::regressed_runs,
};

/// Level of every series, in standard deviations of normal noise.
const LEVEL: f64 = 100.0;
/// Effects of four hosts, in standard deviations.
const HOST_EFFECTS: [f64; 4] = [0.0, 3.0, 6.0, 9.0];
/// Mean number of successive runs on a host.
const RUNS_PER_HOST: f64 = 10.0;
/// Number of runs per day, and amplitude of the daily load.
const RUNS_PER_DAY: f64 = 24.0;
const LOAD_AMPLITUDE: f64 = 2.0;

/// A kind of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Independent, normal.
    Normal,
    /// Independent, Student's t with three degrees of freedom.
    HeavyTails,
    /// Normal, with a spike of 20 σ in one of twenty values.
    Spikes,
    /// Two modes 8 σ apart, with half of the values each.
    Bimodal,
    /// Two modes 6 σ apart, with 30 % of the values at the upper one.
    UnevenModes,
    /// Log-normal with σ = 1.
    LogNormal,
    /// First-order autoregressive process with this coefficient.
    Autoregressive(f64),
    /// Four hosts 3 σ apart, with a mean of ten successive runs on a host.
    StickyHosts,
    /// Sine with an amplitude of 2 σ and 24 runs per day.
    DailyCycle,
}

impl Noise {
    /// All kinds of noise.
    pub const ALL: [Self; 12] = [
        Self::Normal,
        Self::HeavyTails,
        Self::Spikes,
        Self::Bimodal,
        Self::UnevenModes,
        Self::LogNormal,
        Self::Autoregressive(0.3),
        Self::Autoregressive(0.5),
        Self::Autoregressive(0.7),
        Self::Autoregressive(0.9),
        Self::StickyHosts,
        Self::DailyCycle,
    ];

    /// Generates a series of this noise around a constant level of 100.
    pub fn series(self, seed: u64, count: usize) -> Vec<f64> {
        self.hosts_and_series(seed, count).1
    }

    /// Generates the host of each run, and the series. All runs have host 0 if the noise does not depend on the host.
    pub fn hosts_and_series(self, seed: u64, count: usize) -> (Vec<usize>, Vec<f64>) {
        let mut random = Random::seeded(seed);
        let mut hosts = vec![0; count];
        if self == Self::StickyHosts {
            let mut host = random.index(HOST_EFFECTS.len());
            for each in &mut hosts {
                if random.uniform() < 1.0 / RUNS_PER_HOST {
                    host = random.index(HOST_EFFECTS.len());
                }
                *each = host;
            }
        }
        let (phase, mut state) = (random.uniform() * RUNS_PER_DAY, random.normal());
        let series = hosts.iter().enumerate().map(|(run, host)| {
            let noise = match self {
                Self::Normal => random.normal(),
                Self::HeavyTails => random.student_t(),
                Self::Spikes => random.normal() + if random.uniform() < 0.05 { 20.0 } else { 0.0 },
                Self::Bimodal => random.normal() + if random.uniform() < 0.5 { 8.0 } else { 0.0 },
                Self::UnevenModes => random.normal() + if random.uniform() < 0.3 { 6.0 } else { 0.0 },
                Self::LogNormal => random.normal().exp(),
                Self::Autoregressive(coefficient) => {
                    state = coefficient * state + (1.0 - coefficient * coefficient).sqrt() * random.normal();
                    state
                }
                Self::StickyHosts => random.normal() + HOST_EFFECTS[*host],
                Self::DailyCycle => {
                    let angle = std::f64::consts::TAU * (run as f64 + phase) / RUNS_PER_DAY;
                    random.normal() + LOAD_AMPLITUDE * angle.sin()
                }
            };
            LEVEL + noise
        });
        let series = series.collect();
        (hosts, series)
    }
}

impl std::fmt::Display for Noise {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Normal => write!(formatter, "normal"),
            Self::HeavyTails => write!(formatter, "heavy tails (Student's t, 3 degrees)"),
            Self::Spikes => write!(formatter, "normal with 5 % of spikes of 20 σ"),
            Self::Bimodal => write!(formatter, "two modes 8 σ apart, half of the values each"),
            Self::UnevenModes => write!(formatter, "two modes 6 σ apart, 30 % at one"),
            Self::LogNormal => write!(formatter, "log-normal, σ = 1, plus 100"),
            Self::Autoregressive(coefficient) => write!(formatter, "AR(1), φ = {coefficient}"),
            Self::StickyHosts => write!(formatter, "four hosts, each kept for ten runs"),
            Self::DailyCycle => write!(formatter, "daily cycle, amplitude 2 σ"),
        }
    }
}

/// Generates standard normal numbers.
pub fn normal(seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random::seeded(seed);
    (0..count).map(|_| random.normal()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_series() {
        for noise in Noise::ALL {
            assert_eq!(noise.series(7, 50), noise.series(7, 50), "{noise}");
            assert_ne!(noise.series(7, 50), noise.series(8, 50), "{noise}");
        }
    }

    /// Checks the lag-1 autocorrelation over 200,000 values, whose standard error is below 0.003.
    #[test]
    fn autoregressive_noise_has_its_coefficient_and_a_deviation_of_one() {
        for coefficient in [0.3, 0.5, 0.7, 0.9] {
            let values = Noise::Autoregressive(coefficient).series(3, 200_000);
            let products = |lag: usize| {
                let pairs = values.iter().zip(&values[lag..]);
                pairs.map(|(one, two)| (one - LEVEL) * (two - LEVEL)).sum::<f64>() / values.len() as f64
            };
            assert!((products(0) - 1.0).abs() < 0.05, "{}", products(0));
            assert!((products(1) / products(0) - coefficient).abs() < 0.01, "{}", products(1));
        }
    }

    #[test]
    fn hosts_have_ten_successive_runs_on_average() {
        let (hosts, _) = Noise::StickyHosts.hosts_and_series(1, 40_000);
        let moves = hosts.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((2_800..3_200).contains(&moves), "{moves}");
    }
}
