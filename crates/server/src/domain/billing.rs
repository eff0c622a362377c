//! Plans and the payment provider. The provider has the authoritative state: every event is looked up there, so that duplicate,
//! late, reordered and missing events lead to the same state.

mod provider;
mod reading;
mod signature;

use std::sync::Arc;

use tidemark_api::{
    Checkout, Entitlements, NewCheckout, NewPlan, Organization, OrganizationUuid, Plan, PlanLevel,
    PlanStatus, ResourceId,
};
use tidemark_store::{
    Db, Lock, OrganizationId, Tx, organization,
    outbox::OutboxItem,
    plan::{self, MeterReading},
    user,
};
use tokio::task::spawn_blocking;

use self::provider::{CheckoutRequest, Provider, ProviderError, Subscription};
use self::reading::validate_license;
pub(crate) use self::signature::is_valid_signature;
use crate::{
    domain::{
        error::{Error, Result},
        jobs::tier,
        license,
        quota::Quota,
    },
    infra::{
        clock::FreshSource,
        config::{self, Config},
        mail::DeliveryError,
    },
};

/// Maximum number of lookups at the provider if other lookups are written concurrently.
const MAX_LOOKUPS: u32 = 5;

/// The plans of the organizations of this server.
#[derive(Clone)]
pub(crate) struct Billing {
    db: Db,
    provider: Arc<Provider>,
    settings: config::Billing,
    licenses: Option<config::Licenses>,
    console: String,
    fresh: FreshSource,
    quota: Quota,
}

/// Result of a lookup of a subscription.
enum LookupResult {
    /// Another lookup was written concurrently.
    ConcurrentUpdate,
    /// The subscription does not belong to an organization of this server, or ended before it was recorded.
    Unrelated,
    /// The subscription is now the plan of this organization.
    Stored(OrganizationId),
    /// The organization has another plan or was deleted: the subscription must end.
    Surplus,
}

/// A subscription with its customer and card.
struct SubscriptionDetails {
    subscription: Subscription,
    customer: provider::Customer,
    card: Option<provider::Card>,
}

impl Billing {
    /// Creates the billing of a server; `None` if it is not configured.
    pub(crate) fn new(config: &Config, db: Db, fresh: FreshSource) -> Result<Option<Self>> {
        let Some(settings) = config.plus.billing.clone() else { return Ok(None) };
        if let Some(licenses) = &config.plus.license {
            license::check_key(licenses)?;
        }
        Ok(Some(Self {
            db,
            provider: Arc::new(Provider::new(settings.clone())),
            settings,
            licenses: config.plus.license.clone(),
            console: config.console.url.as_str().trim_end_matches('/').to_owned(),
            fresh,
            quota: Quota::new(config),
        }))
    }

    /// Returns the secret that signs the webhooks of the provider.
    pub(crate) fn webhook_secret(&self) -> &str {
        self.settings.webhook_secret.expose()
    }

