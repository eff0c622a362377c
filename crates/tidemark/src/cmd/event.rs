//! `tidemark event`: events and their status.

use std::collections::HashSet;

use tidemark_api::{
    Benchmark, Bisection, BoundaryLimit, ChangeCause, ChangeDirection, Confirmation, ConfirmationState,
    Event, EventAlert, EventFilter, EventPatch, EventStatus, EventUuid, NonEmpty, ProjChangesSort,
    UpdateEventStatus, Variant,
};
use tidemark_client::events;

use crate::{
    failure::Result,
    output,
    resource::{
        Fields, NewValue, PageFlags, Printable, ProjectArgument, SeriesFilter, Session, SortFlag, Verb,
        fixed_string_parser, optional,
    },
};

/// Verbs of `tidemark event`.
#[derive(clap::Subcommand)]
pub(crate) enum EventVerb {
    /// List the events of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only events with this status
        #[arg(long, value_parser = fixed_string_parser::<EventStatus>())]
        status: Option<EventStatus>,
        /// List only events with a change or an alert in this direction
        #[arg(long, value_parser = fixed_string_parser::<ChangeDirection>())]
        change_direction: Option<ChangeDirection>,
        /// List only events with this cause
        #[arg(long, value_parser = fixed_string_parser::<ChangeCause>())]
        cause: Option<ChangeCause>,
        /// List only events whose changed series are all muted (true), or only other events (false)
        #[arg(long)]
        muted: Option<bool>,
        /// List only events with this state of the confirmation
        #[arg(long, value_parser = fixed_string_parser::<ConfirmationState>())]
        confirmation: Option<ConfirmationState>,
        #[command(flatten)]
        series: SeriesFilter,
        #[command(flatten)]
        sort: SortFlag<ProjChangesSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Show an event
    #[command(visible_alias = "get")]
    View(EventTarget),
    /// Update the status or the note of an event and of all its changes and alerts
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        target: EventTarget,
        /// New status
        #[arg(long, value_parser = fixed_string_parser::<UpdateEventStatus>(), required_unless_present = "note")]
        status: Option<UpdateEventStatus>,
        /// Note; `_` removes it
        #[arg(long)]
        note: Option<NewValue<NonEmpty>>,
    },
}

/// An event of a project.
#[derive(clap::Args)]
pub(crate) struct EventTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Event UUID
    event: EventUuid,
}

impl Verb for EventVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List {
                project,
                status,
                change_direction,
                cause,
                muted,
                confirmation,
                series,
                sort,
                page,
            } => {
                let filter = EventFilter {
                    status: *status,
                    change_direction: *change_direction,
                    cause: *cause,
                    branch: series.branch.clone(),
                    testbed: series.testbed.clone(),
                    benchmark: series.benchmark.clone(),
                    measure: series.measure.clone(),
                    muted: *muted,
                    confirmation: *confirmation,
                    sort: sort.sort,
                };
                session.list(events(project.id()?).list(&filter), page)
            }
            Self::View(target) => session.show(&events(target.project.id()?).view(&target.event)),
            Self::Update { target, status, note } => {
                let patch = EventPatch { status: *status, note: NewValue::patch(note.as_ref()) };
                session.update(&events(target.project.id()?), &target.event, &patch)
            }
        }
    }
}

