//! Detection settings of projects: which changes cause notifications, the false-alarm budget, and the number of false
//! alarms.

use tidemark_api::{ConfirmMode, DetectionPatch, FalseAlarms, Notifies, Timestamp};

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
        /// Whether the server measures suspected changes again before it sends a notification.
        pub confirm: ConfirmMode = "confirm",
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
             notifies_host = coalesce($4, notifies_host), confirm = coalesce($5, confirm) where id = $1",
        &[&project, &patch.notifies, &budget, &patch.notifies_host, &patch.confirm],
    )?;
    Ok(())
}

/// Returns the number of runs with results recorded since a time. The results of a job that confirms an event, or of a search for a
/// commit, stay out of the history.
pub fn runs(tx: &mut Tx<'_>, project: ProjectId, since: Timestamp) -> Result<i64> {
    let sql = "select count(*) from report where project_id = $1 and created >= $2 and metrics > 0";
    tx.value(sql, &[&project, &since])
}

columns! {
    /// Events of changes that were selected for notification.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RaisedEvents {
        /// Number of events.
        pub total: i64 = "count(*)",
        /// Number of false alarms.
        pub false_alarms: i64 = "cast(coalesce(sum(case when wrong = members then 1 else 0 end), 0) as bigint)",
        /// Number of false alarms that a confirmation refuted, so that there was no notification.
        pub refuted: i64 = "cast(coalesce(sum(case when wrong = members and refuted = members then 1 else 0 end), 0) as bigint)",
    }
}

/// Returns the number of events that were selected for notification since a time.
pub fn raised(tx: &mut Tx<'_>, project: ProjectId, since: Timestamp) -> Result<RaisedEvents> {
    tx.fetch_one(
        "project",
        "select {columns} from (
             select count(*) as members,
                    sum(case when event.status = 'false_alarm' or change.withdrawn is not null
                              or change.cause = 'noise' then 1 else 0 end) as wrong,
                    sum(case when confirmation.state = 'refuted' then 1 else 0 end) as refuted
             from change join event on event.id = change.event_id
             left join confirmation on confirmation.event_id = event.id
             where change.project_id = $1 and change.raised >= $2 and change.raised_id is not null
             group by change.raised_id) as notified",
        &[&project, &since],
    )
}
