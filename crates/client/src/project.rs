//! Projects.

use tidemark_api::{Project, ResourceId};

use crate::{Client, Error};

/// A project.
pub fn view(client: &Client, project: &ResourceId) -> Result<Project, Error> {
    client.get(&format!("/v0/projects/{project}"))
}
