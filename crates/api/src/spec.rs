//! Specs: types of machines for jobs.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    ResourceName, Search, Slug, SpecUuid, SpecsSort, Timestamp,
    scalar::{fixed_string, integer},
};

/// A type of machine for jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSpec)]
pub struct Spec {
    /// UUID of the spec.
    pub uuid: SpecUuid,
    /// Name of the spec.
    pub name: ResourceName,
    /// Slug of the spec.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Operating system.
    pub os: OperatingSystem,
    /// Instruction set.
    pub architecture: Architecture,
    /// Requested sandbox; null if none is requested.
    pub sandbox: Option<Sandbox>,
    /// Number of processors of a job.
    pub cpu: Cpu,
    /// Memory of a job, in bytes.
    pub memory: Memory,
    /// Disk space of a job, in bytes.
    pub disk: Disk,
    /// Whether a job has network access.
    pub network: bool,
    /// Time since when the spec serves jobs without a spec; null if it does not.
    pub fallback: Option<Timestamp>,
    /// Time when the spec was created.
    pub created: Timestamp,
    /// Time when the spec was last modified.
    pub modified: Timestamp,
    /// Time when the spec was archived; null if it is not archived.
    pub archived: Option<Timestamp>,
}

/// A spec to create. Only its name, slug, fallback and archived state can be changed later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewSpec)]
pub struct NewSpec {
    /// Name of the spec; not necessarily unique.
    pub name: ResourceName,
    /// Slug of the spec; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Operating system.
    pub os: OperatingSystem,
    /// Instruction set.
    pub architecture: Architecture,
    /// Requested sandbox; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Number of processors of a job.
    pub cpu: Cpu,
    /// Memory of a job, in bytes.
    pub memory: Memory,
    /// Disk space of a job, in bytes.
    pub disk: Disk,
    /// Whether a job has network access; false by default.
    #[serde(default)]
    pub network: bool,
    /// Whether the spec serves jobs without a spec, instead of the current fallback spec; false by default.
    #[serde(default)]
    pub fallback: bool,
}

/// Changes to a specification. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateSpec)]
pub struct SpecPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether the spec serves jobs without a spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<bool>,
    /// Whether to archive the spec (`true`) or to restore it (`false`). Archiving removes the spec from all testbeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Filter of a list of specifications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpecFilter {
    /// Only specs with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only specs whose name, slug or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list archived specs instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<SpecsSort>,
}

fixed_string! {
    /// Operating system of a machine.
    OperatingSystem {
        /// Linux.
        Linux = "linux",
        /// macOS.
        Macos = "macos",
        /// Windows.
        Windows = "windows",
    }
}

fixed_string! {
    /// Instruction set of a machine.
    Architecture {
        /// 64-bit x86.
        X8664 = "x86_64",
        /// 64-bit ARM.
        Aarch64 = "aarch64",
    }
}

fixed_string! {
    /// Sandbox that a spec requests. The Tidemark runner always uses an OCI runtime.
    Sandbox {
        /// Firecracker microVM.
        Firecracker = "firecracker",
    }
}

integer! {
    /// Number of processors.
    Cpu(u32, "uint32"), 1, 2_147_483_647
}

integer! {
    /// Amount of memory in bytes.
    Memory(u64, "uint64"), 1, 9_223_372_036_854_775_807
}

integer! {
    /// Amount of disk space in bytes.
    Disk(u64, "uint64"), 1, 9_223_372_036_854_775_807
}
