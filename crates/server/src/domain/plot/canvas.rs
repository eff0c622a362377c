//! Writes SVG elements: shapes and texts.

use tidemark_render::markup::escape_html;

use super::{
    HEIGHT, WIDTH,
    text::{self, Weight},
};

/// Number of points from which on a line is dense.
const DENSE: usize = 256;

/// A position in the picture, in pixels from the top left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dot {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The end of a text that is at its position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub(super) size: f64,
    pub(super) weight: Weight,
    pub(super) anchor: Anchor,
    pub(super) color: &'static str,
}

/// The style of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub(super) color: &'static str,
    pub(super) width: f64,
    pub(super) dashed: bool,
    pub(super) opacity: f64,
}

impl Stroke {
    /// Creates a solid stroke.
    pub(super) const fn solid(color: &'static str, width: f64) -> Self {
        Self { color, width, dashed: false, opacity: 1.0 }
    }
}

/// An SVG document that is being written.
pub(super) struct Canvas {
    out: String,
}

impl Canvas {
    /// Creates an empty picture with an accessible name.
    pub(super) fn new(name: &str, background: &str) -> Self {
        let mut out = String::with_capacity(64 * 1_024);
        out.push_str(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-family=\"{}\">\n",
            text::FAMILY
        ));
        out.push_str(&format!("<title>{}</title>\n", escape_html(name)));
        out.push_str(&format!("<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{background}\"/>\n"));
        Self { out }
    }

    /// Returns the document.
    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// Writes a text, which must be clean, with its baseline at a position.
    pub(super) fn text(&mut self, at: Dot, style: TextStyle, content: &str) {
        if content.is_empty() {
            return;
        }
        let (anchor, weight) = (
            match style.anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            },
            match style.weight {
                Weight::Regular => "",
                Weight::SemiBold => " font-weight=\"600\"",
            },
        );
        self.out.push_str("<text");
        self.attribute("x", at.x);
        self.attribute("y", at.y);
        self.attribute("font-size", style.size);
        self.out.push_str(&format!(
            "{anchor}{weight} fill=\"{}\">{}</text>\n",
            style.color,
            escape_html(content)
        ));
    }

    /// Draws a straight line.
    pub(super) fn segment(&mut self, from: Dot, to: Dot, stroke: Stroke) {
        self.polyline(&[from, to], stroke);
    }

    /// Draws a line through points.
    pub(super) fn polyline(&mut self, dots: &[Dot], stroke: Stroke) {
        if dots.len() < 2 {
            return;
        }
        self.path(dots);
        self.out.push_str(&format!("\" fill=\"none\" stroke=\"{}\"", stroke.color));
        self.attribute("stroke-width", stroke.width);
        if stroke.width >= 2.0 {
            // The corners of a dense line are too small to see, and drawing round ones takes most of the time.
            let join = if dots.len() < DENSE { "round" } else { "bevel" };
            self.out.push_str(&format!(" stroke-linejoin=\"{join}\""));
        }
        if stroke.dashed {
            self.out.push_str(" stroke-dasharray=\"6 4\"");
        }
        if stroke.opacity < 1.0 {
            self.out.push_str(&format!(" stroke-opacity=\"{}\"", stroke.opacity));
        }
        self.out.push_str("/>\n");
    }

    /// Fills the area of an outline.
    pub(super) fn area(&mut self, outline: &[Dot], color: &str, opacity: f64) {
        if outline.len() < 3 {
            return;
        }
        self.path(outline);
        self.out.push_str(&format!("Z\" fill=\"{color}\" fill-opacity=\"{opacity}\"/>\n"));
    }

    /// Fills circles around points.
    pub(super) fn disks(&mut self, centers: &[Dot], radius: f64, color: &str) {
        for center in centers {
            self.circle(*center, radius);
            self.out.push_str(&format!(" fill=\"{color}\"/>\n"));
        }
    }

    /// Draws a ring with a dot in it that covers the shapes below.
    pub(super) fn target(&mut self, center: Dot, color: &str, background: &str) {
        self.circle(center, 5.5);
        self.out.push_str(&format!(" fill=\"{background}\" stroke=\"{color}\" stroke-width=\"2\"/>\n"));
        self.circle(center, 2.2);
        self.out.push_str(&format!(" fill=\"{color}\"/>\n"));
    }

    fn circle(&mut self, center: Dot, radius: f64) {
        self.out.push_str("<circle");
        self.attribute("cx", center.x);
        self.attribute("cy", center.y);
        self.attribute("r", radius);
    }

    fn path(&mut self, dots: &[Dot]) {
        self.out.push_str("<path d=\"");
        for (index, dot) in dots.iter().enumerate() {
            self.out.push(if index == 0 { 'M' } else { 'L' });
            self.number(dot.x);
            self.out.push(' ');
            self.number(dot.y);
        }
    }

    fn attribute(&mut self, name: &str, value: f64) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        self.number(value);
        self.out.push('"');
    }

    /// Writes a length with a precision of a tenth of a pixel.
    fn number(&mut self, value: f64) {
        let tenths = (value * 10.0).round() as i64;
        self.out.push_str(&(tenths / 10).to_string());
        let rest = tenths.abs() % 10;
        if rest != 0 {
            self.out.push('.');
            self.out.push_str(&rest.to_string());
        }
    }
}
