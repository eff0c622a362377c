//! Badges: a label and a message on one line, for example for a README.

use tidemark_render::markup::escape_html;

use super::text::{self, Weight};

/// Height of a badge in pixels.
const HEIGHT: u32 = 20;
const FONT_SIZE: f64 = 11.0;
/// Space on each side of a text.
const MARGIN: f64 = 6.0;
/// Maximum width of a text. A longer text is cut.
const TEXT_MAX: f64 = 400.0;

/// The color of a message. The contrast of white text is at least 4.5:1 on each color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// No problem.
    Good,
    /// A problem that needs review.
    Bad,
    /// No data.
    Unknown,
}

impl Tone {
    const fn color(self) -> &'static str {
        match self {
            Self::Good => "#1a7f37",
            Self::Bad => "#cf222e",
            Self::Unknown => "#68717b",
        }
    }
}

/// Draws a badge as SVG, with the label on the left and the message on the right.
pub fn badge(label: &str, message: &str, tone: Tone) -> String {
    let [(label, left), (message, right)] = [label, message].map(|text| {
        let text = text::cut_end(&text::clean(text), FONT_SIZE, Weight::Regular, TEXT_MAX);
        let width = text::width(&text, FONT_SIZE, Weight::Regular).ceil();
        (escape_html(&text), width)
    });
    let (split, end) = (left + 2.0 * MARGIN, left + right + 4.0 * MARGIN);
    // The length of each text is specified, so that it fits with any font.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{end}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {end} {HEIGHT}\" role=\"img\" aria-label=\"{label}: {message}\">\n\
         <title>{label}: {message}</title>\n\
         <clipPath id=\"outline\"><rect width=\"{end}\" height=\"{HEIGHT}\" rx=\"3\"/></clipPath>\n\
         <g clip-path=\"url(#outline)\">\n\
         <rect width=\"{split}\" height=\"{HEIGHT}\" fill=\"#3d4650\"/>\n\
         <rect x=\"{split}\" width=\"{}\" height=\"{HEIGHT}\" fill=\"{}\"/>\n\
         </g>\n\
         <g fill=\"#ffffff\" font-family=\"{}\" font-size=\"{FONT_SIZE}\" aria-hidden=\"true\">\n\
         <text x=\"{MARGIN}\" y=\"14\" textLength=\"{left}\">{label}</text>\n\
         <text x=\"{}\" y=\"14\" textLength=\"{right}\">{message}</text>\n\
         </g>\n\
         </svg>\n",
        end - split,
        tone.color(),
        text::FAMILY,
        split + MARGIN,
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resvg::usvg::roxmltree::Document;

    use super::*;

    /// Returns the relative luminance of a color, as defined by WCAG.
    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let share = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn white_stands_out() {
        for tone in [Tone::Good, Tone::Bad, Tone::Unknown] {
            let contrast = 1.05 / (luminance(tone.color()) + 0.05);
            assert!(contrast >= 4.5, "{tone:?}: {contrast}");
        }
    }

    #[test]
    fn it_is_drawn() {
        insta::assert_snapshot!(badge("benchmarks", "2 alerts", Tone::Bad));
    }

    proptest! {
        #[test]
        fn any_label_is_valid_and_bounded(label in "\\PC{0,200}|[<>&\"'\u{0}-\u{1f}\u{fffe}\u{ffff}]{0,20}") {
            let svg = badge(&label, "no alerts", Tone::Good);
            let document = Document::parse(&svg).unwrap();
            let width: f64 = document.root_element().attribute("width").unwrap().parse().unwrap();
            prop_assert!(width < 500.0);
            let texts = document.descendants().filter(|node| node.has_tag_name("text")).count();
            prop_assert_eq!((texts, document.descendants().filter(roxml_element).count()), (2, 10));
        }
    }

    fn roxml_element(node: &resvg::usvg::roxmltree::Node<'_, '_>) -> bool {
        node.is_element()
    }
}
