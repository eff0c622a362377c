//! Single sign-on domains: e-mail domains whose users join an organization automatically.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Domain, SsoUuid, Timestamp, scalar::fixed_string};

/// An e-mail domain whose users join an organization automatically.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSso)]
pub struct Sso {
    /// UUID of the domain.
    pub uuid: SsoUuid,
    /// Part of the e-mail addresses after the `@`.
    pub domain: Domain,
    /// Time when the domain was added.
    pub created: Timestamp,
}

/// A domain to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewSso)]
pub struct NewSso {
    /// Part of the e-mail addresses after the `@`.
    pub domain: Domain,
}

fixed_string! {
    /// Sort key of a list of domains.
    OrgSsoSort {
        /// By domain.
        Domain = "domain",
    }
}

/// Order of a list of domains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SsoFilter {
    /// Sort key; `domain` by default.
    #[param(inline)]
    pub sort: Option<OrgSsoSort>,
}
