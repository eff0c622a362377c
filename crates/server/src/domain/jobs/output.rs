//! The outputs of jobs: JSON documents in the object store. The row of a job has the name of its object.

use axum::body::{Body, Bytes};
use futures_util::TryStreamExt;
use http_body_util::BodyExt;
use tidemark_api::{JobOutput, channel::OUTPUT_MAX, job::JOB_ITERATIONS_MAX};
use uuid::Uuid;

use crate::domain::{
    app::App,
    error::{Error, Result},
};

/// Stores an output and returns the name of its object.
pub(crate) async fn write(app: &App, output: &JobOutput) -> Result<Uuid> {
    let bytes = serde_json::to_vec(output).map_err(|error| Error::Internal(error.into()))?;
    let name = app.fresh().uuid();
    let mut writer = app.blobs.write(name);
    writer.write(Bytes::from(bytes)).await?;
    writer.finish().await?;
    Ok(name)
}

/// Streams an output that is too large for a message into the object store. `announced` is the size that the sender declares.
pub(crate) async fn receive(app: &App, mut body: Body, announced: Option<u64>) -> Result<Uuid> {
    if announced.is_some_and(|size| size > OUTPUT_MAX) {
        return Err(over_limit());
    }
    let name = app.fresh().uuid();
    let mut writer = app.blobs.write(name);
    let mut size = 0_u64;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Error::Invalid("The upload ended early; send it again.".into()))?;
        let Ok(bytes) = frame.into_data() else { continue };
        size += bytes.len() as u64;
        if size > OUTPUT_MAX {
            return Err(over_limit());
        }
        writer.write(bytes).await?;
    }
    if size == 0 {
        return Err(Error::Invalid("The output of the job is empty; send a JSON document.".into()));
    }
    writer.finish().await?;
    // Validates the output now rather than when the report is created.
    match read(app, name).await {
        Ok(_) => Ok(name),
        Err(error) => {
            app.blobs.discard(name).await;
            Err(error)
        }
    }
}

fn over_limit() -> Error {
    Error::OverLimit(format!(
        "The output of the job is larger than {OUTPUT_MAX} bytes, the maximum; print less, or run fewer iterations."
    ))
}

/// Reads an output; `None` if the object is missing.
pub(crate) async fn read(app: &App, name: Uuid) -> Result<Option<JobOutput>> {
    let mut stream = match app.blobs.read(name, 0..OUTPUT_MAX).await {
        Err(failure) if failure.is_missing() => return Ok(None),
        stream => stream?,
    };
    let mut bytes = Vec::new();
    while let Some(piece) = stream.try_next().await? {
        bytes.extend_from_slice(&piece);
    }
    let output: JobOutput = serde_json::from_slice(&bytes)
        .map_err(|error| Error::Invalid(format!("The output of the job is invalid: {error}.")))?;
    if output.results.len() > JOB_ITERATIONS_MAX as usize {
        return Err(Error::Invalid(format!(
            "The output of the job has {} results; the maximum is {JOB_ITERATIONS_MAX}.",
            output.results.len()
        )));
    }
    Ok(Some(output))
}