    /// Creates a checkout session for a plan.
    pub(crate) async fn checkout(
        &self,
        payer: user::UserRow,
        id: OrganizationId,
        organization: &Organization,
        new: &NewCheckout,
    ) -> Result<Checkout> {
        let licensed = validate_license(new.entitlements, new.self_hosted)?;
        let (prices, quantity) = self.prices(new.level, licensed)?;
        let user = payer.id;
        let (current, known) =
            self.db.read(move |tx| Ok::<_, Error>((plan::of(tx, id)?, plan::customer(tx, user)?))).await?;
        if let Some(current) = current.filter(|plan| !plan.status.has_ended()) {
            return Err(has_plan(current.level));
        }
        let customer = match known {
            Some(customer) => customer,
            None => {
                let made = self
                    .call_provider(move |provider| {
                        let (user, uuid) = (&payer.user, payer.user.uuid.to_string());
                        provider.create_customer(user.name.as_str(), user.email.as_str(), &uuid)
                    })
                    .await
                    .map_err(|error| provider_error(&error))?;
                self.db.write(move |tx| plan::set_customer(tx, user, &made.id)).await?
            }
        };
        let uuid = organization.uuid.to_string();
        let level = new.level;
        let page = format!("{}/console/organizations/{}", self.console, organization.slug);
        let mut success = format!("{page}/checkout?checkout={{CHECKOUT_SESSION_ID}}&level={level}");
        let mut metadata = vec![("organization", uuid.clone()), ("level", level.to_string())];
        if let Some((entitlements, self_hosted)) = licensed {
            success.push_str(&format!("&entitlements={entitlements}&self_hosted={self_hosted}"));
            metadata.push(("entitlements", entitlements.to_string()));
            metadata.push(("self_hosted", self_hosted.to_string()));
        }
        let cancel = format!("{page}/billing");
        let trial_days = self.settings.trial_days;
        let session = self
            .call_provider(move |provider| {
                let is_first = trial_days > 0 && licensed.is_none() && !provider.has_subscribed(&customer)?;
                provider.create_session(&CheckoutRequest {
                    customer: &customer,
                    organization: &uuid,
                    metadata: &metadata,
                    prices: &prices,
                    quantity,
                    trial_days: if is_first { trial_days } else { 0 },
                    success: &success,
                    cancel: &cancel,
                })
            })
            .await
            .map_err(|error| provider_error(&error))?;
        let no_url = || provider_error(&ProviderError::Unavailable("the checkout has no URL".into()));
        let url = session.url.ok_or_else(no_url)?;
        let (now, opened) = ((self.fresh)().now, session.id.clone());
        self.db.write(move |tx| plan::open_checkout(tx, id, &opened, now)).await?;
        Ok(Checkout { session: session.id, url })
    }

    /// Starts a plan that has been paid for.
    pub(crate) async fn start_plan(
        &self,
        id: OrganizationId,
        organization: &Organization,
        new: &NewPlan,
    ) -> Result<Plan> {
        validate_license(new.entitlements, new.self_hosted)?;
        let given = new.checkout.as_str().to_owned();
        let subscription = if new.remote.unwrap_or(true) {
            let session = self.call_provider(move |provider| provider.session(&given)).await;
            let session = session.map_err(|error| match error {
                ProviderError::NotFound => {
                    Error::NotFound("This checkout does not exist at the provider.".into())
                }
                error => provider_error(&error),
            })?;
            if session.client_reference_id != Some(organization.uuid.to_string()) {
                return Err(Error::NotFound("This checkout belongs to another organization.".into()));
            }
            session.subscription.filter(|_| session.status == "complete").ok_or_else(|| {
                Error::Conflict("This checkout has not been paid; pay it, or start another.".into())
            })?
        } else {
            given
        };
        let current = self.db.read(move |tx| plan::of(tx, id)).await?;
        if let Some(current) = current
            && current.subscription != subscription
            && !current.status.has_ended()
        {
            return Err(has_plan(current.level));
        }
        let unknown = || Error::NotFound("The organization does not have this subscription.".into());
        match self.sync_subscription(&subscription).await? {
            Some(kept) if kept == id => {}
            _ => return Err(unknown()),
        }
        let plan = self.db.read(move |tx| plan::view(tx, id)).await?.ok_or_else(unknown)?;
        if plan.level != new.level {
            return Err(Error::Conflict(format!(
                "The paid level is `{}`, not `{}`; the plan started with the paid level.",
                plan.level, new.level
            )));
        }
        Ok(plan)
    }

    /// Sets whether a plan ends with its period.
    pub(crate) async fn cancel_at_period_end(&self, id: OrganizationId, cancels: bool) -> Result<Plan> {
        let found = self.active_plan(id).await?;
        let shown = self.db.read(move |tx| plan::view(tx, id)).await?.ok_or_else(no_plan)?;
        if shown.license.is_some() {
            return Err(Error::Invalid(
                "A plan with a license cannot be canceled; ask the operator of the server to end it.".into(),
            ));
        }
        let subscription = found.subscription.clone();
        self.call_provider(move |provider| provider.cancel_at_period_end(&subscription, cancels))
            .await
            .map_err(|error| provider_error(&error))?;
        self.sync_subscription(&found.subscription).await?;
        self.db.read(move |tx| plan::view(tx, id)).await?.ok_or_else(no_plan)
    }

