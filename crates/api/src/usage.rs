//! Usage: stored data and runner time of an organization in a period.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{License, OrganizationUuid, Plan, Timestamp, scalar::fixed_string};

fixed_string! {
    /// Terms that determine how usage is counted.
    UsageKind {
        /// Hosted organization without a plan. The period is the last 30 days.
        CloudFree = "cloud_free",
        /// Hosted organization with a plan that is billed by usage. The period is the billing period.
        CloudMetered = "cloud_metered",
        /// Hosted organization that bought a license for a self-hosted server. The period is the billing period.
        CloudSelfHostedLicensed = "cloud_self_hosted_licensed",
        /// Self-hosted server without a license. The period is the last 30 days.
        SelfHostedFree = "self_hosted_free",
        /// Self-hosted server with a license. The period is the validity of the license.
        SelfHostedLicensed = "self_hosted_licensed",
    }
}

/// Usage of an organization in a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUsage)]
pub struct Usage {
    /// UUID of the organization.
    pub organization: OrganizationUuid,
    /// Terms that determine how usage is counted.
    pub kind: UsageKind,
    /// Plan of the organization; null if there is none, and on a server without billing.
    pub plan: Option<Plan>,
    /// License of the organization; null if there is no valid license.
    pub license: Option<License>,
    /// Start of the period.
    pub start_time: Timestamp,
    /// End of the period.
    pub end_time: Timestamp,
    /// Number of metrics of runs that ended in the period; null for the level `pro`, which counts series, and for
    /// `cloud_self_hosted_licensed`.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub metrics: Option<u32>,
    /// Number of distinct series with metrics of runs that ended in the period; null except for the level `pro`.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub active_series: Option<u32>,
    /// Number of bytes that the organization stores in the registry now, including unfinished uploads.
    #[schema(format = "uint64")]
    pub stored_bytes: Option<u64>,
    /// Runner minutes of jobs that ended in the period, rounded up to full minutes per job; null for
    /// `cloud_self_hosted_licensed`.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub runner_minutes: Option<u32>,
}
