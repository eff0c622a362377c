//! The scale on which values are looked at: units of their own noise, of logarithms where there can be any. Nothing is
//! decided here.

use crate::level::{NORMAL, NORMAL_MEAN};

/// The least noise that is believed in, as a share of the level: less than this is rounding.
const ROUNDING: f64 = 1e-7;

/// From values to units of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    is_logarithmic: bool,
    /// Where it begins: at the first value, so that it moves along with the unit.
    origin: f64,
    noise: f64,
}

impl Scale {
    /// Whether values have logarithms: all are above zero. A change is then a factor, and the noise of timings, which grows
    /// with their level, is the same before and after.
    pub(super) fn is_logarithmic(values: &[f64]) -> bool {
        values.iter().all(|value| *value > 0.0)
    }

    /// The scale of some values.
    ///
    /// The noise comes from the differences of neighbors, of which a change of level spoils one and a drift none
    /// (J. von Neumann and others, "The mean square successive difference", 1941; here with the median).
    ///
    /// `is_counted` says of a place whether the difference from the value before it counts.
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
            let usual = NORMAL * *buffer.select_nth_unstable_by(middle, f64::total_cmp).1;
            // Where most values equal their neighbors, the others still tell something.
            (if usual > 0.0 { usual } else { mean * NORMAL_MEAN }) / std::f64::consts::SQRT_2
        };
        // A history of nothing but zeros has no scale, and any will do.
        let least = Some(level * ROUNDING).filter(|least| *least > 0.0).unwrap_or(f64::MIN_POSITIVE.sqrt());
        Self { is_logarithmic, origin, noise: noise.max(least) }
    }

    /// The unit of noise.
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// The unit of noise as a difference of logarithms, if it is one.
    pub(super) fn log_unit(&self) -> Option<f64> {
        self.is_logarithmic.then_some(self.noise)
    }

    /// Whether the value has a place on the scale.
    pub(super) fn takes(&self, value: f64) -> bool {
        !self.is_logarithmic || value > 0.0
    }

    /// The values in units of noise.
    pub(super) fn apply_all(&self, values: &[f64], scaled: &mut Vec<f64>) {
        scaled.clear();
        scaled.extend(values.iter().map(|value| self.apply(*value)));
    }

    /// The value in units of noise.
    pub(super) fn apply(&self, value: f64) -> f64 {
        ((if self.is_logarithmic { value.ln() } else { value }) - self.origin) / self.noise
    }
}
