//! Plans of organizations, in the state last read from the payment provider, and the pending requests to the provider.

use serde::{Deserialize, Serialize};
use tidemark_api::{JobUuid, Plan, PlanLevel, PlanStatus, Timestamp, UserUuid};

use crate::{Error, OrganizationId, Result, Tx, UserId, columns::columns, outbox};

/// Outbox kind that synchronizes a subscription; the payload is the subscription.
pub const SYNC: &str = "plan.sync";
/// Outbox kind that synchronizes a checkout session; the payload is the session.
pub const SESSION: &str = "plan.session";
/// Outbox kind that cancels a subscription; the payload is the subscription.
pub const CANCEL: &str = "plan.cancel";
/// Outbox kind that reports usage; the payload is a [`MeterReading`].
pub const METER: &str = "plan.meter";

/// A usage record for the payment provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterReading {
    /// Meter.
    pub meter: String,
    /// Customer at the provider.
    pub customer: String,
    /// Quantity.
    pub value: u64,
    /// Idempotency key at the provider.
    pub identifier: String,
}

columns!(
    /// The plan of an organization.
    #[derive(Clone, Debug)]
    pub struct PlanRow {
        /// Organization.
        pub organization: OrganizationId = "plan.organization_id",
        /// Subscription at the provider.
        pub subscription: String = "plan.subscription",
        /// Customer at the provider.
        pub customer: String = "plan.customer",
        /// Level of the plan.
        pub level: PlanLevel = "plan.level",
        /// Payment status.
        pub status: PlanStatus = "plan.status",
        /// Revision: the number of writes of the row.
        pub revision: i64 = "plan.revision",
        /// Whether the organization is deleted.
        pub is_deleted: bool = "organization.deleted is not null",
    }
);
const FROM: &str = "plan join organization on organization.id = plan.organization_id";

/// Returns the plan of an organization.
pub fn of(tx: &mut Tx<'_>, organization: OrganizationId) -> Result<Option<PlanRow>> {
    let sql = format!("select {{columns}} from {FROM} where plan.organization_id = $1");
    tx.fetch_optional(&sql, &[&organization])
}

/// Returns the plan with a subscription.
pub fn by_subscription(tx: &mut Tx<'_>, subscription: &str) -> Result<Option<PlanRow>> {
    let sql = format!("select {{columns}} from {FROM} where plan.subscription = $1");
    tx.fetch_optional(&sql, &[&subscription])
}

/// Returns the plan of an organization as an API type.
pub fn view(tx: &mut Tx<'_>, organization: OrganizationId) -> Result<Option<Plan>> {
    let sql = "select shown from plan where organization_id = $1";
    let text: Option<String> = tx.fetch_optional(sql, &[&organization])?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| Error::Engine(error.into()))).transpose()
}

/// Upserts the plan of an organization with the state read from the provider.
pub fn upsert(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    subscription: &str,
    customer: &str,
    seen: &Plan,
    now: Timestamp,
) -> Result<()> {
    let shown = serde_json::to_string(seen).map_err(|error| Error::Engine(error.into()))?;
    tx.execute(
        "insert into plan (organization_id, subscription, customer, level, status, shown, revision, asked)
         values ($1, $2, $3, $4, $5, $6, 1, $7)
         on conflict (organization_id) do update set
             subscription = excluded.subscription, customer = excluded.customer, level = excluded.level,
             status = excluded.status, shown = excluded.shown, revision = plan.revision + 1",
        &[&organization, &subscription, &customer, &seen.level, &seen.status, &shown, &now],
    )?;
    Ok(())
}

/// Deletes the plan of an organization.
pub fn delete(tx: &mut Tx<'_>, organization: OrganizationId) -> Result<()> {
    tx.execute("delete from plan where organization_id = $1", &[&organization])?;
    Ok(())
}

/// Enqueues the cancellation of the subscription of an organization.
pub fn enqueue_cancellation(tx: &mut Tx<'_>, organization: OrganizationId, now: Timestamp) -> Result<()> {
    match of(tx, organization)? {
        Some(found) if !found.status.has_ended() => outbox::add(tx, CANCEL, &found.subscription, None, now),
        _ => Ok(()),
    }
}

