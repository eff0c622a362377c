//! Detection settings of projects: which changes cause notifications, the false-alarm budget, and the number of false
//! alarms.

use tidemark_api::{DetectionPatch, FalseAlarms, Notifies, Timestamp};

use crate::{ProjectId, Result, Tx, columns::columns};

columns! {
    /// Detection settings of a project.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Settings {
        /// Kinds of changes that cause notifications.
        pub notifies: Notifies = "notifies",
        /// False-alarm budget: false alarms per month.
        pub budget: FalseAlarms = "budget",
        /// Whether to notify when most benchmarks change together.
        pub notifies_host: bool = "notifies_host",
    }
}

/// Returns the detection settings of a project.
pub fn settings(tx: &mut Tx<'_>, project: ProjectId) -> Result<Settings> {
    tx.fetch_one("project", "select {columns} from project where id = $1", &[&project])
}

/// Updates the detection settings of a project.
pub fn update(tx: &mut Tx<'_>, project: ProjectId, patch: &DetectionPatch) -> Result<()> {
    let budget = patch.false_alarms_per_month.map(FalseAlarms::get);
    tx.execute(
        "update project set notifies = coalesce($2, notifies), budget = coalesce($3, budget),
             notifies_host = coalesce($4, notifies_host) where id = $1",
        &[&project, &patch.notifies, &budget, &patch.notifies_host],
    )?;
    Ok(())
}

/// Returns the number of runs recorded since a time.
pub fn runs(tx: &mut Tx<'_>, project: ProjectId, since: Timestamp) -> Result<i64> {
    tx.value("select count(*) from report where project_id = $1 and created >= $2", &[&project, &since])
}

/// Returns the number of events notified since a time, and how many of them were false alarms.
pub fn raised(tx: &mut Tx<'_>, project: ProjectId, since: Timestamp) -> Result<(i64, i64)> {
    tx.fetch_one(
        "project",
        "select count(*), cast(coalesce(sum(case when wrong = members then 1 else 0 end), 0) as bigint) from (
             select count(*) as members,
                    sum(case when event.status = 'false_alarm' or change.withdrawn is not null
                              or change.cause = 'noise' then 1 else 0 end) as wrong
             from change join event on event.id = change.event_id
             where change.project_id = $1 and change.raised >= $2 and change.raised_id is not null
             group by change.raised_id) as notified",
        &[&project, &since],
    )
}
