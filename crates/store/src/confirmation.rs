//! Confirmations: second measurements of the suspected changes of an event, by a job that compares two versions. The report of the
//! confirmation is the one whose notification waits; the job has its own report.

use std::collections::HashMap;

use tidemark_api::{
    ChangeCause, Confirmation, ConfirmationState, EventStatus, EventUuid, GitHash, JobUuid, ReportUuid,
    Timestamp, VerdictComparison, Version,
};

use crate::{
    BranchId, Error, EventId, HeadId, JobId, ProjectId, ReportId, Result, TestbedId, Tx, VersionId,
    columns::{columns, insert_columns},
    series::SeriesKey,
    value::distinct,
};

insert_columns! {
    /// A confirmation to insert.
    #[derive(Clone, Debug)]
    pub struct NewConfirmation {
        /// Event.
        event_id: EventId,
        /// Report whose notification waits.
        report_id: ReportId,
        /// State.
        state: ConfirmationState,
        /// Whether the notification waits.
        pending: bool,
        /// Reason why the event cannot be confirmed.
        reason: Option<String>,
        /// Time when the event is notified without a confirmation.
        deadline: Timestamp,
        /// Time of the insertion.
        created: Timestamp,
        /// Time of the last modification.
        modified: Timestamp,
    }
}

/// Inserts confirmations.
pub fn insert(tx: &mut Tx<'_>, new: &[NewConfirmation]) -> Result<()> {
    tx.insert_many("confirmation", new, "")
}

columns! {
    /// An event that may need a confirmation.
    #[derive(Clone, Copy, Debug)]
    pub struct EventToConfirm {
        /// Primary key.
        pub id: EventId = "event.id",
        /// Head.
        pub head: HeadId = "event.head_id",
        /// Branch of the head.
        pub branch: BranchId = "head.branch_id",
        /// First version with which the event may have begun.
        pub first: VersionId = "event.first_version",
        /// Last version with which the event may have begun.
        pub last: VersionId = "event.last_version",
        /// Cause.
        pub cause: ChangeCause = "event.cause",
        /// Whether the notification waits for an existing confirmation; `None` if there is none.
        pub pending: Option<bool> =
            "(select pending from confirmation where confirmation.event_id = event.id)",
    }
}

/// Returns events with the state of their confirmations, in the order of their keys.
pub fn events(tx: &mut Tx<'_>, events: &[EventId]) -> Result<Vec<EventToConfirm>> {
    let events = distinct(events.iter().map(|event| event.get()));
    let sql = "select {columns} from event join head on head.id = event.head_id
         where event.id in {ints $1} order by event.id";
    tx.fetch_all(sql, &[&events])
}

columns! {
    /// A suspected series of an event.
    #[derive(Clone, Copy, Debug)]
    pub struct Suspect {
        /// Testbed.
        pub testbed: TestbedId = "testbed_id",
        /// Benchmark, variant and measure.
        pub series_key: SeriesKey,
        /// Whether this is a change; otherwise alerts.
        pub is_change: bool = "is_change",
        /// Whether the values are higher than before.
        pub is_higher: bool = "is_higher",
        /// Level before the event: the old level of a change, or the baseline of the first alert.
        pub before: Option<f64> = "before",
        /// Level since the event: the new level of a change, or the value of the first alert.
        pub after: f64 = "after",
        /// Limit of the first alert.
        pub limit: Option<f64> = "boundary",
        /// First version with which the change may have begun, or the version of the first alert.
        pub first: VersionId = "first_version",
        /// Last version with which the change may have begun, or the version of the first alert.
        pub last: VersionId = "last_version",
    }
}

impl Suspect {
    /// Returns the difference of the levels as a share of the level before; `None` if that level is unknown or zero.
    pub fn size(&self) -> Option<f64> {
        let size = (self.after - self.before?).abs() / self.before?.abs();
        Some(size).filter(|size| size.is_finite())
    }

