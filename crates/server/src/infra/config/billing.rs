//! Settings of billing. Without this section, all use is free and no plan limits apply.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use tidemark_api::{PlanLevel, Secret, Url};

/// The payment provider: Stripe, or a provider with a compatible API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Billing {
    /// URL of the provider's API.
    #[serde(default = "stripe")]
    pub url: Url,
    /// Authenticates this server at the provider.
    pub secret_key: Secret,
    /// Verifies the signatures of webhook requests from the provider.
    pub webhook_secret: Secret,
    /// Free trial period of the first plan of a customer, in days.
    #[serde(default)]
    pub trial_days: u32,
    /// Prices of the plan levels.
    #[serde(deserialize_with = "levels")]
    pub levels: BTreeMap<PlanLevel, Prices>,
}

/// Prices of one plan level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Identifiers of the metered prices of the level at the provider.
    pub prices: Vec<String>,
    /// Identifier of the price per metric in a license for a self-hosted server.
    pub license: Option<String>,
}

impl Billing {
    /// Returns the level of a price at the provider.
    pub(crate) fn level(&self, price: &str) -> Option<PlanLevel> {
        let of_level = |prices: &Prices| prices.prices.iter().chain(&prices.license).any(|one| one == price);
        self.levels.iter().find(|(_, prices)| of_level(prices)).map(|(level, _)| *level)
    }
}

fn stripe() -> Url {
    "https://api.stripe.com".parse().expect("the address is a good one")
}

fn levels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<PlanLevel, Prices>, D::Error> {
    let levels = BTreeMap::<PlanLevel, Prices>::deserialize(deserializer)?;
    if levels.contains_key(&PlanLevel::Free) {
        return Err(de::Error::custom("the level `free` has no price"));
    }
    if levels.is_empty() {
        return Err(de::Error::custom("there must be a level that can be paid for"));
    }
    match levels.iter().find(|(_, prices)| prices.prices.is_empty()) {
        Some((level, _)) => {
            Err(de::Error::custom(format_args!("the level `{level}` needs at least one price")))
        }
        None => Ok(levels),
    }
}