/// Enqueues the synchronization of all plans and checkouts that were last synchronized before `since`, because events
/// of the provider may have been lost.
pub fn enqueue_sync(tx: &mut Tx<'_>, since: Timestamp, now: Timestamp) -> Result<()> {
    let plans = tx.fetch_all(
        "update plan set asked = $2 where asked <= $1 and status not in ('canceled', 'incomplete_expired')
         returning subscription",
        &[&since, &now],
    )?;
    outbox::add_many(tx, SYNC, &without_owner(plans), now)?;
    let sessions =
        tx.fetch_all("update checkout set asked = $2 where asked <= $1 returning session", &[&since, &now])?;
    outbox::add_many(tx, SESSION, &without_owner(sessions), now)
}

fn without_owner(payloads: Vec<String>) -> Vec<(String, Option<OrganizationId>)> {
    payloads.into_iter().map(|payload| (payload, None)).collect()
}

/// Enqueues a usage record of an organization, if the organization has an active plan.
pub fn meter(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    meter: &str,
    value: u64,
    identifier: &str,
    now: Timestamp,
) -> Result<()> {
    let customer: Option<String> = tx.fetch_optional(
        "select customer from plan where organization_id = $1 and status not in ('canceled', 'incomplete_expired')",
        &[&organization],
    )?;
    let Some(customer) = customer else { return Ok(()) };
    let reading =
        MeterReading { meter: meter.to_owned(), customer, value, identifier: identifier.to_owned() };
    enqueue_readings(tx, &[reading], now)
}

columns!(
    struct JobUsage {
        job: JobUuid = "job.uuid",
        customer: String = "plan.customer",
        minutes: u64 = "(job.completed - job.started + 59999999) / 60000000",
    }
);

/// Enqueues usage records for the minutes of ended jobs. Every started minute counts.
pub(crate) fn meter_jobs(tx: &mut Tx<'_>, jobs: &[JobUuid], now: Timestamp) -> Result<()> {
    let jobs: Vec<_> = jobs.iter().map(|job| job.uuid()).collect();
    let used: Vec<JobUsage> = tx.fetch_all(
        "select {columns} from job join project on project.id = job.project_id
         join plan on plan.organization_id = project.organization_id
              and plan.status not in ('canceled', 'incomplete_expired')
         where job.uuid in {uuids $1} and job.completed > job.started",
        &[&&jobs[..]],
    )?;
    let reading = |used: JobUsage| MeterReading {
        meter: "runner_minutes".to_owned(),
        customer: used.customer,
        value: used.minutes,
        identifier: used.job.to_string(),
    };
    let readings: Vec<_> = used.into_iter().map(reading).collect();
    enqueue_readings(tx, &readings, now)
}

fn enqueue_readings(tx: &mut Tx<'_>, readings: &[MeterReading], now: Timestamp) -> Result<()> {
    let written = readings.iter().map(|reading| Ok((serde_json::to_string(reading)?, None)));
    let written: serde_json::Result<Vec<_>> = written.collect();
    outbox::add_many(tx, METER, &written.map_err(|error| Error::Engine(error.into()))?, now)
}

/// Returns the customer of a user at the provider.
pub fn customer(tx: &mut Tx<'_>, user: UserId) -> Result<Option<String>> {
    tx.fetch_optional("select customer from customer where account_id = $1", &[&user])
}

/// Stores the customer of a user at the provider, unless the user has one. Returns the stored customer.
pub fn set_customer(tx: &mut Tx<'_>, user: UserId, customer: &str) -> Result<String> {
    tx.execute(
        "insert into customer (account_id, customer) values ($1, $2) on conflict (account_id) do nothing",
        &[&user, &customer],
    )?;
    tx.value("select customer from customer where account_id = $1", &[&user])
}

/// Returns the user of a customer at the provider.
pub fn user_of_customer(tx: &mut Tx<'_>, customer: &str) -> Result<Option<UserUuid>> {
    tx.fetch_optional(
        "select account.uuid from customer join account on account.id = customer.account_id
         where customer.customer = $1 order by account.id limit 1",
        &[&customer],
    )
}

/// Records a checkout for an organization.
pub fn open_checkout(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    session: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into checkout (session, organization_id, asked) values ($1, $2, $3) on conflict (session) do nothing",
        &[&session, &organization, &now],
    )?;
    Ok(())
}

/// Whether a checkout belongs to this server and is not known to be completed.
pub fn is_open(tx: &mut Tx<'_>, session: &str) -> Result<bool> {
    tx.value("select exists (select 1 from checkout where session = $1)", &[&session])
}

/// Deletes a completed checkout.
pub fn close_checkout(tx: &mut Tx<'_>, session: &str) -> Result<()> {
    tx.execute("delete from checkout where session = $1", &[&session])?;
    Ok(())
}
