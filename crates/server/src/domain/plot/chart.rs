//! Selects the lines of a picture, their axes and their scales. `draw` has the layout.

use std::ops::RangeInclusive;

use tidemark_api::{MeasureUuid, Unit, XAxis, YAxis, unit};

use super::{LINES, Line, Picture, Point, calendar::XScale, scale::Scale, text};

/// Maximum magnitude of a number. Larger numbers are clamped, so that differences stay finite.
const LARGEST: f64 = 1e300;
/// Minimum magnitude of a number. Smaller numbers count as zero, so that quotients stay finite.
const SMALLEST: f64 = 1e-300;
/// Ratio of the largest to the smallest value from which on an automatic axis is logarithmic.
const LOG_SCALE_RATIO: f64 = 10.0;

/// A picture with cleaned numbers and selected axes.
pub(super) struct Chart<'a> {
    /// The lines that are drawn.
    pub(super) series: Vec<Series<'a>>,
    /// Number of lines that are not drawn.
    pub(super) hidden: usize,
    /// The axes; `None` without data.
    pub(super) axes: Option<Axes>,
}

/// The axes of a chart.
pub(super) struct Axes {
    pub(super) x_scale: XScale,
    pub(super) left: Axis,
    pub(super) right: Option<Axis>,
}

/// A vertical axis.
pub(super) struct Axis {
    pub(super) title: String,
    pub(super) scale: Scale,
    divisor: f64,
}

/// A line that is drawn.
pub(super) struct Series<'a> {
    pub(super) line: &'a Line,
    pub(super) side: Side,
    /// The points from left to right.
    pub(super) points: Vec<ChartPoint>,
}

/// A vertical edge of the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The visible numbers of a point. Every number is finite.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChartPoint {
    pub(super) place: f64,
    pub(super) value: f64,
    pub(super) lower_value: Option<f64>,
    pub(super) upper_value: Option<f64>,
    pub(super) lower_limit: Option<f64>,
    pub(super) upper_limit: Option<f64>,
    pub(super) alert: bool,
}

impl<'a> Chart<'a> {
    /// Selects the lines and axes.
    pub(super) fn of(picture: &'a Picture) -> Self {
        let mut series: Vec<Series<'a>> = Vec::new();
        let mut hidden = picture.hidden;
        let mut measures: Vec<MeasureUuid> = Vec::new();
        for line in &picture.lines {
            if series.len() == LINES {
                hidden += usize::from(line.points.iter().any(|point| point.value.is_finite()));
                continue;
            }
            let points = chart_points(picture, &line.points);
            if points.is_empty() {
                continue;
            }
            if !measures.contains(&line.measure) {
                measures.push(line.measure);
            }
            let side = if measures.get(1) == Some(&line.measure) { Side::Right } else { Side::Left };
            series.push(Series { line, side, points });
        }
        let axes = axes(picture, &series);
        Self { series, hidden, axes }
    }
}

impl Axes {
    /// Returns the axis at an edge.
    pub(super) fn at(&self, side: Side) -> &Axis {
        match (side, &self.right) {
            (Side::Right, Some(right)) => right,
            _ => &self.left,
        }
    }
}

impl Axis {
    /// Returns the position of a number, from 0 at the bottom to 1 at the top. Numbers outside the range are at the edge.
    pub(super) fn share(&self, value: f64) -> f64 {
        self.scale.share(value / self.divisor).clamp(0.0, 1.0)
    }

    /// Whether a number is inside the range of the axis. Limits may be outside, and a logarithmic axis shows only positive
    /// numbers.
    pub(super) fn shows(&self, value: f64) -> bool {
        self.scale.shows(value) && (0.0..=1.0).contains(&self.scale.share(value / self.divisor))
    }

    fn of(y: YAxis, series: &[&Series<'_>], level_with: Option<&Scale>) -> Option<Self> {
        let values = || series.iter().flat_map(|series| &series.points).map(|point| point.value);
        let (least, most) = min_max(values())?;
        let log = least > 0.0
            && match y {
                YAxis::Auto => most / least >= LOG_SCALE_RATIO,
                YAxis::Linear => false,
                YAxis::Log => true,
            };
        // On a logarithmic axis, numbers that are not positive are below the range.
        let places = |number: &f64| !log || *number > 0.0;
        let points = || series.iter().flat_map(|series| &series.points);
        let (low, high) = min_max(points().flat_map(ChartPoint::numbers).filter(places))?;
        let near = limit_range(series, log, low, high);
        let limits =
            points().flat_map(ChartPoint::limits).filter(|limit| places(limit) && near.contains(limit));
        let (low, high) = min_max(limits.chain([low, high]))?;
        let (title, divisor) = title(series, if low > 0.0 { low } else { low.abs().max(high.abs()) });
        let (low, high) = (low / divisor, high / divisor);
        let scale = match level_with {
            _ if log => Scale::logarithmic(low, high),
            Some(other) if !other.is_log() => Scale::level_with(other, low, high),
            _ => Scale::linear(low, high),
        };
        Some(Self { title, scale, divisor })
    }
}

impl ChartPoint {
    fn numbers(&self) -> impl Iterator<Item = f64> {
        [Some(self.value), self.lower_value, self.upper_value].into_iter().flatten()
    }

