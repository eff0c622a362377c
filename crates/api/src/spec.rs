//! Specifications of the machines that benchmarks run on, as testbeds show them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    ResourceName, Slug, SpecUuid, Timestamp,
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
