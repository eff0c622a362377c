//! `tidemark plot`

use tidemark_api::{
    Benchmark, BenchmarkUuid, Branch, BranchUuid, Index, Measure, MeasureUuid, NewPlot, Plot, PlotFilter,
    PlotPatch, PlotUuid, ProjPlotsSort, ResourceName, Search, Testbed, TestbedUuid, Window, XAxis, YAxis,
};
use tidemark_client::plots;
use uuid::Uuid;

use crate::{
    dimension::{Dimension, NameList},
    failure::Result,
    output,
    resource::{
        Fields, NewValue, PageFlags, Printable, ProjectArgument, Session, SortFlag, Verb,
        fixed_string_parser, optional, parse_number, yes_if,
    },
};

/// Verbs of `tidemark plot`.
#[derive(clap::Subcommand)]
pub(crate) enum PlotVerb {
    /// List the pinned plots of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only plots with exactly this title
        #[arg(long)]
        title: Option<ResourceName>,
        /// List only plots with this text in the title or UUID
        #[arg(long, value_name = "TEXT")]
        search: Option<Search>,
        #[command(flatten)]
        sort: SortFlag<ProjPlotsSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Pin a plot
    #[command(visible_alias = "add")]
    Create(Box<New>),
    /// Show a plot
    #[command(visible_alias = "get")]
    View(PlotTarget),
    /// Update a plot
    #[command(visible_alias = "edit")]
    Update(Box<Update>),
    /// Delete a plot
    #[command(visible_alias = "rm")]
    Delete(PlotTarget),
}

/// A plot of a project.
#[derive(clap::Args)]
pub(crate) struct PlotTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Plot UUID
    plot: PlotUuid,
}

/// A new plot.
#[derive(clap::Args)]
pub(crate) struct New {
    #[command(flatten)]
    project: ProjectArgument,
    /// Position, counted from 0 [default: 0]
    #[arg(long, value_parser = parse_number::<u8, Index>)]
    index: Option<Index>,
    /// Title
    #[arg(long)]
    title: Option<ResourceName>,
    /// Show the lower values of the metrics
    #[arg(long)]
    lower_value: bool,
    /// Show the upper values of the metrics
    #[arg(long)]
    upper_value: bool,
    /// Show the lower limits of the thresholds
    #[arg(long)]
    lower_boundary: bool,
    /// Show the upper limits of the thresholds
    #[arg(long)]
    upper_boundary: bool,
    /// Quantity on the horizontal axis
    #[arg(long, value_parser = fixed_string_parser::<XAxis>())]
    x_axis: XAxis,
    /// Scale of the vertical axis
    #[arg(long, value_parser = fixed_string_parser::<YAxis>(), default_value = "auto")]
    y_axis: YAxis,
    /// Time range in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_number::<u32, Window>)]
    window: Window,
    /// Branch UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "BRANCH", required = true)]
    branches: Vec<NameList>,
    /// Testbed UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "TESTBED", required = true)]
    testbeds: Vec<NameList>,
    /// Benchmark UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "BENCHMARK", required = true)]
    benchmarks: Vec<NameList>,
    /// Measure UUIDs, slugs or names, separated by commas; repeat the flag for names with commas
    #[arg(long, value_name = "MEASURE", required = true)]
    measures: Vec<NameList>,
}

/// An update of a plot.
#[derive(clap::Args)]
pub(crate) struct Update {
    #[command(flatten)]
    target: PlotTarget,
    /// New position, counted from 0
    #[arg(long, value_parser = parse_number::<u8, Index>)]
    index: Option<Index>,
    /// New title; `_` removes it
    #[arg(long)]
    title: Option<NewValue<ResourceName>>,
    /// Whether to show the lower values of the metrics
    #[arg(long, value_name = "TRUE|FALSE")]
    lower_value: Option<bool>,
    /// Whether to show the upper values of the metrics
    #[arg(long, value_name = "TRUE|FALSE")]
    upper_value: Option<bool>,
    /// Whether to show the lower limits of the thresholds
    #[arg(long, value_name = "TRUE|FALSE")]
    lower_boundary: Option<bool>,
    /// Whether to show the upper limits of the thresholds
    #[arg(long, value_name = "TRUE|FALSE")]
    upper_boundary: Option<bool>,
    /// Quantity on the horizontal axis
    #[arg(long, value_parser = fixed_string_parser::<XAxis>())]
    x_axis: Option<XAxis>,
    /// Scale of the vertical axis
    #[arg(long, value_parser = fixed_string_parser::<YAxis>())]
    y_axis: Option<YAxis>,
    /// Time range in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_number::<u32, Window>)]
    window: Option<Window>,
    /// New branches: UUIDs, slugs or names, separated by commas
    #[arg(long, value_name = "BRANCH")]
    branches: Option<Vec<NameList>>,
    /// New testbeds: UUIDs, slugs or names, separated by commas
    #[arg(long, value_name = "TESTBED")]
    testbeds: Option<Vec<NameList>>,
    /// New benchmarks: UUIDs, slugs or names, separated by commas
    #[arg(long, value_name = "BENCHMARK")]
    benchmarks: Option<Vec<NameList>>,
    /// New measures: UUIDs, slugs or names, separated by commas
    #[arg(long, value_name = "MEASURE")]
    measures: Option<Vec<NameList>>,
}

