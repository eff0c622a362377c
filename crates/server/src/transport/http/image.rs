//! Images of plots: `/v0/projects/{project}/perf/img` and `/v0/projects/{project}/plots/{plot}/img`

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tidemark_api::{PerfMetrics, PerfQuery, XAxis, YAxis};
use tidemark_store::{ProjectId, Tx};
use tokio::task::spawn_blocking;
use utoipa::{IntoParams, ToSchema};

use super::{
    access::{Project, View},
    answer::Binary,
    body::{Path, Query, accepted},
    conditional,
    error::{Error, Result},
    perf::Truncated,
    plot::PlotPath,
    project::ProjectPath,
};
use crate::domain::{
    app::App,
    perf,
    plot::{self, Line, Picture, Point, Theme},
};

/// Query parameters for the format and theme of an image.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ImageStyle {
    /// Image format. Default: the format in the header `Accept`, else JPEG.
    #[param(inline)]
    format: Option<Format>,
    /// Theme of the image, light or dark; default: light.
    #[param(inline)]
    theme: Option<ImageTheme>,
}

/// Query parameters for the content of an image, in addition to its metrics.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ImageContent {
    /// Title of the image; default: the name of the project.
    title: Option<String>,
    /// Value on the horizontal axis; default: the time.
    #[param(inline)]
    x_axis: Option<XAxis>,
    /// Scale of the vertical axis; default: chosen by the data.
    #[param(inline)]
    y_axis: Option<YAxis>,
    /// Show the lower values of the metrics.
    lower_value: Option<bool>,
    /// Show the upper values of the metrics.
    upper_value: Option<bool>,
    /// Show the lower limits of the thresholds.
    lower_boundary: Option<bool>,
    /// Show the upper limits of the thresholds.
    upper_boundary: Option<bool>,
}

/// Image format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    Jpeg,
    Png,
    Svg,
}

/// Theme of an image.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ImageTheme {
    Light,
    Dark,
}

impl Format {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Svg => "image/svg+xml",
        }
    }

    /// Returns the format with the highest weight in the header `Accept`; JPEG if the header names no format.
    fn accepted(headers: &HeaderMap) -> Self {
        let offered = [Self::Jpeg, Self::Png, Self::Svg].map(|format| (format.media_type(), format));
        accepted(headers, &offered).unwrap_or(Self::Jpeg)
    }
}

/// View metrics over time as an image.
///
/// JPEG and PNG images use a font with Latin, Greek and Cyrillic letters. SVG images use the fonts of the reader.
#[utoipa::path(get, path = "/v0/projects/{project}/perf/img", operation_id = "proj_perf_img_get", tag = "perf",
    params(ProjectPath, PerfQuery, ImageContent, ImageStyle),
    responses((status = 200, description = "The picture.", content(
        (inline(Binary) = "image/jpeg"), (inline(Binary) = "image/png"), (String = "image/svg+xml")))),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn of_query(
    State(app): State<App>,
    project: Project<View>,
    Query(query): Query<PerfQuery>,
    Query(content): Query<ImageContent>,
    Query(style): Query<ImageStyle>,
    headers: HeaderMap,
) -> Result<Response> {
    let query = perf::Query::read(&query)?;
    let picture = Picture {
        title: content.title.unwrap_or_else(|| project.project.name.to_string()),
        theme: theme(style),
        x: content.x_axis.unwrap_or(XAxis::DateTime),
        y: content.y_axis.unwrap_or_default(),
        lower_value: content.lower_value.unwrap_or(false),
        upper_value: content.upper_value.unwrap_or(false),
        lower_boundary: content.lower_boundary.unwrap_or(false),
        upper_boundary: content.upper_boundary.unwrap_or(false),
        lines: Vec::new(),
        hidden: 0,
    };
    let id = project.id;
    let read = move |tx: &mut Tx<'_>| {
        let (lines, hidden, truncated) = lines(tx, id, &query)?;
        Ok((Picture { lines, hidden, ..picture }, truncated))
    };
    draw(&app, &project, style, headers, read).await
}

