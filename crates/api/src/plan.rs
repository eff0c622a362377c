//! Plans: paid subscriptions of organizations. They exist only on servers with billing.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Email, License, NonEmpty, OrganizationUuid, PlanLevel, Timestamp, UserUuid,
    scalar::{fixed_string, integer},
};

integer! {
    /// Number of metrics that a license covers.
    Entitlements(u32, "uint32"), 1, 4_294_967_295
}

fixed_string! {
    /// Payment status of a plan.
    PlanStatus {
        /// The plan is paid.
        Active = "active",
        /// The plan has ended.
        Canceled = "canceled",
        /// The first payment is pending.
        Incomplete = "incomplete",
        /// The first payment was not made in time.
        IncompleteExpired = "incomplete_expired",
        /// A payment is overdue.
        PastDue = "past_due",
        /// Payment collection is paused.
        Paused = "paused",
        /// The plan is in its free trial period.
        Trialing = "trialing",
        /// A payment failed, and the provider no longer retries it.
        Unpaid = "unpaid",
    }
}

impl PlanStatus {
    /// Whether the plan is in effect.
    pub fn is_in_effect(self) -> bool {
        matches!(self, Self::Active | Self::Trialing)
    }

    /// Whether the plan has ended permanently, so that the organization can start another plan.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Canceled | Self::IncompleteExpired)
    }
}

fixed_string! {
    /// Brand of a payment card.
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
        /// Another brand, or another payment method.
        Unknown = "unknown",
    }
}

/// Paid subscription of an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPlan)]
pub struct Plan {
    /// UUID of the organization.
    pub organization: OrganizationUuid,
    /// Customer who pays for the plan.
    pub customer: Customer,
    /// Payment card.
    pub card: Card,
    /// Level of the plan.
    pub level: PlanLevel,
    /// Price per unit, in the smallest currency unit.
    #[schema(format = "uint64")]
    pub unit_amount: u64,
    /// Prices by usage, in ascending order; null if the price has no tiers.
    pub tiers: Option<Vec<PriceTier>>,
    /// Time when the subscription started.
    pub created: Timestamp,
    /// Start of the current billing period.
    pub current_period_start: Timestamp,
    /// End of the current billing period.
    pub current_period_end: Timestamp,
    /// Payment status.
    pub status: PlanStatus,
    /// Whether the plan ends at the end of the billing period.
    pub cancel_at_period_end: bool,
    /// License for a self-hosted server; null if the plan does not include one.
    pub license: Option<License>,
}

/// Customer who pays for a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCustomer)]
pub struct Customer {
    /// UUID of the user.
    pub uuid: UserUuid,
    /// Name on the invoice.
    pub name: NonEmpty,
    /// E-mail address for invoices.
    pub email: Email,
}

/// Masked payment card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCardDetails)]
pub struct Card {
    /// Brand of the card.
    pub brand: CardBrand,
    /// Last four digits of the card number.
    pub last_four: String,
    /// Month in which the card expires.
    pub exp_month: i32,
    /// Year in which the card expires.
    pub exp_year: i32,
}

/// Price for a range of usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPriceTier)]
pub struct PriceTier {
    /// Last unit of the tier; null for the last tier, which has no end.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub up_to: Option<u32>,
    /// Price per unit, in the smallest currency unit; null if there is none.
    #[schema(format = "uint64")]
    pub unit_amount: Option<u64>,
    /// Price of the whole tier, in the smallest currency unit; null if there is none.
    #[schema(format = "uint64")]
    pub flat_amount: Option<u64>,
}

/// Request to start a plan after its payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewPlan)]
pub struct NewPlan {
    /// Identifier of the checkout session; with `remote` false, identifier of the subscription.
    pub checkout: NonEmpty,
    /// Level of the plan; must be the paid level.
    pub level: PlanLevel,
    /// Number of metrics that a license covers. Requires `self_hosted`.
    pub entitlements: Option<Entitlements>,
    /// UUID of the organization on a self-hosted server that a license is for. Requires `entitlements`.
    pub self_hosted: Option<OrganizationUuid>,
    /// Whether `checkout` is a checkout session of the payment provider; true by default.
    pub remote: Option<bool>,
}

/// Changes to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdatePlan)]
pub struct PlanPatch {
    /// Whether the plan ends at the end of the billing period.
    pub cancel_at_period_end: bool,
}

/// Options to end a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PlanRemoval {
    /// Whether to end the subscription at the payment provider, too; true by default. With false, the server removes only a plan
    /// that has already ended at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<bool>,
}
