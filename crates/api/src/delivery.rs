//! Deliveries: what became of each report that a notice was to tell.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{DeliveryUuid, EventUuid, NoticeUuid, ProjectUuid, ReportUuid, Timestamp, scalar::word};

word! {
    /// What became of a delivery.
    DeliveryStatus {
        /// It is to be told, or to be tried again.
        Waiting = "waiting",
        /// It was told.
        Delivered = "delivered",
        /// It was tried until that was given up.
        Failed = "failed",
        /// There was nothing to tell any more.
        Dropped = "dropped",
    }
}

/// A delivery of a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonDelivery)]
pub struct Delivery {
    /// Its identifier.
    pub uuid: DeliveryUuid,
    /// The notice.
    pub notice: NoticeUuid,
    /// What the receiver knows it by: the same for each attempt, for all reports of a digest, and when it is told again.
    pub event: EventUuid,
    /// The project of the report.
    pub project: ProjectUuid,
    /// The report; null when it was deleted.
    pub report: Option<ReportUuid>,
    /// What became of it.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt did not succeed; null if it did, or if there was none.
    pub error: Option<String>,
    /// When it was promised.
    pub created: Timestamp,
    /// When it was tried the last time; null if it was not.
    pub tried: Option<Timestamp>,
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeliveryFilter {
    /// Only those of which this became.
    #[param(inline)]
    pub status: Option<DeliveryStatus>,
}
