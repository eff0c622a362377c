//! Fit of a step at a given commit: levels before and since it, noise of Student's t distribution, and correlation of successive
//! measurements. Returns the logarithm of the likelihood, integrated over the levels and the size of the noise.

use std::f64::consts::TAU;

/// Degrees of freedom of the noise: outliers have a bounded influence.
const DEGREES: f64 = 4.0;
/// Iterations of the fit.
const ITERATIONS: usize = 12;
/// Smallest typical step, in multiples of the noise. A smaller step needs hundreds of measurements to be located.
const SMALLEST_STEP: f64 = 0.75;
/// Number of typical steps: each is twice as large and half as probable as the one before.
const STEPS: i32 = 14;

/// Values in the order of time.
pub(super) struct Series {
    rows: Vec<Row>,
    sources: usize,
    /// Smallest standard deviation of the noise, so that equal values do not have an infinite likelihood.
    floor: f64,
}

struct Row {
    commit: usize,
    value: f64,
    source: usize,
    /// Commit and value of the preceding measurement of the same source.
    before: Option<(usize, f64)>,
}

/// A fitted step.
#[derive(Clone, Copy)]
pub(super) struct Fit {
    /// Logarithm of the integrated likelihood.
    pub(super) evidence: f64,
    /// Difference of the levels.
    pub(super) step: f64,
    /// Standard error of the difference.
    pub(super) error: f64,
    /// Standard deviation of one measurement.
    pub(super) deviation: f64,
}

impl Series {
    /// Collects commits, values and sources in the order of time.
    pub(super) fn new(values: impl Iterator<Item = (usize, f64, usize)>) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        let mut numbers: Vec<usize> = Vec::new();
        for (commit, value, source) in values {
            let source = numbers.iter().position(|number| *number == source).unwrap_or_else(|| {
                numbers.push(source);
                numbers.len() - 1
            });
            let before =
                rows.iter().rev().find(|row| row.source == source).map(|row| (row.commit, row.value));
            rows.push(Row { commit, value, source, before });
        }
        let mut sorted: Vec<f64> = rows.iter().map(|row| row.value).collect();
        sorted.sort_by(f64::total_cmp);
        let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
        let gap = gaps.fold(f64::INFINITY, f64::min);
        let size = sorted.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        // Values of a clock or a counter are multiples of a unit, and their noise is not smaller than its rounding.
        let floor = if gap.is_finite() { (gap / 4.0).max(1e-12 * size) } else { 1e-12 * size };
        Self { rows, sources: numbers.len(), floor }
    }

    /// Fits a step at a commit, or constant levels without one; `None` if no source has values on both sides.
    pub(super) fn fit(&self, threshold: Option<usize>, correlation: f64) -> Option<Fit> {
        let sources = self.sources;
        let parameters = sources + usize::from(threshold.is_some());
        let start = (1.0 - correlation * correlation).sqrt();
        let since =
            |commit: usize| f64::from(u8::from(threshold.is_some_and(|threshold| commit >= threshold)));
        // The regressors are the levels of the sources and, last, the step. Each row is reduced by its correlation with the row before.
        let rows: Vec<(usize, f64, f64, f64)> = self
            .rows
            .iter()
            .map(|row| match row.before {
                Some((commit, value)) => (
                    row.source,
                    1.0 - correlation,
                    since(row.commit) - correlation * since(commit),
                    row.value - correlation * value,
                ),
                None => (row.source, start, start * since(row.commit), start * row.value),
            })
            .collect();
        let count = rows.len() as f64;
        // The levels of the sources are eliminated: each source has one level.
        let solve = |weights: &[f64]| -> Option<(Vec<f64>, f64, f64)> {
            let mut sums = vec![[0.0_f64; 3]; sources];
            let (mut square, mut product) = (0.0, 0.0);
            for ((source, level, step, value), weight) in rows.iter().zip(weights) {
                let sum = &mut sums[*source];
                sum[0] += weight * level * level;
                sum[1] += weight * level * step;
                sum[2] += weight * level * value;
                square += weight * step * step;
                product += weight * step * value;
            }
            let mut determinant = 0.0;
            for [levels, steps, values] in &sums {
                square -= steps * steps / levels;
                product -= steps * values / levels;
                determinant += levels.ln();
            }
            let step = match threshold {
                Some(_) if square <= 1e-9 * count => return None,
                Some(_) => product / square,
                None => 0.0,
            };
            let levels =
                sums.iter().map(|[levels, steps, values]| (values - step * steps) / levels).collect();
            if threshold.is_some() {
                determinant += square.ln();
            }
            Some((levels, step, determinant))
        };
        let mut weights = vec![1.0; rows.len()];
        let (mut levels, mut step, determinant) = solve(&weights)?;
        let residual = |levels: &[f64], step: f64, row: &(usize, f64, f64, f64)| {
            row.3 - levels[row.0] * row.1 - step * row.2
        };
        let mut variance = self.floor * self.floor;
        for _ in 0..ITERATIONS {
            let (mut squares, mut total) = (0.0, 0.0);
            for (row, weight) in rows.iter().zip(&weights) {
                squares += weight * residual(&levels, step, row).powi(2);
                total += weight;
            }
            variance = (squares / total).max(self.floor * self.floor);
            for (row, weight) in rows.iter().zip(&mut weights) {
                let square = residual(&levels, step, row).powi(2) / variance;
                *weight = (DEGREES + 1.0) / (DEGREES + square);
            }
            (levels, step, _) = solve(&weights)?;
        }
        let deviation = variance.sqrt();
        let likelihood: f64 = rows
            .iter()
            .map(|row| {
                let square = residual(&levels, step, row).powi(2) / variance;
                -(DEGREES + 1.0) / 2.0 * (square / DEGREES).ln_1p() - deviation.ln()
            })
            .sum();
        let starts = sources as f64 * start.ln();
        // Laplace's approximation of the integral over the parameters, with Fisher's information of the t distribution.
        let information = (DEGREES + 1.0) / (DEGREES + 3.0);
        let count_of_parameters = parameters as f64;
        let mut evidence =
            likelihood + starts + count_of_parameters * ((TAU / information).ln() / 2.0 + deviation.ln())
                - determinant / 2.0;
        let mut error = 0.0;
        if threshold.is_some() {
            let others: f64 = {
                let mut sums = vec![0.0; sources];
                for (source, level, _, _) in &rows {
                    sums[*source] += level * level;
                }
                sums.iter().map(|sum: &f64| sum.ln()).sum()
            };
            error = deviation * ((others - determinant) / 2.0).exp() / information.sqrt();
            evidence += prior(step / deviation, error / deviation).ln() - deviation.ln();
        }
        Some(Fit { evidence, step, error, deviation })
    }
}

/// Returns the prior density of a step with this error, both in multiples of the noise: typical steps of either sign, from about the
/// size of the noise to thousands of times of it.
fn prior(step: f64, error: f64) -> f64 {
    (0..STEPS)
        .map(|exponent| {
            let typical = SMALLEST_STEP * 2.0_f64.powi(exponent);
            let variance = typical * typical / 16.0 + error * error;
            let density =
                |distance: f64| (-distance * distance / (2.0 * variance)).exp() / (TAU * variance).sqrt();
            0.5_f64.powi(exponent + 2) * (density(step - typical) + density(step + typical))
        })
        .sum::<f64>()
        .max(f64::MIN_POSITIVE)
}
