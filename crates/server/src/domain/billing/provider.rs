//! Client for the part of the Stripe API that is used. Its methods block, so call them on blocking threads.

use std::{collections::BTreeMap, fmt::Write as _, sync::OnceLock};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use ureq::{Agent, http::Response};

use crate::infra::{config, outgoing};

/// Version of the Stripe API.
const API_VERSION: &str = "2024-06-20";
/// Maximum number of bytes that are read from a response.
const MAX_RESPONSE_BYTES: u64 = 1 << 20;

/// The payment provider.
#[derive(Debug)]
pub(super) struct Provider {
    settings: config::Billing,
    agent: OnceLock<Agent>,
}

/// Why a request failed.
#[derive(Clone, Debug)]
pub(crate) enum ProviderError {
    /// The object does not exist.
    NotFound,
    /// The provider rejected the request.
    Rejected(String),
    /// No response, or an invalid one.
    Unavailable(String),
}

/// A customer.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Customer {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) email: Option<String>,
    #[serde(default)]
    invoice_settings: InvoiceSettings,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct InvoiceSettings {
    default_payment_method: Option<String>,
}

/// A checkout session.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) url: Option<String>,
    pub(super) status: String,
    pub(super) subscription: Option<String>,
    pub(super) client_reference_id: Option<String>,
}

/// A subscription.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Subscription {
    pub(super) customer: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) created: i64,
    current_period_start: Option<i64>,
    current_period_end: Option<i64>,
    pub(super) cancel_at_period_end: bool,
    default_payment_method: Option<String>,
    items: List<Item>,
}

#[derive(Clone, Debug, Deserialize)]
struct List<T> {
    data: Vec<T>,
}

#[derive(Clone, Debug, Deserialize)]
struct Item {
    current_period_start: Option<i64>,
    current_period_end: Option<i64>,
    price: Option<Price>,
    /// The name of the price in older versions.
    plan: Option<Price>,
}

/// The price of one unit.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Price {
    pub(super) id: String,
    unit_amount: Option<u64>,
    amount: Option<u64>,
    pub(super) tiers: Option<Vec<Tier>>,
}

/// The price of units up to a quantity.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Tier {
    pub(super) up_to: Option<Value>,
    pub(super) unit_amount: Option<u64>,
    pub(super) flat_amount: Option<u64>,
}

/// A payment method.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Method {
    pub(super) card: Option<Card>,
}

/// A card.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Card {
    pub(super) brand: String,
    pub(super) last4: String,
    pub(super) exp_month: i32,
    pub(super) exp_year: i32,
}

impl Price {
    /// Returns the price of one unit, if it does not depend on the quantity.
    pub(super) fn amount(&self) -> u64 {
        self.unit_amount.or(self.amount).unwrap_or_default()
    }
}

impl Subscription {
    /// Returns the prices of the subscription.
    pub(super) fn prices(&self) -> impl Iterator<Item = &Price> {
        self.items.data.iter().filter_map(|item| item.price.as_ref().or(item.plan.as_ref()))
    }

    /// Returns the start and end of the current period, in seconds since the epoch.
    pub(super) fn period(&self) -> (i64, i64) {
        let item = self.items.data.first();
        let start = self.current_period_start.or_else(|| item?.current_period_start);
        let end = self.current_period_end.or_else(|| item?.current_period_end);
        (start.unwrap_or(self.created), end.unwrap_or(self.created))
    }
}

/// A checkout session to create.
pub(super) struct CheckoutRequest<'a> {
    pub(super) customer: &'a str,
    pub(super) organization: &'a str,
    pub(super) metadata: &'a [(&'a str, String)],
    /// The prices, and in `quantity` the number of units if it is known in advance.
    pub(super) prices: &'a [String],
    pub(super) quantity: Option<u32>,
    pub(super) trial_days: u32,
    pub(super) success: &'a str,
    pub(super) cancel: &'a str,
}

