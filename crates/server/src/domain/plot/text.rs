//! Cleans, measures and cuts texts of users for drawing.

use std::{collections::HashMap, sync::LazyLock};

use skrifa::{
    FontRef, MetadataProvider,
    instance::{LocationRef, Size},
};

/// The regular font, with the characters of names and units.
pub(super) const REGULAR: &[u8] = include_bytes!("../../../assets/Inter-Regular.ttf");
/// The semi-bold font.
pub(super) const SEMI_BOLD: &[u8] = include_bytes!("../../../assets/Inter-SemiBold.ttf");

/// The font family, with fallback fonts.
pub(super) const FAMILY: &str =
    "Inter, 'Helvetica Neue', Helvetica, Arial, 'Noto Sans', 'DejaVu Sans', sans-serif";

const ELLIPSIS: char = '…';

/// The font weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    SemiBold,
}

/// The widths of the characters of a font, as shares of the font size.
struct Advances(HashMap<char, f64>);

impl Advances {
    fn of(font: &'static [u8]) -> Self {
        let font = FontRef::new(font).expect("the embedded font is whole");
        let metrics = font.glyph_metrics(Size::new(1.0), LocationRef::default());
        let widths = font.charmap().mappings().filter_map(|(code, glyph)| {
            Some((char::from_u32(code)?, f64::from(metrics.advance_width(glyph)?)))
        });
        Self(widths.collect())
    }

    fn width(&self, character: char) -> f64 {
        // The reader's system renders a missing character with another font. Most of these characters are as wide as high.
        self.0.get(&character).copied().unwrap_or(1.0)
    }
}

static ADVANCES: LazyLock<[Advances; 2]> = LazyLock::new(|| [Advances::of(REGULAR), Advances::of(SEMI_BOLD)]);

fn advances(weight: Weight) -> &'static Advances {
    match weight {
        Weight::Regular => &ADVANCES[0],
        Weight::SemiBold => &ADVANCES[1],
    }
}

/// Returns the width of a text in pixels.
pub(super) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let advances = advances(weight);
    text.chars().map(|character| advances.width(character)).sum::<f64>() * size
}

/// Converts a text to one line of printable characters: runs of spaces and control characters become one space, and characters
/// that change the text direction are removed.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len().min(1_024));
    for character in text.chars() {
        match character {
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {}
            // XML does not allow these two characters.
            '\u{fffe}' | '\u{ffff}' => {}
            _ if character.is_control() || character.is_whitespace() => {
                if !cleaned.is_empty() && !cleaned.ends_with(' ') {
                    cleaned.push(' ');
                }
            }
            _ => cleaned.push(character),
        }
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

/// Returns at most `most` characters of a text, with an ellipsis if it was cut.
pub(super) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain([ELLIPSIS]).collect(),
    }
}

/// Returns the font size within a range at which a text fits into a width, and the text, cut if it does not fit at the smallest
/// size.
pub(super) fn fit(text: &str, weight: Weight, sizes: (f64, f64), available_width: f64) -> (f64, String) {
    let (smallest, largest) = sizes;
    let natural = width(text, largest, weight);
    if natural <= available_width {
        return (largest, text.to_owned());
    }
    let size = (largest * available_width / natural).floor().max(smallest);
    (size, cut_end(text, size, weight, available_width))
}

/// Returns the start of a text that fits, with an ellipsis if it was cut.
pub(super) fn cut_end(text: &str, size: f64, weight: Weight, available_width: f64) -> String {
    if width(text, size, weight) <= available_width {
        return text.to_owned();
    }
    let advances = advances(weight);
    let mut left = available_width - advances.width(ELLIPSIS) * size;
    let kept = text.chars().take_while(|character| {
        left -= advances.width(*character) * size;
        left >= 0.0
    });
    let mut cut: String = kept.collect();
    cut.truncate(cut.trim_end().len());
    cut.push(ELLIPSIS);
    cut
}

/// Returns the start and the end of a text that fit, with an ellipsis between them if it was cut.
pub(super) fn cut_middle(text: &str, size: f64, weight: Weight, available_width: f64) -> String {
    if width(text, size, weight) <= available_width {
        return text.to_owned();
    }
    let advances = advances(weight);
    let characters: Vec<char> = text.chars().collect();
    let (mut start, mut end) = (0, characters.len());
    let mut left = available_width - advances.width(ELLIPSIS) * size;
    while start < end {
        let from_start = start <= characters.len() - end;
        let next = if from_start { characters[start] } else { characters[end - 1] };
        left -= advances.width(next) * size;
        if left < 0.0 {
            break;
        }
        if from_start {
            start += 1;
        } else {
            end -= 1;
        }
    }
    characters[..start].iter().chain([&ELLIPSIS]).chain(&characters[end..]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cleaned_to_one_line() {
        assert_eq!(clean("  a\t\nb\u{0}\u{0}c  "), "a b c");
        assert_eq!(clean("x\u{202e}y\u{ffff}"), "xy");
        assert_eq!(clean("\n"), "");
    }

    #[test]
    fn shortened_by_characters() {
        assert_eq!(shorten("Größe", 5), "Größe");
        assert_eq!(shorten("Größen", 5), "Größ…");
        assert_eq!(shorten("", 5), "");
    }

    #[test]
    fn a_title_shrinks_before_it_is_cut() {
        let short = "Release candidate";
        assert_eq!(fit(short, Weight::SemiBold, (15.0, 24.0), 900.0), (24.0, short.to_owned()));
        let long = "x".repeat(90);
        let (size, text) = fit(&long, Weight::SemiBold, (15.0, 24.0), 900.0);
        assert!((15.0..24.0).contains(&size));
        assert_eq!(text, long);
        let (size, text) = fit(&"W".repeat(120), Weight::SemiBold, (15.0, 24.0), 900.0);
        assert_eq!(size, 15.0);
        assert!(text.ends_with("W…"));
    }

    #[test]
    fn the_middle_goes_first() {
        let label = "main · ubuntu-latest · serialize/deeply/nested/document · Latency";
        let cut = cut_middle(label, 12.0, Weight::Regular, 200.0);
        assert!(cut.starts_with("main · ubuntu"), "{cut}");
        assert!(cut.ends_with("Latency"), "{cut}");
        assert!(cut.contains('…'), "{cut}");
    }

    #[test]
    fn the_font_has_what_labels_need() {
        for weight in [Weight::Regular, Weight::SemiBold] {
            let known = &advances(weight).0;
            for character in "azAZ09äößéłşÇñ αβΩ Жщя µ×·…−–⁰¹²³⁴⁵⁶⁷⁸⁹⁻ %/()[]<>&#@€→".chars()
            {
                assert!(known.contains_key(&character), "{character}");
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_overflows(text in "\\PC{0,200}", available_width in 20.0..900.0) {
            let text = clean(&text);
            for cut in [
                cut_end(&text, 12.0, Weight::Regular, available_width),
                cut_middle(&text, 12.0, Weight::Regular, available_width),
            ] {
                prop_assert!(width(&cut, 12.0, Weight::Regular) <= available_width + 1e-6);
            }
            let (size, fitted) = fit(&text, Weight::SemiBold, (15.0, 24.0), available_width);
            prop_assert!(width(&fitted, size, Weight::SemiBold) <= available_width + 1e-6);
        }
    }
}
