//! What an organization may do by its plan. Where the server does not bill, that is everything.

use tidemark_api::{PlanLevel, PlanStatus, Visibility};
use tidemark_store::{OrganizationId, Tx, plan};

use crate::domain::error::{Error, Result};

/// How an organization stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody pays for anything here.
    Unbilled,
    /// It has no plan.
    Free,
    /// It has a plan that is paid for.
    Paid(PlanLevel),
    /// It has a plan that is not, or no longer, paid for.
    Lapsed(PlanLevel, PlanStatus),
}

impl Standing {
    /// That of an organization on a server that bills, or does not.
    pub(crate) fn of(tx: &mut Tx<'_>, bills: bool, organization: OrganizationId) -> Result<Self> {
        if !bills {
            return Ok(Self::Unbilled);
        }
        Ok(match plan::of(tx, organization)? {
            None => Self::Free,
            Some(plan) if plan.status.is_good() => Self::Paid(plan.level),
            Some(plan) => Self::Lapsed(plan.level, plan.status),
        })
    }

    /// Whether it is held to the limits of those who do not pay.
    pub(crate) fn is_limited(self) -> bool {
        !matches!(self, Self::Paid(_))
    }

    /// Refuses a project that others may not see to those who do not pay for it.
    pub(crate) fn check(self, visibility: Visibility) -> Result<()> {
        if visibility == Visibility::Public {
            return Ok(());
        }
        match self {
            Self::Unbilled | Self::Paid(_) => Ok(()),
            Self::Free => Err(Error::Unpaid(
                "A private project needs a plan; begin one on the billing page of the organization, or make the project \
                 public."
                    .into(),
            )),
            Self::Lapsed(level, status) => Err(Error::Unpaid(format!(
                "The plan `{level}` of the organization has lapsed (it is `{status}`), and a private project needs one; \
                 renew it on the billing page of the organization, or make the project public."
            ))),
        }
    }
}
