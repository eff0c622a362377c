//! The layout and the style of the parts of a picture.

use super::{
    HEIGHT, Picture, WIDTH,
    calendar::XTick,
    canvas::{Anchor, Canvas, Dot, Stroke, TextStyle},
    chart::{Axes, Axis, Chart, ChartPoint, Series, Side},
    legend::Legend,
    text::{self, Weight},
    theme::Colors,
    thin::{self, Edge},
};

/// Space at the edges.
pub(super) const MARGIN: f64 = 36.0;

/// Maximum number of characters of a title.
const TITLE_CHARACTERS: usize = 120;
const TITLE_SIZES: (f64, f64) = (15.0, 24.0);
const SMALL: f64 = 13.0;
/// Distance between an axis and its labels.
const TICK_GAP: f64 = 10.0;
/// Distance from the axes to the outermost points, so that the points are completely visible.
const INSET: f64 = 12.0;
/// Height of the two lines of labels below the chart.
const X_LABELS: f64 = 48.0;
const FOOTER: f64 = 42.0;
/// Maximum number of points of a line with dots. More dots would hide the line.
const MAX_DOTS: usize = 80;
/// Total length of all lines in pixels from which on they are drawn thin: there is no space for thicker lines, and thin lines are
/// much faster to draw.
const LONG: f64 = 25_000.0;
/// Maximum length of dashed limits. Longer ones would be slow to draw and unreadable.
const LONGEST_DASHED: f64 = 10_000.0;
/// Width in pixels in which bands and limits show only their outermost point.
const BOUND_WIDTH: f64 = 3.0;
/// Minimum distance of alert markers. Closer markers would cover each other.
const ALERT_WIDTH: f64 = 8.0;
/// Length of the limits of a single point on each side.
const STUB: f64 = 9.0;

