//! Deliveries: notifications for one report and one notice.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    DeliveryUuid, NoticeUuid, NotificationUuid, ProjectUuid, ReportUuid, Timestamp, scalar::fixed_string,
};

fixed_string! {
    /// Status of a delivery.
    DeliveryStatus {
        /// Waiting for the first attempt or for a retry.
        Waiting = "waiting",
        /// The receiver accepted the notification.
        Delivered = "delivered",
        /// All attempts failed.
        Failed = "failed",
        /// There was nothing left to send, the notice was archived, or its user may no longer view the project.
        Dropped = "dropped",
    }
}

/// A delivery of a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonDelivery)]
pub struct Delivery {
    /// UUID of the delivery.
    pub uuid: DeliveryUuid,
    /// UUID of the notice.
    pub notice: NoticeUuid,
    /// Identifier of the event for the receiver. It is the same for each attempt, for all reports of a digest, and when the event
    /// is sent again.
    pub event: NotificationUuid,
    /// UUID of the project of the report.
    pub project: ProjectUuid,
    /// UUID of the report; null if the report was deleted, and for a test.
    pub report: Option<ReportUuid>,
    /// Whether the delivery is a test, which has no report.
    pub test: bool,
    /// Status of the delivery.
    pub status: DeliveryStatus,
    /// Number of attempts.
    pub attempts: u32,
    /// Error of the last attempt, or reason why the delivery was dropped; null if there is none.
    pub error: Option<String>,
    /// Time when the delivery was enqueued.
    pub created: Timestamp,
    /// Time of the last attempt; null if there was none.
    pub tried: Option<Timestamp>,
}

/// Filter of a list of deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeliveryFilter {
    /// Only deliveries with this status.
    #[param(inline)]
    pub status: Option<DeliveryStatus>,
}
