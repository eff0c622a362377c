//! Specifications of the machines that benchmarks run on.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    ResourceName, Search, Slug, SpecUuid, SpecsSort, Timestamp,
    scalar::{integer, word},
};

/// The specification of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSpec)]
pub struct Spec {
    /// Its identifier.
    pub uuid: SpecUuid,
    /// Its name.
    pub name: ResourceName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// The operating system.
    pub os: OperatingSystem,
    /// The instruction set.
    pub architecture: Architecture,
    /// What separates a job from its host; null when it runs on the host itself.
    pub sandbox: Option<Sandbox>,
    /// How many processors a job has.
    pub cpu: Cpu,
    /// How much memory a job has.
    pub memory: Memory,
    /// How much disk space a job has.
    pub disk: Disk,
    /// Whether a job can reach the network.
    pub network: bool,
    /// Since when it serves jobs that name no specification; null when it does not.
    pub fallback: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it was archived; null while it is in use.
    pub archived: Option<Timestamp>,
}

/// A specification to create. What it says of the machine cannot be changed later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewSpec)]
pub struct NewSpec {
    /// Its name; several can share one.
    pub name: ResourceName,
    /// Its slug; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// The operating system.
    pub os: OperatingSystem,
    /// The instruction set.
    pub architecture: Architecture,
    /// What separates a job from its host; without it, it runs on the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// How many processors a job has.
    pub cpu: Cpu,
    /// How much memory a job has.
    pub memory: Memory,
    /// How much disk space a job has.
    pub disk: Disk,
    /// Whether a job can reach the network; it cannot when not given.
    #[serde(default)]
    pub network: bool,
    /// Whether it serves the jobs that name no specification, instead of the one that did so far.
    #[serde(default)]
    pub fallback: bool,
}

/// What to change of a specification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateSpec)]
pub struct SpecPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether it serves the jobs that name no specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<bool>,
    /// Whether it is to be archived, which takes it from all testbeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Which specifications to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpecFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// The archived ones instead of the others.
    pub archived: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<SpecsSort>,
}

word! {
    /// The operating system of a machine.
    OperatingSystem {
        /// Linux.
        Linux = "linux",
        /// macOS.
        Macos = "macos",
        /// Windows.
        Windows = "windows",
    }
}

word! {
    /// The instruction set of a machine.
    Architecture {
        /// 64-bit x86.
        X8664 = "x86_64",
        /// 64-bit ARM.
        Aarch64 = "aarch64",
    }
}

word! {
    /// What separates a job from its host.
    Sandbox {
        /// A Firecracker microVM.
        Firecracker = "firecracker",
    }
}

integer! {
    /// A number of processors.
    Cpu(u32, "uint32"), 1, 2_147_483_647
}

integer! {
    /// An amount of memory in bytes.
    Memory(u64, "uint64"), 1, 9_223_372_036_854_775_807
}

integer! {
    /// An amount of disk space in bytes.
    Disk(u64, "uint64"), 1, 9_223_372_036_854_775_807
}
