//! `/v0/projects/{project}/export`

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tidemark_api::time::Millis;
use tidemark_store::{ReportId, Tx, export};
use utoipa::IntoParams;

use super::{
    access::{Project, View},
    answer::Binary,
    body::{Query, accepted},
    error::Result,
    project::ProjectPath,
    stream,
};
use crate::domain::{
    app::App,
    export::{Format, Writer},
    perf::list,
};

/// Query parameters of an export. Each list contains UUIDs, separated by commas; without a list, all are exported.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// File format. Default: the format in the header `Accept`, else CSV.
    #[param(inline)]
    format: Option<Format>,
    /// UUIDs of the branches to export, separated by commas; default: all.
    branches: Option<String>,
    /// UUIDs of the testbeds to export, separated by commas; default: all.
    testbeds: Option<String>,
    /// UUIDs of the benchmarks to export, separated by commas; default: all.
    benchmarks: Option<String>,
    /// UUIDs of the measures to export, separated by commas; default: all.
    measures: Option<String>,
    /// Export only runs that began at this time or later, in milliseconds since 1970.
    #[param(inline)]
    start_time: Option<Millis>,
    /// Export only runs that ended at this time or earlier, in milliseconds since 1970.
    #[param(inline)]
    end_time: Option<Millis>,
}

impl ExportQuery {
    fn filter(&self) -> Result<export::ExportFilter> {
        let list = |name, text: &Option<String>| text.as_deref().map(|text| list(name, text)).transpose();
        Ok(export::ExportFilter {
            branches: list("branches", &self.branches)?,
            testbeds: list("testbeds", &self.testbeds)?,
            benchmarks: list("benchmarks", &self.benchmarks)?,
            measures: list("measures", &self.measures)?,
            start_time: self.start_time.map(Into::into),
            end_time: self.end_time.map(Into::into),
        })
    }
}

/// Export the metrics of a project.
///
/// Each metric appears once, on the branch that it was reported on. The order is the order in which the server received the
/// reports.
#[utoipa::path(get, path = "/v0/projects/{project}/export", operation_id = "proj_export_get", tag = "export",
    params(ProjectPath, ExportQuery),
    responses((status = 200, description = "The metrics, one per row.", content(
        (String = "text/csv"), (String = "application/x-ndjson"),
        (inline(Binary) = "application/vnd.apache.parquet")))),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn metrics(
    State(app): State<App>,
    project: Project<View>,
    Query(query): Query<ExportQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let filter = query.filter()?;
    let offered = Format::ALL.map(|format| (format.media_type(), format));
    let format = query.format.or_else(|| accepted(&headers, &offered)).unwrap_or(Format::Csv);
    let id = project.id;
    let write = move |tx: &mut Tx<'_>, sink: &mut stream::Sink| -> Result<()> {
        let mut writer = Writer::new(format, sink)?;
        let mut after = Some(ReportId::from(0));
        while let Some(last) = after {
            let batch = export::batch(tx, id, &filter, last)?;
            for entry in batch.entries() {
                writer.write(&entry?)?;
            }
            after = batch.last();
        }
        Ok(writer.finish()?)
    };
    let ((), body) = stream::body(&app, project.origin.address, move |_| Ok(((), write))).await?;
    let file = format!("attachment; filename=\"{}.{}\"", project.project.slug, format.extension());
    let headers = [
        (header::CONTENT_TYPE, format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, file),
        (header::VARY, "accept".to_owned()),
    ];
    Ok((headers, body).into_response())
}
