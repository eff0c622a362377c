//! Elements of text lines: blanks, words, numbers, units of time. The adapters interpret the lines.

use std::borrow::Cow;

use crate::{Entries, Entry, Failure, ParsedMetric, Position};

/// A line of an output.
#[derive(Clone, Copy, Default)]
pub(crate) struct Line<'a> {
    /// Line number, starting at one.
    pub(crate) number: usize,
    /// Text without the line ending.
    pub(crate) text: &'a str,
}

impl Line<'_> {
    /// Creates the entry of a benchmark on this line.
    pub(crate) fn entry(self, name: &str, metrics: Vec<ParsedMetric>) -> Result<Entry, Failure> {
        Entry::new(|| Position::Line(self.number), name, metrics)
    }

    /// Creates an error for an unexpected line.
    pub(crate) fn invalid(self, expected: &str) -> Failure {
        Failure::invalid(Position::Line(self.number), expected, self.text)
    }
}

/// Returns the lines of an output as a terminal shows them: text before a carriage return is overwritten.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> + Clone {
    let has_returns = text.contains('\r');
    text.split('\n').enumerate().map(move |(index, line)| {
        let shown = || {
            let line = line.trim_end_matches('\r');
            line.rsplit('\r').next().unwrap_or(line)
        };
        Line { number: index + 1, text: if has_returns { shown() } else { line } }
    })
}

/// Returns the entries, or an error that the output is not from this tool if there are none.
pub(crate) fn require_entries(entries: Entries, expected: &str) -> Result<Entries, Failure> {
    if entries.is_empty() { Err(Failure::unrecognized(expected)) } else { Ok(entries) }
}

/// Removes terminal color sequences from a text.
pub(crate) fn without_colors(text: &str) -> Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split(ESCAPE);
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(after_sequence(part));
    }
    Cow::Owned(plain)
}

/// Returns the text after the escape sequence at its start; the escape character is already removed. A sequence ends at the
/// latest with its line.
fn after_sequence(text: &str) -> &str {
    let end = match text.as_bytes().first() {
        Some(b'[') => text[1..].find(|character| matches!(character, '@'..='~' | '\n')).map(|end| end + 1),
        Some(b']') => text.find(['\u{7}', '\n']),
        Some(b'(' | b')') => text.char_indices().nth(1).map(|(end, _)| end),
        _ => Some(0),
    };
    // The last character of a sequence is removed with it.
    let rest = end.map_or("", |end| &text[end..]);
    if rest.starts_with('\n') { rest } else { after_first(rest) }
}

fn after_first(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Picoseconds,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    const SYMBOLS: [(&str, Self); 7] = [
        ("ps", Self::Picoseconds),
        ("ns", Self::Nanoseconds),
        ("us", Self::Microseconds),
        ("\u{b5}s", Self::Microseconds),
        ("\u{3bc}s", Self::Microseconds),
        ("ms", Self::Milliseconds),
        ("s", Self::Seconds),
    ];

    /// Parses a unit from its symbol.
    pub(crate) fn from_symbol(symbol: &str) -> Option<Self> {
        Self::SYMBOLS.iter().find(|(known, _)| *known == symbol).map(|(_, unit)| *unit)
    }

    /// Converts a number of this unit to nanoseconds.
    pub(crate) fn nanoseconds(self, count: f64) -> f64 {
        count
            * match self {
                Self::Picoseconds => 1.0 / 1e3,
                Self::Nanoseconds => 1.0,
                Self::Microseconds => 1e3,
                Self::Milliseconds => 1e6,
                Self::Seconds => 1e9,
            }
    }

    /// Converts a count per unit to a rate per second.
    pub(crate) fn per_second(self, count: f64) -> f64 {
        count
            / match self {
                Self::Picoseconds => 1.0 / 1e12,
                Self::Nanoseconds => 1.0 / 1e9,
                Self::Microseconds => 1.0 / 1e6,
                Self::Milliseconds => 1.0 / 1e3,
                Self::Seconds => 1.0,
            }
    }
}

/// Parses a number with an optional sign and exponent; `None` if the text is anything else or not finite.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number: &f64| has_digit && number.is_finite())
}

/// Removes the commas of a number whose whole part they separate into thousands: `1,234,567.8`. `None` if a comma is anywhere else,
/// because it can be a decimal comma, without which the number is ten or more times as large.
pub(crate) fn without_separators(number: &str) -> Option<Cow<'_, str>> {
    if !number.contains(',') {
        return Some(Cow::Borrowed(number));
    }
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    let end =
        unsigned.find(|character: char| !matches!(character, '0'..='9' | ',')).unwrap_or(unsigned.len());
    let (whole, rest) = unsigned.split_at(end);
    let mut groups = whole.split(',');
    let is_grouped = groups.next().is_some_and(|first| (1..=3).contains(&first.len()))
        && groups.all(|group| group.len() == 3)
        && !rest.contains(',');
    is_grouped.then(|| Cow::Owned(number.replace(',', "")))
}

