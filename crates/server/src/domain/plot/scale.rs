//! The vertical scale: the positions of numbers on an axis, and its tick labels.

use super::number;

/// Approximate number of intervals of an axis.
const INTERVALS: f64 = 6.0;
/// Minimum distance of the ends as a share of their magnitude. Closer ends are moved apart, because their labels would have too
/// many digits.
const CLOSEST: f64 = 1e-9;
/// Space between the outermost numbers and the ends, as a share of the distance between them.
const HEADROOM: f64 = 0.03;
/// Mantissas of round steps.
const NICE: [f64; 5] = [1.0, 2.0, 2.5, 5.0, 10.0];

/// The scale of a vertical axis.
#[derive(Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// The labeled ticks, from bottom to top.
    pub(super) ticks: Vec<Tick>,
    /// Numbers between the ticks, for faint grid lines.
    pub(super) minor: Vec<f64>,
}

/// A labeled tick.
#[derive(Debug)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

impl Scale {
    /// Creates a linear scale for a range, with its ends and ticks at round numbers.
    pub(super) fn linear(low: f64, high: f64) -> Self {
        let (low, high) = separated(low, high);
        let step = nice_step((high - low) / INTERVALS);
        let (first, last) = ((low / step + 1e-6).floor(), (high / step - 1e-6).ceil());
        Self::steps(first, last - first, step)
    }

    /// Creates a linear scale with as many intervals as another scale, so that the ticks of both are aligned.
    pub(super) fn level_with(other: &Self, low: f64, high: f64) -> Self {
        let (low, high) = separated(low, high);
        let intervals = (other.ticks.len().max(2) - 1) as f64;
        let mut step = nice_step((high - low) / intervals);
        loop {
            let first = (low / step + 1e-6).floor();
            if (first + intervals) * step >= high - step * 1e-6 {
                return Self::steps(first, intervals, step);
            }
            step = nice_step(step * 1.01);
        }
    }

    /// Creates a logarithmic scale for a range of positive numbers.
    pub(super) fn logarithmic(low: f64, high: f64) -> Self {
        if high / low < 3.0 {
            // With powers of ten, most of the axis would be empty.
            return Self { log: true, ..Self::linear(low, high) };
        }
        let (bottom, top) = (number::floor_log10(low), number::floor_log10(high));
        let decades = top - bottom;
        let digits: &[i32] = if decades <= 2 { &[1, 2, 5] } else { &[1] };
        let candidates: Vec<(i32, i32)> = (bottom..=top + 1)
            .flat_map(|exponent| digits.iter().map(move |digit| (*digit, exponent)))
            .collect();
        let value = |(digit, exponent): (i32, i32)| f64::from(digit) * number::power_of_ten(exponent);
        let first = candidates.iter().rposition(|tick| value(*tick) <= low * (1.0 + 1e-9)).unwrap_or(0);
        let last = candidates
            .iter()
            .position(|tick| value(*tick) >= high * (1.0 - 1e-9))
            .unwrap_or(candidates.len() - 1);
        let candidates = &candidates[first..=last];
        let (low, high) = (value(candidates[0]), value(candidates[candidates.len() - 1]));
        let powers = number::needs_powers(low, high);
        // On a wide range, only every nth power is labeled.
        let every = 1 + decades / 8;
        let written = candidates.iter().filter(|(_, exponent)| exponent % every == 0);
        let ticks = written.map(|(digit, exponent)| Tick {
            value: value((*digit, *exponent)),
            label: number::logarithmic(*digit, *exponent, powers),
        });
        let minor = if every == 1 && decades <= 4 {
            (bottom..=top + 1)
                .flat_map(|exponent| (2..=9).map(move |digit| value((digit, exponent))))
                .filter(|value| *value > low && *value < high)
                .collect()
        } else {
            Vec::new()
        };
        Self { low, high, log: true, ticks: ticks.collect(), minor }
    }

    /// Returns the position of a number, from 0 at the bottom to 1 at the top. Numbers outside the range are at the ends.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = if !self.log {
            (value - self.low) / (self.high - self.low)
        } else if value > 0.0 {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            0.0
        };
        share.clamp(0.0, 1.0)
    }

    /// Whether a number has a position on the scale.
    pub(super) fn shows(&self, value: f64) -> bool {
        !self.log || value > 0.0
    }

    /// Whether the scale is logarithmic.
    pub(super) fn is_log(&self) -> bool {
        self.log
    }

    fn steps(first: f64, intervals: f64, step: f64) -> Self {
        let (low, high) = (first * step, (first + intervals) * step);
        let magnitude = low.abs().max(high.abs());
        let mut ticks = Vec::new();
        let mut index = 0.0;
        while index <= intervals {
            let value = (first + index) * step;
            ticks.push(Tick { value, label: number::linear(value, step, magnitude) });
            index += 1.0;
        }
        Self { low, high, log: false, ticks, minor: Vec::new() }
    }
}