    /// Ends and deletes the plan of an organization. Without `remote`, deletes only a plan that has ended at the provider.
    pub(crate) async fn end_plan(&self, id: OrganizationId, remote: bool) -> Result<()> {
        let found = self.db.read(move |tx| plan::of(tx, id)).await?.ok_or_else(no_plan)?;
        let subscription = found.subscription.clone();
        if remote {
            self.call_provider(move |provider| provider.cancel(&subscription))
                .await
                .map_err(|error| provider_error(&error))?;
        } else {
            self.sync_subscription(&subscription).await?;
        }
        self.db
            .write(move |tx| match plan::by_subscription(tx, &found.subscription)? {
                Some(current) if !remote && !current.status.has_ended() => Err(Error::Conflict(
                    "The plan is still active at the payment provider; cancel it there first, or leave `remote` out."
                        .into(),
                )),
                Some(current) => Ok(plan::delete(tx, current.organization)?),
                None => Ok(()),
            })
            .await
    }

    /// Performs an outbox item.
    pub(crate) async fn perform(&self, item: &OutboxItem) -> Result<(), DeliveryError> {
        let payload = item.payload.clone();
        match item.kind.as_str() {
            plan::SYNC => self.sync_subscription(&payload).await.map(drop).map_err(to_delivery_error),
            plan::SESSION => self.settle_checkout(payload).await.map_err(to_delivery_error),
            plan::CANCEL => {
                let cancel = payload.clone();
                self.call_provider(move |provider| provider.cancel(&cancel))
                    .await
                    .map_err(|error| provider_error_to_delivery_error(&error))?;
                self.sync_subscription(&payload).await.map(drop).map_err(to_delivery_error)
            }
            _ => {
                let reading: MeterReading = serde_json::from_str(&payload).map_err(|error| {
                    DeliveryError::Permanent(format!(
                        "the stored reading cannot be read by this release: {error}"
                    ))
                })?;
                let seconds = item.created.seconds();
                let sent = self.call_provider(move |provider| {
                    let MeterReading { meter, customer, value, identifier } = &reading;
                    provider.meter(meter, customer, *value, identifier, seconds)
                });
                sent.await.map_err(|error| provider_error_to_delivery_error(&error))
            }
        }
    }

    /// Settles a checkout from which no user returned.
    async fn settle_checkout(&self, session: String) -> Result<()> {
        let asked = session.clone();
        let found = match self.call_provider(move |provider| provider.session(&asked)).await {
            Ok(found) => Some(found),
            Err(ProviderError::NotFound) => None,
            Err(error) => return Err(provider_error(&error)),
        };
        match found {
            Some(found) if found.status == "open" => return Ok(()),
            Some(found) => {
                if let Some(subscription) = found.subscription
                    && self.sync_subscription(&subscription).await?.is_none()
                    && self.is_open_checkout(&session).await?
                {
                    // The organization of the subscription no longer exists.
                    self.call_provider(move |provider| provider.cancel(&subscription))
                        .await
                        .map_err(|error| provider_error(&error))?;
                }
            }
            None => {}
        }
        Ok(self.db.write(move |tx| plan::close_checkout(tx, &session)).await?)
    }

    async fn is_open_checkout(&self, session: &str) -> Result<bool> {
        let session = session.to_owned();
        Ok(self.db.read(move |tx| plan::is_open(tx, &session)).await?)
    }

    async fn active_plan(&self, id: OrganizationId) -> Result<plan::PlanRow> {
        let found = self.db.read(move |tx| plan::of(tx, id)).await?;
        found.filter(|found| !found.status.has_ended()).ok_or_else(no_plan)
    }

