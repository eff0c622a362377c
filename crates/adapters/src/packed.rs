//! The bytes of a benchmark in [`Entries`](crate::Entries).

use crate::shared;

/// Bit of the first number of an entry. The other bits are its variant.
pub(crate) const REFERENCE: usize = 1;

/// Bits of the measure of a metric.
pub(crate) const LOWER: usize = 1;
pub(crate) const UPPER: usize = 2;

/// A benchmark as it is stored: its key (the variant with the bit [`REFERENCE`], the name, and its parameters unless they are shared),
/// the number of metrics with the bit `ignored`, and the metrics.
pub(crate) struct Packed<'a> {
    /// Variant with the bit [`REFERENCE`].
    pub(crate) kind: usize,
    pub(crate) name: &'a [u8],
    /// Parameters, unless they are shared.
    pub(crate) parameters: &'a [u8],
    pub(crate) key: &'a [u8],
    /// Number of metrics with the bit `ignored`.
    pub(crate) count: usize,
    pub(crate) metrics: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Takes the first benchmark from bytes.
    pub(crate) fn take(bytes: &mut &'a [u8]) -> Self {
        let start = *bytes;
        let kind = take_number(bytes);
        let name = take_text(bytes);
        let parameters = if kind >> 1 == shared::OWN_PARAMETERS { take_text(bytes) } else { &[] };
        let key = &start[..start.len() - bytes.len()];
        let count = take_number(bytes);
        let start = *bytes;
        for _ in 0..count >> 1 {
            let bounds = take_number(bytes) & (LOWER | UPPER);
            take(bytes, 8 * (1 + bounds.count_ones() as usize));
        }
        Self { kind, name, parameters, key, count, metrics: &start[..start.len() - bytes.len()] }
    }
}

/// Adds a number, seven bits per byte.
pub(crate) fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(crate) fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_number(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    taken
}

pub(crate) fn take_number(bytes: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = take(bytes, 1)[0];
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

pub(crate) fn take_text<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let length = take_number(bytes);
    take(bytes, length)
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the entry was written from a text")
}
