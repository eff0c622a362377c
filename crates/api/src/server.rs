//! The server's own routes: version, console, backup and statistics. Its configuration is not here, the
//! server owns that.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    Organization, PlanLevel, ProjectUuid, Provider, ResourceName, ServerUuid, Timestamp, Url, User,
    scalar::word,
};

/// The version of the contract that this release implements; clients compare theirs with it.
pub const CONTRACT_VERSION: &str = "0.6.13";

/// The header of every answer that holds the version of Tidemark that the server runs.
pub const SERVER_VERSION_HEADER: &str = "x-server-version";

/// The version of the contract that the server speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonApiVersion)]
pub struct ApiVersion {
    /// The version of the contract; the header `x-server-version` holds the version of Tidemark.
    pub version: String,
}

/// Where the web console is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonConsole)]
pub struct Console {
    /// Its address.
    pub url: Url,
}

/// How far a server has been set up, for its first visitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonSetup)]
pub struct Setup {
    /// Whether anybody has an account.
    pub accounts: Accounts,
    /// Whether mail is sent; if not, it is kept in files.
    pub mail: bool,
    /// The folder those files are in, told only to a visitor on the same machine while the server is new.
    pub outbox: Option<String>,
    /// The identity providers that people can sign in at.
    pub providers: Vec<Provider>,
    /// How people prove to be human when they sign up or in, where the server asks for it.
    pub captcha: Option<CaptchaSite>,
    /// The levels of plans that can be paid for; none where the server does not bill.
    pub plans: Vec<PlanLevel>,
    /// Who may sign up.
    pub sign_up: SignUp,
}

word! {
    /// Who may sign up. The first account of a server needs no invitation.
    SignUp {
        /// All people.
        Open = "open",
        /// People with an invitation into an organization.
        Invitation = "invitation",
    }
}

/// How people prove to be human.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCaptchaSite)]
pub struct CaptchaSite {
    /// The script that shows the question, or asks none.
    pub script: String,
    /// What tells the service which site asks.
    pub site_key: String,
}

word! {
    /// Whether anybody has an account.
    Accounts {
        /// Nobody: the next one to sign up administers the server.
        None = "none",
        /// Somebody signed up, nobody has confirmed the address.
        Unconfirmed = "unconfirmed",
        /// The server is in use.
        Confirmed = "confirmed",
    }
}

/// A backup to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBackup)]
pub struct Backup {
    /// Whether to compress it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compress: Option<bool>,
    /// How to compress it: gzip, unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Where to copy it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_store: Option<DataStore>,
    /// Whether to remove the local file once it is copied.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "rm")]
    pub remove: Option<bool>,
}

word! {
    /// How a backup is compressed.
    #[schema(as = JsonCompression)]
    Compression {
        /// The widest known.
        Gzip = "gzip",
        /// The faster and smaller one.
        Zstd = "zstd",
    }
}

word! {
    /// A place for backups.
    #[schema(as = JsonDataStore)]
    DataStore {
        /// Object storage that speaks S3.
        AwsS3 = "aws_s3",
    }
}

/// A backup that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBackupCreated)]
pub struct BackupCreated {
    /// When it was begun.
    pub created: Timestamp,
}

/// An answer that is only an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUuid)]
pub struct UuidAnswer {
    /// The identifier.
    pub uuid: Uuid,
}

/// An installation of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonServer)]
pub struct Server {
    /// Its identifier.
    pub uuid: ServerUuid,
    /// When it was first started.
    pub created: Timestamp,
    /// The version of the contract that it speaks, as in `GET /v0/server/version`.
    pub version: Option<String>,
    /// The version of Tidemark that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tidemark_version: Option<String>,
}

/// What the server holds, in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonServerStats)]
pub struct ServerStats {
    /// The installation.
    pub server: Server,
    /// When the numbers were taken.
    pub timestamp: Timestamp,
    /// Its organizations.
    pub organizations: Option<Vec<Organization>>,
    /// Its administrators.
    pub admins: Option<Vec<User>>,
    /// Users.
    pub users: Option<Cohort>,
    /// Projects.
    pub projects: Option<Cohort>,
    /// Projects of unclaimed organizations.
    pub projects_unclaimed: Option<Cohort>,
    /// Projects of claimed organizations.
    pub projects_claimed: Option<Cohort>,
    /// Projects with reports.
    pub active_projects: Option<Cohort>,
    /// Projects with reports, of unclaimed organizations.
    pub active_projects_unclaimed: Option<Cohort>,
    /// Projects with reports, of claimed organizations.
    pub active_projects_claimed: Option<Cohort>,
    /// Reports.
    pub reports: Option<Cohort>,
    /// Reports in unclaimed organizations.
    pub reports_unclaimed: Option<Cohort>,
    /// Reports in claimed organizations.
    pub reports_claimed: Option<Cohort>,
    /// Reports per project.
    pub reports_per_project: Option<CohortAvg>,
    /// Reports per project in unclaimed organizations.
    pub reports_per_project_unclaimed: Option<CohortAvg>,
    /// Reports per project in claimed organizations.
    pub reports_per_project_claimed: Option<CohortAvg>,
    /// Metrics.
    pub metrics: Option<Cohort>,
    /// Metrics in unclaimed organizations.
    pub metrics_unclaimed: Option<Cohort>,
    /// Metrics in claimed organizations.
    pub metrics_claimed: Option<Cohort>,
    /// Metrics per report.
    pub metrics_per_report: Option<CohortAvg>,
    /// Metrics per report in unclaimed organizations.
    pub metrics_per_report_unclaimed: Option<CohortAvg>,
    /// Metrics per report in claimed organizations.
    pub metrics_per_report_claimed: Option<CohortAvg>,
    /// The projects with the most metrics.
    pub top_projects: Option<TopCohort>,
    /// The projects with the most metrics, of unclaimed organizations.
    pub top_projects_unclaimed: Option<TopCohort>,
    /// The projects with the most metrics, of claimed organizations.
    pub top_projects_claimed: Option<TopCohort>,
    /// What the bare-metal runners did.
    pub runner: Option<RunnerStats>,
}

