//! Runs.

use tidemark_api::{NewRun, Report, ReportIdempotencyKey};
use uuid::Uuid;

use crate::{Client, Error, Request};

/// A run that the server has recorded.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// Report of the run.
    pub report: Report,
    /// Token that claims the organization that an anonymous run created.
    pub claim_token: Option<String>,
}

/// Sends a run. Adds an idempotency key if the run has none, so that the server records the run once.
pub fn send(client: &Client, mut run: NewRun) -> Result<RecordedRun, Error> {
    run.idempotency_key.get_or_insert_with(|| ReportIdempotencyKey(Uuid::new_v4()));
    let response = client.fetch(&Request::<Report>::post(&[&"run"], &run).idempotent())?;
    Ok(RecordedRun { report: response.read()?, claim_token: response.claim_token })
}

/// Sends a run and returns its report.
pub fn create(client: &Client, run: NewRun) -> Result<Report, Error> {
    send(client, run).map(|sent| sent.report)
}