    /// Whether a value belongs to the level before the event: it is nearer to that level than to the level since, or within the
    /// limit if the threshold has no baseline.
    pub fn is_before(&self, value: f64) -> bool {
        match (self.before, self.limit) {
            (Some(before), _) => (value - before).abs() < (value - self.after).abs(),
            (None, Some(limit)) if self.is_higher => value <= limit,
            (None, Some(limit)) => value >= limit,
            (None, None) => false,
        }
    }
}

/// Returns the series of an event with changes, or with values outside their limits, on all testbeds. The largest difference
/// comes first.
pub fn suspects(tx: &mut Tx<'_>, event: EventId) -> Result<Vec<Suspect>> {
    let mut suspects: Vec<Suspect> = tx.fetch_all(
        "select {columns} from (
             select change.testbed_id, benchmark_id, variant_id, measure_id, true as is_change,
                    new_level > old_level as is_higher, old_level as before, new_level as after,
                    cast(null as double precision) as boundary, earliest.version_id as first_version,
                    latest.version_id as last_version
             from change join report as earliest on earliest.id = change.earliest_id
             join report as latest on latest.id = change.latest_id
             where event_id = $1 and withdrawn is null
             union all
             select series.testbed_id, series.benchmark_id, series.variant_id, series.measure_id, false,
                    alert.crossed = 'upper', alert.baseline, alert.value,
                    case when alert.crossed = 'upper' then alert.upper_limit else alert.lower_limit end,
                    series.first_version, series.first_version
             from event_series as series
             join (select threshold.testbed_id, alert.benchmark_id, alert.variant_id, threshold.measure_id,
                          min(alert.id) as id
                   from alert join threshold on threshold.id = alert.threshold_id where alert.event_id = $1
                   group by threshold.testbed_id, alert.benchmark_id, alert.variant_id, threshold.measure_id) as oldest
               on oldest.testbed_id = series.testbed_id and oldest.benchmark_id = series.benchmark_id
               and oldest.variant_id = series.variant_id and oldest.measure_id = series.measure_id
             join alert on alert.id = oldest.id
             where series.event_id = $1 and outside
               and not exists (select 1 from change where change.event_id = series.event_id
                   and change.testbed_id = series.testbed_id and change.benchmark_id = series.benchmark_id
                   and change.variant_id = series.variant_id and change.measure_id = series.measure_id
                   and change.withdrawn is null)) as suspected
         order by benchmark_id, variant_id, measure_id, testbed_id",
        &[&event],
    )?;
    let size = |suspect: &Suspect| suspect.size().unwrap_or_default();
    suspects.sort_by(|left, right| size(right).total_cmp(&size(left)));
    Ok(suspects)
}

columns! {
    /// A confirmation that delays a notification.
    #[derive(Clone, Debug)]
    pub struct PendingConfirmation {
        /// Event.
        pub event: EventId = "confirmation.event_id",
        /// UUID of the event.
        pub uuid: EventUuid = "event.uuid",
        /// Project.
        pub project: ProjectId = "event.project_id",
        /// Report whose notification waits.
        pub report: ReportId = "confirmation.report_id",
        /// Job, unless it was deleted.
        pub job: Option<JobId> = "confirmation.job_id",
        /// State: suspected if the job is not requested yet, otherwise confirming.
        pub state: ConfirmationState = "confirmation.state",
        /// UUID of the job.
        pub job_uuid: Option<JobUuid> = "job.uuid",
        /// Error of the job.
        pub error: Option<String> = "job.error",
        /// Status of the event.
        pub status: EventStatus = "event.status",
        /// Time when the event is notified without a confirmation.
        pub deadline: Timestamp = "confirmation.deadline",
        /// Version before the event that the job measures.
        pub base: Option<VersionId> = "confirmation.base_version_id",
        /// Version after the start of the event that the job measures.
        pub head: Option<VersionId> = "confirmation.head_version_id",
        /// Attempts that failed with an error of the server.
        pub attempts: u32 = "confirmation.attempts",
    }
}

const PENDING: &str = "confirmation join event on event.id = confirmation.event_id
     join project on project.id = event.project_id and project.deleted is null
     left join job on job.id = confirmation.job_id";

