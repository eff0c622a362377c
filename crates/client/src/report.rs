//! Reports.

use tidemark_api::{Report, ReportUuid, ResourceId};

use crate::{Client, Error};

/// The most reports that a page has.
pub const PER_PAGE: u8 = u8::MAX;

/// A page of the reports of a project, counted from 1, without their results: the oldest runs first, so that one that
/// arrives meanwhile moves no other to the next page. Those of archived branches and testbeds are a list of their own.
pub fn oldest_first(
    client: &Client,
    project: &ResourceId,
    archived: bool,
    page: u32,
) -> Result<Vec<Report>, Error> {
    client.get(&format!(
        "/v0/projects/{project}/reports?sort=date_time&direction=asc&per_page={PER_PAGE}&page={page}&archived={archived}"
    ))
}

/// A report with its results and alerts.
pub fn view(client: &Client, project: &ResourceId, report: ReportUuid) -> Result<Report, Error> {
    client.get(&format!("/v0/projects/{project}/reports/{report}"))
}
