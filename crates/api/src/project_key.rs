//! API keys of projects. The plain key is shown once, in the answer that creates it.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{PlainKey, ProjectKeyUuid, ProjectUuid, ResourceName, Timestamp, UserUuid};

/// A key of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProjectKey)]
pub struct ProjectKey {
    /// Its identifier.
    pub uuid: ProjectKeyUuid,
    /// The project it acts in.
    pub project: ProjectUuid,
    /// Who created it; null when that user is gone.
    pub creator: Option<UserUuid>,
    /// Its name; several keys can share one.
    pub name: ResourceName,
    /// When it was created.
    pub creation: Timestamp,
    /// When it ceases to work.
    pub expiration: Timestamp,
    /// When it was revoked; absent while it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// A key of a project that was just created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProjectKeyCreated)]
pub struct ProjectKeyCreated {
    /// Its identifier.
    pub uuid: ProjectKeyUuid,
    /// The project it acts in.
    pub project: ProjectUuid,
    /// Its name.
    pub name: ResourceName,
    /// The key itself, which is never shown again.
    pub key: PlainKey,
    /// When it was created.
    pub creation: Timestamp,
    /// When it ceases to work.
    pub expiration: Timestamp,
}

/// A key of a project to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewProjectKey)]
pub struct NewProjectKey {
    /// Its name.
    pub name: ResourceName,
    /// How many seconds it is to work; as long as possible when not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::number::positive")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub ttl: Option<NonZeroU32>,
}

/// What to change of a key of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateProjectKey)]
pub struct ProjectKeyPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
}
