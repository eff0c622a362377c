//! Runs.

use tidemark_api::{NewRun, Report, ReportIdempotencyKey};
use uuid::Uuid;

use crate::{Client, Error, Request};

/// Sends a run and answers its report. It gets an idempotency key if it has none, so that it is recorded once however
/// often it arrives.
pub fn create(client: &Client, mut run: NewRun) -> Result<Report, Error> {
    run.idempotency_key.get_or_insert_with(|| ReportIdempotencyKey(Uuid::new_v4()));
    client.send(&Request::post(&[&"run"], &run).repeatable())
}
