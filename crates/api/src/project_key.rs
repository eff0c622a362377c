//! API keys of projects. The plain key is in the response that creates the key and nowhere else.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{PlainKey, ProjectKeyUuid, ProjectUuid, ResourceName, Timestamp, UserUuid};

/// An API key of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProjectKey)]
pub struct ProjectKey {
    /// UUID of the key.
    pub uuid: ProjectKeyUuid,
    /// UUID of the project that the key gives access to.
    pub project: ProjectUuid,
    /// UUID of the user who created the key; null if the user was deleted.
    pub creator: Option<UserUuid>,
    /// Name of the key; not necessarily unique.
    pub name: ResourceName,
    /// Time when the key was created.
    pub creation: Timestamp,
    /// Time when the key expires.
    pub expiration: Timestamp,
    /// Time when the key was revoked; omitted if it is not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// A new API key of a project, with the plain key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProjectKeyCreated)]
pub struct ProjectKeyCreated {
    /// UUID of the key.
    pub uuid: ProjectKeyUuid,
    /// UUID of the project that the key gives access to.
    pub project: ProjectUuid,
    /// Name of the key.
    pub name: ResourceName,
    /// The key in plain text. The server shows it only in this response.
    pub key: PlainKey,
    /// Time when the key was created.
    pub creation: Timestamp,
    /// Time when the key expires.
    pub expiration: Timestamp,
}

/// An API key of a project to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewProjectKey)]
pub struct NewProjectKey {
    /// Name of the key.
    pub name: ResourceName,
    /// Lifetime in seconds; 4,294,967,295 (about 136 years) by default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::number::positive")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub ttl: Option<NonZeroU32>,
}

/// Changes to an API key of a project. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateProjectKey)]
pub struct ProjectKeyPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
}
