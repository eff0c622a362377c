//! Converts a subscription at the provider to a plan and its license.

use tidemark_api::{
    Card, CardBrand, Customer, Entitlements, License, OrganizationUuid, Plan, PlanLevel, PriceTier, Timestamp,
};
use tidemark_store::{Tx, plan};

use super::{
    Billing, SubscriptionDetails,
    provider::{self, ProviderError, Subscription},
    provider_error,
};
use crate::domain::{
    error::{Error, Result},
    license,
};

impl Billing {
    /// Returns the plan of a subscription.
    pub(super) fn plan(
        &self,
        tx: &mut Tx<'_>,
        organization: OrganizationUuid,
        details: &SubscriptionDetails,
        before: Option<Plan>,
    ) -> Result<Plan> {
        let invalid = |what: &str| provider_error(&ProviderError::Unavailable(format!("{what} is invalid")));
        let SubscriptionDetails { subscription, customer, card } = details;
        let level_in_metadata = subscription.metadata.get("level").and_then(|level| level.parse().ok());
        let level_of_price = subscription.prices().find_map(|price| self.settings.level(&price.id));
        let level: PlanLevel =
            level_of_price.or(level_in_metadata).ok_or_else(|| invalid("the price of a subscription"))?;
        let status = subscription.status.parse().map_err(|_| invalid("the status of a subscription"))?;
        let (start, end) = subscription.period();
        let (start, end) = (seconds(start), seconds(end));
        let payer =
            plan::user_of_customer(tx, &customer.id)?.or_else(|| Some(before.as_ref()?.customer.uuid));
        let email = customer.email.as_deref().and_then(|email| email.parse().ok());
        let name = customer.name.as_deref().and_then(|name| name.trim().parse().ok());
        let email = email.ok_or_else(|| invalid("the address of a customer"))?;
        let price = subscription.prices().next();
        let tiers = price.and_then(|price| price.tiers.as_ref()).map(|tiers| {
            let tier = |tier: &provider::Tier| PriceTier {
                up_to: tier.up_to.as_ref().and_then(|most| u32::try_from(most.as_u64()?).ok()),
                unit_amount: tier.unit_amount,
                flat_amount: tier.flat_amount,
            };
            tiers.iter().map(tier).collect()
        });
        Ok(Plan {
            organization,
            customer: Customer {
                uuid: payer.ok_or_else(|| invalid("the customer of a subscription"))?,
                name: name.ok_or_else(|| invalid("the name of a customer"))?,
                email,
            },
            card: to_api_card(card.as_ref()),
            level,
            unit_amount: price.map(provider::Price::amount).unwrap_or_default(),
            tiers,
            created: seconds(subscription.created),
            current_period_start: start,
            current_period_end: end,
            status,
            cancel_at_period_end: subscription.cancel_at_period_end,
            license: self.license(subscription, level, (start, end), before)?,
        })
    }

    /// Returns the license of a subscription. Signs a new one only if the period, the level or the entitlements changed.
    fn license(
        &self,
        subscription: &Subscription,
        level: PlanLevel,
        (issued_at, expiration): (Timestamp, Timestamp),
        before: Option<Plan>,
    ) -> Result<Option<License>> {
        let (Some(entitlements), Some(organization)) =
            (subscription.metadata.get("entitlements"), subscription.metadata.get("self_hosted"))
        else {
            return Ok(None);
        };
        let invalid =
            || provider_error(&ProviderError::Unavailable("the license of a subscription is invalid".into()));
        let entitlements = entitlements.parse::<u32>().ok().and_then(|count| count.try_into().ok());
        let entitlements: Entitlements = entitlements.ok_or_else(invalid)?;
        let organization: OrganizationUuid = organization.parse().map_err(|_| invalid())?;
        let kept = before.and_then(|before| before.license).filter(|license| {
            (license.level, license.entitlements, license.issued_at, license.expiration)
                == (level, entitlements, issued_at, expiration)
        });
        match kept {
            Some(kept) => Ok(Some(kept)),
            None => {
                let settings = self.licenses.as_ref().ok_or_else(invalid)?;
                license::sign(settings, organization, level, entitlements, issued_at, expiration).map(Some)
            }
        }
    }
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds.saturating_mul(1_000_000))
}

/// Returns a card for the API. Other payment methods are shown as an unknown card that never expires.
fn to_api_card(card: Option<&provider::Card>) -> Card {
    let Some(card) = card else {
        return Card { brand: CardBrand::Unknown, last_four: "0000".into(), exp_month: 12, exp_year: 9999 };
    };
    Card {
        brand: card.brand.parse().unwrap_or(CardBrand::Unknown),
        last_four: card.last4.clone(),
        exp_month: card.exp_month,
        exp_year: card.exp_year,
    }
}

/// Validates that a license has both: the number of entitled metrics and the self-hosted organization.
pub(super) fn validate_license(
    entitlements: Option<Entitlements>,
    self_hosted: Option<OrganizationUuid>,
) -> Result<Option<(Entitlements, OrganizationUuid)>> {
    match (entitlements, self_hosted) {
        (Some(entitlements), Some(self_hosted)) => Ok(Some((entitlements, self_hosted))),
        (None, None) => Ok(None),
        _ => Err(Error::Invalid(
            "`entitlements` and `self_hosted` require each other; send both for a license, otherwise \
             neither."
                .into(),
        )),
    }
}