/// Returns the confirmation of an event, if it is pending.
pub fn pending(tx: &mut Tx<'_>, event: EventId) -> Result<Option<PendingConfirmation>> {
    let sql = format!(
        "select {{columns}} from {PENDING} where confirmation.event_id = $1 and confirmation.pending"
    );
    tx.fetch_optional(&sql, &[&event])
}

/// Returns the confirmation that a job has to decide, if any.
pub fn of_job(tx: &mut Tx<'_>, job: JobId) -> Result<Option<PendingConfirmation>> {
    let sql = format!(
        "select {{columns}} from {PENDING}
         where confirmation.job_id = $1 and confirmation.pending"
    );
    tx.fetch_optional(&sql, &[&job])
}

/// Whether a job was created to confirm an event.
pub fn is_confirming_job(tx: &mut Tx<'_>, job: JobId) -> Result<bool> {
    tx.value("select exists (select 1 from confirmation where job_id = $1)", &[&job])
}

/// Returns the confirmations without a job, those whose jobs ended without results, and those whose deadline has passed, if their
/// next attempt is due; at most `limit`, in the order of the next attempts.
pub fn due(tx: &mut Tx<'_>, now: Timestamp, limit: i64) -> Result<Vec<PendingConfirmation>> {
    let sql = format!(
        "select {{columns}} from {PENDING} where confirmation.pending and confirmation.next_attempt <= $1
           and (confirmation.deadline <= $1
                or confirmation.state <> 'confirmed' and coalesce(job.status, 'failed') in ('failed', 'canceled'))
         order by confirmation.next_attempt, confirmation.id limit $2"
    );
    tx.fetch_all(&sql, &[&now, &limit])
}

/// Records that an attempt failed with an error of the server, and delays the next one.
pub fn postpone(tx: &mut Tx<'_>, event: EventId, next: Timestamp) -> Result<()> {
    tx.execute(
        "update confirmation set attempts = attempts + 1, next_attempt = $2 where event_id = $1 and pending",
        &[&event, &next],
    )?;
    Ok(())
}

/// Whether any confirmation waits for its job.
pub fn is_any_pending(tx: &mut Tx<'_>) -> Result<bool> {
    tx.value(&format!("select exists (select 1 from {PENDING} where confirmation.pending)"), &[])
}

/// Records the job of a confirmation, and the versions that it compares.
pub fn start(
    tx: &mut Tx<'_>,
    event: EventId,
    job: JobUuid,
    (base, head): (VersionId, VersionId),
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update confirmation set state = 'confirming', job_id = (select id from job where uuid = $2),
             base_version_id = $3, head_version_id = $4, modified = $5
         where event_id = $1 and pending",
        &[&event, &job, &base, &head, &now],
    )?;
    Ok(())
}

/// Ends a confirmation. Returns whether it was still pending.
pub fn end(
    tx: &mut Tx<'_>,
    event: EventId,
    state: ConfirmationState,
    reason: Option<&str>,
    comparisons: &[VerdictComparison],
    now: Timestamp,
) -> Result<bool> {
    let comparisons = serde_json::to_string(comparisons).map_err(|error| Error::Engine(error.into()))?;
    let ended = tx.execute(
        "update confirmation set state = $2, pending = false, reason = $3, comparisons = $4, modified = $5
         where event_id = $1 and pending",
        &[&event, &state, &reason, &comparisons, &now],
    )?;
    Ok(ended == 1)
}

/// Records that an event is confirmed, while its notification waits for the search for its commit.
pub fn hold(
    tx: &mut Tx<'_>,
    event: EventId,
    comparisons: &[VerdictComparison],
    now: Timestamp,
) -> Result<()> {
    let comparisons = serde_json::to_string(comparisons).map_err(|error| Error::Engine(error.into()))?;
    tx.execute(
        "update confirmation set state = 'confirmed', comparisons = $2, modified = $3,
             deadline = (select deadline from bisection_search as search where search.event_id = confirmation.event_id)
         where event_id = $1 and pending",
        &[&event, &comparisons, &now],
    )?;
    Ok(())
}

