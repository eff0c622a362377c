//! Confirmations: second measurements of the suspected changes of an event, by a job that compares two versions. The report of the
//! confirmation is the one whose notification waits; the job has its own report.

use std::collections::HashMap;

use tidemark_api::{
    ChangeCause, Confirmation, ConfirmationState, EventUuid, GitHash, JobConfig, JobUuid, ReportUuid,
    Timestamp, VerdictComparison, Version,
};

use crate::{
    BranchId, Error, EventId, HeadId, JobId, ProjectId, ReportId, Result, SpecId, TestbedId, Tx, VersionId,
    columns::{columns, insert_columns},
    series::SeriesKey,
    value::distinct,
    version,
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
        /// Event.
        pub event: EventId = "event_id",
        /// Benchmark, variant and measure.
        pub series_key: SeriesKey,
        /// Difference as a share of the earlier level; positive if the values are higher.
        pub change: f64 = "size",
    }
}

/// Returns the series of events with changes, or with values outside their limits, on a testbed. The largest difference comes
/// first.
pub fn suspects(tx: &mut Tx<'_>, events: &[EventId], testbed: TestbedId) -> Result<Vec<Suspect>> {
    let events = distinct(events.iter().map(|event| event.get()));
    tx.fetch_all(
        "select {columns} from (
             select event_id, benchmark_id, variant_id, measure_id,
                    case when new_level > old_level then size else -size end as size
             from change where event_id in {ints $1} and testbed_id = $2 and withdrawn is null
             union all
             select event_id, benchmark_id, variant_id, measure_id,
                    case when highest is not null then size else -size end
             from event_series as series where event_id in {ints $1} and testbed_id = $2 and outside
               and not exists (select 1 from change where change.event_id = series.event_id
                   and change.testbed_id = series.testbed_id and change.benchmark_id = series.benchmark_id
                   and change.variant_id = series.variant_id and change.measure_id = series.measure_id
                   and change.withdrawn is null)) as suspected
         order by abs(size) desc, benchmark_id, variant_id, measure_id",
        &[&events, &testbed],
    )
}

columns! {
    /// A version of a commit.
    #[derive(Clone, Debug)]
    pub struct Commit {
        /// Version.
        pub version: VersionId = "id",
        /// Hash of the commit.
        pub hash: GitHash = "hash",
    }
}

/// Returns a version, if it has a hash.
pub fn commit(tx: &mut Tx<'_>, version: VersionId) -> Result<Option<Commit>> {
    tx.fetch_optional("select {columns} from version where id = $1 and hash is not null", &[&version])
}

/// Returns the newest version of a commit before a version of a head.
pub fn commit_before(tx: &mut Tx<'_>, head: HeadId, version: VersionId) -> Result<Option<Commit>> {
    let sql = "select {columns} from version where head_id = $1 and id < $2 and hash is not null
         order by id desc limit 1";
    let own = tx.fetch_optional(sql, &[&head, &version])?;
    if own.is_some() {
        return Ok(own);
    }
    // The head has no earlier version: the newest inherited one.
    let inherited = version::history(tx, head)?.into_iter().nth(1);
    let Some(range) = inherited else { return Ok(None) };
    let after = VersionId::from(range.last.get().saturating_add(1));
    tx.fetch_optional(sql, &[&range.head, &after])
}

columns! {
    /// An image in the registry.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CommitImage {
        /// Path of the repository below the project.
        pub path: String = "repository.path",
        /// Digest.
        pub digest: String = "manifest.digest",
    }
}

/// Returns the image of a commit: the image with the hash as its tag, or the image that a job measured for the version.
pub fn image(tx: &mut Tx<'_>, project: ProjectId, commit: &Commit) -> Result<Option<CommitImage>> {
    let tagged = tx.fetch_optional(
        "select {columns} from tag join manifest on manifest.id = tag.manifest_id
         join repository on repository.id = tag.repository_id
         where repository.project_id = $1 and tag.name = $2 order by repository.path limit 1",
        &[&project, &commit.hash],
    )?;
    if tagged.is_some() {
        return Ok(tagged);
    }
    let sql = "select job.config from report join job on job.report_id = report.id
         where report.project_id = $1 and report.version_id = $2 and report.metrics > 0
         order by job.id desc limit 1";
    let config: Option<String> = tx.fetch_optional(sql, &[&project, &commit.version])?;
    let Some(config) = config else { return Ok(None) };
    let config = parse(&config)?;
    let path =
        config.repository.as_deref().and_then(|name| name.split_once('/')).map_or("", |(_, path)| path);
    tx.fetch_optional(
        "select {columns} from manifest join repository on repository.id = manifest.repository_id
         where repository.project_id = $1 and repository.path = $2 and manifest.digest = $3",
        &[&project, &path, &config.digest],
    )
}

/// Returns the configuration of the newest job of a testbed that has results, without its environment.
pub fn newest_config(tx: &mut Tx<'_>, project: ProjectId, testbed: TestbedId) -> Result<Option<JobConfig>> {
    let config: Option<String> = tx.fetch_optional(
        "select job.config from report join job on job.report_id = report.id
         where report.project_id = $1 and report.testbed_id = $2 and report.metrics > 0
         order by report.start_time desc, report.id desc limit 1",
        &[&project, &testbed],
    )?;
    config.map(|config| parse(&config)).transpose()
}

fn parse(config: &str) -> Result<JobConfig> {
    serde_json::from_str(config).map_err(|error| Error::Engine(error.into()))
}

/// Returns the spec of a testbed, and whether a runner serves it.
pub fn spec(tx: &mut Tx<'_>, testbed: TestbedId) -> Result<Option<(SpecId, bool)>> {
    tx.fetch_optional(
        "select spec.id, exists (select 1 from runner_spec join runner on runner.id = runner_spec.runner_id
                                 where runner_spec.spec_id = spec.id and runner.archived is null)
         from testbed join spec on spec.id = testbed.spec_id where testbed.id = $1",
        &[&testbed],
    )
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

/// Returns the confirmations without a job, those whose jobs ended without results, and those whose deadline has passed; at most
/// `limit`.
pub fn due(tx: &mut Tx<'_>, now: Timestamp, limit: i64) -> Result<Vec<PendingConfirmation>> {
    let sql = format!(
        "select {{columns}} from {PENDING} where confirmation.pending
           and (confirmation.deadline <= $1 or coalesce(job.status, 'failed') in ('failed', 'canceled'))
         order by confirmation.id limit $2"
    );
    tx.fetch_all(&sql, &[&now, &limit])
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

/// Whether the notification about a report can be sent: no confirmation is pending, and at least one event is not refuted.
pub fn is_notifiable(tx: &mut Tx<'_>, report: ReportId) -> Result<bool> {
    tx.value(
        "select exists (select 1 from confirmation where report_id = $1 and state <> 'refuted')
            and not exists (select 1 from confirmation where report_id = $1 and pending)",
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
