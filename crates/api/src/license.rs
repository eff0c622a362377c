//! Licenses: what somebody who runs this server has signed for an organization.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Entitlements, Jwt, OrganizationUuid, PlanLevel, Timestamp};

/// A license of an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonLicense)]
pub struct License {
    /// The license as it was signed.
    pub key: Jwt,
    /// The organization that it is for.
    pub organization: OrganizationUuid,
    /// The level of the plan.
    pub level: PlanLevel,
    /// How many metrics it is for.
    pub entitlements: Entitlements,
    /// When it was signed.
    pub issued_at: Timestamp,
    /// When it runs out.
    pub expiration: Timestamp,
}