    /// Looks up a subscription and writes its state. Returns the organization whose plan it is. Cancels a surplus subscription.
    async fn sync_subscription(&self, subscription: &str) -> Result<Option<OrganizationId>> {
        for _ in 0..MAX_LOOKUPS {
            let known = subscription.to_owned();
            let revision =
                self.db.read(move |tx| plan::by_subscription(tx, &known)).await?.map(|found| found.revision);
            let asked = subscription.to_owned();
            let details = self.call_provider(move |provider| {
                let subscription = provider.subscription(&asked)?;
                let customer = provider.customer(&subscription.customer)?;
                let card = provider.card(&subscription, &customer)?;
                Ok(SubscriptionDetails { subscription, customer, card })
            });
            let details = match details.await {
                Ok(details) => Some(details),
                Err(ProviderError::NotFound) => None,
                Err(error) => return Err(provider_error(&error)),
            };
            let (billing, id) = (self.clone(), subscription.to_owned());
            let result =
                self.db.write(move |tx| billing.store_subscription(tx, &id, revision, details)).await?;
            match result {
                LookupResult::ConcurrentUpdate => {}
                LookupResult::Unrelated => return Ok(None),
                LookupResult::Stored(organization) => return Ok(Some(organization)),
                LookupResult::Surplus => {
                    tracing::warn!(subscription, "surplus subscription; canceling it at the provider");
                    let surplus = subscription.to_owned();
                    self.call_provider(move |provider| provider.cancel(&surplus))
                        .await
                        .map_err(|error| provider_error(&error))?;
                    // A subscription that is stored here needs another lookup for its new state.
                    if revision.is_none() {
                        return Ok(None);
                    }
                }
            }
        }
        Err(Error::Busy(None))
    }

    /// Writes the state of a subscription, unless another state was written since `revision`.
    fn store_subscription(
        &self,
        tx: &mut Tx<'_>,
        subscription: &str,
        revision: Option<i64>,
        details: Option<SubscriptionDetails>,
    ) -> Result<LookupResult> {
        let now = (self.fresh)().now;
        let known = plan::by_subscription(tx, subscription)?;
        let named = details.as_ref().and_then(|details| {
            details.subscription.metadata.get("organization")?.parse::<OrganizationUuid>().ok()
        });
        let found = match (&known, named) {
            (Some(known), _) => organization::by_id(tx, known.organization)?,
            (None, Some(named)) => match organization::find_any(tx, &ResourceId::Uuid(named.uuid())) {
                Ok(found) => found,
                Err(tidemark_store::Error::NotFound(_)) => return Ok(LookupResult::Unrelated),
                Err(error) => return Err(error.into()),
            },
            (None, None) => return Ok(LookupResult::Unrelated),
        };
        tx.lock(Lock::Organization(found.id.get()))?;
        let current = plan::of(tx, found.id)?;
        let own = current.as_ref().filter(|current| current.subscription == subscription);
        if own.map(|own| own.revision) != revision {
            return Ok(LookupResult::ConcurrentUpdate);
        }
        let before = plan::view(tx, found.id)?.filter(|_| own.is_some());
        let Some(details) = details else {
            // The provider has deleted it.
            if let (Some(own), Some(mut gone)) = (own, before) {
                gone.status = PlanStatus::Canceled;
                plan::upsert(tx, found.id, subscription, &own.customer, &gone, now)?;
                return Ok(LookupResult::Stored(found.id));
            }
            return Ok(LookupResult::Unrelated);
        };
        let plan = self.plan(tx, found.organization.uuid, &details, before)?;
        let is_over = plan.status.has_ended();
        match &current {
            None if is_over => return Ok(LookupResult::Unrelated),
            Some(other) if own.is_none() && is_over => {
                tracing::debug!(subscription, other = other.subscription, "an earlier subscription ended");
                return Ok(LookupResult::Unrelated);
            }
            Some(other) if own.is_none() && !other.status.has_ended() => return Ok(LookupResult::Surplus),
            _ => {}
        }
        plan::upsert(tx, found.id, subscription, &details.customer.id, &plan, now)?;
        if plan.status.is_in_effect() {
            tier::raise_pending(tx, self.quota, found.id)?;
        }
        let is_gone = plan::of(tx, found.id)?.is_some_and(|plan| plan.is_deleted);
        Ok(if is_gone && !is_over { LookupResult::Surplus } else { LookupResult::Stored(found.id) })
    }

