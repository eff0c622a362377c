//! `tidemark alert`

use tidemark_api::{
    Alert, AlertFilter, AlertPatch, AlertStatus, AlertUuid, AlertsPatch, AlertsPatched, BoundaryLimit,
    EventUuid, ProjAlertsSort, ReportUuid, ThresholdUuid, UpdateAlertStatus,
};
use tidemark_client::{alerts, update_alerts};

use crate::{
    failure::Result,
    output,
    resource::{
        Fields, PageFlags, Printable, ProjectArgument, SeriesFilter, Session, SortFlag, Verb,
        fixed_string_parser, optional,
    },
};

/// Verbs of `tidemark alert`.
#[derive(clap::Subcommand)]
pub(crate) enum AlertVerb {
    /// List the alerts of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only alerts with this status
        #[arg(long, value_parser = fixed_string_parser::<AlertStatus>())]
        status: Option<AlertStatus>,
        /// List only alerts of this threshold
        #[arg(long, value_name = "UUID")]
        threshold: Option<ThresholdUuid>,
        /// List only alerts of the series of this event
        #[arg(long, value_name = "UUID")]
        event: Option<EventUuid>,
        /// List only alerts of archived branches, testbeds, benchmarks and measures
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        sort: SortFlag<ProjAlertsSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Show an alert
    #[command(visible_alias = "get")]
    View(AlertTarget),
    /// Dismiss or reactivate an alert
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        target: AlertTarget,
        /// New status
        #[arg(long, value_parser = fixed_string_parser::<UpdateAlertStatus>())]
        status: UpdateAlertStatus,
    },
    /// Dismiss or reactivate many alerts
    UpdateAll {
        #[command(flatten)]
        project: ProjectArgument,
        /// New status
        #[arg(long, value_parser = fixed_string_parser::<UpdateAlertStatus>())]
        status: UpdateAlertStatus,
        /// Update only alerts with this status
        #[arg(long, value_name = "STATUS", value_parser = fixed_string_parser::<AlertStatus>())]
        from: Option<AlertStatus>,
        /// Update only alerts of this report
        #[arg(long)]
        report: Option<ReportUuid>,
        #[command(flatten)]
        series: SeriesFilter,
    },
}

/// An alert of a project.
#[derive(clap::Args)]
pub(crate) struct AlertTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Alert UUID
    alert: AlertUuid,
}

impl Verb for AlertVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, status, threshold, event, archived, sort, page } => {
                let filter = AlertFilter {
                    status: *status,
                    threshold: *threshold,
                    event: *event,
                    archived: archived.then_some(true),
                    sort: sort.sort,
                };
                session.list(alerts(project.id()?).list(&filter), page)
            }
            Self::View(target) => session.show(&alerts(target.project.id()?).view(&target.alert)),
            Self::Update { target, status } => {
                let patch = AlertPatch { status: Some(*status) };
                session.update(&alerts(target.project.id()?), &target.alert, &patch)
            }
            Self::UpdateAll { project, status, from, report, series } => {
                let patch = AlertsPatch {
                    status: *status,
                    from: *from,
                    report: *report,
                    branch: series.branch.clone(),
                    testbed: series.testbed.clone(),
                    benchmark: series.benchmark.clone(),
                    measure: series.measure.clone(),
                };
                session.show(&update_alerts(project.id()?, &patch))
            }
        }
    }
}

impl Printable for Alert {
    const DROPPABLE: &'static [&'static str] =
        &["Baseline", "Testbed", "Branch", "Limit", "Measure", "Value"];

    fn fields(&self) -> Fields {
        let Self { threshold, boundary, metric, .. } = self;
        let units = threshold.measure.units.as_str();
        let crossed = match self.limit {
            BoundaryLimit::Lower => output::range(boundary.lower_limit, None, units),
            BoundaryLimit::Upper => output::range(None, boundary.upper_limit, units),
        };
        let parameters = self.variant.as_ref().map(|variant| &variant.parameters);
        Fields::default()
            .column("Status", self.status)
            .benchmark("Benchmark", output::benchmark(self.benchmark.name.as_str(), parameters))
            .text("Measure", &threshold.measure.name)
            .number("Value", output::quantity(metric.value, units))
            .number("Baseline", optional(boundary.baseline.map(|value| output::quantity(value, units))))
            .number("Limit", crossed)
            .text("Branch", &threshold.branch.name)
            .text("Testbed", &threshold.testbed.name)
            .column("UUID", self.uuid)
            .detail("Report", self.report)
            .detail("Iteration", self.iteration)
            .detail("Metric", metric.uuid)
            .detail("Threshold", threshold.uuid)
            .detail("Muted", optional(self.muted.as_ref().map(|muted| &muted.reason)))
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

impl Printable for AlertsPatched {
    fn fields(&self) -> Fields {
        Fields::default().number("Changed", self.updated)
    }
}