/// View a pinned plot as an image.
///
/// JPEG and PNG images use a font with Latin, Greek and Cyrillic letters. SVG images use the fonts of the reader.
#[utoipa::path(get, path = "/v0/projects/{project}/plots/{plot}/img", operation_id = "proj_plot_img_get",
    tag = "plots", params(PlotPath, ImageStyle),
    responses((status = 200, description = "The picture.", content(
        (inline(Binary) = "image/jpeg"), (inline(Binary) = "image/png"), (String = "image/svg+xml")))),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn of_plot(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<PlotPath>,
    Query(style): Query<ImageStyle>,
    headers: HeaderMap,
) -> Result<Response> {
    let now = app.clock.now();
    let (id, name) = (project.id, project.project.name.to_string());
    let read = move |tx: &mut Tx<'_>| {
        let plot = tidemark_store::plot::find(tx, id, path.plot)?.plot;
        let query = perf::Query::of(
            plot.branches.iter().map(|branch| branch.uuid()).collect(),
            plot.testbeds.iter().map(|testbed| testbed.uuid()).collect(),
            plot.benchmarks.iter().map(|benchmark| benchmark.uuid()).collect(),
            plot.measures.iter().map(|measure| measure.uuid()).collect(),
            now.plus_seconds(-i64::from(plot.window.get())),
        );
        let (lines, hidden, truncated) = lines(tx, id, &query)?;
        let picture = Picture {
            title: plot.title.map_or(name, |title| title.to_string()),
            theme: theme(style),
            x: plot.x_axis,
            y: plot.y_axis,
            lower_value: plot.lower_value,
            upper_value: plot.upper_value,
            lower_boundary: plot.lower_boundary,
            upper_boundary: plot.upper_boundary,
            lines,
            hidden,
        };
        Ok((picture, truncated))
    };
    draw(&app, &project, style, headers, read).await
}

const fn theme(style: ImageStyle) -> Theme {
    match style.theme {
        Some(ImageTheme::Dark) => Theme::Dark,
        Some(ImageTheme::Light) | None => Theme::Light,
    }
}

/// Returns the lines of a query, the number of further series, and the requested number if the query was truncated.
fn lines(tx: &mut Tx<'_>, project: ProjectId, query: &perf::Query) -> Result<(Vec<Line>, usize, Truncated)> {
    let mut found = perf::find(tx, project, query)?;
    let truncated = Truncated(found.truncated());
    let mut lines = Vec::new();
    while lines.len() < plot::LINES
        && let Some(metrics) = found.next_of(tx, plot::LINES - lines.len())?
    {
        lines.push(line(&metrics));
    }
    Ok((lines, found.count_rest(tx)?, truncated))
}

fn line(metrics: &PerfMetrics) -> Line {
    let benchmark = match &metrics.variant {
        None => metrics.benchmark.name.to_string(),
        Some(variant) => {
            let parameters: Vec<String> =
                variant.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} ({})", metrics.benchmark.name, parameters.join(", "))
        }
    };
    let points = metrics.metrics.iter().map(|point| {
        let boundary = point.boundary.unwrap_or_default();
        Point {
            time: point.start_time,
            version: point.version.number,
            value: point.metric.value,
            lower_value: point.metric.lower_value,
            upper_value: point.metric.upper_value,
            lower_limit: boundary.lower_limit,
            upper_limit: boundary.upper_limit,
            alert: point.alert.is_some(),
        }
    });
    Line {
        label: vec![
            metrics.branch.name.to_string(),
            metrics.testbed.name.to_string(),
            benchmark,
            metrics.measure.name.to_string(),
        ],
        measure: metrics.measure.uuid,
        measure_name: metrics.measure.name.to_string(),
        units: metrics.measure.units.to_string(),
        points: points.collect(),
    }
}

/// Reads and renders an image, or returns 304 if the client already has it.
async fn draw(
    app: &App,
    project: &Project<View>,
    style: ImageStyle,
    headers: HeaderMap,
    read: impl FnOnce(&mut Tx<'_>) -> Result<(Picture, Truncated)> + Send + 'static,
) -> Result<Response> {
    let permit = app.pictures.acquire(project.origin.address).await?;
    let held = Arc::clone(&permit);
    let read = move |tx: &mut Tx<'_>| {
        let _held = held;
        read(tx)
    };
    let (picture, truncated) = app.db.read(read).await?;
    let format = style.format.unwrap_or_else(|| Format::accepted(&headers));
    let draw = move || {
        let _held = permit;
        let svg = plot::svg(&picture);
        // Each format of an image needs a separate ETag.
        let kind = format.media_type().trim_start_matches("image/");
        let tag = format!("\"{}-{kind}\"", conditional::digest(&svg));
        if conditional::is_known(&headers, &tag) {
            return Ok::<_, Error>((tag, None));
        }
        let bytes = match format {
            Format::Svg => Ok(svg.into_bytes()),
            Format::Png => plot::png(&svg),
            Format::Jpeg => plot::jpeg(&svg),
        };
        Ok((tag, Some(bytes.map_err(|error| Error::Internal(error.into()))?)))
    };
    let (tag, bytes) = spawn_blocking(draw).await.map_err(|error| Error::Internal(error.into()))??;
    let cache = conditional::cache(project.project.visibility);
    let shared =
        [(header::CACHE_CONTROL, cache.to_owned()), (header::ETAG, tag), (header::VARY, "accept".to_owned())];
    Ok(match bytes {
        None => (StatusCode::NOT_MODIFIED, truncated, shared).into_response(),
        Some(bytes) => {
            (truncated, shared, [(header::CONTENT_TYPE, format.media_type())], bytes).into_response()
        }
    })
}