    /// Returns the prices of a level at the provider, and the number of units if it is known in advance.
    fn prices(
        &self,
        level: PlanLevel,
        licensed: Option<(Entitlements, OrganizationUuid)>,
    ) -> Result<(Vec<String>, Option<u32>)> {
        let offered = || {
            let levels: Vec<String> = self.settings.levels.keys().map(|level| format!("`{level}`")).collect();
            levels.join(", ")
        };
        let prices = self.settings.levels.get(&level).ok_or_else(|| {
            Error::Invalid(format!(
                "This server does not sell the level `{level}`; choose one of {}.",
                offered()
            ))
        })?;
        let Some((entitlements, _)) = licensed else { return Ok((prices.prices.clone(), None)) };
        let signs = self.licenses.as_ref().is_some_and(|settings| settings.private_key.is_some());
        match &prices.license {
            Some(price) if signs => Ok((vec![price.clone()], Some(entitlements.get()))),
            _ => Err(Error::Invalid(format!(
                "This server sells no licenses of the level `{level}`; leave out `entitlements` and `self_hosted`."
            ))),
        }
    }

    /// Sends a request to the provider on a blocking thread.
    async fn call_provider<T: Send + 'static>(
        &self,
        request: impl FnOnce(&Provider) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let provider = Arc::clone(&self.provider);
        let asked = spawn_blocking(move || request(&provider)).await;
        asked.unwrap_or_else(|error| Err(ProviderError::Unavailable(error.to_string())))
    }
}

/// Returns the error for a server without billing.
pub(crate) fn not_configured() -> Error {
    Error::NotFound(
        "Billing is not configured on this server: there are no plans and no limits of plans. The operator \
         configures it in the section plus.billing."
            .into(),
    )
}

fn has_plan(level: PlanLevel) -> Error {
    Error::Conflict(format!("The organization already has the plan `{level}`; end this plan first."))
}

/// Returns the error for an organization without a plan.
pub(crate) fn no_plan() -> Error {
    Error::NotFound("The organization has no plan; start one at /v0/checkout.".into())
}

/// Returns the error for callers and logs the reason of the provider for the operator.
fn provider_error(error: &ProviderError) -> Error {
    let reason = match error {
        ProviderError::NotFound => "the object does not exist",
        ProviderError::Rejected(reason) | ProviderError::Unavailable(reason) => reason,
    };
    tracing::warn!(reason, "request to the payment provider failed");
    Error::Upstream("The payment provider is unavailable. Nothing was changed; try again later.".into())
}

fn to_delivery_error(error: Error) -> DeliveryError {
    match error {
        Error::NotFound(reason) | Error::Invalid(reason) | Error::Conflict(reason) => {
            DeliveryError::Permanent(reason)
        }
        error => DeliveryError::Temporary(
            error.cause().unwrap_or_else(|| "the payment provider does not respond".into()),
        ),
    }
}

fn provider_error_to_delivery_error(error: &ProviderError) -> DeliveryError {
    match error {
        ProviderError::NotFound => {
            DeliveryError::Permanent("the object does not exist at the payment provider".into())
        }
        ProviderError::Rejected(reason) => {
            DeliveryError::Permanent(format!("the payment provider rejected the request: {reason}"))
        }
        ProviderError::Unavailable(reason) => {
            DeliveryError::Temporary(format!("the payment provider does not respond: {reason}"))
        }
    }
}
