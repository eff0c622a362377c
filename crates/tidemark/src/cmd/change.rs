//! `tidemark change`: changes and their status.

use tidemark_api::{
    Change, ChangeDirection, ChangeFilter, ChangePatch, ChangePoint, ChangeStatus, ChangeUuid, NonEmpty,
    ProjChangesSort, ReportUuid,
};
use tidemark_client::changes;

use crate::{
    failure::Result,
    output,
    resource::{
        Change as NewValue, Fields, InProject, Order, Paging, Part, Session, Shown, Verb, optional, word,
    },
};

/// Verbs of `tidemark change`.
#[derive(clap::Subcommand)]
pub(crate) enum ChangeVerb {
    /// List the changes of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: InProject,
        /// List only changes with this status
        #[arg(long, value_parser = word::<ChangeStatus>())]
        status: Option<ChangeStatus>,
        /// List only changes in this direction
        #[arg(long, value_parser = word::<ChangeDirection>())]
        change_direction: Option<ChangeDirection>,
        /// List only changes found with this report
        #[arg(long)]
        report: Option<ReportUuid>,
        #[command(flatten)]
        part: Part,
        #[command(flatten)]
        order: Order<ProjChangesSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a change
    #[command(visible_alias = "get")]
    View(ChangeTarget),
    /// Update the status or the note of a change
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: ChangeTarget,
        /// New status
        #[arg(long, value_parser = word::<ChangeStatus>(), required_unless_present = "note")]
        status: Option<ChangeStatus>,
        /// Note; `_` removes it
        #[arg(long)]
        note: Option<NewValue<NonEmpty>>,
    },
}

/// A change of a project.
#[derive(clap::Args)]
pub(crate) struct ChangeTarget {
    #[command(flatten)]
    project: InProject,
    /// Change UUID
    change: ChangeUuid,
}

impl Verb for ChangeVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, status, change_direction, report, part, order, paging } => {
                let filter = ChangeFilter {
                    status: *status,
                    change_direction: *change_direction,
                    branch: part.branch.clone(),
                    testbed: part.testbed.clone(),
                    benchmark: part.benchmark.clone(),
                    measure: part.measure.clone(),
                    report: *report,
                    sort: order.sort,
                };
                session.list(changes(project.id()?).list(&filter), paging)
            }
            Self::View(one) => session.show(&changes(one.project.id()?).view(&one.change)),
            Self::Update { one, status, note } => {
                let patch = ChangePatch { status: *status, note: NewValue::of(note.as_ref()) };
                session.update(&changes(one.project.id()?), &one.change, &patch)
            }
        }
    }
}

impl Shown for Change {
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
            .detail("Told", optional(self.raised.map(output::time)))
            .detail("Note", optional(self.note.as_ref()))
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
