//! Formats of values and names: numbers with their units, and texts without control characters for the terminal.

use tidemark_api::{Parameters, Unit, unit::group_thousands};

/// Numbers of at least this size, and numbers below its inverse, are written in scientific notation.
const SCIENTIFIC_MIN: f64 = 1e15;

/// Returns a benchmark with its parameters.
pub fn benchmark(name: &str, parameters: Option<&Parameters>) -> String {
    let mut title = plain(name);
    if let Some(parameters) = parameters {
        let parameters: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        title = format!("{title} {{{}}}", plain(&parameters.join(", ")));
    }
    title
}

/// Returns a number in its most readable unit.
pub fn quantity(value: f64, units: &str) -> String {
    let unit = Unit::named_for_size(units, value.abs());
    with_symbol(number(value / unit.divisor), &unit)
}

/// Returns a range in the most readable unit of its larger end; empty if the range has no end.
pub fn range(lower: Option<f64>, upper: Option<f64>, units: &str) -> String {
    let size = lower.into_iter().chain(upper).map(f64::abs).fold(0.0, f64::max);
    let unit = Unit::named_for_size(units, size);
    let shown = |end: f64| number(end / unit.divisor);
    match (lower, upper) {
        (Some(lower), Some(upper)) => with_symbol(format!("{} … {}", shown(lower), shown(upper)), &unit),
        (Some(lower), None) => with_symbol(format!("≥ {}", shown(lower)), &unit),
        (None, Some(upper)) => with_symbol(format!("≤ {}", shown(upper)), &unit),
        (None, None) => String::new(),
    }
}

fn with_symbol(number: String, unit: &Unit) -> String {
    if unit.symbol.is_empty() { number } else { format!("{number} {}", plain(&unit.symbol)) }
}

/// Returns a number with separated thousands: all digits of an integer, otherwise four significant digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size >= SCIENTIFIC_MIN || (size > 0.0 && size < 1.0 / SCIENTIFIC_MIN) {
        return format!("{value:.3e}");
    }
    let decimals = if value.fract() == 0.0 { 0 } else { 3 - size.log10().floor() as i32 };
    let digits = format!("{size:.*}", usize::try_from(decimals).unwrap_or(0));
    format!("{}{}", if value < 0.0 { "-" } else { "" }, group_thousands(&digits))
}

/// Returns a text on one line, without the characters that move the cursor, change colors or change the writing direction.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        let turns =
            matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || turns || matches!(character, '\u{2028}' | '\u{2029}') {
            plain.extend(character.escape_unicode());
        } else {
            plain.push(character);
        }
    }
    plain
}

/// Returns a share in percent with its sign, for example `+2.50%`; never `-0.00%`.
pub fn percent(share: f64) -> String {
    let percent = (share * 1e4).round() / 1e2;
    format!("{:+.2}%", if percent == 0.0 { 0.0 } else { percent })
}

/// Returns a share in percent without a sign, for example `2.5%`.
pub fn share(share: f64) -> String {
    format!("{:.1}%", share.abs() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        for (value, shown) in [
            (0.0, "0"),
            (-0.0, "0"),
            (5.0, "5"),
            (-1_234_567.0, "-1,234,567"),
            (1.23456, "1.235"),
            (12.3456, "12.35"),
            (999.96, "1,000.0"),
            (12_345.678, "12,346"),
            (0.001_234_56, "0.001235"),
            (-0.5, "-0.5000"),
            (1e15, "1.000e15"),
            (1e-16, "1.000e-16"),
            (f64::MAX, "1.798e308"),
        ] {
            assert_eq!(number(value), shown, "{value}");
        }
    }

    #[test]
    fn quantities_have_a_unit() {
        let time = "nanoseconds (ns)";
        assert_eq!(quantity(1_234_567.0, time), "1.235 ms");
        assert_eq!(quantity(-2_500.0, time), "-2.500 µs");
        assert_eq!(quantity(1_234_567.0, "instructions"), "1,234,567 instructions");
        assert_eq!(quantity(3.0, ""), "3");
        assert_eq!(range(Some(900.0), Some(1_100.0), time), "0.9000 … 1.100 µs");
        assert_eq!(range(None, Some(5.0), time), "≤ 5 ns");
        assert_eq!(range(Some(5.0), None, ""), "≥ 5");
        assert_eq!(range(None, None, time), "");
    }

    #[test]
    fn a_percentage_has_a_sign_and_no_space() {
        for (share, shown) in [(-1.0, "-100.00%"), (0.025, "+2.50%"), (-1e-9, "+0.00%"), (12.0, "+1200.00%")]
        {
            assert_eq!(percent(share), shown);
        }
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(plain("sort é 10\u{1b}[2J\n\u{202e}x"), "sort é 10\\u{1b}[2J\\u{a}\\u{202e}x");
    }
}
