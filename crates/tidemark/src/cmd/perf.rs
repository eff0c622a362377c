//! `tidemark perf`: metrics over time.

use tidemark_api::{Benchmark, Branch, HeadUuid, Measure, NameId, Perf, PerfQuery, SpecUuid, Testbed};
use tidemark_client::perf;
use uuid::Uuid;

use super::report::TimeRangeFlags;
use crate::{
    connection::Connection,
    dimension::Dimension,
    failure::{Result, print},
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
    /// Branch UUIDs, slugs or names, separated by commas; or repeat the flag
    #[arg(long, value_name = "BRANCH", required = true, value_delimiter = ',')]
    branches: Vec<NameId>,
    /// Head UUID of each branch, in the same order; `_` is the current head
    #[arg(long, value_name = "UUID", value_delimiter = ',')]
    heads: Vec<NewValue<HeadUuid>>,
    /// Testbed UUIDs, slugs or names, separated by commas; or repeat the flag
    #[arg(long, value_name = "TESTBED", required = true, value_delimiter = ',')]
    testbeds: Vec<NameId>,
    /// Spec UUID of each testbed, in the same order; `_` is any spec
    #[arg(long, value_name = "UUID", value_delimiter = ',')]
    specs: Vec<NewValue<SpecUuid>>,
    /// Benchmark UUIDs, slugs or names, separated by commas; or repeat the flag
    #[arg(long, value_name = "BENCHMARK", required = true, value_delimiter = ',')]
    benchmarks: Vec<NameId>,
    /// Measure UUIDs, slugs or names, separated by commas; or repeat the flag
    #[arg(long, value_name = "MEASURE", required = true, value_delimiter = ',')]
    measures: Vec<NameId>,
    #[command(flatten)]
    time: TimeRangeFlags,
}

impl PerfArguments {
    pub(crate) fn run(&self) -> Result {
        let session = Session { client: self.connection.client()?, json: self.format.json };
        let query = PerfQuery {
            branches: self.uuids::<Branch>(&session, &self.branches)?,
            heads: given(&self.heads),
            testbeds: self.uuids::<Testbed>(&session, &self.testbeds)?,
            specs: given(&self.specs),
            benchmarks: self.uuids::<Benchmark>(&session, &self.benchmarks)?,
            measures: self.uuids::<Measure>(&session, &self.measures)?,
            start_time: self.time.start(),
            end_time: self.time.end(),
        };
        let answer = session.client.fetch(&perf(self.project.id()?, &query))?;
        if let Some(asked) = answer.truncated {
            message!("warning: {asked} combinations were requested; only the first ones are shown.");
        }
        if session.json {
            return print(&format!("{}\n", output::pretty(answer.json()?)));
        }
        let perf = answer.read()?;
        if perf.results.is_empty() {
            message!("No entries.");
        }
        print(&table(&perf))
    }

    /// Returns the UUIDs of resources, separated by commas.
    fn uuids<D: Dimension>(&self, session: &Session, ids: &[NameId]) -> Result<String> {
        let uuids: Result<Vec<Uuid>> =
            ids.iter().map(|id| Ok(session.find::<D>(&self.project, id)?.1)).collect();
        Ok(joined(&uuids?))
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