/// Splits a number without sign, whose digits may be grouped by commas, and the text after it: `1,234.5ms` or `12 MB`.
pub(crate) fn quantity(text: &str) -> Option<(f64, &str)> {
    let mut scan = Scan::new(text);
    let number = scan.number()?;
    scan.any_blanks();
    Some((number, scan.rest()))
}

/// Parses a duration with a unit up to days, such as `1.5ms` or `2 min`, and returns nanoseconds.
pub(crate) fn duration(text: &str) -> Option<f64> {
    let (count, unit) = quantity(text)?;
    match unit {
        "m" | "min" => Some(Unit::Seconds.nanoseconds(count * 60.0)),
        "h" => Some(Unit::Seconds.nanoseconds(count * 3600.0)),
        "d" => Some(Unit::Seconds.nanoseconds(count * 86_400.0)),
        unit => Unit::from_symbol(unit).map(|unit| unit.nanoseconds(count)),
    }
}

/// Parses a duration as Go prints it, such as `1m30.5s` or `145.08ms`, and returns nanoseconds.
pub(crate) fn go_duration(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let unit = rest.find(char::is_alphabetic)?;
        let end = rest[unit..].find(|character: char| character.is_ascii_digit());
        let (part, next) = rest.split_at(end.map_or(rest.len(), |end| unit + end));
        nanoseconds += duration(part)?;
        rest = next;
    }
    (!text.is_empty()).then_some(nanoseconds)
}

/// Parses a number of bytes: `kB` and `MB` are powers of 1000, `KiB` and `MiB` powers of 1024. A tool that prints powers of 1024
/// as `KB` is read with [`binary_bytes`].
pub(crate) fn bytes(text: &str) -> Option<f64> {
    let (count, unit) = quantity(text)?;
    let decimal = ["B", "kB", "MB", "GB", "TB", "PB"].iter().position(|known| *known == unit);
    let decimal = decimal.or((unit == "KB").then_some(1)).map(|power| (1000.0_f64, power));
    let binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].iter().position(|known| *known == unit);
    let (base, power) = decimal.or(binary.map(|power| (1024.0, power)))?;
    Some(count * base.powi(i32::try_from(power).ok()?))
}

/// Parses a number of bytes whose prefixes are powers of 1024: `KB`, `MB`, `K`, `M`.
pub(crate) fn binary_bytes(text: &str) -> Option<f64> {
    let (count, unit) = quantity(text)?;
    let unit = unit.strip_suffix("iB").or(unit.strip_suffix('B')).unwrap_or(unit);
    let power = ["", "K", "M", "G", "T", "P"].iter().position(|known| unit.eq_ignore_ascii_case(known))?;
    Some(count * 1024.0_f64.powi(i32::try_from(power).ok()?))
}

