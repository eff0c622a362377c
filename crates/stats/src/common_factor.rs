//! Common factor of the benchmarks of a run. A slow machine slows down all benchmarks; a change of the code rarely affects
//! most of them at once. The caller computes the steps.

use crate::level::median;

/// Minimum number of benchmarks for a common factor.
const MIN_BENCHMARKS: usize = 5;
/// Minimum step of a benchmark that counts as moved, in units of its noise.
const MIN_STEP: f64 = 2.0;

/// Common factor of the benchmarks of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonFactor {
    /// Logarithm of the factor: the median of all steps.
    pub step: f64,
    /// 95 % confidence interval of the median step, by the sign test.
    pub interval: (f64, f64),
    /// Number of benchmarks.
    pub count: usize,
    /// Share of benchmarks that moved in the direction of the median.
    pub together: f64,
}

impl CommonFactor {
    /// Computes the common factor from the steps of the benchmarks, each with its noise; `None` if there are too few
    /// benchmarks.
    pub fn of(steps: &[(f64, f64)]) -> Option<Self> {
        if steps.len() < MIN_BENCHMARKS {
            return None;
        }
        let mut sorted: Vec<f64> = steps.iter().map(|(step, _)| *step).collect();
        sorted.sort_by(f64::total_cmp);
        let step = median(&sorted)?;
        let moved = steps
            .iter()
            .filter(|(own, noise)| own * step > 0.0 && own.abs() > MIN_STEP * noise)
            .filter(|(own, _)| own.abs() >= step.abs() / 2.0);
        let together = moved.count() as f64 / steps.len() as f64;
        // Number of values beyond each end of the interval, by the normal approximation of the binomial distribution.
        let count = steps.len() as f64;
        let beyond = ((count - 1.959_964 * count.sqrt()) / 2.0 - 0.5).floor().max(0.0) as usize;
        let interval = (sorted[beyond], sorted[sorted.len() - 1 - beyond]);
        Some(Self { step, interval, count: steps.len(), together })
    }

    /// Whether most benchmarks moved together, so that the machine rather than the code is the cause.
    pub fn is_machine_effect(&self) -> bool {
        self.together > 0.5 && self.interval.0 * self.interval.1 > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::normal;

    fn steps(by: f64, moved: usize) -> Vec<(f64, f64)> {
        let noise = normal(7, 40);
        noise
            .iter()
            .enumerate()
            .map(|(index, noise)| (0.01 * noise + if index < moved { by } else { 0.0 }, 0.01))
            .collect()
    }

    #[test]
    fn a_machine_effect_moves_all_benchmarks() {
        let slow = CommonFactor::of(&steps(0.2, 40)).unwrap();
        assert!(slow.is_machine_effect() && (slow.step - 0.2).abs() < 0.01, "{slow:?}");
        assert!(slow.interval.0 > 0.18 && slow.interval.1 < 0.22, "{slow:?}");
        assert_eq!((slow.count, slow.together), (40, 1.0));
        assert!(CommonFactor::of(&steps(-0.2, 34)).unwrap().is_machine_effect());
    }

    #[test]
    fn a_code_change_moves_some_benchmarks() {
        for moved in [0, 1, 10, 19] {
            let common = CommonFactor::of(&steps(0.2, moved)).unwrap();
            assert!(!common.is_machine_effect(), "{moved}: {common:?}");
        }
        assert_eq!(CommonFactor::of(&steps(0.2, 40)[..4]), None);
    }

    #[test]
    fn constant_benchmarks_have_no_common_factor() {
        let still = CommonFactor::of(&[(0.0, 0.0); 12]).unwrap();
        assert_eq!((still.step, still.interval, still.together), (0.0, (0.0, 0.0), 0.0));
        assert!(!still.is_machine_effect());
    }
}
