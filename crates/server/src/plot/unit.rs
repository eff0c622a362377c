//! Units of measure as an axis shows them: 1,250,000 nanoseconds read better as 1.25 ms.

/// What numbers are divided by before they are shown, and what then stands behind them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) divisor: f64,
    pub(super) symbol: String,
}

const NANOSECONDS: &[(f64, &str)] = &[(1e3, "µs"), (1e6, "ms"), (1e9, "s"), (6e10, "m"), (3.6e12, "h")];
const SECONDS: &[(f64, &str)] = &[(60.0, "m"), (3_600.0, "h")];
const BYTES: &[(f64, &str)] = &[(1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB")];
const OTHERS: &[(f64, &str)] =
    &[(1e3, "× 1e3"), (1e6, "× 1e6"), (1e9, "× 1e9"), (1e12, "× 1e12"), (1e15, "× 1e15")];

impl Unit {
    /// The unit in which a number of about `size` reads best.
    pub(super) fn for_size(units: &str, size: f64) -> Self {
        let (steps, replaces) = match units {
            "nanoseconds (ns)" => (NANOSECONDS, true),
            "seconds (s)" => (SECONDS, true),
            "bytes (B)" => (BYTES, true),
            _ => (OTHERS, false),
        };
        let plain = symbol(units);
        match steps.iter().rev().find(|(threshold, _)| size >= *threshold) {
            None => Self { divisor: 1.0, symbol: plain.to_owned() },
            Some((divisor, shown)) if replaces => Self { divisor: *divisor, symbol: (*shown).to_owned() },
            Some((divisor, shown)) => {
                Self { divisor: *divisor, symbol: format!("{plain} {shown}").trim_start().to_owned() }
            }
        }
    }
}

/// What stands between the first parentheses of the units, else all of them.
pub(super) fn symbol(units: &str) -> &str {
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
    fn each_kind_has_its_steps() {
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
}
