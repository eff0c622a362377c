//! Licenses that the operator of a server has signed for an organization.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Entitlements, Jwt, OrganizationUuid, PlanLevel, Timestamp};

/// A license of an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonLicense)]
pub struct License {
    /// Signed license key.
    pub key: Jwt,
    /// UUID of the licensed organization.
    pub organization: OrganizationUuid,
    /// Level of the plan.
    pub level: PlanLevel,
    /// Number of metrics that the license covers.
    pub entitlements: Entitlements,
    /// Time when the license was signed.
    pub issued_at: Timestamp,
    /// Time when the license expires.
    pub expiration: Timestamp,
}
