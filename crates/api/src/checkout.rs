//! Checkouts: payment pages for plans.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Entitlements, OrganizationUuid, PlanLevel, ResourceId};

/// Request to open a checkout for a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewCheckout)]
pub struct NewCheckout {
    /// UUID or slug of the organization.
    pub organization: ResourceId,
    /// Level of the plan.
    pub level: PlanLevel,
    /// Number of metrics that a license covers. Requires `self_hosted`.
    pub entitlements: Option<Entitlements>,
    /// UUID of the organization on a self-hosted server that a license is for. Requires `entitlements`.
    pub self_hosted: Option<OrganizationUuid>,
}

/// A checkout at the payment provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCheckout)]
pub struct Checkout {
    /// Identifier of the checkout session at the payment provider.
    pub session: String,
    /// URL of the payment page.
    pub url: String,
}