/// The edges of the area in which lines are drawn.
#[derive(Clone, Copy)]
struct PlotArea {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Draws a picture.
pub(super) fn picture(picture: &Picture, chart: &Chart<'_>) -> String {
    let colors = picture.theme.colors();
    let title = text::shorten(&text::clean(&picture.title), TITLE_CHARACTERS);
    let legend = Legend::of(chart);
    let mut canvas = Canvas::new(&title, colors.background);
    let heading = heading(&mut canvas, colors, &title, &legend.shared);
    let legend_top = f64::from(HEIGHT) - FOOTER - legend.height();
    match &chart.axes {
        None => no_data(&mut canvas, colors, heading),
        Some(axes) => {
            let plot_area = plot_area(axes, heading + 40.0, legend_top - X_LABELS);
            let titled = |side| axis_color(chart, axes, side, colors);
            axis_titles(&mut canvas, axes, plot_area, [titled(Side::Left), titled(Side::Right)]);
            vertical(&mut canvas, colors, axes, plot_area);
            horizontal(&mut canvas, colors, axes, plot_area);
            series(&mut canvas, colors, chart, axes, plot_area);
        }
    }
    legend.draw(&mut canvas, colors, legend_top);
    keys(&mut canvas, colors, chart);
    mark(&mut canvas, colors);
    canvas.finish()
}

/// Writes the title and the parts of the names that all lines share. Returns the bottom of the heading.
fn heading(canvas: &mut Canvas, colors: &Colors, title: &str, shared: &str) -> f64 {
    let available_width = f64::from(WIDTH) - 2.0 * MARGIN;
    let (size, title) = text::fit(title, Weight::SemiBold, TITLE_SIZES, available_width);
    let style = TextStyle { size, weight: Weight::SemiBold, anchor: Anchor::Start, color: colors.text };
    canvas.text(Dot { x: MARGIN, y: 52.0 }, style, &title);
    if shared.is_empty() {
        return 60.0;
    }
    let shared = text::cut_middle(shared, 14.0, Weight::Regular, available_width);
    let style = TextStyle { size: 14.0, weight: Weight::Regular, anchor: Anchor::Start, color: colors.muted };
    canvas.text(Dot { x: MARGIN, y: 75.0 }, style, &shared);
    82.0
}

fn no_data(canvas: &mut Canvas, colors: &Colors, heading: f64) {
    let plot_area = PlotArea {
        left: MARGIN,
        right: f64::from(WIDTH) - MARGIN,
        top: heading + 16.0,
        bottom: f64::from(HEIGHT) - FOOTER - 16.0,
    };
    let corners = [
        Dot { x: plot_area.left, y: plot_area.top },
        Dot { x: plot_area.right, y: plot_area.top },
        Dot { x: plot_area.right, y: plot_area.bottom },
        Dot { x: plot_area.left, y: plot_area.bottom },
    ];
    canvas.area(&corners, colors.grid, 0.4);
    let style =
        TextStyle { size: 22.0, weight: Weight::SemiBold, anchor: Anchor::Middle, color: colors.muted };
    let center = Dot {
        x: f64::midpoint(plot_area.left, plot_area.right),
        y: f64::midpoint(plot_area.top, plot_area.bottom),
    };
    canvas.text(center, style, "No data");
}

fn plot_area(axes: &Axes, top: f64, bottom: f64) -> PlotArea {
    let labels = |axis: &Axis| {
        let widths = axis.scale.ticks.iter().map(|tick| text::width(&tick.label, SMALL, Weight::Regular));
        widths.fold(0.0, f64::max) + TICK_GAP
    };
    PlotArea {
        left: (MARGIN + labels(&axes.left)).ceil(),
        right: (f64::from(WIDTH) - MARGIN - axes.right.as_ref().map_or(0.0, labels)).floor(),
        top: top.round(),
        bottom: bottom.round(),
    }
}

/// Returns the color of the title of an axis: the color of its line if there are two axes and this one has a single line.
fn axis_color(chart: &Chart<'_>, axes: &Axes, side: Side, colors: &Colors) -> &'static str {
    let mut own = chart.series.iter().zip(colors.lines).filter(|(series, _)| series.side == side);
    match (axes.right.is_some(), own.next(), own.next()) {
        (true, Some((_, color)), None) => color,
        _ => colors.text,
    }
}

fn axis_titles(canvas: &mut Canvas, axes: &Axes, plot_area: PlotArea, colors: [&'static str; 2]) {
    let width = f64::from(WIDTH) - 2.0 * MARGIN;
    let available_width = if axes.right.is_some() { width / 2.0 - 20.0 } else { width };
    let y = plot_area.top - 16.0;
    let sides =
        [(Some(&axes.left), MARGIN, Anchor::Start), (axes.right.as_ref(), MARGIN + width, Anchor::End)];
    for ((axis, x, anchor), color) in sides.into_iter().zip(colors) {
        if let Some(axis) = axis {
            let style = TextStyle { size: SMALL, weight: Weight::SemiBold, anchor, color };
            canvas.text(
                Dot { x, y },
                style,
                &text::cut_end(&axis.title, SMALL, Weight::SemiBold, available_width),
            );
        }
    }
}

/// Draws the grid and the labels at both sides.
fn vertical(canvas: &mut Canvas, colors: &Colors, axes: &Axes, plot_area: PlotArea) {
    let row = |canvas: &mut Canvas, y: f64, stroke: Stroke| {
        let y = y.floor() + 0.5;
        canvas.segment(Dot { x: plot_area.left, y }, Dot { x: plot_area.right, y }, stroke);
    };
    let grid = Stroke::solid(colors.grid, 1.0);
    for value in &axes.left.scale.minor {
        row(canvas, plot_area.height(axes.left.scale.share(*value)), Stroke { opacity: 0.55, ..grid });
    }
    let style = TextStyle { size: SMALL, weight: Weight::Regular, anchor: Anchor::End, color: colors.muted };
    for tick in &axes.left.scale.ticks {
        let y = plot_area.height(axes.left.scale.share(tick.value));
        row(canvas, y, grid);
        canvas.text(Dot { x: plot_area.left - TICK_GAP, y: y + 4.5 }, style, &tick.label);
    }
    for tick in axes.right.iter().flat_map(|axis| &axis.scale.ticks) {
        let y = plot_area.height(axes.at(Side::Right).scale.share(tick.value));
        let end = y.floor() + 0.5;
        let from = Dot { x: plot_area.right, y: end };
        canvas.segment(from, Dot { x: plot_area.right + 4.0, y: end }, Stroke::solid(colors.axis, 1.0));
        let style = TextStyle { anchor: Anchor::Start, ..style };
        canvas.text(Dot { x: plot_area.right + TICK_GAP, y: y + 4.5 }, style, &tick.label);
    }
    row(canvas, plot_area.bottom, Stroke::solid(colors.axis, 1.0));
}

/// Draws the ticks at the bottom and their labels, without labels that would touch their neighbor.
fn horizontal(canvas: &mut Canvas, colors: &Colors, axes: &Axes, plot_area: PlotArea) {
    let style =
        TextStyle { size: SMALL, weight: Weight::Regular, anchor: Anchor::Middle, color: colors.muted };
    let mut free_from = f64::NEG_INFINITY;
    for mark in &axes.x_scale.ticks {
        let x = plot_area.across(axes.x_scale.share(mark.place));
        let line = x.floor() + 0.5;
        let (from, to) = (Dot { x: line, y: plot_area.bottom }, Dot { x: line, y: plot_area.bottom + 5.0 });
        canvas.segment(from, to, Stroke::solid(colors.axis, 1.0));
        let half = text::width(&mark.label, SMALL, Weight::Regular) / 2.0;
        if x - half >= free_from {
            canvas.text(Dot { x, y: plot_area.bottom + 21.0 }, style, &mark.label);
            free_from = x + half + 8.0;
        }
    }
    let style = TextStyle { weight: Weight::SemiBold, anchor: Anchor::Start, ..style };
    let mut end = f64::INFINITY;
    for (mark, from) in contexts(&axes.x_scale.ticks).into_iter().rev() {
        let half = text::width(&from.label, SMALL, Weight::Regular) / 2.0;
        let x = plot_area.across(axes.x_scale.share(from.place)) - half;
        let width = text::width(mark, SMALL, Weight::SemiBold);
        let x = x.min(f64::from(WIDTH) - MARGIN / 2.0 - width);
        if x + width + 12.0 <= end {
            canvas.text(Dot { x, y: plot_area.bottom + 38.0 }, style, mark);
            end = x;
        }
    }
}

/// Returns each context with its first tick.
fn contexts(ticks: &[XTick]) -> Vec<(&str, &XTick)> {
    let mut contexts: Vec<(&str, &XTick)> = Vec::new();
    for mark in ticks {
        if contexts.last().is_none_or(|(context, _)| *context != mark.context) {
            contexts.push((&mark.context, mark));
        }
    }
    contexts
}

fn series(canvas: &mut Canvas, colors: &Colors, chart: &Chart<'_>, axes: &Axes, plot_area: PlotArea) {
    // The first line is the most important one and is drawn on top.
    let layers = || chart.series.iter().zip(colors.lines).rev();
    for (series, color) in layers() {
        bounds(canvas, plot_area, axes, series, color);
    }
    let values =
        |(series, color)| (thin::columns(&plot_area.dots(axes, series, |point| Some(point.value))), color);
    let lines: Vec<(Vec<Dot>, &'static str)> = layers().map(values).collect();
    let total: f64 = lines.iter().map(|(dots, _)| length(dots)).sum();
    let width = if total > LONG { 1.0 } else { 2.0 };
    for (dots, color) in lines {
        canvas.polyline(&dots, Stroke::solid(color, width));
        if dots.len() <= MAX_DOTS {
            canvas.disks(&dots, if dots.len() == 1 { 4.0 } else { 2.6 }, color);
        }
    }
    for (series, _) in layers() {
        let alerts = plot_area.dots(axes, series, |point| point.alert.then_some(point.value));
        for dot in thin::markers(&alerts, ALERT_WIDTH) {
            canvas.target(dot, colors.alert, colors.background);
        }
    }
}

/// Draws the bounds of the values of a line as a band, and the limits as dashed lines.
fn bounds(canvas: &mut Canvas, plot_area: PlotArea, axes: &Axes, series: &Series<'_>, color: &'static str) {
    let axis = axes.at(series.side);
    let value_band = |point: &ChartPoint| {
        (point.lower_value.is_some() || point.upper_value.is_some())
            .then(|| (point.lower_value.unwrap_or(point.value), point.upper_value.unwrap_or(point.value)))
    };
    let limit_band = |point: &ChartPoint| point.lower_limit.zip(point.upper_limit);
    band(canvas, plot_area, axes, series, &limit_band, (color, 0.07));
    band(canvas, plot_area, axes, series, &value_band, (color, 0.18));
    for edge in [Edge::Bottom, Edge::Top] {
        let limit = |point: &ChartPoint| match edge {
            Edge::Bottom => point.lower_limit.filter(|limit| axis.shows(*limit)),
            Edge::Top => point.upper_limit.filter(|limit| axis.shows(*limit)),
        };
        for run in plot_area.runs(axes, series, edge, limit) {
            let dashed = length(&run) <= LONGEST_DASHED;
            let stroke = if dashed {
                Stroke { color, width: 1.3, dashed, opacity: 0.85 }
            } else {
                Stroke { color, width: 1.0, dashed, opacity: 0.4 }
            };
            canvas.polyline(&run, stroke);
        }
    }
}

fn band(
    canvas: &mut Canvas,
    plot_area: PlotArea,
    axes: &Axes,
    series: &Series<'_>,
    ends: &dyn Fn(&ChartPoint) -> Option<(f64, f64)>,
    (color, opacity): (&'static str, f64),
) {
    let lower = plot_area.runs(axes, series, Edge::Bottom, |point| ends(point).map(|(lower, _)| lower));
    let upper = plot_area.runs(axes, series, Edge::Top, |point| ends(point).map(|(_, upper)| upper));
    for (lower, upper) in lower.into_iter().zip(upper) {
        let outline: Vec<Dot> = upper.into_iter().chain(lower.into_iter().rev()).collect();
        canvas.area(&outline, color, opacity);
    }
}

/// Returns the run, or a short line for a single point, so that it is visible.
fn widened(run: Vec<Dot>) -> Vec<Dot> {
    match run[..] {
        [Dot { x, y }] => vec![Dot { x: x - STUB, y }, Dot { x: x + STUB, y }],
        _ => run,
    }
}

/// Returns the length of a line through points.
fn length(dots: &[Dot]) -> f64 {
    dots.windows(2).map(|pair| (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y)).sum()
}

/// Draws the key of the symbols in use, at the bottom left.
fn keys(canvas: &mut Canvas, colors: &Colors, chart: &Chart<'_>) {
    let any =
        |sign: fn(&ChartPoint) -> bool| chart.series.iter().any(|series| series.points.iter().any(sign));
    let style = TextStyle { size: 12.0, weight: Weight::Regular, anchor: Anchor::Start, color: colors.muted };
    let y = f64::from(HEIGHT) - 22.0;
    let mut x = MARGIN;
    if any(|point| point.alert) {
        canvas.target(Dot { x: x + 10.0, y }, colors.alert, colors.background);
        x = key(canvas, style, Dot { x, y }, "Alert");
    }
    if any(|point| point.lower_limit.is_some() || point.upper_limit.is_some()) {
        let stroke = Stroke { color: colors.muted, width: 1.3, dashed: true, opacity: 1.0 };
        canvas.segment(Dot { x, y }, Dot { x: x + 22.0, y }, stroke);
        x = key(canvas, style, Dot { x, y }, "Boundary");
    }
    if any(|point| point.lower_value.is_some() || point.upper_value.is_some()) {
        let corners = [(x, y - 5.0), (x + 20.0, y - 5.0), (x + 20.0, y + 5.0), (x, y + 5.0)];
        canvas.area(&corners.map(|(x, y)| Dot { x, y }), colors.muted, 0.3);
        key(canvas, style, Dot { x, y }, "Lower to upper value");
    }
}

fn key(canvas: &mut Canvas, style: TextStyle, at: Dot, name: &str) -> f64 {
    canvas.text(Dot { x: at.x + 30.0, y: at.y + 4.0 }, style, name);
    at.x + 30.0 + text::width(name, style.size, style.weight) + 24.0
}

/// Draws the logo at the bottom right.
fn mark(canvas: &mut Canvas, colors: &Colors) {
    let (right, y) = (f64::from(WIDTH) - MARGIN, f64::from(HEIGHT) - 22.0);
    let style = TextStyle { size: 13.0, weight: Weight::SemiBold, anchor: Anchor::End, color: colors.brand };
    canvas.text(Dot { x: right, y: y + 4.0 }, style, "tidemark");
    let start = right - text::width("tidemark", style.size, style.weight) - 26.0;
    let wave: Vec<Dot> = (0..=18)
        .map(|step| {
            let angle = f64::from(step) * std::f64::consts::TAU / 9.0;
            Dot { x: start + f64::from(step), y: y - angle.sin() * 3.2 }
        })
        .collect();
    canvas.polyline(&wave, Stroke::solid(colors.brand, 2.0));
}

impl PlotArea {
    /// Returns the y coordinate of a position on the vertical axis.
    fn height(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    /// Returns the x coordinate of a position on the horizontal axis.
    fn across(&self, share: f64) -> f64 {
        self.left + INSET + share * (self.right - self.left - 2.0 * INSET)
    }

    /// Returns the positions of a number of each point that has it.
    fn dots(
        &self,
        axes: &Axes,
        series: &Series<'_>,
        number: impl Fn(&ChartPoint) -> Option<f64>,
    ) -> Vec<Dot> {
        let axis = axes.at(series.side);
        let places = series.points.iter().filter_map(|point| Some((point.place, number(point)?)));
        places.map(|(place, number)| self.dot(axes, axis, place, number)).collect()
    }

    /// Returns the outermost positions, as runs of adjacent points that have the number.
    fn runs(
        &self,
        axes: &Axes,
        series: &Series<'_>,
        edge: Edge,
        number: impl Fn(&ChartPoint) -> Option<f64>,
    ) -> Vec<Vec<Dot>> {
        let axis = axes.at(series.side);
        let places = series.points.iter().map(|point| {
            let dot = self.dot(axes, axis, point.place, number(point).unwrap_or(point.value));
            (dot, number(point).is_some())
        });
        let outermost = thin::envelope(&places.collect::<Vec<_>>(), BOUND_WIDTH, edge);
        outermost
            .split(Option::is_none)
            .filter(|run| !run.is_empty())
            .map(|run| widened(run.iter().copied().flatten().collect()))
            .collect()
    }

    fn dot(&self, axes: &Axes, axis: &Axis, place: f64, number: f64) -> Dot {
        Dot { x: self.across(axes.x_scale.share(place)), y: self.height(axis.share(number)) }
    }
}
