//! Reference values from SciPy, verdicts, and simulations of the false-positive rate.

use super::*;

const CRITERIA: Criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };
const BASE: [f64; 6] = [10.2, 10.5, 9.9, 10.1, 10.4, 10.0];
const NEW: [f64; 6] = [10.9, 11.2, 10.6, 11.5, 10.8, 10.3];

fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() <= 1e-12, "{actual} instead of {expected}");
}

/// Computed with SciPy 1.17 and NumPy:
///
/// ```text
/// a, b = np.log(base), np.log(new)
/// r = clip((Σ ea[1:] * ea[:-1] / a.var(ddof=1) + Σ eb[1:] * eb[:-1] / b.var(ddof=1)) / (na + nb - 2)
///          + 2 / (na + nb), 0, .9)
/// se = np.sqrt((a.var(ddof=1) / na + b.var(ddof=1) / nb) * (1 + r) / (1 - r)); df = min(na, nb) - 1
/// q = t.ppf(.975, df); 2 * t.sf(m / se, df), np.exp(m - q * se), np.exp(m), np.exp(m + q * se)
/// ```
#[test]
fn intervals_agree_with_scipy() {
    for (samples, p, ends, ratio) in [
        (
            Samples::Independent(&BASE, &NEW),
            0.015_913_061_321_555_576,
            (1.018_769_365_387_930_2, 1.120_213_319_383_942),
            1.068_287_888_393_332_7,
        ),
        (
            Samples::Independent(&BASE[..4], &NEW),
            0.044_929_948_752_172_114,
            (1.002_846_561_973_357_8, 1.139_888_115_989_421_2),
            1.069_173_923_248_355,
        ),
    ] {
        let comparison = compare(samples, 0.95);
        assert_close(comparison.p.unwrap(), p);
        assert_close(comparison.change.unwrap() + 1.0, ratio);
        assert_close(comparison.interval.unwrap().0 + 1.0, ends.0);
        assert_close(comparison.interval.unwrap().1 + 1.0, ends.1);
    }
}

fn verdict(samples: Samples<'_>, worse: Worse) -> Verdict {
    verdicts(&[(compare(samples, 0.95), worse)], &CRITERIA)[0].0
}

#[test]
fn the_measure_decides_whether_a_change_is_a_regression() {
    let independent = Samples::Independent(&BASE, &NEW);
    assert_eq!(verdict(independent, Worse::Up), Verdict::Regression);
    assert_eq!(verdict(independent, Worse::Down), Verdict::Improvement);
    assert_eq!(verdict(independent, Worse::Unknown), Verdict::Difference);
    assert_eq!(verdict(Samples::Independent(&NEW, &BASE), Worse::Down), Verdict::Regression);
}

#[test]
fn too_few_or_too_noisy_values_are_inconclusive() {
    assert_eq!(verdict(Samples::Independent(&[1.0], &[2.0]), Worse::Up), Verdict::Inconclusive);
    assert_eq!(verdict(Samples::Independent(&[1.0; 3], &[2.0; 3]), Worse::Up), Verdict::Inconclusive);
    assert_eq!(verdict(Samples::Paired(&[(1.0, 2.0); 4]), Worse::Up), Verdict::Inconclusive);
    assert_eq!(verdict(Samples::Paired(&[]), Worse::Up), Verdict::Inconclusive);
    let noisy = [10.0, 14.0, 9.0, 13.0];
    assert_eq!(
        verdict(Samples::Independent(&noisy, &[11.0, 12.0, 9.5, 13.5]), Worse::Up),
        Verdict::Inconclusive
    );
    let single = compare(Samples::Independent(&[4.0], &[5.0]), 0.95);
    assert_eq!((single.interval, single.p), (None, None));
    assert_close(single.change.unwrap(), 0.25);
}

