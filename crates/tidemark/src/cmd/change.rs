//! `tidemark change`: changes of the levels of series.

use tidemark_api::{
    Change, ChangeDirection, ChangeFilter, ChangePoint, ChangeUuid, EventStatus, ProjChangesSort, ReportUuid,
};
use tidemark_client::changes;

use crate::{
    failure::Result,
    output,
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
        }
    }
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
