//! Domains whose people join an organization by themselves.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Domain, SsoUuid, Timestamp, scalar::word};

/// A domain whose people join an organization by themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSso)]
pub struct Sso {
    /// Its identifier.
    pub uuid: SsoUuid,
    /// The part of their addresses after the `@`.
    pub domain: Domain,
    /// When it was added.
    pub created: Timestamp,
}

/// A domain to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewSso)]
pub struct NewSso {
    /// The part of the addresses after the `@`.
    pub domain: Domain,
}

word! {
    /// What domains are ordered by.
    OrgSsoSort {
        /// The domain.
        Domain = "domain",
    }
}

/// How to list domains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SsoFilter {
    /// What to order by.
    #[param(inline)]
    pub sort: Option<OrgSsoSort>,
}
