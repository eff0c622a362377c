//! `tidemark detection`: notification settings of a project, and its number of false alarms.

use tidemark_api::{ConfirmMode, Detection, DetectionPatch, FalseAlarms, Notifies};
use tidemark_client::{detection, update_detection};

use crate::{
    failure::Result,
    output,
    resource::{Fields, Printable, ProjectArgument, Session, Verb, fixed_string_parser, parse_number},
};

/// Verbs of `tidemark detection`.
#[derive(clap::Subcommand)]
pub(crate) enum DetectionVerb {
    /// Show the notification settings and the number of false alarms
    #[command(visible_alias = "get")]
    View {
        #[command(flatten)]
        project: ProjectArgument,
    },
    /// Update the notification settings
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        project: ProjectArgument,
        /// What to send notifications about
        #[arg(long, value_parser = fixed_string_parser::<Notifies>(), required_unless_present_any = ["false_alarms_per_month", "notifies_host", "confirm"])]
        notifies: Option<Notifies>,
        /// False-alarm budget: accepted false alarms per month
        #[arg(long, value_name = "COUNT", value_parser = parse_number::<u32, FalseAlarms>)]
        false_alarms_per_month: Option<FalseAlarms>,
        /// Whether to send notifications if most benchmarks change together, because the probable cause is the machine
        #[arg(long, value_name = "BOOL")]
        notifies_host: Option<bool>,
        /// Whether a runner measures suspected changes again before a notification is sent
        #[arg(long, value_parser = fixed_string_parser::<ConfirmMode>())]
        confirm: Option<ConfirmMode>,
    },
}

impl Verb for DetectionVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::View { project } => session.show(&detection(project.id()?)),
            Self::Update { project, notifies, false_alarms_per_month, notifies_host, confirm } => {
                let patch = DetectionPatch {
                    notifies: *notifies,
                    false_alarms_per_month: *false_alarms_per_month,
                    notifies_host: *notifies_host,
                    confirm: *confirm,
                };
                session.show(&update_detection(project.id()?, &patch))
            }
        }
    }
}

impl Printable for Detection {
    fn fields(&self) -> Fields {
        let observed = &self.observed;
        Fields::default()
            .column("Notifies of", self.notifies)
            .number("False-alarm budget per month", self.false_alarms_per_month)
            .number("Observed", format_args!("{:.1}", observed.false_alarms_per_month))
            .number("Runs per month", self.runs_per_month)
            .detail("Notifies of host changes", if self.notifies_host { "yes" } else { "no" })
            .detail("Measures again before notifying", self.confirm)
            .detail("Counted since", output::time(observed.since))
            .detail("Alarms", observed.raised)
            .detail("False alarms", observed.false_alarms)
            .detail("Refuted before notifying", observed.refuted)
    }
}