impl Provider {
    pub(super) fn new(settings: config::Billing) -> Self {
        Self { settings, agent: OnceLock::new() }
    }

    /// Creates a customer. The idempotency key makes a second call for the same user return the same customer.
    pub(super) fn create_customer(
        &self,
        name: &str,
        email: &str,
        user: &str,
    ) -> Result<Customer, ProviderError> {
        let form = [("name", name), ("email", email), ("metadata[user]", user)];
        self.post("/v1/customers", &form, Some(&format!("tidemark-customer-{user}")))
    }

    pub(super) fn customer(&self, id: &str) -> Result<Customer, ProviderError> {
        self.get(&format!("/v1/customers/{}", validated_id(id)?))
    }

    /// Whether a customer has ever had a subscription.
    pub(super) fn has_subscribed(&self, customer: &str) -> Result<bool, ProviderError> {
        let query = format!("/v1/subscriptions?customer={}&status=all&limit=1", validated_id(customer)?);
        let list: List<Value> = self.get(&query)?;
        Ok(!list.data.is_empty())
    }

    pub(super) fn create_session(&self, request: &CheckoutRequest<'_>) -> Result<Session, ProviderError> {
        let mut form = vec![
            ("mode".to_owned(), "subscription".to_owned()),
            ("customer".to_owned(), request.customer.to_owned()),
            ("client_reference_id".to_owned(), request.organization.to_owned()),
            ("success_url".to_owned(), request.success.to_owned()),
            ("cancel_url".to_owned(), request.cancel.to_owned()),
        ];
        for (index, price) in request.prices.iter().enumerate() {
            form.push((format!("line_items[{index}][price]"), price.clone()));
            if let Some(quantity) = request.quantity {
                form.push((format!("line_items[{index}][quantity]"), quantity.to_string()));
            }
        }
        for (key, value) in request.metadata {
            form.push((format!("subscription_data[metadata][{key}]"), value.clone()));
        }
        if request.trial_days > 0 {
            let days = request.trial_days.to_string();
            form.push(("subscription_data[trial_period_days]".to_owned(), days));
        }
        let form: Vec<_> = form.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        self.post("/v1/checkout/sessions", &form, None)
    }

    pub(super) fn session(&self, id: &str) -> Result<Session, ProviderError> {
        self.get(&format!("/v1/checkout/sessions/{}", validated_id(id)?))
    }

    pub(super) fn subscription(&self, id: &str) -> Result<Subscription, ProviderError> {
        self.get(&format!("/v1/subscriptions/{}?expand[]=items.data.price.tiers", validated_id(id)?))
    }

    pub(super) fn cancel_at_period_end(&self, id: &str, cancels: bool) -> Result<(), ProviderError> {
        let path = format!("/v1/subscriptions/{}", validated_id(id)?);
        let cancels = if cancels { "true" } else { "false" };
        self.post::<Value>(&path, &[("cancel_at_period_end", cancels)], None).map(drop)
    }

    /// Cancels a subscription at once and bills the usage. Succeeds if the subscription has already ended.
    pub(super) fn cancel(&self, id: &str) -> Result<(), ProviderError> {
        let path = format!("/v1/subscriptions/{}?invoice_now=true", validated_id(id)?);
        let asked = self.agent().delete(self.url(&path)).header("authorization", self.key());
        match read::<Value>(asked.header("stripe-version", API_VERSION).call()) {
            Ok(_) | Err(ProviderError::NotFound) => Ok(()),
            // The provider may also reject the request if the subscription has already ended.
            Err(ProviderError::Rejected(reason)) => match self.subscription(id) {
                Ok(found) if found.status == "canceled" => Ok(()),
                Err(ProviderError::NotFound) => Ok(()),
                _ => Err(ProviderError::Rejected(reason)),
            },
            Err(error) => Err(error),
        }
    }

