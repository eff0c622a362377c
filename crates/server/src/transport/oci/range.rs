//! Ranges in requests to the registry: the requested range of a blob, and the range of a chunk.

use std::ops::Range;

/// The requested range is outside of the blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsatisfiable;

/// Parses the header `range` for a blob of this size. As in HTTP, several ranges or an invalid range return the whole blob:
/// `None`.
pub(super) fn parse_range(value: &str, size: u64) -> Result<Option<Range<u64>>, Unsatisfiable> {
    let Some((first, last)) = value.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-'))
    else {
        return Ok(None);
    };
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // A number that does not fit is beyond the end of every blob.
            Some(Some(digits.parse().unwrap_or(u64::MAX)))
        }
        _ => None,
    };
    let range = match (number(first), number(last)) {
        (Some(Some(first)), Some(None)) => first..size,
        (Some(Some(first)), Some(Some(last))) if first <= last => first..last.saturating_add(1).min(size),
        (Some(None), Some(Some(count))) => size.saturating_sub(count)..size,
        _ => return Ok(None),
    };
    if range.is_empty() { Err(Unsatisfiable) } else { Ok(Some(range)) }
}

/// Parses the header `content-range` of a chunk: the position of its first byte, and its length.
pub(super) fn parse_content_range(value: &str) -> Option<(u64, u64)> {
    // Accepts the format of the specification and of HTTP.
    let value = value.trim().trim_start_matches("bytes").trim();
    let (first, last) = value.split('/').next()?.split_once('-')?;
    let number = |text: &str| -> Option<u64> {
        let text = text.trim();
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
    };
    let (first, last) = (number(first)?, number(last)?);
    Some((first, last.checked_sub(first)?.checked_add(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_as_http_has_it() {
        for (text, expected) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-5", 2..6),
            ("bytes=5-", 5..10),
            ("bytes=-3", 7..10),
            ("bytes=-30", 0..10),
            ("bytes=8-99999999999999999999999", 8..10),
        ] {
            assert_eq!(parse_range(text, 10), Ok(Some(expected)), "{text}");
        }
        for text in ["bytes=5-2", "bytes=0-1,4-5", "bytes=a-b", "bytes=-", "lines=1-2", "bytes"] {
            assert_eq!(parse_range(text, 10), Ok(None), "{text}");
        }
        for text in ["bytes=10-", "bytes=10-20", "bytes=-0"] {
            assert_eq!(parse_range(text, 10), Err(Unsatisfiable), "{text}");
        }
    }

    #[test]
    fn chunks_have_a_first_and_a_last_byte() {
        for text in ["5-9", "bytes 5-9/10", "bytes 5-9/*", " 5 - 9 "] {
            assert_eq!(parse_content_range(text), Some((5, 5)), "{text}");
        }
        for text in ["", "5-", "-", "x", "9-5", "+5-+9", "5-99999999999999999999", "0-18446744073709551615"] {
            assert_eq!(parse_content_range(text), None, "{text}");
        }
    }
}