/// Scans a line from left to right. Each method consumes the element of its name or fails.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Returns the remaining text.
    pub(crate) fn rest(self) -> &'a str {
        self.rest
    }

    /// Consumes exactly this text.
    pub(crate) fn literal(&mut self, literal: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// Consumes spaces and tabs, at least one.
    pub(crate) fn blanks(&mut self) -> Option<()> {
        self.rest.starts_with(is_blank).then(|| self.any_blanks())
    }

    /// Consumes spaces and tabs, if any.
    pub(crate) fn any_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    /// Consumes text up to a space or tab, at least one character.
    pub(crate) fn token(&mut self) -> Option<&'a str> {
        let end = self.rest.find(is_blank).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Consumes a number without sign and exponent, whose digits may be grouped by commas. Fails at a decimal comma.
    pub(crate) fn number(&mut self) -> Option<f64> {
        let is_digit = |character: char| matches!(character, '0'..='9' | '.' | ',');
        let end = self.rest.find(|character| !is_digit(character)).unwrap_or(self.rest.len());
        let digits = self.take(end)?;
        let number: f64 = without_separators(digits)?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Consumes digits that may be grouped by commas, and returns their number.
    pub(crate) fn integer(&mut self) -> Option<f64> {
        let mut ahead = *self;
        let number = ahead.number()?;
        let digits = &self.rest[..self.rest.len() - ahead.rest.len()];
        if digits.contains('.') {
            return None;
        }
        *self = ahead;
        Some(number)
    }

    /// Consumes a unit of time.
    pub(crate) fn unit(&mut self) -> Option<Unit> {
        let (word, unit) = Unit::SYMBOLS.iter().find(|(word, _)| self.rest.starts_with(word))?;
        self.literal(word)?;
        Some(*unit)
    }

    /// Consumes a number, blanks and a unit, and returns nanoseconds.
    pub(crate) fn duration(&mut self) -> Option<f64> {
        let count = self.number()?;
        self.blanks()?;
        Some(self.unit()?.nanoseconds(count))
    }

    /// Succeeds at the end of the line.
    pub(crate) fn end(self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    fn take(&mut self, end: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!taken.is_empty()).then_some(taken)
    }
}

/// Whether a character is a space or a tab; nothing else counts as blank.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_sequences_are_removed() {
        assert!(matches!(without_colors("plain"), Cow::Borrowed("plain")));
        for (colored, plain) in [
            ("\u{1b}[1;32mgreen\u{1b}[0m", "green"),
            ("a\u{1b}(B\u{1b}[mb", "ab"),
            ("\u{1b}]0;title\u{7}a\u{1b}]0;title\u{1b}\\b", "ab"),
            ("\u{1b}[31\na\u{1b}]0;title\nb\u{1b}", "\na\nb"),
            ("\u{1b}éa\u{1b}(é", "a"),
            ("\u{1b}\n\u{1b}[\u{1b}", "\n"),
        ] {
            assert_eq!(without_colors(colored), plain, "{colored:?}");
        }
    }

    #[test]
    fn text_before_a_carriage_return_is_overwritten() {
        let shown: Vec<_> =
            lines("a\r\nworking\rdone\n\nlast").map(|line| (line.number, line.text)).collect();
        assert_eq!(shown, [(1, "a"), (2, "done"), (3, ""), (4, "last")]);
    }

    #[test]
    fn numbers_have_no_sign_and_no_exponent() {
        for (text, number, rest) in [
            ("1,234.5 ns", Some(1234.5), " ns"),
            ("12", Some(12.0), ""),
            ("1e5", Some(1.0), "e5"),
            ("-1", None, ""),
            ("1.2.3", None, ""),
            (",", None, ""),
            ("1,234,567.8s", Some(1_234_567.8), "s"),
            ("1,5", None, ""),
            ("10.388,5", None, ""),
            ("1234,567", None, ""),
            ("1,23,456", None, ""),
            ("1,234,5", None, ""),
            ("1,234.567,8", None, ""),
            (",500", None, ""),
            (&"9".repeat(400), None, ""),
        ] {
            let mut scan = Scan::new(text);
            assert_eq!(scan.number(), number, "{text}");
            if number.is_some() {
                assert_eq!(scan.rest(), rest);
            }
        }
        assert_eq!(Scan::new("1,234").integer(), Some(1234.0));
        assert_eq!(Scan::new("1.5").integer(), None);
    }

    #[test]
    fn quantities_have_units() {
        assert_eq!(decimal("-1.5e3"), Some(-1500.0));
        assert_eq!((decimal("nan"), decimal("inf"), decimal("1e999"), decimal("")), (None, None, None, None));
        assert_eq!(quantity("1,234.5ms"), Some((1234.5, "ms")));
        assert_eq!((duration("1.5 us"), duration("2m"), duration("2 x")), (Some(1500.0), Some(120e9), None));
        assert_eq!((go_duration("1h2m0.5s"), go_duration("1.5µs")), (Some(3720.5e9), Some(1500.0)));
        assert_eq!((go_duration(""), go_duration("5"), go_duration("1.2.3s")), (None, None, None));
        assert_eq!((bytes("2 kB"), bytes("2KiB"), bytes("3 B")), (Some(2000.0), Some(2048.0), Some(3.0)));
        assert_eq!(
            (binary_bytes("2KB"), binary_bytes("1M"), binary_bytes("1 x")),
            (Some(2048.0), Some(1048576.0), None)
        );
    }

    #[test]
    fn units_are_converted_in_one_operation() {
        for (word, nanoseconds, per_second) in [
            ("ps", 2.5 * 0.001, 2.5 / 1e-12),
            ("ns", 2.5, 2.5 / 1e-9),
            ("us", 2500.0, 2.5 / 1e-6),
            ("µs", 2500.0, 2.5 / 1e-6),
            ("μs", 2500.0, 2.5 / 1e-6),
            ("ms", 2.5e6, 2500.0),
            ("s", 2.5e9, 2.5),
        ] {
            let unit = Unit::from_symbol(word).unwrap();
            assert_eq!(Scan::new(word).unit(), Some(unit));
            assert_eq!((unit.nanoseconds(2.5), unit.per_second(2.5)), (nanoseconds, per_second), "{word}");
        }
        assert_eq!(Unit::from_symbol("min"), None);
    }
}