    /// Returns the card of a subscription.
    pub(super) fn card(
        &self,
        subscription: &Subscription,
        customer: &Customer,
    ) -> Result<Option<Card>, ProviderError> {
        let method = subscription.default_payment_method.as_ref();
        let Some(method) = method.or(customer.invoice_settings.default_payment_method.as_ref()) else {
            return Ok(None);
        };
        match self.get::<Method>(&format!("/v1/payment_methods/{}", validated_id(method)?)) {
            Ok(method) => Ok(method.card),
            Err(ProviderError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reports usage. The provider counts each identifier once.
    pub(super) fn meter(
        &self,
        meter: &str,
        customer: &str,
        value: u64,
        identifier: &str,
        seconds: i64,
    ) -> Result<(), ProviderError> {
        let (value, seconds) = (value.to_string(), seconds.to_string());
        let form = [
            ("event_name", meter),
            ("payload[stripe_customer_id]", customer),
            ("payload[value]", &value),
            ("identifier", identifier),
            ("timestamp", &seconds),
        ];
        match self.post::<Value>("/v1/billing/meter_events", &form, None) {
            Ok(_) => Ok(()),
            // The event was sent before, and the response was lost.
            Err(ProviderError::Rejected(reason)) if reason.contains("already exists") => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn agent(&self) -> &Agent {
        // The operator configured the provider, so it may have a private address.
        self.agent.get_or_init(|| outgoing::agent(self.settings.url.as_str(), true))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.settings.url.as_str().trim_end_matches('/'))
    }

    fn key(&self) -> String {
        format!("Bearer {}", self.settings.secret_key.expose())
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ProviderError> {
        let asked = self.agent().get(self.url(path)).header("authorization", self.key());
        read(asked.header("stripe-version", API_VERSION).call())
    }

    fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        form: &[(&str, &str)],
        idempotency_key: Option<&str>,
    ) -> Result<T, ProviderError> {
        let mut asked = self.agent().post(self.url(path)).header("authorization", self.key());
        asked = asked.header("stripe-version", API_VERSION);
        if let Some(key) = idempotency_key {
            asked = asked.header("idempotency-key", key);
        }
        read(asked.send_form(form.iter().copied()))
    }
}

/// Validates an id of the provider before it becomes part of a path.
fn validated_id(id: &str) -> Result<&str, ProviderError> {
    let is_id = !id.is_empty() && id.len() <= 255;
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_id && is_plain { Ok(id) } else { Err(ProviderError::NotFound) }
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: ErrorDetails,
}

#[derive(Deserialize)]
struct ErrorDetails {
    message: Option<String>,
    code: Option<String>,
}

fn read<T: DeserializeOwned>(answer: Result<Response<ureq::Body>, ureq::Error>) -> Result<T, ProviderError> {
    let mut answer = answer.map_err(|error| ProviderError::Unavailable(error.to_string()))?;
    let status = answer.status();
    let unavailable = |reason: &dyn std::fmt::Display| {
        ProviderError::Unavailable(format!("it answered {status}: {reason}"))
    };
    let read = outgoing::read_body(answer.body_mut(), MAX_RESPONSE_BYTES);
    let bytes = read.map_err(|error| unavailable(&error))?;
    if status.is_success() {
        return serde_json::from_slice(&bytes).map_err(|error| unavailable(&error));
    }
    let mut reason = format!("it answered {status}");
    if let Ok(ErrorResponse { error }) = serde_json::from_slice(&bytes) {
        for word in [error.code, error.message].into_iter().flatten() {
            // Writing to a string cannot fail.
            let _ = write!(reason, ": {word}");
        }
    }
    Err(match status.as_u16() {
        404 => ProviderError::NotFound,
        // A wrong key, a rate limit and a conflict of concurrent requests are temporary, or the operator fixes them.
        401 | 403 | 409 | 429 | 500.. => ProviderError::Unavailable(reason),
        _ => ProviderError::Rejected(reason),
    })
}
