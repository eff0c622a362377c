//! Pictures of how benchmarks did over time: numbers in, an image out.
//!
//! [`svg`] draws a [`Picture`]; [`png()`] and [`jpeg`] turn that drawing into pixels, so that all three formats show
//! the same. Nothing here reads the database or knows of HTTP. The cost has a bound: at most [`LINES`] lines are
//! drawn, and each is thinned to what the pixels can show.

mod badge;
mod calendar;
mod canvas;
mod chart;
mod draw;
mod legend;
mod number;
mod raster;
mod scale;
mod text;
mod theme;
mod thin;

#[cfg(test)]
mod tests;

use tidemark_api::{MeasureUuid, Timestamp, XAxis, YAxis};

pub use badge::{Tone, badge};
pub use raster::{RasterError, jpeg, png};
pub use theme::Theme;

/// The width of a picture in pixels.
pub const WIDTH: u32 = 1024;
/// The height of a picture in pixels.
pub const HEIGHT: u32 = 768;
/// The most lines that are drawn; the legend counts the others.
pub const LINES: usize = 10;

/// What a picture shows.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The heading, of any length; only what fits is shown.
    pub title: String,
    /// Whether it stands on light or on dark.
    pub theme: Theme,
    /// What the horizontal axis shows.
    pub x: XAxis,
    /// How the vertical axes are scaled. Where a value is not positive, an axis is linear whatever this says.
    pub y: YAxis,
    /// Whether the lower values of the metrics are shown.
    pub lower_value: bool,
    /// Whether the upper values of the metrics are shown.
    pub upper_value: bool,
    /// Whether the lower limits are shown.
    pub lower_boundary: bool,
    /// Whether the upper limits are shown.
    pub upper_boundary: bool,
    /// The lines, the most important first.
    ///
    /// The measure of the first line stands on the left axis, the next one on the right axis and further ones on
    /// the left again. A line without points is left out.
    pub lines: Vec<Line>,
    /// How many more lines there are; the legend counts them.
    pub hidden: usize,
}

/// One series of metrics.
#[derive(Clone, Debug)]
pub struct Line {
    /// What tells it from the others, such as branch, testbed, benchmark and measure, in the same order for every
    /// line: what all lines share is said once.
    pub label: Vec<String>,
    /// The measure; lines of the same measure share an axis.
    pub measure: MeasureUuid,
    /// The name of the measure.
    pub measure_name: String,
    /// The units of the measure, such as `nanoseconds (ns)`.
    pub units: String,
    /// The metrics, in any order.
    pub points: Vec<Point>,
}

/// One metric of a line. A number that is not finite counts as absent.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// When its report started.
    pub time: Timestamp,
    /// The number of its version.
    pub version: u32,
    /// The value.
    pub value: f64,
    /// The lower value, if it has one.
    pub lower_value: Option<f64>,
    /// The upper value, if it has one.
    pub upper_value: Option<f64>,
    /// The lower limit it was tested against, if any.
    pub lower_limit: Option<f64>,
    /// The upper limit it was tested against, if any.
    pub upper_limit: Option<f64>,
    /// Whether it raised an alert.
    pub alert: bool,
}

/// Draw a picture as a standalone SVG document.
pub fn svg(picture: &Picture) -> String {
    draw::picture(picture, &chart::Chart::of(picture))
}
