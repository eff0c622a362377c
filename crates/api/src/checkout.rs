//! Checkouts: where a plan is paid for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Entitlements, OrganizationUuid, PlanLevel, ResourceId};

/// A plan to pay for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewCheckout)]
pub struct NewCheckout {
    /// The organization that the plan is for.
    pub organization: ResourceId,
    /// The level of the plan.
    pub level: PlanLevel,
    /// How many metrics a license is for.
    pub entitlements: Option<Entitlements>,
    /// The organization on a server of one's own that a license is for.
    pub self_hosted: Option<OrganizationUuid>,
}

/// Where to pay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCheckout)]
pub struct Checkout {
    /// The session at the payment provider.
    pub session: String,
    /// Its page.
    pub url: String,
}
