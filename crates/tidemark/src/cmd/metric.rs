//! `tidemark metric`

use tidemark_api::{MetricDetail, MetricUuid};
use tidemark_client::metric;

use crate::{
    failure::Result,
    output,
    resource::{Fields, Printable, ProjectArgument, Session, Verb, optional},
};

/// Verbs of `tidemark metric`.
#[derive(clap::Subcommand)]
pub(crate) enum MetricVerb {
    /// Show a metric with its report, benchmark and measure
    #[command(visible_alias = "get")]
    View {
        #[command(flatten)]
        project: ProjectArgument,
        /// Metric UUID
        metric: MetricUuid,
    },
}

impl Verb for MetricVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::View { project, metric: uuid } => session.show(&metric(project.id()?, *uuid)),
        }
    }
}

impl Printable for MetricDetail {
    fn fields(&self) -> Fields {
        let units = self.measure.units.as_str();
        let boundary = self.boundary.unwrap_or_default();
        let parameters = self.variant.as_ref().map(|variant| &variant.parameters);
        let version = self.branch.head.version.as_ref();
        Fields::default()
            .column("Benchmark", output::benchmark(self.benchmark.name.as_str(), parameters))
            .column("Measure", &self.measure.name)
            .number("Value", output::quantity(self.metric.value, units))
            .number("Range", output::range(self.metric.lower_value, self.metric.upper_value, units))
            .number("Baseline", optional(boundary.baseline.map(|value| output::quantity(value, units))))
            .number("Limit", output::range(boundary.lower_limit, boundary.upper_limit, units))
            .column("Alert", optional(self.alert.map(|alert| alert.status)))
            .column("Branch", &self.branch.name)
            .number("Version", optional(version.map(|version| version.number)))
            .detail("Commit", optional(version.and_then(|version| version.hash.as_ref())))
            .column("Testbed", &self.testbed.name)
            .detail("Began", output::time(self.start_time))
            .detail("Ended", output::time(self.end_time))
            .detail("Iteration", self.iteration)
            .detail("UUID", self.uuid)
            .detail("Report", self.report)
    }
}
