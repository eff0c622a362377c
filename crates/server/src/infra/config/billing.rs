//! What an operator can set about being paid. Without this section nothing here costs anything and nothing is limited by it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use tidemark_api::{PlanLevel, Secret, Url};

/// The payment provider: Stripe, or one that speaks its protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Billing {
    /// Where its API is.
    #[serde(default = "stripe")]
    pub url: Url,
    /// What proves to it that it is this server who asks.
    pub secret_key: Secret,
    /// What proves to this server that it is the provider who tells something.
    pub webhook_secret: Secret,
    /// For how many days somebody's first plan is free.
    #[serde(default)]
    pub trial_days: u32,
    /// What the levels cost, by their names.
    #[serde(deserialize_with = "levels")]
    pub levels: BTreeMap<PlanLevel, Prices>,
}

/// What a level costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The metered prices at the provider that make up the level.
    pub prices: Vec<String>,
    /// The price there of a metric in a license for a server of one's own.
    pub license: Option<String>,
}

impl Billing {
    /// The level that a price at the provider is for.
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
