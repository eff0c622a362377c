//! Priority and limits of jobs, by the plan of the organization.

use tidemark_store::{OrganizationId, Tx, job};

use crate::domain::{error::Result, plan::BillingStatus, quota::Quota};

/// Maximum timeout of a job, in seconds.
pub(super) const TIMEOUT_MAX: u32 = i32::MAX.unsigned_abs();
/// Maximum timeout of a job in seconds: of an organization without a plan on a server with billing, and of an unclaimed project.
const UNPAID_MAX_TIMEOUT: u32 = 300;
const UNCLAIMED_MAX_TIMEOUT: u32 = 60;
/// Priority of the jobs of a claimed project, above the jobs of unclaimed projects.
const CLAIMED_PRIORITY: i64 = 100;
/// Priority of the jobs of an organization with a plan.
const PAID_PRIORITY: i64 = 200;

/// Priority and limits of jobs, by the plan of the organization.
pub(super) struct Tier {
    /// Priority.
    pub(super) rank: i64,
    /// Timeout in seconds if the request has none.
    pub(super) timeout_default: u32,
    pub(super) timeout_max: u32,
    /// Maximum number of concurrent jobs of an organization; `None` applies the configuration.
    pub(super) concurrency: Option<u32>,
}

impl Tier {
    /// Returns a tier with the limits of the configuration.
    fn free(rank: i64) -> Self {
        Self { rank, timeout_default: 3_600, timeout_max: TIMEOUT_MAX, concurrency: None }
    }

    pub(super) fn of(claimed: bool, billing_status: BillingStatus) -> Self {
        let limited = |rank, timeout| Self {
            rank,
            timeout_default: timeout,
            timeout_max: timeout,
            concurrency: Some(1),
        };
        match billing_status {
            _ if !claimed => limited(0, UNCLAIMED_MAX_TIMEOUT),
            BillingStatus::Free | BillingStatus::Lapsed(..) => limited(CLAIMED_PRIORITY, UNPAID_MAX_TIMEOUT),
            BillingStatus::Unbilled => Self::free(CLAIMED_PRIORITY),
            BillingStatus::Paid(_) => Self::free(PAID_PRIORITY),
        }
    }
}

/// Applies the priority and the concurrency limit of a claimed organization to its pending jobs, after it was claimed or got a plan.
pub(crate) fn raise_pending(tx: &mut Tx<'_>, quota: Quota, organization: OrganizationId) -> Result<()> {
    let tier = Tier::of(true, quota.billing_status(tx, organization)?);
    let concurrency = tier.concurrency.or(quota.concurrent_jobs());
    Ok(job::raise_rank(tx, organization, tier.rank, concurrency)?)
}
