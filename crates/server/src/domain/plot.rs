//! Plots of benchmarks over time.
//!
//! [`svg`] draws a [`Picture`]; [`png()`] and [`jpeg`] convert that drawing to pixels, so that all three formats show the same.
//! This module uses neither the database nor HTTP. The cost is limited: at most [`LINES`] lines are drawn, and each line is
//! reduced to the points that the pixels can show.

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

/// Width of a picture in pixels.
pub const WIDTH: u32 = 1024;
/// Height of a picture in pixels.
pub const HEIGHT: u32 = 768;
/// Maximum number of lines that are drawn. The legend has the number of the others.
pub const LINES: usize = 10;

/// The content of a picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The title. It is shortened to fit.
    pub title: String,
    /// The light or dark theme.
    pub theme: Theme,
    /// The quantity on the horizontal axis.
    pub x: XAxis,
    /// The scale of the vertical axes. An axis with a value that is not positive is always linear.
    pub y: YAxis,
    /// Whether to show the lower values of the metrics.
    pub lower_value: bool,
    /// Whether to show the upper values of the metrics.
    pub upper_value: bool,
    /// Whether to show the lower limits.
    pub lower_boundary: bool,
    /// Whether to show the upper limits.
    pub upper_boundary: bool,
    /// The lines, the most important first.
    ///
    /// The measure of the first line is on the left axis, the second measure on the right axis, and further measures on the left
    /// axis. A line without points is omitted.
    pub lines: Vec<Line>,
    /// Number of lines that are not included. The legend shows it.
    pub hidden: usize,
}

/// One series of metrics.
#[derive(Clone, Debug)]
pub struct Line {
    /// The parts of the name, for example branch, testbed, benchmark and measure, in the same order for every line. Parts that
    /// all lines share are shown once.
    pub label: Vec<String>,
    /// The measure. Lines of the same measure share an axis.
    pub measure: MeasureUuid,
    /// The name of the measure.
    pub measure_name: String,
    /// The units of the measure, for example `nanoseconds (ns)`.
    pub units: String,
    /// The metrics, in any order.
    pub points: Vec<Point>,
}

/// One metric of a line. A number that is not finite counts as absent.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The start time of its report.
    pub time: Timestamp,
    /// The number of its version.
    pub version: u32,
    /// The value.
    pub value: f64,
    /// The lower value, if it has one.
    pub lower_value: Option<f64>,
    /// The upper value, if it has one.
    pub upper_value: Option<f64>,
    /// The lower limit of the threshold, if any.
    pub lower_limit: Option<f64>,
    /// The upper limit of the threshold, if any.
    pub upper_limit: Option<f64>,
    /// Whether it raised an alert.
    pub alert: bool,
}

/// Draws a picture as a standalone SVG document.
pub fn svg(picture: &Picture) -> String {
    draw::picture(picture, &chart::Chart::of(picture))
}
