//! Plans: what an organization pays for, where the server bills at all.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Email, License, NonEmpty, OrganizationUuid, PlanLevel, Timestamp, UserUuid,
    scalar::{integer, word},
};

integer! {
    /// How many metrics a license is for.
    Entitlements(u32, "uint32"), 1, 4_294_967_295
}

word! {
    /// How it stands with the payment of a plan.
    PlanStatus {
        /// Paid.
        Active = "active",
        /// Ended.
        Canceled = "canceled",
        /// The first payment is not there yet.
        Incomplete = "incomplete",
        /// The first payment never came.
        IncompleteExpired = "incomplete_expired",
        /// A payment is late.
        PastDue = "past_due",
        /// Nothing is collected for now.
        Paused = "paused",
        /// Tried without payment for a while.
        Trialing = "trialing",
        /// A payment is given up.
        Unpaid = "unpaid",
    }
}

impl PlanStatus {
    /// Whether what the plan promises is given.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Active | Self::Trialing)
    }

    /// Whether the plan has ended for good, so that there can be another.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Canceled | Self::IncompleteExpired)
    }
}

word! {
    /// Who issued a payment card.
    CardBrand {
        /// American Express.
        Amex = "amex",
        /// Diners Club.
        Diners = "diners",
        /// Discover.
        Discover = "discover",
        /// JCB.
        Jcb = "jcb",
        /// Mastercard.
        Mastercard = "mastercard",
        /// UnionPay.
        Unionpay = "unionpay",
        /// Visa.
        Visa = "visa",
        /// Somebody else, or it is no card.
        Unknown = "unknown",
    }
}

/// The plan of an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPlan)]
pub struct Plan {
    /// The organization.
    pub organization: OrganizationUuid,
    /// Who pays.
    pub customer: Customer,
    /// With what.
    pub card: Card,
    /// What for.
    pub level: PlanLevel,
    /// The price of a unit, in the smallest coin.
    #[schema(format = "uint64")]
    pub unit_amount: u64,
    /// The prices by how much is used, the smallest first.
    pub tiers: Option<Vec<PriceTier>>,
    /// Since when.
    pub created: Timestamp,
    /// When the period began that is being paid for.
    pub current_period_start: Timestamp,
    /// When it ends.
    pub current_period_end: Timestamp,
    /// How it stands with the payment.
    pub status: PlanStatus,
    /// Whether the plan ends with the period.
    pub cancel_at_period_end: bool,
    /// The license for a server of one's own, if that is what is paid for.
    pub license: Option<License>,
}

/// Who pays for a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCustomer)]
pub struct Customer {
    /// The user.
    pub uuid: UserUuid,
    /// The name on the bill.
    pub name: NonEmpty,
    /// Where the bill goes.
    pub email: Email,
}

/// A payment card, as far as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCardDetails)]
pub struct Card {
    /// Who issued it.
    pub brand: CardBrand,
    /// The last digits of its number.
    pub last_four: String,
    /// The last month in which it is good.
    pub exp_month: i32,
    /// The year of that month.
    pub exp_year: i32,
}

/// A price for a part of what is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPriceTier)]
pub struct PriceTier {
    /// Up to how many units it is for; the last one has no end.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub up_to: Option<u32>,
    /// The price of a unit.
    #[schema(format = "uint64")]
    pub unit_amount: Option<u64>,
    /// The price of all of it.
    #[schema(format = "uint64")]
    pub flat_amount: Option<u64>,
}

/// A plan to begin, once it has been paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewPlan)]
pub struct NewPlan {
    /// The checkout session in which it was paid for; with `remote` off, the subscription.
    pub checkout: NonEmpty,
    /// The level that was chosen.
    pub level: PlanLevel,
    /// How many metrics a license is for.
    pub entitlements: Option<Entitlements>,
    /// The organization on a server of one's own that a license is for.
    pub self_hosted: Option<OrganizationUuid>,
    /// Whether `checkout` names a session of the payment provider; on unless said otherwise.
    pub remote: Option<bool>,
}

/// A change to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdatePlan)]
pub struct PlanPatch {
    /// Whether the plan ends with the period.
    pub cancel_at_period_end: bool,
}

/// How a plan is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PlanRemoval {
    /// Whether it is ended at the payment provider, too; on unless said otherwise. Without that, only one that has ended
    /// there already is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<bool>,
}
