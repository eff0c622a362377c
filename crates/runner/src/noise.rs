//! Measures how much the duration of the same work varies on a machine.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Share of the first samples that is left out, because caches and clock speeds settle.
const WARM_UP: f64 = 0.1;
/// Minimum number of samples, however long each takes.
const MIN_SAMPLES: usize = 20;
/// Number of arithmetic steps per sample: some tens of microseconds.
const STEPS_PER_SAMPLE: u32 = 10_000;

/// Runs the same work repeatedly and returns the duration of each run in seconds.
pub fn sample(time: Duration, mut work: impl FnMut()) -> Vec<f64> {
    let started = Instant::now();
    let mut samples = Vec::new();
    while started.elapsed() < time || samples.len() < MIN_SAMPLES {
        let begin = Instant::now();
        work();
        samples.push(begin.elapsed().as_secs_f64());
    }
    samples
}

/// Does arithmetic that needs no memory.
pub fn compute() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for step in 0..STEPS_PER_SAMPLE {
        state = (state ^ (state >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(u64::from(step));
    }
    black_box(state);
}

/// Returns the coefficient of variation in percent, without the first samples.
pub fn jitter(samples: &[f64]) -> f64 {
    let samples = without_warm_up(samples);
    let (mean, deviation) = moments(samples);
    deviation / mean * 100.0
}

/// Measures the noise of the processor: the standard deviation of the duration of arithmetic, divided by its median.
pub fn processor_noise(time: Duration) -> f64 {
    let samples = sample(time, compute);
    let (_, deviation) = moments(without_warm_up(&samples));
    deviation / median(without_warm_up(&samples))
}

fn without_warm_up(samples: &[f64]) -> &[f64] {
    &samples[(samples.len() as f64 * WARM_UP) as usize..]
}

/// Returns the mean and the standard deviation.
fn moments(samples: &[f64]) -> (f64, f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance.sqrt())
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_the_deviation_in_percent_of_the_mean() {
        // The first of ten is left out.
        let samples = [1000.0, 9.0, 11.0, 9.0, 11.0, 9.0, 11.0, 9.0, 11.0, 10.0];
        assert!((jitter(&samples) - 10.0).abs() < 1e-12, "{}", jitter(&samples));
    }

    #[test]
    fn the_noise_of_the_processor_is_finite() {
        let noise = processor_noise(Duration::from_millis(1));
        assert!(noise.is_finite() && noise >= 0.0, "{noise}");
    }
}