impl Printable for Event {
    const DROPPABLE: &'static [&'static str] =
        &["Branch", "Since", "Alerts", "Cause", "Improvements", "Regressions"];

    fn fields(&self) -> Fields {
        let worst = self.changes.first();
        let name = |benchmark: &Benchmark, variant: Option<&Variant>| {
            output::benchmark(benchmark.name.as_str(), variant.map(|variant| &variant.parameters))
        };
        let name = match (worst, self.alerts.first()) {
            (Some(change), _) => Some(name(&change.benchmark, change.variant.as_ref())),
            (None, Some(alert)) => Some(name(&alert.benchmark, alert.variant.as_ref())),
            (None, None) => None,
        };
        let share = match (worst, self.alerts.first()) {
            (Some(change), _) => change.effect,
            (None, Some(alert)) => share_of_alert(alert),
            (None, None) => None,
        };
        let effect = share.map(|share| format!("{:+.1}%", share * 100.0));
        let last = self.actions.first();
        Fields::default()
            .column("Status", self.status)
            .number("Regressions", self.regressions)
            .number("Improvements", self.improvements)
            .benchmark("Largest", optional(name))
            .number("Effect", optional(effect))
            .number("Alerts", self.total_alerts)
            .column("Cause", self.cause)
            .column("Since", output::time(self.start_time))
            .text("Branch", &self.branch.name)
            .column("UUID", self.uuid)
            .detail("Possible commits", commits(self))
            .detail("Culprit", optional(self.bisection.as_ref().map(culprit)))
            .detail("Outside thresholds", alerts(self))
            .detail("Notified", optional(self.raised.map(output::time)))
            .detail("Muted", optional(self.muted.as_ref().map(|muted| &muted.reason)))
            .detail("Confirmation", optional(self.confirmation.as_ref().map(confirmation)))
            .detail("Note", optional(self.note.as_ref()))
            .detail("Set by", optional(last.map(|action| action.actor.name.as_deref().unwrap_or("Tidemark"))))
            .detail("Set at", optional(last.map(|action| output::time(action.created))))
            .detail("Found", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

/// Returns the relative difference between the value of an alert and its baseline.
fn share_of_alert(alert: &EventAlert) -> Option<f64> {
    let baseline = alert.boundary.baseline.filter(|baseline| *baseline != 0.0)?;
    Some((alert.value - baseline) / baseline.abs())
}

/// Returns the commits that the event may have begun with, or their version numbers if the commits are unknown.
fn commits(event: &Event) -> String {
    let commit = |version: &tidemark_api::Version| match &version.hash {
        Some(hash) => hash.to_string(),
        None => format!("version {}", version.number),
    };
    event.candidates.iter().map(commit).collect::<Vec<_>>().join(", ")
}

/// Returns the state of a confirmation with its reason, or with the second measurement of each series.
fn confirmation(confirmation: &Confirmation) -> String {
    let measured = confirmation.comparisons.iter().map(|one| {
        let change = one.change.map_or_else(|| "?".to_owned(), |share| format!("{:+.1}%", share * 100.0));
        let name = output::benchmark(
            one.benchmark.name.as_str(),
            one.variant.as_ref().map(|variant| &variant.parameters),
        );
        format!("{name} {}: {change} in {} pairs", one.measure.name, one.head_runs)
    });
    let details: Vec<String> = confirmation.reason.iter().cloned().chain(measured).collect();
    match details.is_empty() {
        true => confirmation.state.to_string(),
        false => format!("{} ({})", confirmation.state, details.join("; ")),
    }
}

/// Returns the commit that a search found, or its other end.
fn culprit(bisection: &Bisection) -> String {
    let result = &bisection.result;
    match &result.culprit {
        Some(culprit) => format!(
            "{} {} ({}), with {:.1}%",
            culprit.hash,
            output::plain(&culprit.subject),
            output::plain(&culprit.author),
            result.probability * 100.0
        ),
        None => "no difference between good and bad".to_owned(),
    }
}

/// Returns the newest alert of each series with its value and limit, and the number of other alerts.
fn alerts(event: &Event) -> String {
    let mut series = HashSet::new();
    let mut texts: Vec<String> = event
        .alerts
        .iter()
        .filter(|alert| {
            let variant = alert.variant.as_ref().map(|variant| variant.uuid);
            series.insert((alert.testbed.uuid, alert.benchmark.uuid, variant, alert.measure.uuid))
        })
        .map(|alert| {
            let units = alert.measure.units.as_str();
            let limit = match alert.limit {
                BoundaryLimit::Lower => output::range(alert.boundary.lower_limit, None, units),
                BoundaryLimit::Upper => output::range(None, alert.boundary.upper_limit, units),
            };
            let parameters = alert.variant.as_ref().map(|variant| &variant.parameters);
            let benchmark = output::benchmark(alert.benchmark.name.as_str(), parameters);
            let value = output::quantity(alert.value, units);
            format!("{benchmark} {} {value} (limit {limit})", alert.measure.name)
        })
        .collect();
    let shown = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    if event.total_alerts > shown {
        texts.push(format!("{} more alerts", event.total_alerts - shown));
    }
    texts.join(", ")
}