/// Ends the wait of the notification about a confirmed event for the search for its commit. Returns the report whose notification
/// waited.
pub fn release(tx: &mut Tx<'_>, event: EventId, now: Timestamp) -> Result<Option<ReportId>> {
    tx.fetch_optional(
        "update confirmation set pending = false, modified = $2
         where event_id = $1 and pending and state = 'confirmed' returning report_id",
        &[&event, &now],
    )
}

/// Whether to notify about a report now: no confirmation is pending, and an open event of the report is not refuted. If the
/// project notifies about alerts, these include events that other reports raised.
pub fn is_notifiable(tx: &mut Tx<'_>, report: ReportId) -> Result<bool> {
    tx.value(
        "select not exists (select 1 from confirmation where report_id = $1 and pending)
            and (exists (select 1 from confirmation join event on event.id = confirmation.event_id
                         where confirmation.report_id = $1 and confirmation.state <> 'refuted'
                           and event.status in ('open', 'recovered'))
                 or exists (select 1 from alert join project on project.id = alert.project_id
                            join event on event.id = alert.event_id
                            left join confirmation on confirmation.event_id = event.id
                            where alert.report_id = $1 and project.notifies = 'alerts' and alert.status = 'active'
                              and alert.mute_id is null and event.status in ('open', 'recovered')
                              and not coalesce(confirmation.pending, false)
                              and coalesce(confirmation.state, 'confirmed') <> 'refuted'))",
        &[&report],
    )
}

columns! {
    struct ConfirmationRow {
        event: EventId = "confirmation.event_id",
        waiting: ReportUuid = "waiting.uuid",
        state: ConfirmationState = "confirmation.state",
        reason: Option<String> = "confirmation.reason",
        job: Option<JobUuid> = "job.uuid",
        report: Option<ReportUuid> = "report.uuid",
        base_number: Option<u32> = "base.number",
        base_hash: Option<GitHash> = "base.hash",
        head_number: Option<u32> = "top.number",
        head_hash: Option<GitHash> = "top.hash",
        comparisons: Option<String> = "confirmation.comparisons",
        created: Timestamp = "confirmation.created",
        modified: Timestamp = "confirmation.modified",
    }
}

const VIEW: &str = "confirmation join report as waiting on waiting.id = confirmation.report_id
     left join job on job.id = confirmation.job_id left join report on report.id = job.report_id
     left join version as base on base.id = confirmation.base_version_id
     left join version as top on top.id = confirmation.head_version_id";

/// Returns the confirmations of events.
pub(crate) fn of_events(tx: &mut Tx<'_>, events: &[i64]) -> Result<HashMap<EventId, Confirmation>> {
    let sql = format!("select {{columns}} from {VIEW} where confirmation.event_id in {{ints $1}}");
    let rows: Vec<ConfirmationRow> = tx.fetch_all(&sql, &[&events])?;
    rows.into_iter().map(|row| Ok((row.event, row.complete()?))).collect()
}

/// Returns the confirmations that the notifications about reports contain, each with its report.
pub fn of_reports(tx: &mut Tx<'_>, reports: &[i64]) -> Result<Vec<(ReportUuid, Confirmation)>> {
    let sql = format!(
        "select {{columns}} from {VIEW} where confirmation.report_id in {{ints $1}} and not confirmation.pending
           and confirmation.state <> 'refuted' order by confirmation.id"
    );
    let rows: Vec<ConfirmationRow> = tx.fetch_all(&sql, &[&reports])?;
    rows.into_iter().map(|row| Ok((row.waiting, row.complete()?))).collect()
}

impl ConfirmationRow {
    fn complete(self) -> Result<Confirmation> {
        let version = |number: Option<u32>, hash| number.map(|number| Version { number, hash });
        let comparisons = self.comparisons.as_deref().unwrap_or("[]");
        Ok(Confirmation {
            state: self.state,
            reason: self.reason,
            job: self.job,
            report: self.report,
            base: version(self.base_number, self.base_hash),
            head: version(self.head_number, self.head_hash),
            comparisons: serde_json::from_str(comparisons).map_err(|error| Error::Engine(error.into()))?,
            created: self.created,
            modified: self.modified,
        })
    }
}
