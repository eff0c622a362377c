//! The limits an operator can set, with the values that count where none is given. How they are kept is not here.

use serde::{Deserialize, Serialize};

use crate::infra::limits::Rate;

/// Limits on requests and on what is created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimiting {
    /// The span in seconds over which creations are counted.
    pub window: u32,
    /// Creations of one kind in a project that nobody has claimed.
    pub unclaimed_limit: u32,
    /// Creations of one kind in a project that belongs to somebody.
    pub claimed_limit: u32,
    /// By address, for callers without a credential.
    pub public: PublicLimits,
    /// By user.
    pub user: UserLimits,
    /// By project.
    pub project: ProjectLimits,
    /// By runner.
    pub runner: RunnerLimits,
    /// Bytes in and out of the registry, by organization and day.
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
    /// No limit except on attempts to sign in.
    pub(super) fn sign_in_only() -> Self {
        let none = Rate::NONE;
        Self {
            unclaimed_limit: u32::MAX,
            claimed_limit: u32::MAX,
            public: PublicLimits { requests: none, runs: none, ..PublicLimits::default() },
            user: UserLimits {
                requests: none,
                // Whoever sets up a server of their own signs in more than once.
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

/// Defines a group of limits with the values that count where the operator gives none.
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
    /// Limits by address, for callers without a credential.
    PublicLimits {
        /// All requests.
        requests = 1024, 4096, 8192;
        /// Attempts to sign in.
        attempts = 32, 64, 128;
        /// Runs.
        runs = 64, 128, 256;
    }
}

limits! {
    /// Limits by user.
    UserLimits {
        /// All requests.
        requests = 2048, 8192, 16384;
        /// Attempts to sign in.
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
    /// Limits by project.
    ProjectLimits {
        /// All requests.
        requests = 2048, 8192, 16384;
        /// Runs.
        runs = 64, 1024, 4096;
    }
}

limits! {
    /// Limits by bare-metal runner.
    RunnerLimits {
        /// Connections.
        requests = 16, 256, 4096;
    }
}

/// Bytes in and out of the registry, by organization and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OciBandwidth {
    /// For organizations that nobody has claimed.
    pub unclaimed: u64,
    /// For those that belong to somebody.
    pub free: u64,
}

impl Default for OciBandwidth {
    fn default() -> Self {
        Self { unclaimed: 1024 * 1024 * 1024, free: 10 * 1024 * 1024 * 1024 }
    }
}
