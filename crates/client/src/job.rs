//! Jobs.

use tidemark_api::{Job, JobUuid, ResourceId};

use crate::{Client, Error};

/// A job, with its output once it has ended.
pub fn view(client: &Client, project: &ResourceId, job: JobUuid) -> Result<Job, Error> {
    client.get(&format!("/v0/projects/{project}/jobs/{job}"))
}
