//! Scale of the values: units of their own noise, on a log scale if all values are positive.

use crate::level::{MAD_TO_SIGMA, MEAN_DEVIATION_TO_SIGMA};

/// Minimum noise relative to the level: less is rounding.
const MIN_RELATIVE_NOISE: f64 = 1e-7;

/// Converts values to units of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    is_logarithmic: bool,
    /// Zero of the scale: the first value, so that the result does not depend on the unit of the values.
    origin: f64,
    noise: f64,
}

impl Scale {
    /// Whether all values are positive, so that they have logarithms. A change is then a factor, and the noise of timings,
    /// which grows with their level, is the same before and after.
    pub(super) fn is_logarithmic(values: &[f64]) -> bool {
        values.iter().all(|value| *value > 0.0)
    }

    /// Estimates the scale of the values.
    ///
    /// The noise is estimated from the differences of successive values, of which a change of level affects one and a drift
    /// none (J. von Neumann and others, "The mean square successive difference", 1941; here with the median).
    ///
    /// `is_counted` returns for an index whether the difference from the previous value is used.
    pub(super) fn of(
        values: &[f64],
        is_logarithmic: bool,
        is_counted: impl Fn(usize) -> bool,
        buffer: &mut Vec<f64>,
    ) -> Self {
        buffer.clear();
        buffer.extend(values.iter().map(|value| if is_logarithmic { value.ln() } else { *value }));
        let origin = buffer.first().copied().unwrap_or_default();
        let level = if is_logarithmic {
            1.0
        } else {
            buffer.iter().map(|value| value.abs()).sum::<f64>() / buffer.len() as f64
        };
        let mut counted = 0;
        for index in (1..buffer.len()).filter(|index| is_counted(*index)) {
            buffer[counted] = (buffer[index] - buffer[index - 1]).abs();
            counted += 1;
        }
        buffer.truncate(counted);
        let noise = if buffer.is_empty() {
            0.0
        } else {
            let mean = buffer.iter().sum::<f64>() / buffer.len() as f64;
            let middle = buffer.len() / 2;
            let estimate = MAD_TO_SIGMA * *buffer.select_nth_unstable_by(middle, f64::total_cmp).1;
            // If most differences are zero, the median is zero and the mean is used instead.
            (if estimate > 0.0 { estimate } else { mean * MEAN_DEVIATION_TO_SIGMA })
                / std::f64::consts::SQRT_2
        };
        // If all values are zero, any positive scale is valid.
        let least =
            Some(level * MIN_RELATIVE_NOISE).filter(|least| *least > 0.0).unwrap_or(f64::MIN_POSITIVE.sqrt());
        Self { is_logarithmic, origin, noise: noise.max(least) }
    }

    /// Returns the unit of noise.
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// Returns the unit of noise as a difference of logarithms, if the scale is logarithmic.
    pub(super) fn log_unit(&self) -> Option<f64> {
        self.is_logarithmic.then_some(self.noise)
    }

    /// Whether the scale can represent the value.
    pub(super) fn can_represent(&self, value: f64) -> bool {
        !self.is_logarithmic || value > 0.0
    }

    /// Converts values to units of noise.
    pub(super) fn apply_all(&self, values: &[f64], scaled: &mut Vec<f64>) {
        scaled.clear();
        scaled.extend(values.iter().map(|value| self.apply(*value)));
    }

    /// Converts a value to units of noise.
    pub(super) fn apply(&self, value: f64) -> f64 {
        ((if self.is_logarithmic { value.ln() } else { value }) - self.origin) / self.noise
    }
}
