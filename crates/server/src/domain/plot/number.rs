//! Formats the numbers of axis labels, with only as many digits as needed to distinguish neighbors.

use tidemark_api::unit::group_thousands;

/// Magnitude from which on numbers are written with a power of ten.
const LARGE: f64 = 1e7;
/// Magnitude below which numbers are written with a power of ten.
const SMALL: f64 = 1e-3;

/// Formats a number of an axis whose labels are `step` apart and reach up to `magnitude`.
pub(super) fn linear(value: f64, step: f64, magnitude: f64) -> String {
    if value.abs() < step * 1e-6 {
        return "0".to_owned();
    }
    if (SMALL..LARGE).contains(&magnitude) {
        return plain(value, decimals(step));
    }
    let exponent = floor_log10(magnitude);
    let unit = power_of_ten(exponent);
    format!("{}×10{}", plain(value / unit, decimals(step / unit)), superscript(exponent))
}

/// Formats `digit` × 10^`exponent` for a logarithmic axis, as a power if `powers` is set.
pub(super) fn logarithmic(digit: i32, exponent: i32, powers: bool) -> String {
    match (powers, digit, exponent) {
        (false, _, _) | (true, _, 0) | (true, 1, 1) => {
            plain(f64::from(digit) * power_of_ten(exponent), usize::try_from(-exponent).unwrap_or(0))
        }
        (true, 1, _) => format!("10{}", superscript(exponent)),
        (true, _, _) => format!("{digit}×10{}", superscript(exponent)),
    }
}

/// Whether the labels of a logarithmic axis with these ends need powers of ten.
pub(super) fn needs_powers(low: f64, high: f64) -> bool {
    high >= LARGE || low < SMALL
}

/// Returns 10^`exponent`.
pub(super) fn power_of_ten(exponent: i32) -> f64 {
    10_f64.powi(exponent)
}

/// Returns the exponent of the largest power of ten that is not above a positive number.
pub(super) fn floor_log10(value: f64) -> i32 {
    // Finite positive numbers are between 1e-324 and 1e309. The logarithm may be off by one at a power of ten.
    let guess = value.log10().floor() as i32;
    if power_of_ten(guess + 1) <= value { guess + 1 } else { guess }
}

/// Returns the number of decimals that distinguish multiples of a step.
fn decimals(step: f64) -> usize {
    let exponent = floor_log10(step);
    let mantissa = step / power_of_ten(exponent);
    let halves = i32::from((mantissa - 2.5).abs() < 1e-6);
    usize::try_from(halves - exponent).unwrap_or(0).min(12)
}

/// Formats a number with this many decimals and thousands separators.
fn plain(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    format!("{}{}", if value < 0.0 { "−" } else { "" }, group_thousands(&digits))
}

fn superscript(exponent: i32) -> String {
    exponent
        .to_string()
        .chars()
        .map(|digit| match digit {
            '0' => '⁰',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            '9' => '⁹',
            _ => '⁻',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_digits_that_matter() {
        for (value, step, magnitude, text) in [
            (0.30000000000000004, 0.1, 1.0, "0.3"),
            (12_500.0, 2_500.0, 20_000.0, "12,500"),
            (0.25, 0.25, 1.0, "0.25"),
            (-1_250.0, 250.0, 1_250.0, "−1,250"),
            (-1e-17, 0.1, 1.0, "0"),
            (123.45678, 0.00002, 123.5, "123.45678"),
            (5.5e12, 5e11, 9e12, "5.5×10¹²"),
            (2e-300, 1e-300, 5e-300, "2×10⁻³⁰⁰"),
            (-1e300, 5e299, 1e300, "−1.0×10³⁰⁰"),
        ] {
            assert_eq!(linear(value, step, magnitude), text);
        }
    }

    #[test]
    fn logarithmic_labels() {
        assert_eq!(logarithmic(5, -2, false), "0.05");
        assert_eq!(logarithmic(2, 4, false), "20,000");
        assert_eq!(logarithmic(1, 0, true), "1");
        assert_eq!(logarithmic(1, 9, true), "10⁹");
        assert_eq!(logarithmic(5, -12, true), "5×10⁻¹²");
    }

    #[test]
    fn powers_are_exact_at_the_edges() {
        for exponent in -300..=300 {
            assert_eq!(floor_log10(power_of_ten(exponent)), exponent);
        }
        assert_eq!(floor_log10(999.999), 2);
    }
}
