//! Measures.

use tidemark_api::{Measure, MeasurePatch, MeasureUuid, ResourceId};

use crate::{Client, Error};

/// Changes a measure.
pub fn update(
    client: &Client,
    project: &ResourceId,
    measure: MeasureUuid,
    patch: &MeasurePatch,
) -> Result<Measure, Error> {
    client.patch(&format!("/v0/projects/{project}/measures/{measure}"), patch)
}