impl Verb for PlotVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, title, search, sort, page } => {
                let filter = PlotFilter { title: title.clone(), search: search.clone(), sort: sort.sort };
                session.list(plots(project.id()?).list(&filter), page)
            }
            Self::Create(new) => new.run(session),
            Self::View(target) => session.show(&plots(target.project.id()?).view(&target.plot)),
            Self::Update(update) => update.run(session),
            Self::Delete(target) => {
                session.confirm(&plots(target.project.id()?).delete(&target.plot), "The plot is deleted.")
            }
        }
    }
}

impl New {
    fn run(&self, session: &Session) -> Result {
        let new = NewPlot {
            index: self.index,
            title: self.title.clone(),
            lower_value: self.lower_value,
            upper_value: self.upper_value,
            lower_boundary: self.lower_boundary,
            upper_boundary: self.upper_boundary,
            x_axis: self.x_axis,
            y_axis: self.y_axis,
            window: self.window,
            branches: uuids::<Branch, BranchUuid>(session, &self.project, &self.branches)?,
            testbeds: uuids::<Testbed, TestbedUuid>(session, &self.project, &self.testbeds)?,
            benchmarks: uuids::<Benchmark, BenchmarkUuid>(session, &self.project, &self.benchmarks)?,
            measures: uuids::<Measure, MeasureUuid>(session, &self.project, &self.measures)?,
        };
        session.show(&plots(self.project.id()?).create(&new))
    }
}

impl Update {
    fn run(&self, session: &Session) -> Result {
        let PlotTarget { project, plot } = &self.target;
        let patch = PlotPatch {
            index: self.index,
            title: NewValue::patch(self.title.as_ref()),
            lower_value: self.lower_value,
            upper_value: self.upper_value,
            lower_boundary: self.lower_boundary,
            upper_boundary: self.upper_boundary,
            x_axis: self.x_axis,
            y_axis: self.y_axis,
            window: self.window,
            branches: given::<Branch, BranchUuid>(session, project, self.branches.as_deref())?,
            testbeds: given::<Testbed, TestbedUuid>(session, project, self.testbeds.as_deref())?,
            benchmarks: given::<Benchmark, BenchmarkUuid>(session, project, self.benchmarks.as_deref())?,
            measures: given::<Measure, MeasureUuid>(session, project, self.measures.as_deref())?,
        };
        session.update(&plots(project.id()?), plot, &patch)
    }
}

/// Returns the UUIDs of resources.
fn uuids<D: Dimension, U: From<Uuid>>(
    session: &Session,
    project: &ProjectArgument,
    lists: &[NameList],
) -> Result<Vec<U>> {
    Ok(session.find_all::<D>(project, lists)?.into_iter().map(U::from).collect())
}

fn given<D: Dimension, U: From<Uuid>>(
    session: &Session,
    project: &ProjectArgument,
    lists: Option<&[NameList]>,
) -> Result<Option<Vec<U>>> {
    lists.map(|lists| uuids::<D, U>(session, project, lists)).transpose()
}

impl Printable for Plot {
    const DROPPABLE: &'static [&'static str] = &["Window", "Measures", "Testbeds", "Branches", "Benchmarks"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Title", optional(self.title.as_ref()))
            .table_only("Branches", self.branches.len())
            .table_only("Testbeds", self.testbeds.len())
            .table_only("Benchmarks", self.benchmarks.len())
            .table_only("Measures", self.measures.len())
            .detail("Branches", joined(&self.branches))
            .detail("Testbeds", joined(&self.testbeds))
            .detail("Benchmarks", joined(&self.benchmarks))
            .detail("Measures", joined(&self.measures))
            .detail("Lower values", yes_if(self.lower_value))
            .detail("Upper values", yes_if(self.upper_value))
            .detail("Lower limits", yes_if(self.lower_boundary))
            .detail("Upper limits", yes_if(self.upper_boundary))
            .detail("Horizontal axis", self.x_axis)
            .detail("Vertical axis", self.y_axis)
            .number("Window", format!("{} s", self.window))
            .column("UUID", self.uuid)
            .detail("Project", self.project)
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

fn joined(ids: &[impl ToString]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
