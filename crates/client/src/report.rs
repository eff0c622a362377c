//! Reports.

use tidemark_api::{Report, ReportUuid, ResourceId};

use crate::{Client, Error};

/// A report with its results and alerts.
pub fn view(client: &Client, project: &ResourceId, report: ReportUuid) -> Result<Report, Error> {
    client.get(&format!("/v0/projects/{project}/reports/{report}"))
}