#[test]
fn constant_values_are_compared_exactly() {
    assert_eq!(verdict(Samples::Independent(&[1e9; 4], &[1.02e9; 4]), Worse::Up), Verdict::Regression);
    assert_eq!(verdict(Samples::Independent(&[1e9; 4], &[1.000_1e9; 4]), Worse::Up), Verdict::Unchanged);
    assert_eq!(verdict(Samples::Independent(&[0.1; 4], &[0.1; 7]), Worse::Up), Verdict::Unchanged);
    assert_eq!(verdict(Samples::Paired(&[(5.0, 4.0); 9]), Worse::Up), Verdict::Improvement);
}

#[test]
fn zero_and_negative_values_are_compared_without_logarithms() {
    let comparison = compare(Samples::Independent(&[0.0; 4], &[3.0; 4]), 0.95);
    assert_eq!((comparison.base, comparison.new, comparison.change), (0.0, 3.0, None));
    assert_eq!(verdict(Samples::Independent(&[0.0; 4], &[3.0; 4]), Worse::Up), Verdict::Regression);
    assert_eq!(verdict(Samples::Independent(&[0.0; 4], &[0.0; 4]), Worse::Up), Verdict::Unchanged);
    let comparison = compare(Samples::Independent(&[-2.0, -2.0], &[-1.0, -1.0]), 0.95);
    assert_eq!((comparison.change, comparison.interval), (Some(0.5), Some((0.5, 0.5))));
}

/// Marsaglia's xorshift with Vigna's multiplication, seeded to make the simulations reproducible.
struct Random(u64);

impl Random {
    /// Returns a number from 0 to 1, excluding 1.
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Returns the rate at which comparisons of this many benchmarks raise an alarm; `draw` simulates the comparison of one
/// benchmark.
fn alarms(rounds: usize, benchmarks: usize, mut draw: impl FnMut() -> Comparison) -> f64 {
    let mut alarms = 0;
    for _ in 0..rounds {
        let comparisons: Vec<_> = (0..benchmarks).map(|_| (draw(), Worse::Up)).collect();
        let criteria = Criteria { smallest_change: 0.0, ..CRITERIA };
        let is_alarm = |verdict: &(Verdict, Option<f64>)| verdict.0 < Verdict::Inconclusive;
        alarms += usize::from(verdicts(&comparisons, &criteria).iter().any(is_alarm));
    }
    alarms as f64 / rounds as f64
}

/// Generates one value of a kind of noise.
type Noise = fn(&mut Random) -> f64;

/// Typical kinds of benchmark noise, as factors around one.
fn noises() -> [(&'static str, Noise); 5] {
    [
        ("even", |random| (0.02 * random.normal()).exp()),
        ("skewed", |random| 1.0 - 0.1 * (1.0 - random.uniform()).ln()),
        ("heavy tail", |random| 1.0 + 0.05 * ((1.0 - random.uniform()).powf(-1.0 / 1.5) - 1.0)),
        ("outliers", |random| {
            let spike = if random.uniform() < 0.1 { random.uniform() } else { 0.0 };
            1.0 + 0.01 * random.normal().abs() + spike
        }),
        ("two levels", |random| {
            (if random.uniform() < 0.3 { 1.2 } else { 1.0 }) * (0.01 * random.normal()).exp()
        }),
    ]
}

#[test]
fn equal_sides_raise_alarms_at_most_at_the_nominal_rate() {
    let mut random = Random(0x7469_6465);
    for (name, noise) in noises() {
        for (base, new) in [(4, 4), (6, 6), (4, 12), (15, 15)] {
            for benchmarks in [1, 8] {
                let rate = alarms(2_000 / benchmarks, benchmarks, || {
                    let mut side = |count| -> Vec<f64> { (0..count).map(|_| noise(&mut random)).collect() };
                    compare(Samples::Independent(&side(base), &side(new)), 0.95)
                });
                // The rate is an estimate, so the limit includes two standard errors of the simulation.
                let bound = 0.05 + 2.0 * (0.05 * 0.95 / (2_000.0 / benchmarks as f64)).sqrt();
                assert!(rate <= bound, "{name}, {base} and {new} runs of {benchmarks} benchmarks: {rate}");
            }
        }
    }
}
