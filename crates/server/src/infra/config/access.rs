//! Settings of access: anonymous use, sign-up, and quotas of anonymous use.

use std::fmt;

use serde::{Deserialize, Serialize};
use tidemark_api::SignUp;

/// Access settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Who may sign up.
    pub sign_up: SignUp,
    /// Whether the server accepts runs without a credential.
    pub anonymous_runs: bool,
    /// Whether the registry accepts pushes without a credential.
    pub anonymous_pushes: bool,
    /// Requirements for claiming an unclaimed organization.
    pub claims: Claims,
    /// Whether a user key may create project keys.
    pub user_keys_create_project_keys: bool,
    /// Whether `code` and `state` alone complete a sign-in at an identity provider.
    pub unbound_oauth: bool,
    /// Quotas of unclaimed organizations.
    pub unclaimed: Unclaimed,
}

/// Requirements for claiming an unclaimed organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claims {
    /// A confirmed account.
    Open,
    /// A confirmed account, and the claim token that the run that created the organization received.
    Token,
}

/// Quotas of unclaimed organizations. Zero means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unclaimed {
    /// Metrics per organization.
    pub metrics: u64,
    /// Bytes of reports per organization.
    pub report_bytes: u64,
    /// Bytes of images per organization.
    pub image_bytes: u64,
    /// Metrics of all unclaimed organizations.
    pub total_metrics: u64,
    /// Bytes of reports of all unclaimed organizations.
    pub total_report_bytes: u64,
    /// Bytes of images of all unclaimed organizations.
    pub total_image_bytes: u64,
    /// Days without a run or push after which the server deletes an unclaimed organization.
    pub idle_days: u32,
}

impl Unclaimed {
    /// No limits.
    pub const NONE: Self = Self {
        metrics: 0,
        report_bytes: 0,
        image_bytes: 0,
        total_metrics: 0,
        total_report_bytes: 0,
        total_image_bytes: 0,
        idle_days: 0,
    };
}

impl fmt::Display for Access {
    /// Formats the settings in one line, for the log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |on| if on { "on" } else { "off" };
        let claims = match self.claims {
            Claims::Open => "open",
            Claims::Token => "token",
        };
        let limit = |limit: u64| if limit == 0 { "unlimited".to_owned() } else { limit.to_string() };
        let Unclaimed {
            metrics,
            report_bytes,
            image_bytes,
            total_metrics,
            total_report_bytes,
            total_image_bytes,
            idle_days,
        } = self.unclaimed;
        write!(
            formatter,
            "sign-up {}, anonymous runs {}, anonymous pushes {}, claims {claims}, project keys by user keys {}, \
             unbound OAuth {}; per unclaimed organization: metrics {}, report bytes {}, image bytes {}, idle days {}; \
             all unclaimed organizations: metrics {}, report bytes {}, image bytes {}",
            self.sign_up,
            word(self.anonymous_runs),
            word(self.anonymous_pushes),
            word(self.user_keys_create_project_keys),
            word(self.unbound_oauth),
            limit(metrics),
            limit(report_bytes),
            limit(image_bytes),
            limit(idle_days.into()),
            limit(total_metrics),
            limit(total_report_bytes),
            limit(total_image_bytes),
        )
    }
}