    fn limits(&self) -> impl Iterator<Item = f64> {
        [self.lower_limit, self.upper_limit].into_iter().flatten()
    }
}

/// Returns the range to which limits may extend an axis beyond the numbers from `low` to `high`: to the median limit of a line,
/// and to limits near the numbers. The limits after the first few values of a history can be far away and would flatten all
/// lines.
fn limit_range(series: &[&Series<'_>], log: bool, low: f64, high: f64) -> RangeInclusive<f64> {
    let usual = |limit: fn(&ChartPoint) -> Option<f64>| {
        series.iter().filter_map(move |series| {
            let mut limits: Vec<f64> = series.points.iter().filter_map(limit).collect();
            limits.sort_by(f64::total_cmp);
            limits.get(limits.len() / 2).copied()
        })
    };
    let (below, above) = if log {
        (low / LOG_SCALE_RATIO, high * LOG_SCALE_RATIO)
    } else {
        (low - (high - low), high + (high - low))
    };
    let below = usual(|point| point.lower_limit).fold(below, f64::min);
    let above = usual(|point| point.upper_limit).fold(above, f64::max);
    below..=above
}

fn chart_points(picture: &Picture, points: &[Point]) -> Vec<ChartPoint> {
    let only = |wanted: bool, number: Option<f64>| number.filter(|_| wanted).and_then(clamped);
    let mut shown: Vec<ChartPoint> = points
        .iter()
        .filter_map(|point| {
            Some(ChartPoint {
                place: match picture.x {
                    XAxis::DateTime => point.time.micros() as f64,
                    XAxis::Version => f64::from(point.version),
                },
                value: clamped(point.value)?,
                lower_value: only(picture.lower_value, point.lower_value),
                upper_value: only(picture.upper_value, point.upper_value),
                lower_limit: only(picture.lower_boundary, point.lower_limit),
                upper_limit: only(picture.upper_boundary, point.upper_limit),
                alert: point.alert,
            })
        })
        .collect();
    shown.sort_by(|one, other| one.place.total_cmp(&other.place));
    shown
}

fn clamped(number: f64) -> Option<f64> {
    if !number.is_finite() {
        None
    } else if number.abs() < SMALLEST {
        Some(0.0)
    } else {
        Some(number.clamp(-LARGEST, LARGEST))
    }
}

fn axes(picture: &Picture, series: &[Series<'_>]) -> Option<Axes> {
    let on = |side: Side| series.iter().filter(|series| series.side == side).collect::<Vec<_>>();
    let (low, high) = min_max(series.iter().flat_map(|series| &series.points).map(|point| point.place))?;
    let left = Axis::of(picture.y, &on(Side::Left), None)?;
    let right = Axis::of(picture.y, &on(Side::Right), Some(&left.scale));
    Some(Axes { x_scale: XScale::of(picture.x, low, high), left, right })
}

/// Returns the title of the axis that some lines share, and the divisor of its numbers.
fn title(series: &[&Series<'_>], size: f64) -> (String, f64) {
    let mut measures: Vec<&Line> = Vec::new();
    for one in series {
        if !measures.iter().any(|line| line.measure == one.line.measure) {
            measures.push(one.line);
        }
    }
    let with = |name: &str, symbol: &str| {
        let (name, symbol) = (text::clean(name), text::clean(symbol));
        if symbol.is_empty() || symbol.eq_ignore_ascii_case(&name) {
            name
        } else {
            format!("{name} ({symbol})")
        }
    };
    if let Some(first) = measures.first()
        && measures.iter().all(|line| line.units == first.units)
    {
        // Units that only repeat the name are omitted.
        let repeats = first.units.eq_ignore_ascii_case(&first.measure_name);
        let unit = Unit::for_size(if repeats { "" } else { &first.units }, size);
        let names: Vec<&str> = measures.iter().map(|line| line.measure_name.as_str()).collect();
        return (with(&names.join(", "), &unit.symbol), unit.divisor);
    }
    // One divisor does not fit different units.
    let titles: Vec<String> =
        measures.iter().map(|line| with(&line.measure_name, unit::symbol(&line.units))).collect();
    (titles.join(", "), 1.0)
}

fn min_max(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |ends, number| match ends {
        None => Some((number, number)),
        Some((low, high)) => Some((low.min(number), high.max(number))),
    })
}
