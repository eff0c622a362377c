//! Limits on the resources that are created within a day, from `plus.rate_limiting`, off by default; a paid plan has no limit on
//! metrics. Quotas on the data of unclaimed organizations, from `access.unclaimed`, on by default.

use tidemark_api::{ReportUuid, Timestamp};
use tidemark_store::{
    Lock, OrganizationId, Tx, plan,
    quota::{QuotaScope, limit_exceeded, limit_reached},
    unclaimed::{self, StoredData},
    usage,
};

use crate::{
    domain::{
        error::{Error, Result},
        plan::BillingStatus,
    },
    infra::config::{Config, Unclaimed},
};

/// The limits of a server, for use inside a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    window: u32,
    unclaimed: Option<u32>,
    claimed: Option<u32>,
    bills: bool,
    stored: Unclaimed,
    jobs: Option<u32>,
}

impl Quota {
    /// No limits.
    pub const NONE: Self =
        Self { window: 0, unclaimed: None, claimed: None, bills: false, stored: Unclaimed::NONE, jobs: None };

    /// Reads the limits from the configuration.
    pub fn new(config: &Config) -> Self {
        let limits = config.limits();
        let limit = |limit| (limit < u32::MAX).then_some(limit);
        Self {
            window: limits.window,
            unclaimed: limit(limits.unclaimed_limit),
            claimed: limit(limits.claimed_limit),
            bills: config.plus.billing.is_some(),
            stored: config.access.unclaimed,
            jobs: config.plus.runners.organization_concurrency,
        }
    }

    /// Returns the maximum number of concurrent jobs of an organization; `None` for any number.
    pub(crate) const fn concurrent_jobs(&self) -> Option<u32> {
        self.jobs
    }

    /// Returns the billing status of an organization.
    pub(crate) fn billing_status(
        &self,
        tx: &mut Tx<'_>,
        organization: OrganizationId,
    ) -> Result<BillingStatus> {
        BillingStatus::of(tx, self.bills, organization)
    }

    fn limit(&self, claimed: bool) -> Option<u32> {
        if claimed { self.claimed } else { self.unclaimed }
    }

    /// Rejects a creation if the limit within the window is reached. The limit of unclaimed projects is lower.
    pub(crate) fn check(
        &self,
        tx: &mut Tx<'_>,
        scope: QuotaScope,
        claimed: bool,
        now: Timestamp,
    ) -> Result<()> {
        let Some(limit) = self.limit(claimed) else { return Ok(()) };
        let window = i64::from(self.window);
        let available_at = match limit {
            0 => Some(now.plus_seconds(window)),
            limit => limit_reached(tx, scope, limit)?.map(|made| made.plus_seconds(window)),
        };
        self.reject_until(available_at, limit, scope.noun(), now)
    }

    /// Checks the limit after this transaction has created resources, possibly many. The transaction must be rolled back on
    /// error.
    pub(crate) fn check_created(
        &self,
        tx: &mut Tx<'_>,
        scopes: &[QuotaScope],
        claimed: bool,
        now: Timestamp,
    ) -> Result<()> {
        let Some(limit) = self.limit(claimed) else { return Ok(()) };
        for scope in scopes {
            let available_at =
                limit_exceeded(tx, *scope, limit, now)?.map(|made| made.plus_seconds(i64::from(self.window)));
            self.reject_until(available_at, limit, scope.noun(), now)?;
        }
        Ok(())
    }

    /// Checks the limit on the metrics of an organization. A report is accepted as a whole, so the last one may exceed the limit.
    pub(crate) fn check_metrics(
        &self,
        tx: &mut Tx<'_>,
        organization: OrganizationId,
        claimed: bool,
        billing_status: BillingStatus,
        now: Timestamp,
    ) -> Result<()> {
        let Some(limit) = self.limit(claimed).filter(|_| billing_status.is_limited()) else { return Ok(()) };
        let window = i64::from(self.window);
        let from = now.plus_seconds(-window);
        let used = usage::received(tx, organization, from, now)?;
        let available_at = match used.metrics < u64::from(limit) {
            true => None,
            false => Some(used.first.unwrap_or(now).plus_seconds(window)),
        };
        self.reject_until(available_at, limit, "metric", now)
    }

    /// Counts the data that a report adds to an unclaimed organization, and rejects the report if the organization then exceeds
    /// its quota. The transaction must be rolled back on error.
    pub(crate) fn store_unclaimed(
        &self,
        tx: &mut Tx<'_>,
        organization: OrganizationId,
        added: StoredData,
        now: Timestamp,
    ) -> Result<()> {
        if self.stored == Unclaimed::NONE {
            return Ok(());
        }
        let own = unclaimed::add(tx, organization, added, now)?;
        let Unclaimed { metrics, report_bytes, .. } = self.stored;
        check_stored(own.metrics, metrics, "this unclaimed project", "metrics")?;
        check_stored(own.report_bytes, report_bytes, "this unclaimed project", "bytes of reports")
    }

    /// Rejects the report if all unclaimed organizations together exceed their quota, including the data that this transaction
    /// added. This must be the last check of the transaction: of concurrent transactions, each one counts the data of the
    /// previous ones.
    pub(crate) fn check_total(&self, tx: &mut Tx<'_>) -> Result<()> {
        const ALL: &str = "all unclaimed projects of this server";
        let Unclaimed { total_metrics, total_report_bytes, .. } = self.stored;
        if total_metrics == 0 && total_report_bytes == 0 {
            return Ok(());
        }
        tx.lock(Lock::Unclaimed)?;
        let all = unclaimed::total(tx)?;
        check_stored(all.metrics, total_metrics, ALL, "metrics")?;
        check_stored(all.report_bytes, total_report_bytes, ALL, "bytes of reports")
    }

    /// Enqueues the metrics of a report as usage for the payment provider, if the organization has a plan.
    pub(crate) fn meter(
        &self,
        tx: &mut Tx<'_>,
        organization: OrganizationId,
        metrics: usize,
        report: ReportUuid,
        now: Timestamp,
    ) -> Result<()> {
        if !self.bills || metrics == 0 {
            return Ok(());
        }
        let metrics = u64::try_from(metrics).unwrap_or(u64::MAX);
        Ok(plan::meter(tx, organization, "metrics", metrics, &report.to_string(), now)?)
    }

    fn reject_until(
        &self,
        available_at: Option<Timestamp>,
        limit: u32,
        noun: &str,
        now: Timestamp,
    ) -> Result<()> {
        let window = self.window;
        match available_at {
            Some(free) if free > now => {
                let wait = (free.seconds() - now.seconds()).max(1);
                Err(Error::Limited(
                    format!(
                        "Quota exceeded for the kind `{noun}`: at most {limit} can be created within \
                         {window} seconds; try again in {wait} seconds."
                    ),
                    u64::try_from(wait).unwrap_or(1),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Rejects a report that exceeds a quota. Zero means no limit.
fn check_stored(stored: u64, limit: u64, owner: &str, noun: &str) -> Result<()> {
    if limit == 0 || stored <= limit {
        return Ok(());
    }
    Err(Error::Forbidden(format!(
        "Quota exceeded: with this report, {owner} would hold {stored} {noun}; the maximum is {limit}. Sign in and claim \
         the project, or use a project of your own."
    )))
}
