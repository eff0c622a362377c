//! Units for display: 1,250,000 nanoseconds are displayed as 1.25 ms.

/// A display unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Divisor of the numbers.
    pub divisor: f64,
    /// Symbol after the quotient; empty if the units are empty.
    pub symbol: String,
}

const NANOSECONDS: &[(f64, &str)] = &[(1e3, "µs"), (1e6, "ms"), (1e9, "s"), (6e10, "m"), (3.6e12, "h")];
const SECONDS: &[(f64, &str)] = &[(60.0, "m"), (3_600.0, "h")];
const BYTES: &[(f64, &str)] = &[(1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB")];
const POWERS_OF_TEN: &[(f64, &str)] =
    &[(1e3, "× 1e3"), (1e6, "× 1e6"), (1e9, "× 1e9"), (1e12, "× 1e12"), (1e15, "× 1e15")];

/// Formats the digits of a number, including decimals, with a comma between groups of thousands.
pub fn group_thousands(digits: &str) -> String {
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut text = String::with_capacity(digits.len() + whole / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index < whole && (whole - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl Unit {
    /// Returns the most readable unit for a number of about `size`.
    pub fn for_size(units: &str, size: f64) -> Self {
        let plain = symbol(units);
        match (named_units(units), largest_fitting(POWERS_OF_TEN, size)) {
            (None, Some((divisor, factor))) => {
                Self { divisor, symbol: format!("{plain} {factor}").trim_start().to_owned() }
            }
            _ => Self::named_for_size(units, size),
        }
    }

    /// Like [`Self::for_size`], but without powers of ten: units without named larger units stay unchanged.
    pub fn named_for_size(units: &str, size: f64) -> Self {
        match named_units(units).and_then(|units| largest_fitting(units, size)) {
            Some((divisor, symbol)) => Self { divisor, symbol: symbol.to_owned() },
            None => Self { divisor: 1.0, symbol: symbol(units).to_owned() },
        }
    }
}

/// Returns the larger named units.
fn named_units(units: &str) -> Option<&'static [(f64, &'static str)]> {
    match units {
        "nanoseconds (ns)" => Some(NANOSECONDS),
        "seconds (s)" => Some(SECONDS),
        "bytes (B)" => Some(BYTES),
        _ => None,
    }
}

fn largest_fitting(units: &[(f64, &'static str)], size: f64) -> Option<(f64, &'static str)> {
    units.iter().rev().find(|(threshold, _)| size >= *threshold).copied()
}

/// Returns the text in the first parentheses of the units, or the whole units if there are none.
pub fn symbol(units: &str) -> &str {
    units
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map_or(units, |(symbol, _)| symbol)
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(units: &str, size: f64) -> (f64, String) {
        let unit = Unit::for_size(units, size);
        (unit.divisor, unit.symbol)
    }

    #[test]
    fn the_most_readable_unit_is_chosen() {
        for (units, size, divisor, symbol) in [
            ("nanoseconds (ns)", 999.9, 1.0, "ns"),
            ("nanoseconds (ns)", 1e3, 1e3, "µs"),
            ("nanoseconds (ns)", 5.9e10, 1e9, "s"),
            ("nanoseconds (ns)", 6e10, 6e10, "m"),
            ("nanoseconds (ns)", 1e300, 3.6e12, "h"),
            ("nanoseconds (ns)", -5e9, 1.0, "ns"),
            ("seconds (s)", 59.0, 1.0, "s"),
            ("seconds (s)", 3_600.0, 3_600.0, "h"),
            ("bytes (B)", 1_024.0, 1e3, "KB"),
            ("bytes (B)", 1e18, 1e15, "PB"),
            ("operations / second (ops/s)", 2e6, 1e6, "ops/s × 1e6"),
            ("instructions", 12.0, 1.0, "instructions"),
            ("", 1e9, 1e9, "× 1e9"),
            ("broken (", 1.0, 1.0, "broken ("),
        ] {
            assert_eq!(shown(units, size), (divisor, symbol.to_owned()), "{units} {size}");
        }
    }

    #[test]
    fn named_units_exclude_powers_of_ten() {
        let unit = |units| Unit::named_for_size(units, 2e6);
        assert_eq!(unit("instructions"), Unit { divisor: 1.0, symbol: "instructions".to_owned() });
        assert_eq!(unit("nanoseconds (ns)"), Unit { divisor: 1e6, symbol: "ms".to_owned() });
    }
}
