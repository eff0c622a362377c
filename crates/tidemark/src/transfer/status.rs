//! Status of resources that reports do not contain: dismissed alerts, and archived branches, testbeds, benchmarks and measures.

use tidemark_api::{
    Alert, AlertPatch, AlertStatus, Benchmark, Branch, Measure, Report, ResourceId, Testbed,
    UpdateAlertStatus,
};
use tidemark_client::{Client, Error, Request, alerts};

use super::Route;
use crate::dimension::Dimension;

/// Returns the dismissed alerts of a report.
pub(super) fn dismissed(report: &Report) -> Vec<Alert> {
    let alerts = report.alerts.iter().flatten();
    alerts.filter(|alert| alert.status == AlertStatus::Dismissed).cloned().collect()
}

/// Dismisses the alerts of a report that are dismissed at the source; returns whether this was permitted.
pub(super) fn dismiss(
    to: &Client,
    target: &ResourceId,
    dismissed: &[Alert],
    made: &Report,
) -> Result<bool, Error> {
    let patch = AlertPatch { status: Some(UpdateAlertStatus::Dismissed) };
    for alert in made.alerts.iter().flatten() {
        let is_meant = dismissed.iter().any(|other| is_same(alert, other));
        if is_meant && !is_allowed(to, &alerts(target).update(&alert.uuid, &patch))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two alerts of the same report on two servers are equal.
fn is_same(left: &Alert, right: &Alert) -> bool {
    fn key(alert: &Alert) -> impl PartialEq {
        (
            alert.iteration,
            alert.benchmark.name.clone(),
            alert.variant.as_ref().map(|variant| variant.parameters.clone()),
            alert.threshold.measure.name.clone(),
            alert.limit,
        )
    }
    key(left) == key(right)
}

/// Archives the resources that are archived at the source; returns whether this was permitted.
pub(super) fn archive(route: &Route<'_>) -> Result<bool, Error> {
    Ok(archive_all::<Branch>(route)?
        && archive_all::<Testbed>(route)?
        && archive_all::<Benchmark>(route)?
        && archive_all::<Measure>(route)?)
}

fn archive_all<D: Dimension>(route: &Route<'_>) -> Result<bool, Error> {
    let mut names = Vec::new();
    route.from.pages(&D::of(route.source).list(&D::archived(None, true)), None, |_, found| {
        names.extend(found.iter().map(D::name));
        Ok(())
    })?;
    let list = D::of(route.target);
    for name in names {
        let found = route.to.send(&list.list(&D::archived(Some(name), false)))?;
        // Resources without reports were not sent.
        let Some(found) = found.first() else { continue };
        if !is_allowed(route.to, &list.update(&found.uuid(), &D::archive(true)))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sends an update; returns whether it was permitted. A credential that can send results may lack this permission.
fn is_allowed<T: serde::de::DeserializeOwned>(to: &Client, change: &Request<T>) -> Result<bool, Error> {
    match to.send(change) {
        Ok(_) => Ok(true),
        Err(Error::Refused { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
