//! Confirmations: measurements that confirm or refute the suspected changes of an event before the server notifies.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{JobUuid, ReportUuid, Timestamp, VerdictComparison, Version, scalar::fixed_string};

fixed_string! {
    /// State of the confirmation of an event.
    ConfirmationState {
        /// The event is not confirmed. With a `reason`, it cannot be, and the server has sent the notification; otherwise the job
        /// is about to be requested.
        Suspected = "suspected",
        /// A job compares the versions before and after the event. The notification waits.
        Confirming = "confirming",
        /// The job measured the change, too. The server has sent the notification.
        Confirmed = "confirmed",
        /// The job measured no change. The server marked the event as a false alarm and sends no notification.
        Refuted = "refuted",
    }
}

/// Second measurement of the suspected changes of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonConfirmation)]
pub struct Confirmation {
    /// State of the confirmation.
    pub state: ConfirmationState,
    /// Reason why the event could not be confirmed, or was refuted without a job; otherwise omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// UUID of the job that compares the versions; null if there is none.
    pub job: Option<JobUuid>,
    /// UUID of the report of the job; null if there is none.
    pub report: Option<ReportUuid>,
    /// Version before the event; null if there is none.
    pub base: Option<Version>,
    /// Version after the start of the event; null if there is none.
    pub head: Option<Version>,
    /// Comparisons of the suspected series, in pairs of runs; empty until the job has ended.
    pub comparisons: Vec<VerdictComparison>,
    /// Time when the confirmation was requested.
    pub created: Timestamp,
    /// Time when the state last changed.
    pub modified: Timestamp,
}
