//! Usage: how much an organization has stored and run lately.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{License, OrganizationUuid, Plan, Timestamp, scalar::word};

word! {
    /// By which terms usage is counted.
    UsageKind {
        /// A hosted organization without a plan.
        CloudFree = "cloud_free",
        /// A hosted organization that pays for what it uses.
        CloudMetered = "cloud_metered",
        /// A server of one's own with a license bought from the host.
        CloudSelfHostedLicensed = "cloud_self_hosted_licensed",
        /// A server of one's own.
        SelfHostedFree = "self_hosted_free",
        /// A server of one's own with a license.
        SelfHostedLicensed = "self_hosted_licensed",
    }
}

/// How much an organization has used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUsage)]
pub struct Usage {
    /// The organization.
    pub organization: OrganizationUuid,
    /// By which terms it is counted.
    pub kind: UsageKind,
    /// The plan that is paid for, where the server bills.
    pub plan: Option<Plan>,
    /// The license of the organization, where the server checks them.
    pub license: Option<License>,
    /// From when.
    pub start_time: Timestamp,
    /// Until when.
    pub end_time: Timestamp,
    /// How many metrics there are of runs that ended in this time.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub metrics: Option<u32>,
    /// How many different series were received; counted by some plans only.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub active_series: Option<u32>,
    /// How many bytes the images of the organization take.
    #[schema(format = "uint64")]
    pub stored_bytes: Option<u64>,
    /// How many minutes jobs ran for.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub runner_minutes: Option<u32>,
}
