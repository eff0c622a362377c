//! Limits on what is created within a day, from `plus.rate_limiting`. Off unless an operator sets them.

use tidemark_api::Timestamp;
use tidemark_store::{
    OrganizationId, Tx,
    quota::{Scope, limit_reached},
    usage,
};

use super::error::{Error, Result};
use crate::config::{Config, RateLimiting};

/// The limits of one server, for use inside a transaction.
#[derive(Clone, Debug)]
pub(super) struct Quota(RateLimiting);

impl Quota {
    pub(super) fn new(config: &Config) -> Self {
        Self(config.limits())
    }

    /// Refuses when as many as allowed were made within the window. What nobody has claimed gets less.
    pub(super) fn check(&self, tx: &mut Tx<'_>, scope: Scope, claimed: bool, now: Timestamp) -> Result<()> {
        let limit = if claimed { self.0.claimed_limit } else { self.0.unclaimed_limit };
        if limit == u32::MAX {
            return Ok(());
        }
        let window = i64::from(self.0.window);
        let free_again = match limit {
            0 => Some(now.plus_seconds(window)),
            limit => limit_reached(tx, scope, limit)?.map(|made| made.plus_seconds(window)),
        };
        self.refuse_until(free_again, limit, scope.noun(), now)
    }

    /// The same for the metrics of an organization. They come by the report, so that the last one may go beyond.
    pub(super) fn check_metrics(
        &self,
        tx: &mut Tx<'_>,
        organization: OrganizationId,
        claimed: bool,
        now: Timestamp,
    ) -> Result<()> {
        let limit = if claimed { self.0.claimed_limit } else { self.0.unclaimed_limit };
        if limit == u32::MAX {
            return Ok(());
        }
        let window = i64::from(self.0.window);
        let from = now.plus_seconds(-window);
        let used = usage::received(tx, organization, from, now)?;
        let free_again = match used.metrics < u64::from(limit) {
            true => None,
            false => Some(used.first.unwrap_or(now).plus_seconds(window)),
        };
        self.refuse_until(free_again, limit, "metric", now)
    }

    fn refuse_until(
        &self,
        free_again: Option<Timestamp>,
        limit: u32,
        noun: &str,
        now: Timestamp,
    ) -> Result<()> {
        let window = self.0.window;
        match free_again {
            Some(free) if free > now => {
                let wait = (free.seconds() - now.seconds()).max(1);
                Err(Error::Limited(
                    format!(
                        "There were {limit} of the kind `{noun}` created within {window} seconds, and more are not \
                         allowed; try again in {wait} seconds."
                    ),
                    u64::try_from(wait).unwrap_or(1),
                ))
            }
            _ => Ok(()),
        }
    }
}
