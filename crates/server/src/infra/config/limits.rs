//! Settings of rate limits, with their defaults. `infra/limits.rs` enforces them.

use serde::{Deserialize, Serialize};

/// Rate limits and limits on created resources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimiting {
    /// Period over which creations are counted, in seconds.
    pub window: u32,
    /// Maximum creations per resource type in an unclaimed project.
    pub unclaimed_limit: u32,
    /// Maximum creations per resource type in a claimed project.
    pub claimed_limit: u32,
    /// Limits per address, for callers without a credential.
    pub public: PublicLimits,
    /// Limits per user.
    pub user: UserLimits,
    /// Limits per project.
    pub project: ProjectLimits,
    /// Limits per runner.
    pub runner: RunnerLimits,
    /// Registry traffic per organization and day, in bytes.
    pub oci_bandwidth: OciBandwidth,
}

impl Default for RateLimiting {
    fn default() -> Self {
        Self {
            window: 86_400,
            unclaimed_limit: 255,
            claimed_limit: 65_535,
            public: PublicLimits::default(),
            user: UserLimits::default(),
            project: ProjectLimits::default(),
            runner: RunnerLimits::default(),
            oci_bandwidth: OciBandwidth::default(),
        }
    }
}

impl RateLimiting {
    /// Returns the limits on sign-in attempts only.
    pub(super) fn sign_in_only() -> Self {
        let none = Rate::NONE;
        Self {
            unclaimed_limit: u32::MAX,
            claimed_limit: u32::MAX,
            public: PublicLimits { requests: none, runs: none, ..PublicLimits::default() },
            user: UserLimits {
                requests: none,
                // Administrators of a new server sign in several times.
                attempts: Rate { minute: Some(8), hour: Some(16), day: Some(32) },
                credentials: none,
                organizations: none,
                invites: none,
                runs: none,
            },
            project: ProjectLimits { requests: none, runs: none },
            runner: RunnerLimits { requests: none },
            oci_bandwidth: OciBandwidth { unclaimed: u64::MAX, free: u64::MAX },
            ..Self::default()
        }
    }
}

/// Maximum number of requests per window. A request must fit into all windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Maximum per minute.
    pub minute: Option<u32>,
    /// Maximum per hour.
    pub hour: Option<u32>,
    /// Maximum per day.
    pub day: Option<u32>,
}

impl Rate {
    /// No limit.
    pub const NONE: Self = Self { minute: None, hour: None, day: None };
}

/// Defines a group of limits with their defaults.
macro_rules! limits {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident = $minute:literal, $hour:literal, $day:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: Rate,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: Rate { minute: Some($minute), hour: Some($hour), day: Some($day) },)+ }
            }
        }
    };
}

limits! {
    /// Limits per address, for callers without a credential.
    PublicLimits {
        /// All requests.
        requests = 1024, 4096, 8192;
        /// Sign-in attempts.
        attempts = 32, 64, 128;
        /// Runs.
        runs = 64, 128, 256;
    }
}

limits! {
    /// Limits per user.
    UserLimits {
        /// All requests.
        requests = 2048, 8192, 16384;
        /// Sign-in attempts.
        attempts = 2, 4, 8;
        /// New API keys.
        credentials = 4, 8, 16;
        /// New organizations.
        organizations = 2, 4, 8;
        /// Invitations.
        invites = 8, 16, 32;
        /// Runs.
        runs = 64, 1024, 4096;
    }
}

limits! {
    /// Limits per project.
    ProjectLimits {
        /// All requests.
        requests = 2048, 8192, 16384;
        /// Runs.
        runs = 64, 1024, 4096;
    }
}

limits! {
    /// Limits per runner.
    RunnerLimits {
        /// Connections.
        requests = 16, 256, 4096;
    }
}

/// Registry traffic per organization and day, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OciBandwidth {
    /// Limit for unclaimed organizations.
    pub unclaimed: u64,
    /// Limit for claimed organizations.
    pub free: u64,
}

impl Default for OciBandwidth {
    fn default() -> Self {
        Self { unclaimed: 1024 * 1024 * 1024, free: 10 * 1024 * 1024 * 1024 }
    }
}
