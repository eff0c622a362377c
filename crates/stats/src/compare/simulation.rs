//! Simulates the verdicts of the server on synthetic series: the number of regressed runs with and without a change.

use super::{
    Baseline, BaselineRange, Criteria, LevelChange, LevelChangeStatus, PeerNoise, Verdict, select_baseline,
    verdicts,
};
use crate::{Change, CommonFactor, DetectionSettings, Monitor, Scratch, Worse};

const CRITERIA: Criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };

/// Returns for each run whether any of the series regressed against its earlier runs, given the changes detected so far. Each
/// series has one value per run, and a greater value is worse.
pub fn regressed_runs(series: &[Vec<f64>]) -> Vec<bool> {
    let mut monitors: Vec<Monitor> =
        series.iter().map(|_| Monitor::new(DetectionSettings::default())).collect();
    let mut found: Vec<Vec<LevelChange>> = vec![Vec::new(); series.len()];
    let (mut regressed, mut scratch) = (Vec::new(), Scratch::default());
    for run in 0..series.first().map_or(0, Vec::len) {
        let baselines: Vec<Baseline> = series
            .iter()
            .zip(&found)
            .filter_map(|(values, cuts)| {
                let new = &values[run..=run];
                let BaselineRange { count, changes } = select_baseline(&values[..run], cuts, new);
                let baseline =
                    Baseline::new(&values[..count], &changes, new)?.with_persisting_runs(&values[count..run]);
                Some(baseline.with_reported_spread(0.0))
            })
            .collect();
        let steps: Vec<_> = baselines.iter().filter_map(|one| Some((one.step()?, one.noise()))).collect();
        let shift = CommonFactor::of(&steps)
            .filter(CommonFactor::is_machine_effect)
            .map_or(0.0, |common| common.step);
        let peers = PeerNoise::of(&baselines, baselines.len());
        let compared: Vec<_> =
            baselines.iter().map(|one| (one.compare(0.95, shift, &peers), Worse::Up)).collect();
        regressed
            .push(verdicts(&compared, &CRITERIA).iter().any(|(verdict, _)| *verdict == Verdict::Regression));
        for ((values, monitor), cuts) in series.iter().zip(&mut monitors).zip(&mut found) {
            monitor.push(values[run], &mut scratch);
            let status =
                |is_worse: bool| if is_worse { LevelChangeStatus::Open } else { LevelChangeStatus::Accepted };
            let cut =
                |change: &Change| LevelChange { at: change.at, status: status(change.after > change.before) };
            *cuts = monitor.changes_and_alarm(&mut scratch).iter().map(cut).collect();
        }
    }
    regressed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Noise, normal};

    /// Returns the number of false alarms of twelve benchmarks with this noise, scaled to 10 % of the level.
    fn false_alarms(noise: Noise, seed: u64, runs: usize) -> usize {
        let series: Vec<Vec<f64>> = (0..12)
            .map(|benchmark| {
                let values = noise.series(100 * seed + benchmark, runs);
                values.iter().map(|value| (0.1 * (value - 100.0)).exp()).collect()
            })
            .collect();
        regressed_runs(&series).iter().filter(|is_regressed| **is_regressed).count()
    }

    #[test]
    fn runs_without_a_change_are_not_regressed() {
        for noise in [
            Noise::Normal,
            Noise::HeavyTails,
            Noise::Spikes,
            Noise::UnevenModes,
            Noise::Autoregressive(0.5),
            Noise::Autoregressive(0.7),
        ] {
            let alarms = false_alarms(noise, 1, 220);
            assert!(alarms <= 2, "{noise}: {alarms} of 220");
        }
    }

    /// With one benchmark after ten earlier runs, and with twelve after sixty; after nineteen, from the second run of the
    /// regression on.
    #[test]
    fn every_run_of_a_regression_is_regressed() {
        for (benchmarks, before, from) in [(1, 10, 0), (1, 60, 0), (12, 60, 0), (12, 19, 1)] {
            for seed in 0..3 {
                let series: Vec<Vec<f64>> = (0..benchmarks)
                    .map(|benchmark| {
                        let factor = |run: usize| if run >= before && benchmark == 0 { 1.2 } else { 1.0 };
                        let noise = normal(100 * seed + benchmark, before + 30);
                        noise.iter().enumerate().map(|(run, one)| factor(run) * (0.02 * one).exp()).collect()
                    })
                    .collect();
                let regressed = regressed_runs(&series);
                let first = regressed[before..].iter().rposition(|is_regressed| !is_regressed);
                let first = first.map_or(0, |last| last + 1);
                assert!(first <= from, "{benchmarks} after {before}, seed {seed}: from {first} on");
            }
        }
    }
}
