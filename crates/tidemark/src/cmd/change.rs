//! `tidemark change`: changes of the levels of series.

use tidemark_api::{
    Change, ChangeDirection, ChangeFilter, ChangePoint, ChangeUuid, EventStatus, PerfQuery, ProjChangesSort,
    ReportUuid, ResourceId,
};
use tidemark_client::{changes, perf};

use super::bisect::{BisectFlags, BisectFormat, BisectSeries, BisectTarget};
use crate::{
    failure::{Failure, Result},
    output, project,
    resource::{
        Fields, PageFlags, Printable, ProjectArgument, SeriesFilter, Session, SortFlag, Verb,
        fixed_string_parser, optional,
    },
};

/// Verbs of `tidemark change`.
#[derive(clap::Subcommand)]
pub(crate) enum ChangeVerb {
    /// List the changes of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only changes of events with this status
        #[arg(long, value_parser = fixed_string_parser::<EventStatus>())]
        status: Option<EventStatus>,
        /// List only changes in this direction
        #[arg(long, value_parser = fixed_string_parser::<ChangeDirection>())]
        change_direction: Option<ChangeDirection>,
        /// List only changes found with this report
        #[arg(long)]
        report: Option<ReportUuid>,
        #[command(flatten)]
        series: SeriesFilter,
        #[command(flatten)]
        sort: SortFlag<ProjChangesSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Show a change
    #[command(visible_alias = "get")]
    View(ChangeTarget),
    /// Find the commit of a change, and store the result with its event
    Bisect(Box<ChangeBisect>),
}

/// Arguments of `tidemark change bisect`.
#[derive(clap::Args)]
pub(crate) struct ChangeBisect {
    /// Change UUID
    #[arg(value_name = "UUID")]
    change: ChangeUuid,
    /// Commit before the change [default: the last measured commit before the change may have begun]
    #[arg(long, value_name = "COMMIT")]
    good: Option<String>,
    /// Commit since the change [default: the last commit with which the change may have begun]
    #[arg(long, value_name = "COMMIT")]
    bad: Option<String>,
    #[command(flatten)]
    flags: BisectFlags,
}

/// A change of a project.
#[derive(clap::Args)]
pub(crate) struct ChangeTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Change UUID
    change: ChangeUuid,
}

impl Verb for ChangeVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, status, change_direction, report, series, sort, page } => {
                let filter = ChangeFilter {
                    status: *status,
                    change_direction: *change_direction,
                    branch: series.branch.clone(),
                    testbed: series.testbed.clone(),
                    benchmark: series.benchmark.clone(),
                    measure: series.measure.clone(),
                    report: *report,
                    sort: sort.sort,
                };
                session.list(changes(project.id()?).list(&filter), page)
            }
            Self::View(target) => session.show(&changes(target.project.id()?).view(&target.change)),
            Self::Bisect(bisect) => bisect.run(session),
        }
    }
}

impl ChangeBisect {
    fn run(&self, session: &Session) -> Result {
        let project = project::select(self.flags.project.as_ref())?;
        let change = session.client.send(&changes(project).view(&self.change))?;
        let good = match &self.good {
            Some(good) => good.clone(),
            None => last_commit_before(session, project, &change)?,
        };
        let bad = match (&self.bad, &change.latest.version.hash) {
            (Some(bad), _) => bad.clone(),
            (None, Some(hash)) => hash.as_str().to_owned(),
            (None, None) => return Err(Failure::usage("The commit of the change is unknown; give --bad.")),
        };
        let parameters = change.variant.as_ref().map(|variant| &variant.parameters);
        let benchmark = output::benchmark(change.benchmark.name.as_str(), parameters);
        let flags = self.flags.for_change(BisectSeries {
            branch: change.branch.uuid.to_string().parse().ok(),
            testbed: change.testbed.uuid.to_string().parse().ok(),
            benchmark,
            measure: change.measure.name.as_str().to_owned(),
        })?;
        let format = if session.json { BisectFormat::Json } else { BisectFormat::Human };
        flags.run(Some(session), &BisectTarget { good: &good, bad: &bad, event: Some(change.event), format })
    }
}

/// Returns the commit of the last version that was measured before the change may have begun.
fn last_commit_before(session: &Session, project: &ResourceId, change: &Change) -> Result<String> {
    let query = PerfQuery {
        branches: change.branch.uuid.to_string(),
        heads: Some(change.branch.head.uuid.to_string()),
        testbeds: change.testbed.uuid.to_string(),
        benchmarks: change.benchmark.uuid.to_string(),
        measures: change.measure.uuid.to_string(),
        ..PerfQuery::default()
    };
    let perf = session.client.send(&perf(project, &query))?;
    let variant = change.variant.as_ref().map(|variant| variant.uuid);
    let series = perf.results.iter().filter(|series| series.variant.as_ref().map(|one| one.uuid) == variant);
    let metrics: Vec<_> = series.flat_map(|series| &series.metrics).collect();
    let first = metrics.iter().position(|metric| metric.report == change.earliest.report);
    let before = metrics[..first.unwrap_or(0)].iter().rev();
    let hash = before
        .filter_map(|metric| metric.version.hash.as_ref())
        .find(|hash| Some(*hash) != change.earliest.version.hash.as_ref());
    hash.map(|hash| hash.as_str().to_owned()).ok_or_else(|| {
        Failure::usage("The commit that was measured before the change is unknown; give --good.")
    })
}

impl Printable for Change {
    const DROPPABLE: &'static [&'static str] =
        &["Testbed", "Branch", "Before", "After", "Since", "Measure", "Direction", "Effect"];

    fn fields(&self) -> Fields {
        let units = self.measure.units.as_str();
        let parameters = self.variant.as_ref().map(|variant| &variant.parameters);
        Fields::default()
            .column("Status", self.status)
            .column("Direction", self.direction)
            .benchmark("Benchmark", output::benchmark(self.benchmark.name.as_str(), parameters))
            .text("Measure", &self.measure.name)
            .number("Before", output::quantity(self.before, units))
            .number("After", output::quantity(self.after, units))
            .number("Effect", optional(self.effect.map(|share| format!("{:+.1}%", share * 100.0))))
            .column("Since", output::time(self.at.start_time))
            .text("Branch", &self.branch.name)
            .text("Testbed", &self.testbed.name)
            .column("UUID", self.uuid)
            .detail("Began with", commit(&self.at))
            .detail("At the earliest", commit(&self.earliest))
            .detail("At the latest", commit(&self.latest))
            .detail("Deviations", format_args!("{:.1}", self.sigma))
            .detail("Confidence", format_args!("{:.0}%", self.confidence * 100.0))
            .detail("Cause", self.cause)
            .detail("Notified", optional(self.raised.map(output::time)))
            .detail("Event", self.event)
            .detail("Found", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

/// Returns the commit of a report, or its version if the commit is unknown.
fn commit(point: &ChangePoint) -> String {
    match &point.version.hash {
        Some(hash) => hash.to_string(),
        None => format!("version {}", point.version.number),
    }
}
