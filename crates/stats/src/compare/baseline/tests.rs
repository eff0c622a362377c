use super::*;
use crate::{
    Criteria, Verdict, Worse,
    synthetic::{Noise, normal},
    verdicts,
};

const CRITERIA: Criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };

fn history(seed: u64, count: usize, noise: f64) -> Vec<f64> {
    normal(seed, count).iter().map(|value| 100.0 + noise * value).collect()
}

/// Makes a comparison without peers.
fn compare_alone(baseline: &Baseline, shift: f64) -> Comparison {
    baseline.compare(0.95, shift, &PeerNoise::of([baseline], 1))
}

fn verdict(history: &[f64], changes: &[usize], new: &[f64]) -> Verdict {
    verdict_with_spread(history, changes, new, 0.0)
}

fn verdict_with_spread(history: &[f64], changes: &[usize], new: &[f64], own_spread: f64) -> Verdict {
    let baseline = Baseline::new(history, changes, new).unwrap().with_reported_spread(own_spread);
    let comparison = compare_alone(&baseline, 0.0);
    verdicts(&[(comparison, Worse::Up)], &CRITERIA)[0].0
}

#[test]
fn a_run_is_changed_unchanged_or_inconclusive() {
    let quiet = history(1, 60, 1.0);
    assert_eq!(verdict(&quiet, &[], &[110.0]), Verdict::Regression);
    assert_eq!(verdict(&quiet, &[], &[90.0]), Verdict::Improvement);
    assert_eq!(verdict(&quiet, &[], &[100.5]), Verdict::Unchanged);
    assert_eq!(verdict(&history(1, 60, 10.0), &[], &[110.0]), Verdict::Inconclusive);
    assert_eq!(verdict(&quiet[..14], &[], &[103.0]), Verdict::Inconclusive, "14 runs and a small step");
    assert_eq!(verdict(&quiet[..14], &[], &[100.1]), Verdict::Inconclusive, "14 runs and no step");
    assert_eq!(
        verdict(&quiet[..14], &[], &[400.0]),
        Verdict::Regression,
        "14 runs and a step far beyond the noise"
    );
    assert_eq!(verdict(&[7.0; 30], &[], &[7.0]), Verdict::Unchanged);
    assert_eq!(verdict(&[7.0; 30], &[], &[8.0]), Verdict::Regression);
}

/// With three to nine earlier runs, only a step far outside the noise of most machines and of the tool is a change.
#[test]
fn a_short_history_has_a_minimum_noise() {
    let quiet = history(1, 9, 0.1);
    assert_eq!(verdict(&quiet[..2], &[], &[400.0]), Verdict::Inconclusive);
    assert_eq!(verdict(&quiet[..3], &[], &[400.0]), Verdict::Regression);
    assert_eq!(verdict(&quiet[..9], &[], &[400.0]), Verdict::Regression);
    assert_eq!(verdict(&quiet[..5], &[], &[110.0]), Verdict::Inconclusive);
    assert_eq!(verdict(&quiet[..5], &[], &[150.0]), Verdict::Regression);
    assert_eq!(verdict_with_spread(&quiet[..5], &[], &[150.0], 0.2), Verdict::Inconclusive);
    // Counts require no history.
    assert_eq!(verdict(&[7.0; 3], &[], &[8.0]), Verdict::Regression);
    assert_eq!(verdict_with_spread(&[7.0; 3], &[], &[8.0], 0.1), Verdict::Inconclusive);
    assert_eq!(verdict(&[7.0; 3], &[], &[7.0]), Verdict::Inconclusive);
}

/// With three to eighteen earlier runs, false positives are far below the significance level of 5 %, for any noise.
#[test]
fn few_runs_raise_few_false_alarms() {
    for noise in [Noise::Normal, Noise::HeavyTails, Noise::LogNormal, Noise::Autoregressive(0.5)] {
        let wrong = (0..2_000)
            .filter(|seed| {
                let values = noise.series(*seed, 20);
                let count = MIN_HISTORY + (*seed as usize) % 16;
                let (before, new) = (&values[..count], &values[count..=count]);
                verdict(before, &[], new) != Verdict::Inconclusive
            })
            .count();
        assert!(wrong <= 40, "{noise}: {wrong} of 2,000");
    }
}

#[test]
fn the_newest_level_is_the_base_and_all_levels_give_the_noise() {
    let mut values = history(2, 80, 1.0);
    values[..76].iter_mut().for_each(|value| *value += 50.0);
    assert_eq!(verdict(&values, &[76], &[100.0]), Verdict::Unchanged);
    assert_eq!(verdict(&values, &[76], &[150.0]), Verdict::Regression);
    let whole = compare_alone(&Baseline::new(&values, &[76], &[104.0]).unwrap(), 0.0);
    assert!((whole.base - 100.0).abs() < 2.0, "{whole:?}");
}

#[test]
fn an_outlier_like_earlier_outliers_is_not_a_change() {
    let mut values = history(3, 100, 1.0);
    values.iter_mut().step_by(10).for_each(|value| *value += 30.0);
    assert_eq!(verdict(&values, &[], &[128.0]), Verdict::Inconclusive);
}

