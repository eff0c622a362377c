//! Server endpoints: version, console, backup and statistics. The server crate defines the configuration.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    Organization, PlanLevel, ProjectUuid, Provider, ResourceName, ServerUuid, Timestamp, Url, User,
    scalar::fixed_string,
};

/// Version of the API that this release implements. Clients compare their version with it.
pub const CONTRACT_VERSION: &str = "0.6.13";

/// Header of every response that contains the Tidemark version of the server.
pub const SERVER_VERSION_HEADER: &str = "x-server-version";

/// Version of the API that the server implements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonApiVersion)]
pub struct ApiVersion {
    /// Version of the API. The header `x-server-version` contains the Tidemark version.
    pub version: String,
}

/// Location of the web console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonConsole)]
pub struct Console {
    /// URL of the web console.
    pub url: Url,
}

/// Setup state of a server, for the sign-up and sign-in pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSetup)]
pub struct Setup {
    /// Whether the server has accounts.
    pub accounts: Accounts,
    /// Whether the server sends mail. If not, it writes mail to files.
    pub mail: bool,
    /// Folder of the mail files; null unless the client is on the same machine and the server has no confirmed account.
    pub outbox: Option<String>,
    /// Identity providers for sign-in.
    pub providers: Vec<Provider>,
    /// CAPTCHA for sign-up and sign-in; null if the server uses none.
    pub captcha: Option<CaptchaSite>,
    /// Levels of the plans that the server sells; empty on a server without billing.
    pub plans: Vec<PlanLevel>,
    /// Users who may sign up.
    pub sign_up: SignUp,
}

fixed_string! {
    /// Users who may sign up. The first account of a server requires no invitation.
    SignUp {
        /// All users.
        Open = "open",
        /// Users with an invitation to an organization.
        Invitation = "invitation",
    }
}

/// CAPTCHA of the sign-up and sign-in pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCaptchaSite)]
pub struct CaptchaSite {
    /// URL of the script of the CAPTCHA service.
    pub script: String,
    /// Site key for the CAPTCHA service.
    pub site_key: String,
}

fixed_string! {
    /// Whether a server has accounts.
    Accounts {
        /// The server has no account. The next user who signs up becomes an administrator.
        None = "none",
        /// Users have signed up, but no user has confirmed the e-mail address.
        Unconfirmed = "unconfirmed",
        /// At least one user has confirmed the e-mail address.
        Confirmed = "confirmed",
    }
}

/// Options of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBackup)]
pub struct Backup {
    /// Whether to compress the backup; by default, only if `compression` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compress: Option<bool>,
    /// Compression format; `gzip` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Data store to copy the backup to. A server without a data store rejects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_store: Option<DataStore>,
    /// Whether to delete the local file after copying it to a data store; false by default. A server without a data store rejects
    /// `true`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "rm")]
    pub remove: Option<bool>,
}

fixed_string! {
    /// Compression format of a backup.
    #[schema(as = JsonCompression)]
    Compression {
        /// gzip, the most widely supported format.
        Gzip = "gzip",
        /// Zstandard, which is faster and compresses better.
        Zstd = "zstd",
    }
}

fixed_string! {
    /// Data store for backups.
    #[schema(as = JsonDataStore)]
    DataStore {
        /// S3-compatible object storage.
        AwsS3 = "aws_s3",
    }
}

/// A created backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBackupCreated)]
pub struct BackupCreated {
    /// Time when the backup started.
    pub created: Timestamp,
}

/// A response that contains only a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUuid)]
pub struct UuidResponse {
    /// UUID.
    pub uuid: Uuid,
}

/// A server installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonServer)]
pub struct Server {
    /// UUID of the server.
    pub uuid: ServerUuid,
    /// Time when the server was first started.
    pub created: Timestamp,
    /// Version of the API that the server implements, as in `GET /v0/server/version`.
    pub version: Option<String>,
    /// Tidemark version of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tidemark_version: Option<String>,
}

