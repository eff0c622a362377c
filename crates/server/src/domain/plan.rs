//! The rights of an organization by its plan. Without billing, all organizations have all rights.

use tidemark_api::{PlanLevel, PlanStatus, Visibility};
use tidemark_store::{OrganizationId, Tx, plan};

use crate::domain::error::{Error, Result};

/// The billing status of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BillingStatus {
    /// The server has no billing.
    Unbilled,
    /// The organization has no plan.
    Free,
    /// The organization has a paid plan.
    Paid(PlanLevel),
    /// The plan of the organization is not, or no longer, paid.
    Lapsed(PlanLevel, PlanStatus),
}

impl BillingStatus {
    /// Returns the billing status of an organization.
    pub(crate) fn of(tx: &mut Tx<'_>, bills: bool, organization: OrganizationId) -> Result<Self> {
        if !bills {
            return Ok(Self::Unbilled);
        }
        Ok(match plan::of(tx, organization)? {
            None => Self::Free,
            Some(plan) if plan.status.is_in_effect() => Self::Paid(plan.level),
            Some(plan) => Self::Lapsed(plan.level, plan.status),
        })
    }

    /// Whether the limits for organizations without a paid plan apply.
    pub(crate) fn is_limited(self) -> bool {
        !matches!(self, Self::Paid(_))
    }

    /// Rejects a private project without a paid plan.
    pub(crate) fn check(self, visibility: Visibility) -> Result<()> {
        if visibility == Visibility::Public {
            return Ok(());
        }
        match self {
            Self::Unbilled | Self::Paid(_) => Ok(()),
            Self::Free => Err(Error::PaymentRequired(
                "A private project requires a plan; start one on the billing page of the organization, or \
                 make the project public."
                    .into(),
            )),
            Self::Lapsed(level, status) => Err(Error::PaymentRequired(format!(
                "The plan `{level}` of the organization is not active (status `{status}`), and a private \
                 project requires an active plan; renew it on the billing page of the organization, or make \
                 the project public."
            ))),
        }
    }
}
