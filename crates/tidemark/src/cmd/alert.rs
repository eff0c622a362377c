//! `tidemark alert`

use tidemark_api::{
    Alert, AlertFilter, AlertPatch, AlertStatus, AlertUuid, AlertsPatch, AlertsPatched, BoundaryLimit,
    ProjAlertsSort, ReportUuid, UpdateAlertStatus,
};
use tidemark_client::{alerts, update_alerts};

use crate::{
    failure::Result,
    output,
    resource::{Fields, InProject, Order, Paging, Part, Session, Shown, Verb, optional, word},
};

/// Verbs of `tidemark alert`.
#[derive(clap::Subcommand)]
pub(crate) enum AlertVerb {
    /// List the alerts of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: InProject,
        /// List only alerts with this status
        #[arg(long, value_parser = word::<AlertStatus>())]
        status: Option<AlertStatus>,
        /// List only alerts of archived branches, testbeds, benchmarks and measures
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        order: Order<ProjAlertsSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show an alert
    #[command(visible_alias = "get")]
    View(AlertTarget),
    /// Dismiss or reactivate an alert
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: AlertTarget,
        /// New status
        #[arg(long, value_parser = word::<UpdateAlertStatus>())]
        status: UpdateAlertStatus,
    },
    /// Dismiss or reactivate many alerts
    UpdateAll {
        #[command(flatten)]
        project: InProject,
        /// New status
        #[arg(long, value_parser = word::<UpdateAlertStatus>())]
        status: UpdateAlertStatus,
        /// Update only alerts with this status
        #[arg(long, value_name = "STATUS", value_parser = word::<AlertStatus>())]
        from: Option<AlertStatus>,
        /// Update only alerts of this report
        #[arg(long)]
        report: Option<ReportUuid>,
        #[command(flatten)]
        part: Part,
    },
}

/// An alert of a project.
#[derive(clap::Args)]
pub(crate) struct AlertTarget {
    #[command(flatten)]
    project: InProject,
    /// Alert UUID
    alert: AlertUuid,
}

impl Verb for AlertVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, status, archived, order, paging } => {
                let filter =
                    AlertFilter { status: *status, archived: archived.then_some(true), sort: order.sort };
                session.list(alerts(project.id()?).list(&filter), paging)
            }
            Self::View(one) => session.show(&alerts(one.project.id()?).view(&one.alert)),
            Self::Update { one, status } => {
                let patch = AlertPatch { status: Some(*status) };
                session.update(&alerts(one.project.id()?), &one.alert, &patch)
            }
            Self::UpdateAll { project, status, from, report, part } => {
                let patch = AlertsPatch {
                    status: *status,
                    from: *from,
                    report: *report,
                    branch: part.branch.clone(),
                    testbed: part.testbed.clone(),
                    benchmark: part.benchmark.clone(),
                    measure: part.measure.clone(),
                };
                session.show(&update_alerts(project.id()?, &patch))
            }
        }
    }
}

impl Shown for Alert {
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
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

impl Shown for AlertsPatched {
    fn fields(&self) -> Fields {
        Fields::default().number("Changed", self.updated)
    }
}