/// Statistics of a server. Statistics that the server does not collect are null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonServerStats)]
pub struct ServerStats {
    /// Server installation.
    pub server: Server,
    /// Time when the statistics were collected.
    pub timestamp: Timestamp,
    /// Organizations of the server.
    pub organizations: Option<Vec<Organization>>,
    /// Administrators of the server.
    pub admins: Option<Vec<User>>,
    /// Number of users.
    pub users: Option<Cohort>,
    /// Number of projects.
    pub projects: Option<Cohort>,
    /// Number of projects of unclaimed organizations.
    pub projects_unclaimed: Option<Cohort>,
    /// Number of projects of claimed organizations.
    pub projects_claimed: Option<Cohort>,
    /// Number of projects with reports.
    pub active_projects: Option<Cohort>,
    /// Number of projects with reports, of unclaimed organizations.
    pub active_projects_unclaimed: Option<Cohort>,
    /// Number of projects with reports, of claimed organizations.
    pub active_projects_claimed: Option<Cohort>,
    /// Number of reports.
    pub reports: Option<Cohort>,
    /// Number of reports of unclaimed organizations.
    pub reports_unclaimed: Option<Cohort>,
    /// Number of reports of claimed organizations.
    pub reports_claimed: Option<Cohort>,
    /// Reports per project.
    pub reports_per_project: Option<CohortAvg>,
    /// Reports per project of unclaimed organizations.
    pub reports_per_project_unclaimed: Option<CohortAvg>,
    /// Reports per project of claimed organizations.
    pub reports_per_project_claimed: Option<CohortAvg>,
    /// Number of metrics.
    pub metrics: Option<Cohort>,
    /// Number of metrics of unclaimed organizations.
    pub metrics_unclaimed: Option<Cohort>,
    /// Number of metrics of claimed organizations.
    pub metrics_claimed: Option<Cohort>,
    /// Metrics per report.
    pub metrics_per_report: Option<CohortAvg>,
    /// Metrics per report of unclaimed organizations.
    pub metrics_per_report_unclaimed: Option<CohortAvg>,
    /// Metrics per report of claimed organizations.
    pub metrics_per_report_claimed: Option<CohortAvg>,
    /// Projects with the most metrics.
    pub top_projects: Option<TopCohort>,
    /// Projects of unclaimed organizations with the most metrics.
    pub top_projects_unclaimed: Option<TopCohort>,
    /// Projects of claimed organizations with the most metrics.
    pub top_projects_claimed: Option<TopCohort>,
    /// Statistics of the bare-metal runners.
    pub runner: Option<RunnerStats>,
}

impl ServerStats {
    /// Creates empty statistics.
    pub fn new(server: Server, timestamp: Timestamp) -> Self {
        Self {
            server,
            timestamp,
            organizations: None,
            admins: None,
            users: None,
            projects: None,
            projects_unclaimed: None,
            projects_claimed: None,
            active_projects: None,
            active_projects_unclaimed: None,
            active_projects_claimed: None,
            reports: None,
            reports_unclaimed: None,
            reports_claimed: None,
            reports_per_project: None,
            reports_per_project_unclaimed: None,
            reports_per_project_claimed: None,
            metrics: None,
            metrics_unclaimed: None,
            metrics_claimed: None,
            metrics_per_report: None,
            metrics_per_report_unclaimed: None,
            metrics_per_report_claimed: None,
            top_projects: None,
            top_projects_unclaimed: None,
            top_projects_claimed: None,
            runner: None,
        }
    }
}

/// Counts of the last 7 days, the last 28 days and all time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCohort)]
pub struct Cohort {
    /// Last 7 days.
    #[serde(deserialize_with = "crate::number::unsigned")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub week: u64,
    /// Last 28 days.
    #[serde(deserialize_with = "crate::number::unsigned")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub month: u64,
    /// All time.
    #[serde(deserialize_with = "crate::number::unsigned")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub total: u64,
}

