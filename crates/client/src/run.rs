//! Runs.

use serde::Serialize;
use tidemark_api::{NewJob, NewRun, Report, ReportIdempotencyKey};
use uuid::Uuid;

use crate::{Client, Error, Request};

/// Sends a run, with the job that is to bring its results if there is one, and answers its report. It gets an
/// idempotency key if it has none, so that it is recorded once however often it arrives.
pub fn create(client: &Client, mut run: NewRun, job: Option<&NewJob>) -> Result<Report, Error> {
    #[derive(Serialize)]
    struct Sent<'a> {
        #[serde(flatten)]
        run: &'a NewRun,
        #[serde(skip_serializing_if = "Option::is_none")]
        job: Option<&'a NewJob>,
    }
    run.idempotency_key.get_or_insert_with(|| ReportIdempotencyKey(Uuid::new_v4()));
    client.send(&Request::post(&[&"run"], &Sent { run: &run, job }).repeatable())
}
