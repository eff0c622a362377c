//! The same year on a server that is running, report by report through its API. The server says when they came: now.

use std::{collections::HashMap, fmt::Display, hash::Hash};

use serde_json::json;
use tidemark_api::{
    AlertsPatch, BenchmarkUuid, BranchUuid, MeasureUuid, NewPlot, NewProject, NewReport, Project, Report,
    ReportUuid, ResourceId, Slug, TestbedUuid, Timestamp, UpdateAlertStatus, Visibility, XAxis, YAxis,
};
use tidemark_client::{Client, caller, plots, projects_of, reports, update_alerts};

use super::{DAY, NAME, URL, history::Pinned};
use crate::failure::{Failure, Result};

/// Makes the project, in the named organization or in the caller's own.
pub(super) fn found(client: &Client, organization: Option<&ResourceId>, slug: &Slug) -> Result<Project> {
    let organization = match organization {
        Some(organization) => organization.clone(),
        None => match client.send(&caller())?.user {
            Some(user) => ResourceId::Slug(user.slug),
            None => {
                return Err(Failure::new("A project's key cannot make a project; give a user's with --key."));
            }
        },
    };
    let new = NewProject {
        name: NAME.parse().map_err(impossible)?,
        slug: Some(slug.clone()),
        url: Some(URL.parse().map_err(impossible)?),
        visibility: Some(Visibility::Public),
    };
    Ok(client.send(&projects_of(&organization).create(&new))?)
}

/// What the reports have named so far, by name.
#[derive(Default)]
pub(super) struct Known {
    branches: HashMap<String, BranchUuid>,
    testbeds: HashMap<String, TestbedUuid>,
    benchmarks: HashMap<String, BenchmarkUuid>,
    measures: HashMap<String, MeasureUuid>,
}

/// Sends a report; old alerts have been seen by somebody.
pub(super) fn record(
    client: &Client,
    project: &ResourceId,
    known: &mut Known,
    new: &NewReport,
    settled: Timestamp,
) -> Result {
    let report = client.send(&reports(project).create(new))?;
    if new.end_time < settled && report.alerts.as_ref().is_some_and(|alerts| !alerts.is_empty()) {
        client.send(&update_alerts(project, &dismissed(report.uuid)))?;
    }
    known.learn(report);
    Ok(())
}

fn dismissed(report: ReportUuid) -> AlertsPatch {
    AlertsPatch {
        status: UpdateAlertStatus::Dismissed,
        from: None,
        report: Some(report),
        branch: None,
        testbed: None,
        benchmark: None,
        measure: None,
    }
}

/// Pins a plot in front of the others.
pub(super) fn pin(client: &Client, project: &ResourceId, known: &Known, pinned: &Pinned) -> Result {
    let plot = NewPlot {
        index: None,
        title: Some(pinned.title.parse().map_err(impossible)?),
        lower_value: false,
        upper_value: false,
        lower_boundary: false,
        upper_boundary: pinned.boundary,
        x_axis: XAxis::DateTime,
        y_axis: YAxis::Auto,
        window: serde_json::from_value(json!(pinned.days * DAY)).map_err(impossible)?,
        branches: all(&known.branches, pinned.branches),
        testbeds: all(&known.testbeds, pinned.testbeds),
        benchmarks: all(&known.benchmarks, pinned.benchmarks),
        measures: all(&known.measures, &[pinned.measure]),
    };
    client.send(&plots(project).create(&plot))?;
    Ok(())
}

impl Known {
    fn learn(&mut self, report: Report) {
        self.branches.insert(report.branch.name.to_string(), report.branch.uuid);
        self.testbeds.insert(report.testbed.name.to_string(), report.testbed.uuid);
        for result in report.results.into_iter().flatten().flatten() {
            self.benchmarks.insert(result.benchmark.name.to_string(), result.benchmark.uuid);
            for measured in &result.measures {
                self.measures.insert(measured.measure.slug.to_string(), measured.measure.uuid);
            }
        }
    }
}

fn all<V: Copy + Eq + Hash>(known: &HashMap<String, V>, names: &[&str]) -> Vec<V> {
    names.iter().filter_map(|name| known.get(*name).copied()).collect()
}

fn impossible(error: impl Display) -> Failure {
    Failure::new(format!("The demo cannot be made up ({error})."))
}