/// Averages of the last 7 days, the last 28 days and all time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCohortAvg)]
pub struct CohortAvg {
    /// Last 7 days.
    pub week: f64,
    /// Last 28 days.
    pub month: f64,
    /// All time.
    pub total: f64,
}

/// Projects with the most metrics of the last 7 days, the last 28 days and all time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopCohort)]
pub struct TopCohort {
    /// Last 7 days.
    pub week: Vec<TopProject>,
    /// Last 28 days.
    pub month: Vec<TopProject>,
    /// All time.
    pub total: Vec<TopProject>,
}

/// A project and its share of all metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopProject)]
pub struct TopProject {
    /// Name of the project.
    pub name: ResourceName,
    /// UUID of the project.
    pub uuid: ProjectUuid,
    /// Number of metrics of the project.
    #[serde(deserialize_with = "crate::number::unsigned")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub metrics: u64,
    /// Share of the project in all metrics.
    pub percentage: f64,
}

/// Projects with the most runner time of the last 7 days, the last 28 days and all time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopJobCohort)]
pub struct TopJobCohort {
    /// Last 7 days.
    pub week: Vec<TopJobProject>,
    /// Last 28 days.
    pub month: Vec<TopJobProject>,
    /// All time.
    pub total: Vec<TopJobProject>,
}

/// A project and its share of the runner time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopJobProject)]
pub struct TopJobProject {
    /// Name of the project.
    pub name: ResourceName,
    /// UUID of the project.
    pub uuid: ProjectUuid,
    /// Runner time of the project's jobs, in seconds.
    #[serde(deserialize_with = "crate::number::unsigned")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub seconds: u64,
    /// Share of the project in the runner time.
    pub percentage: f64,
}

/// Statistics of the bare-metal runners.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonRunnerStats)]
pub struct RunnerStats {
    /// Runner time in seconds.
    pub seconds: RunnerSeconds,
    /// Runner time per report, in seconds.
    pub seconds_per_report: RunnerSecondsPerReport,
    /// Projects with the most runner time.
    pub top_projects: RunnerTopProjects,
}

/// Defines a statistic for all organizations and for three kinds of organizations.
macro_rules! by_owner {
    ($(#[$meta:meta])* $name:ident of $part:ty) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
        $(#[$meta])*
        pub struct $name {
            /// All organizations.
            pub total: $part,
            /// Unclaimed organizations.
            pub unclaimed: $part,
            /// Claimed organizations without a paid plan.
            pub claimed: $part,
            /// Organizations with a paid plan.
            pub plus: $part,
        }
    };
}

by_owner! {
    /// Runner time in seconds, by kind of organization.
    #[schema(as = JsonRunnerStatsCohort_for_JsonCohort)]
    RunnerSeconds of Cohort
}

by_owner! {
    /// Runner time per report in seconds, by kind of organization.
    #[schema(as = JsonRunnerStatsCohort_for_JsonCohortAvg)]
    RunnerSecondsPerReport of CohortAvg
}

by_owner! {
    /// Projects with the most runner time, by kind of organization.
    #[schema(as = JsonRunnerStatsCohort_for_JsonTopJobCohort)]
    RunnerTopProjects of TopJobCohort
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_can_be_integral_floats() {
        let read = |total: &str| {
            serde_json::from_str::<Cohort>(&format!(r#"{{"week":0,"month":1.0,"total":{total}}}"#))
                .map(|cohort| cohort.total)
                .ok()
        };
        assert_eq!(read("18446744073709551615"), Some(u64::MAX));
        assert_eq!(read("4e3"), Some(4_000));
        assert_eq!(read("18446744073709549568.0"), Some(18_446_744_073_709_549_568));
        for total in ["-1", "0.5", "-1.0", "1e20", "18446744073709551616", "null"] {
            assert_eq!(read(total), None, "{total}");
        }
    }

    #[test]
    fn remove_has_a_short_name() {
        let backup: Backup = serde_json::from_str(r#"{"rm":true,"compress":null}"#).unwrap();
        assert_eq!(backup, Backup { remove: Some(true), ..Backup::default() });
    }
}