/// A change that was reverted after three to seven runs is one outlier. More runs at a distance are part of the noise.
#[test]
fn a_short_episode_is_one_outlier() {
    let with = |places: &[usize]| {
        let mut values = history(7, 104, 1.0);
        places.iter().for_each(|place| values[*place] += 34.0);
        values
    };
    for length in [3, 5, 7] {
        let values = with(&(40..40 + length).collect::<Vec<_>>());
        assert_eq!(verdict(&values, &[], &[100.5]), Verdict::Unchanged, "{length}");
        assert_eq!(verdict(&values, &[], &[133.0]), Verdict::Inconclusive, "{length}");
        assert_eq!(verdict(&values, &[], &[180.0]), Verdict::Regression, "{length}");
    }
    for places in [&[40, 42, 44, 46, 48], &[20, 21, 50, 51, 52], &[40, 41, 60, 61, 80]] {
        assert_eq!(verdict(&with(places), &[], &[133.0]), Verdict::Inconclusive, "{places:?}");
    }
    let interval = |places: &[usize]| {
        compare_alone(&Baseline::new(&with(places), &[], &[100.0]).unwrap(), 0.0).interval.unwrap()
    };
    assert!(interval(&[40, 41, 42, 43, 44]).0 > -0.05);
    assert!(interval(&[40, 42, 44, 46, 48]).0 < -0.2);
    assert!(interval(&(40..48).collect::<Vec<_>>()).0 < -0.2);
}

#[test]
fn a_known_shift_is_subtracted() {
    let quiet = history(4, 60, 1.0);
    let slow = Baseline::new(&quiet, &[], &[120.0]).unwrap();
    let step = slow.step().unwrap();
    assert!((step - 1.2_f64.ln()).abs() < 0.02 && slow.noise() < 0.02);
    let comparison = compare_alone(&slow, step);
    assert_eq!(verdicts(&[(comparison, Worse::Up)], &CRITERIA)[0].0, Verdict::Unchanged);
}

#[test]
fn several_new_runs_are_compared_by_ranks() {
    let quiet = history(5, 30, 1.0);
    assert_eq!(verdict(&quiet, &[], &[104.0, 103.0, 105.0, 104.5]), Verdict::Regression);
    assert_eq!(verdict(&quiet, &[], &[100.4, 99.0, 101.0, 99.5]), Verdict::Unchanged);
}

#[test]
fn zero_and_negative_values_are_compared() {
    let values: Vec<f64> = normal(6, 40).iter().map(|value| value - 10.0).collect();
    let baseline = Baseline::new(&values, &[], &[20.0]).unwrap();
    assert_eq!(baseline.step(), None);
    assert!(compare_alone(&baseline, 0.0).change.unwrap() > 2.5);
    assert!(Baseline::new(&[], &[], &[1.0]).is_none() && Baseline::new(&[1.0], &[], &[]).is_none());
    let single = compare_alone(&Baseline::new(&[1.0], &[], &[2.0]).unwrap(), 0.0);
    assert_eq!((single.interval, single.p), (None, None));
}

/// The coverage of the interval equals its confidence level.
#[test]
fn intervals_have_the_nominal_coverage() {
    let covered = (0..400).filter(|seed| {
        let mut values = history(100 + seed, 41, 1.0);
        let new = values.pop().unwrap() * 1.1;
        let comparison = compare_alone(&Baseline::new(&values, &[], &[new]).unwrap(), 0.0);
        let (low, high) = comparison.interval.unwrap();
        (low..=high).contains(&0.1)
    });
    let covered = covered.count();
    assert!((364..=396).contains(&covered), "{covered} of 400");
}

/// Runs with a standard deviation of 1 %, and samples within them of 8 %; runs of the history have 25 samples.
fn run(seed: u64, count: usize) -> f64 {
    let samples: Vec<f64> =
        normal(seed * 7 + 3, count).iter().map(|value| 100.0 * (1.0 + 0.08 * value)).collect();
    median(&samples).unwrap() * (1.0 + 0.01 * normal(seed * 7 + 4, 1)[0])
}

/// A run of few samples varies more than the runs of the history, and the interval is wider.
#[test]
fn intervals_have_the_nominal_coverage_for_other_numbers_of_samples() {
    for (count, least, most) in [(1, 0.15, 0.18), (25, 0.04, 0.06), (400, 0.04, 0.06)] {
        let (mut covered, mut width) = (0, 0.0);
        for seed in 0..300 {
            let values: Vec<f64> = (0..40).map(|number| run(seed * 100 + number, 25)).collect();
            let new = run(seed * 100 + 99, count);
            let samples = Sampling { variance: 0.08 * 0.08, history: 25.0, new: count as f64 };
            let baseline = Baseline::new(&values, &[], &[new]).unwrap().with_sampling(&samples);
            let (low, high) = compare_alone(&baseline, 0.0).interval.unwrap();
            covered += u32::from((low..=high).contains(&0.0));
            width += (high - low) / 600.0;
        }
        let enough = if count <= 25 { 275..=297 } else { 290..=300 };
        assert!(enough.contains(&covered), "{count}: {covered} of 300");
        assert!((least..=most).contains(&width), "{count}: ± {width}");
    }
    let exact = Baseline::new(&[7.0; 30], &[], &[8.0]).unwrap();
    let samples = Sampling { variance: 0.0, history: 3.0, new: 1.0 };
    assert_eq!(compare_alone(&exact.with_sampling(&samples), 0.0).p, Some(0.0));
}

#[test]
fn runs_without_a_change_have_few_false_positives() {
    let wrong = (0..400).filter(|seed| {
        let mut values = history(1_000 + seed, 61, 3.0);
        let new = values.pop().unwrap();
        matches!(verdict(&values, &[], &[new]), Verdict::Regression | Verdict::Improvement)
    });
    let wrong = wrong.count();
    assert!(wrong <= 30, "{wrong} of 400");
}
