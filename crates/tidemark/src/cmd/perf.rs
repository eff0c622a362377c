//! `tidemark perf`: metrics over time, as a table, as JSON or as an image.

use std::{
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
};

use serde::Serialize;
use tidemark_api::{Benchmark, Branch, HeadUuid, Measure, NameId, Perf, PerfQuery, Testbed};
use tidemark_client::{perf, perf_image};
use uuid::Uuid;

use super::{report::TimeRangeFlags, testbed};
use crate::{
    connection::Connection,
    dimension::{Dimension, NameList},
    failure::{Failure, Result, print},
    file::{OutputFile, cannot_write},
    output,
    resource::{NewValue, OutputFlags, ProjectArgument, Session, optional},
    table::{Column, Table},
};

/// Arguments of `tidemark perf`.
#[derive(clap::Args)]
pub(crate) struct PerfArguments {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: OutputFlags,
    #[command(flatten)]
    project: ProjectArgument,
    /// Branch UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "BRANCH", required = true)]
    branches: Vec<NameList>,
    /// Head UUID of each branch, in the same order; `_` is the current head
    #[arg(long, value_name = "UUID", value_delimiter = ',')]
    heads: Vec<NewValue<HeadUuid>>,
    /// Testbed UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "TESTBED", required = true)]
    testbeds: Vec<NameList>,
    /// Spec of each testbed, in the same order: UUID, slug or name; `_` is any spec
    #[arg(long, value_name = "SPEC", value_delimiter = ',')]
    specs: Vec<NewValue<NameId>>,
    /// Benchmark UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "BENCHMARK", required = true)]
    benchmarks: Vec<NameList>,
    /// Measure UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "MEASURE", required = true)]
    measures: Vec<NameList>,
    #[command(flatten)]
    time: TimeRangeFlags,
    /// Write the plot as an image to this file; its extension is the format: png, svg or jpg
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    image: Option<PathBuf>,
    /// Title of the image [default: the name of the project]
    #[arg(long, requires = "image")]
    title: Option<String>,
}

/// Parameters of an image.
#[derive(Serialize)]
struct ImageStyle<'a> {
    format: &'static str,
    title: Option<&'a str>,
}

impl PerfArguments {
    pub(crate) fn run(&self) -> Result {
        let format = self.image.as_deref().map(image_format).transpose()?;
        let image = self.image.as_deref().zip(format);
        let session = Session { client: self.connection.client()?, json: self.format.json };
        let testbeds = session.find_all::<Testbed>(&self.project, &self.testbeds)?;
        let query = PerfQuery {
            branches: self.uuids::<Branch>(&session, &self.branches)?,
            heads: given(&self.heads),
            testbeds: joined(&testbeds),
            specs: given(&self.specs(&session, &testbeds)?),
            benchmarks: self.uuids::<Benchmark>(&session, &self.benchmarks)?,
            measures: self.uuids::<Measure>(&session, &self.measures)?,
            start_time: self.time.start(),
            end_time: self.time.end(),
        };
        if let Some((file, format)) = image {
            let style = ImageStyle { format, title: self.title.as_deref() };
            let answer = session.client.fetch(&perf_image(self.project.id()?, &query, &style))?;
            warn_if_truncated(answer.truncated);
            let mut output = OutputFile::create(file)?;
            output.write_all(answer.bytes()).map_err(|error| cannot_write(file, &error))?;
            return output.finish();
        }
        let answer = session.client.fetch(&perf(self.project.id()?, &query))?;
        warn_if_truncated(answer.truncated);
        if session.json {
            return print(&format!("{}\n", output::pretty(answer.json()?)));
        }
        let perf = answer.read()?;
        if perf.results.is_empty() {
            message!("No entries.");
        }
        print(&table(&perf))
    }

    /// Returns the UUIDs of the specs.
    fn specs(&self, session: &Session, testbeds: &[Uuid]) -> Result<Vec<NewValue<Uuid>>> {
        let project = self.project.id()?;
        let find = |(index, spec): (usize, &NewValue<NameId>)| {
            let Some(id) = &spec.0 else { return Ok(NewValue(None)) };
            let testbed = testbeds.get(index).ok_or_else(|| {
                Failure::usage(format!(
                    "--specs has more values than --testbeds, which has {}.",
                    testbeds.len()
                ))
            })?;
            testbed::find_spec(session, project, *testbed, id).map(|uuid| NewValue(Some(uuid)))
        };
        self.specs.iter().enumerate().map(find).collect()
    }

    /// Returns the UUIDs of resources, separated by commas.
    fn uuids<D: Dimension>(&self, session: &Session, lists: &[NameList]) -> Result<String> {
        Ok(joined(&session.find_all::<D>(&self.project, lists)?))
    }
}

fn warn_if_truncated(requested: Option<u64>) {
    if let Some(requested) = requested {
        message!("warning: {requested} combinations were requested; only the first ones are shown.");
    }
}

/// Returns the format of an image from the extension of its file.
fn image_format(file: &Path) -> Result<&'static str> {
    let extension = file.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("png") => Ok("png"),
        Some("svg") => Ok("svg"),
        Some("jpg" | "jpeg") => Ok("jpeg"),
        _ => Err(Failure::usage(format!(
            "The extension of {} is not the format of an image; use .png, .svg or .jpg.",
            file.display()
        ))),
    }
}

fn given<T: ToString>(list: &[NewValue<T>]) -> Option<String> {
    let texts: Vec<_> = list.iter().map(|item| optional(item.0.as_ref().map(ToString::to_string))).collect();
    (!texts.is_empty()).then(|| joined(&texts))
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn table(perf: &Perf) -> String {
    let columns = [
        Column::Text("Branch"),
        Column::Text("Testbed"),
        Column::Benchmark("Benchmark"),
        Column::Text("Measure"),
        Column::Left("Began"),
        Column::Right("Version"),
        Column::Left("Commit"),
        Column::Right("Iteration"),
        Column::Right("Value"),
        Column::Right("Baseline"),
        Column::Right("Limit"),
        Column::Left("Alert"),
    ];
    let droppable =
        &["Iteration", "Version", "Testbed", "Branch", "Baseline", "Commit", "Limit", "Alert", "Measure"];
    let mut table = Table::new(columns, droppable);
    for series in &perf.results {
        let parameters = series.variant.as_ref().map(|variant| &variant.parameters);
        let benchmark = output::benchmark(series.benchmark.name.as_str(), parameters);
        let units = series.measure.units.as_str();
        for found in &series.metrics {
            let boundary = found.boundary.unwrap_or_default();
            let hash = found.version.hash.as_ref().map_or("", |hash| hash.as_str());
            table.push([
                output::plain(series.branch.name.as_str()),
                output::plain(series.testbed.name.as_str()),
                benchmark.clone(),
                output::plain(series.measure.name.as_str()),
                output::time(found.start_time),
                found.version.number.to_string(),
                hash.chars().take(10).collect(),
                if found.iteration.get() > 0 { found.iteration.to_string() } else { String::new() },
                output::quantity(found.metric.value, units),
                optional(boundary.baseline.map(|baseline| output::quantity(baseline, units))),
                output::range(boundary.lower_limit, boundary.upper_limit, units),
                optional(found.alert.map(|alert| alert.status)),
            ]);
        }
    }
    if perf.results.is_empty() { String::new() } else { table.show() }
}