impl ServerStats {
    /// Statistics with nothing counted yet.
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

/// Counts over the last 7 days, the last 28 days and all time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCohort)]
pub struct Cohort {
    /// Over the last 7 days.
    #[serde(deserialize_with = "crate::number::whole")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub week: u64,
    /// Over the last 28 days.
    #[serde(deserialize_with = "crate::number::whole")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub month: u64,
    /// Over all time.
    #[serde(deserialize_with = "crate::number::whole")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub total: u64,
}

/// Typical values over the last 7 days, the last 28 days and all time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCohortAvg)]
pub struct CohortAvg {
    /// Over the last 7 days.
    pub week: f64,
    /// Over the last 28 days.
    pub month: f64,
    /// Over all time.
    pub total: f64,
}

/// The projects with the most metrics over the last 7 days, the last 28 days and all time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopCohort)]
pub struct TopCohort {
    /// Over the last 7 days.
    pub week: Vec<TopProject>,
    /// Over the last 28 days.
    pub month: Vec<TopProject>,
    /// Over all time.
    pub total: Vec<TopProject>,
}

/// A project and its share of all metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopProject)]
pub struct TopProject {
    /// The name of the project.
    pub name: ResourceName,
    /// The identifier of the project.
    pub uuid: ProjectUuid,
    /// How many metrics it has.
    #[serde(deserialize_with = "crate::number::whole")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub metrics: u64,
    /// Its share of all metrics.
    pub percentage: f64,
}

/// The projects with the most time on runners over the last 7 days, the last 28 days and all time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopJobCohort)]
pub struct TopJobCohort {
    /// Over the last 7 days.
    pub week: Vec<TopJobProject>,
    /// Over the last 28 days.
    pub month: Vec<TopJobProject>,
    /// Over all time.
    pub total: Vec<TopJobProject>,
}

/// A project and its share of the time on runners.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTopJobProject)]
pub struct TopJobProject {
    /// The name of the project.
    pub name: ResourceName,
    /// The identifier of the project.
    pub uuid: ProjectUuid,
    /// How many seconds its jobs ran.
    #[serde(deserialize_with = "crate::number::whole")]
    #[schema(format = "uint64", maximum = 18_446_744_073_709_551_615_u64)]
    pub seconds: u64,
    /// Its share of all seconds.
    pub percentage: f64,
}

/// What the bare-metal runners did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonRunnerStats)]
pub struct RunnerStats {
    /// Seconds of running jobs.
    pub seconds: RunnerSeconds,
    /// Seconds per report.
    pub seconds_per_report: RunnerSecondsPerReport,
    /// The projects with the most seconds.
    pub top_projects: RunnerTopProjects,
}

/// A number for all organizations and for three kinds of them.
macro_rules! by_owner {
    ($(#[$meta:meta])* $name:ident of $part:ty) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
        $(#[$meta])*
        pub struct $name {
            /// Of all organizations.
            pub total: $part,
            /// Of unclaimed organizations.
            pub unclaimed: $part,
            /// Of claimed organizations without a paid plan.
            pub claimed: $part,
            /// Of organizations with a paid plan.
            pub plus: $part,
        }
    };
}

by_owner! {
    /// Seconds of running jobs, by owner.
    #[schema(as = JsonRunnerStatsCohort_for_JsonCohort)]
    RunnerSeconds of Cohort
}

by_owner! {
    /// Seconds per report, by owner.
    #[schema(as = JsonRunnerStatsCohort_for_JsonCohortAvg)]
    RunnerSecondsPerReport of CohortAvg
}

by_owner! {
    /// The projects with the most seconds, by owner.
    #[schema(as = JsonRunnerStatsCohort_for_JsonTopJobCohort)]
    RunnerTopProjects of TopJobCohort
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_however_written() {
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