/// Returns the ends with some space beyond them, and with more space if they are almost equal.
fn separated(low: f64, high: f64) -> (f64, f64) {
    let magnitude = low.abs().max(high.abs());
    if magnitude == 0.0 {
        (0.0, 1.0)
    } else if high - low > magnitude * CLOSEST {
        let margin = (high - low) * HEADROOM;
        // Without negative numbers, the axis has no negative range.
        (
            if low >= 0.0 { (low - margin).max(0.0) } else { low - margin },
            if high <= 0.0 { (high + margin).min(0.0) } else { high + margin },
        )
    } else {
        let margin = magnitude * 0.1;
        (low - margin, high + margin)
    }
}

/// Returns the smallest round step that is not below a positive number.
fn nice_step(least: f64) -> f64 {
    let unit = number::power_of_ten(number::floor_log10(least));
    let nice = NICE.iter().map(|mantissa| mantissa * unit).find(|step| *step >= least * (1.0 - 1e-9));
    nice.unwrap_or(unit * 10.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(&Scale::linear(0.13, 0.92)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Scale::linear(-3.0, 9.0)), ["−5.0", "−2.5", "0", "2.5", "5.0", "7.5", "10.0"]);
        assert_eq!(labels(&Scale::linear(0.0, 0.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Scale::linear(1_000.0, 1_000.0)), ["900", "950", "1,000", "1,050", "1,100"]);
    }

    #[test]
    fn logarithmic_ticks() {
        assert_eq!(labels(&Scale::logarithmic(3.0, 40.0)), ["2", "5", "10", "20", "50"]);
        assert_eq!(labels(&Scale::logarithmic(30.0, 25_000.0)), ["10", "100", "1,000", "10,000", "100,000"]);
        assert_eq!(labels(&Scale::logarithmic(102.0, 118.0)), ["100", "105", "110", "115", "120"]);
        assert_eq!(labels(&Scale::logarithmic(1e-300, 1e300)).len(), 7);
    }

    #[test]
    fn a_second_axis_stands_level_with_the_first() {
        let left = Scale::linear(0.0, 0.9);
        assert_eq!(labels(&left), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Scale::level_with(&left, 3.2, 17.9)), ["0", "5", "10", "15", "20", "25"]);
    }

    #[test]
    fn shares() {
        let linear = Scale::linear(0.0, 9.5);
        assert_eq!((linear.share(5.0), linear.share(-5.0), linear.share(50.0)), (0.5, 0.0, 1.0));
        let log = Scale::logarithmic(1.0, 10_000.0);
        assert!((log.share(100.0) - 0.5).abs() < 1e-12);
        assert_eq!(log.share(-1.0), 0.0);
        assert!(!log.shows(0.0));
    }

    fn finite() -> impl Strategy<Value = f64> {
        prop_oneof![
            -1e300..1e300_f64,
            -1e3..1e3_f64,
            (-300.0..300.0_f64).prop_map(|exponent| 10_f64.powf(exponent)),
            (-300.0..300.0_f64).prop_map(|exponent| -(10_f64.powf(exponent))),
            Just(0.0),
        ]
    }

    proptest! {
        #[test]
        fn every_scale_holds_its_numbers(one in finite(), other in finite()) {
            let (low, high) = (one.min(other), one.max(other));
            let left = Scale::linear(low, high);
            let mut scales = vec![Scale::level_with(&left, low / 3.0, high / 3.0), left];
            if low > 0.0 {
                scales.push(Scale::logarithmic(low, high));
            }
            for scale in &scales {
                prop_assert!((2..=14).contains(&scale.ticks.len()), "{:?}", scale);
                prop_assert!(scale.low < scale.high, "{:?}", scale);
                prop_assert!(scale.ticks.is_sorted_by(|one, other| one.value < other.value), "{:?}", scale);
                prop_assert!(scale.ticks.iter().all(|tick| tick.label.chars().count() < 20), "{:?}", scale);
                prop_assert!(scale.share(low).is_finite() && scale.share(high).is_finite());
            }
            prop_assert!(scales[1].low <= low + low.abs() * 1e-5 && scales[1].high >= high - high.abs() * 1e-5);
        }
    }
}
