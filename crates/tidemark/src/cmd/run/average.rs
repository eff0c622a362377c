//! Rejects results with another average than the earlier values of the same series: the difference between a mean and a median would
//! look like a change.

use std::{collections::HashSet, time::Duration};

use tidemark_adapters::{Results, effective_average};
use tidemark_api::{Average, NameId, Page, Project, Report, ReportFilter, ResourceId, StartPointPatch};
use tidemark_client::{Client, Error, caller, reports};

use super::Run;
use crate::{
    context::Context,
    failure::{Failure, Result},
};

/// Time limit of a request: without an answer, the results are sent.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of reports that are listed, and of reports whose results are read.
const MAX_LISTED: u8 = 20;
const MAX_READ: usize = 3;

impl Run {
    /// Fails if the newest report of the branch and testbed with one of these benchmarks has values of another average. A new branch
    /// inherits the series of its start point.
    pub(super) fn check_average(
        &self,
        client: &Client,
        context: &Context,
        start_point: Option<&StartPointPatch>,
        results: &[Results],
    ) -> Result {
        let mut averages = results.iter().map(|one| effective_average(one.adapter, self.parsing.average));
        let Some(current) = averages.find_map(|average| average) else { return Ok(()) };
        let client = client.without_retries(TIMEOUT);
        let own = self.branch.clone().or_else(|| context.branch.as_ref()?.as_str().parse().ok());
        let testbed = self.testbed.clone().or_else(|| context.testbed().parse().ok());
        let project = self.project.project.clone().or_else(|| {
            let project: Option<Project> = client.send(&caller()).ok()?.project;
            project.map(|project| ResourceId::Slug(project.slug))
        });
        let (Some(project), Some(testbed)) = (project, testbed) else { return Ok(()) };
        let names: HashSet<&str> =
            results.iter().flat_map(|one| &one.entries).map(|entry| entry.label.as_str()).collect();
        let earlier = [own, start_point.and_then(|start| start.branch.clone())]
            .into_iter()
            .flatten()
            .find_map(|branch| earlier_average(&client, &project, (branch, testbed.clone()), &names).ok()?);
        match earlier {
            Some(earlier) if earlier != current => Err(Failure::usage(format!(
                "The values are the {current}; the earlier values of this branch and testbed are the {earlier}. In one series, the \
                 difference between them would look like a change. Use `--average {earlier}`, or another --testbed."
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns the average of the newest report with one of the benchmarks; `None` if there is none, or if the server does not know it.
fn earlier_average(
    client: &Client,
    project: &ResourceId,
    (branch, testbed): (NameId, NameId),
    names: &HashSet<&str>,
) -> std::result::Result<Option<Average>, Error> {
    let filter = ReportFilter { branch: Some(branch), testbed: Some(testbed), ..ReportFilter::default() };
    let page = Page { per_page: MAX_LISTED, ..Page::default() };
    let listed: Vec<Report> = client.send(&reports(project).list(&filter).query(&page))?;
    let with_average = listed.iter().filter(|report| report.average.is_some());
    for report in with_average.take(MAX_READ) {
        let found = client.send(&reports(project).view(&report.uuid))?;
        let mut entries = found.results.iter().flatten().flatten();
        if entries.any(|entry| names.contains(entry.benchmark.name.as_str())) {
            return Ok(report.average);
        }
    }
    Ok(None)
}
