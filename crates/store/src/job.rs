//! Jobs: runs on runners, from the queue to the report. [`advance`] changes every status and allows only the
//! transitions of the table in the API.

mod due;

use tidemark_api::{
    id::{JobUuid, LeaseUuid, ReportUuid, RunnerUuid},
    job::{Job, JobCallback, JobConfig, JobFilter, JobNoise, JobStatus},
    job_event::JobEvent,
    page::{Direction, Page},
    spec::Spec,
    time::Timestamp,
};
use uuid::Uuid;

pub use self::due::{
    OverdueJob, OverdueReason, attempts, completed, is_any_open, overdue, postpone_processing,
};
use crate::{
    Cells, Error, FromRow, JobId, List, Lock, OrganizationId, ProjectId, ReportId, Result, RunnerId, SpecId,
    Tx, WriteContext, columns::columns, outbox, plan, sql::direction,
};

/// A job to insert.
#[derive(Clone, Debug)]
pub struct NewJobRow<'a> {
    /// Project.
    pub project: ProjectId,
    /// Report that the job fills.
    pub report: ReportId,
    /// Spec of the machine that runs the job.
    pub spec: SpecId,
    /// Priority: a higher rank runs sooner.
    pub rank: i64,
    /// Client address of the request, if the concurrency limit applies to addresses.
    pub address: Option<&'a str>,
    /// Maximum number of jobs that run at the same time for the address or the organization.
    pub concurrency: Option<u32>,
    /// Configuration for the runner.
    pub config: &'a JobConfig,
    /// Callback at the end of the job.
    pub callback: Option<&'a JobCallback>,
    /// Time when the job is canceled if no runner has claimed it.
    pub expires: Timestamp,
}

/// Inserts a job into the queue.
pub fn create(tx: &mut Tx<'_>, context: &WriteContext, new: &NewJobRow<'_>) -> Result<JobUuid> {
    let uuid = JobUuid::from(context.uuid());
    let config = JobConfig { env: None, ..new.config.clone() };
    tx.execute(
        "insert into job (uuid, project_id, report_id, spec_id, status, rank, address, concurrency, config, callback,
                          timeout, created, modified, deadline, expires, attempts, env)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $13, 0, $14)",
        &[
            &uuid,
            &new.project,
            &new.report,
            &new.spec,
            &JobStatus::Pending,
            &new.rank,
            &new.address,
            &new.concurrency,
            &serde_json::to_string(&config).map_err(invalid_json)?,
            &new.callback.map(serde_json::to_string).transpose().map_err(invalid_json)?,
            &new.config.timeout,
            &context.now,
            &new.expires,
            &new.config.env.as_ref().map(serde_json::to_string).transpose().map_err(invalid_json)?,
        ],
    )?;
    Ok(uuid)
}

fn invalid_json(error: serde_json::Error) -> Error {
    Error::Engine(error.into())
}

/// Fields to update together with the status.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobUpdate<'a> {
    /// Error message.
    pub error: Option<&'a str>,
    /// Object that contains the output.
    pub output: Option<Uuid>,
    /// Deadline in the new status; a job that is pending again gets its original deadline.
    pub deadline: Option<Timestamp>,
    /// Runner that claims the job.
    pub runner: Option<RunnerId>,
    /// Lease of the claim. For a claimed job: the lease that the job must have for the update to apply.
    pub lease: Option<LeaseUuid>,
}

/// Applies an event to a job, if its current status allows the event. Returns whether the event was applied.
pub fn advance(
    tx: &mut Tx<'_>,
    job: JobId,
    event: JobEvent,
    change: JobUpdate<'_>,
    now: Timestamp,
) -> Result<bool> {
    Ok(!advance_all(tx, &[job], event, change, now)?.is_empty())
}

columns! {
    /// A job that an event was applied to.
    struct AdvancedJob {
        uuid: JobUuid = "uuid",
        has_callback: bool = "callback is not null",
        owner: Option<OrganizationId> =
            "(select organization_id from project where project.id = job.project_id)",
    }
}

/// Applies an event to several jobs. Returns the jobs that it was applied to.
pub fn advance_all(
    tx: &mut Tx<'_>,
    jobs: &[JobId],
    event: JobEvent,
    change: JobUpdate<'_>,
    now: Timestamp,
) -> Result<Vec<JobUuid>> {
    let jobs: Vec<i64> = jobs.iter().map(|job| job.get()).collect();
    let sources: Vec<&str> = event.sources().map(JobStatus::as_str).collect();
    let changed: Vec<AdvancedJob> = tx.fetch_all(
        "update job set
             status = $2,
             modified = $3,
             error = case when $2 in ('running', 'completed') then null else coalesce($4, error) end,
             printed = case when $2 = 'running' then printed end,
             env = case when $2 in ('pending', 'claimed', 'running') then env end,
             output = coalesce($5, output),
             deadline = case when $2 = 'pending' then expires else $6 end,
             runner_id = case when $2 = 'pending' then null else coalesce($7, runner_id) end,
             lease = case when $2 = 'pending' then null when $2 = 'claimed' then $9 else lease end,
             claimed = case when $2 = 'pending' then null when $2 = 'claimed' then $3 else claimed end,
             heartbeat = case when $2 in ('pending', 'claimed') then null when $2 = 'running' then $3
                         else heartbeat end,
             started = case when $2 = 'running' then coalesce(started, $3)
                            when $2 = 'completed' then coalesce(started, claimed) else started end,
             completed = case when $2 in ('completed', 'failed', 'canceled') then coalesce(completed, $3)
                         else completed end
         where id in {ints $1} and status in {texts $8}
           and ($2 = 'claimed' or coalesce($9, lease) is not distinct from lease)
         returning {columns}",
        &[
            &jobs,
            &event.target(),
            &now,
            &change.error,
            &change.output,
            &change.deadline,
            &change.runner,
            &&sources[..],
            &change.lease,
        ],
    )?;
    if END_STATUSES.contains(&event.target()) {
        let wanted = changed.iter().filter(|job| job.has_callback);
        let wanted: Vec<_> = wanted.map(|job| (job.uuid.to_string(), job.owner)).collect();
        outbox::add_many(tx, CALLBACK, &wanted, now)?;
    }
    let changed: Vec<JobUuid> = changed.into_iter().map(|job| job.uuid).collect();
    if matches!(event, JobEvent::Complete | JobEvent::Fail | JobEvent::Cancel) {
        plan::meter_jobs(tx, &changed, now)?;
    }
    Ok(changed)
}

/// Outbox kind of callbacks at the end of a job; the payload is the UUID of the job.
pub const CALLBACK: &str = "job_callback";

/// Statuses that trigger the callback of a job.
pub const END_STATUSES: [JobStatus; 4] =
    [JobStatus::Processed, JobStatus::Failed, JobStatus::Canceled, JobStatus::Unknown];

/// Returns the callback of a job, if it has one that is not yet delivered.
pub fn callback(tx: &mut Tx<'_>, job: JobId) -> Result<Option<JobCallback>> {
    let text: Option<String> = tx.value("select callback from job where id = $1", &[&job])?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(invalid_json)
}

/// Deletes the callback of a job, with its token.
pub fn delete_callback(tx: &mut Tx<'_>, job: JobUuid) -> Result<()> {
    tx.execute("update job set callback = null where uuid = $1", &[&job])?;
    Ok(())
}

/// Deletes the callbacks of all jobs that ended before a time.
pub fn delete_callbacks(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    let ends = END_STATUSES.map(JobStatus::as_str);
    tx.execute(
        "update job set callback = null where callback is not null and modified < $1 and status in {texts $2}",
        &[&before, &&ends[..]],
    )?;
    Ok(())
}

/// A job with its internal fields.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// Primary key.
    pub id: JobId,
    /// Project.
    pub project: ProjectId,
    /// Organization of the project.
    pub organization: OrganizationId,
    /// Report that the job fills.
    pub report: ReportId,
    /// Runner that claimed the job.
    pub runner: Option<RunnerId>,
    /// Lease of the runner.
    pub lease: Option<LeaseUuid>,
    /// Configuration for the runner.
    pub config: JobConfig,
    /// Object that contains the output.
    pub output: Option<Uuid>,
    /// Time of the last heartbeat of the runner, if any.
    pub heartbeat: Option<Timestamp>,
    /// Representation in the API.
    pub job: Job,
}

columns! {
    struct JobColumns {
        id: JobId = "job.id",
        project_id: ProjectId = "job.project_id",
        organization_id: OrganizationId = "project.organization_id",
        report_id: ReportId = "job.report_id",
        runner_id: Option<RunnerId> = "job.runner_id",
        lease: Option<LeaseUuid> = "job.lease",
        config: String = "job.config",
        env: Option<String> = "job.env",
        output: Option<Uuid> = "job.output",
        heartbeat: Option<Timestamp> = "job.heartbeat",
        uuid: JobUuid = "job.uuid",
        status: JobStatus = "job.status",
        report: ReportUuid = "report.uuid",
        runner: Option<RunnerUuid> = "runner.uuid",
        timeout: u32 = "job.timeout",
        error: Option<String> = "job.error",
        created: Timestamp = "job.created",
        modified: Timestamp = "job.modified",
        claimed: Option<Timestamp> = "job.claimed",
        started: Option<Timestamp> = "job.started",
        completed: Option<Timestamp> = "job.completed",
        spec: Spec,
    }
}

const TABLES: &str =
    "job join project on project.id = job.project_id join report on report.id = job.report_id
     join spec on spec.id = job.spec_id left join runner on runner.id = job.runner_id";

impl FromRow for JobRow {
    const WIDTH: usize = JobColumns::WIDTH;
    const COLUMNS: &'static str = JobColumns::COLUMNS;

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let row: JobColumns = cells.read()?;
        let mut config: JobConfig = serde_json::from_str(&row.config).map_err(invalid_json)?;
        config.env = row.env.map(|env| serde_json::from_str(&env)).transpose().map_err(invalid_json)?;
        let job = Job {
            uuid: row.uuid,
            status: row.status,
            spec: row.spec,
            runner: row.runner,
            report: row.report,
            image: config.image.clone(),
            base: config.base.as_ref().and_then(|base| base.image.clone()),
            timeout: row.timeout,
            position: None,
            error: row.error,
            printed: None,
            created: row.created,
            modified: row.modified,
            claimed: row.claimed,
            started: row.started,
            completed: row.completed,
            output: None,
        };
        Ok(Self {
            id: row.id,
            project: row.project_id,
            organization: row.organization_id,
            report: row.report_id,
            runner: row.runner_id,
            lease: row.lease,
            config,
            output: row.output,
            heartbeat: row.heartbeat,
            job,
        })
    }
}

/// Returns the job of a project with this UUID: a pending job with its position in the queue, a running job with its
/// output so far.
pub fn view(tx: &mut Tx<'_>, project: ProjectId, job: JobUuid) -> Result<JobRow> {
    let sql = format!("select {{columns}} from {TABLES} where job.project_id = $1 and job.uuid = $2");
    let mut found: JobRow = tx.fetch_one("job", &sql, &[&project, &job])?;
    if found.job.status == JobStatus::Pending {
        let ahead: i64 = tx.value(
            "select count(*) from job as other join job on job.id = $1
             where other.status = 'pending' and other.spec_id = job.spec_id
               and (other.rank > job.rank or (other.rank = job.rank and
                    (other.created < job.created or (other.created = job.created and other.id < job.id))))",
            &[&found.id],
        )?;
        found.job.position = Some(u32::try_from(ahead + 1).unwrap_or(u32::MAX));
    }
    if found.job.status == JobStatus::Running {
        found.job.printed = tx.value("select printed from job where id = $1", &[&found.id])?;
    }
    Ok(found)
}

/// Returns the job with this UUID, of any project.
pub fn find(tx: &mut Tx<'_>, job: JobUuid) -> Result<JobRow> {
    let sql = format!("select {{columns}} from {TABLES} where job.uuid = $1");
    tx.fetch_one("job", &sql, &[&job])
}

/// Returns the job that a runner has claimed or is running, if any.
pub fn of_runner(tx: &mut Tx<'_>, runner: RunnerId) -> Result<Option<JobUuid>> {
    tx.fetch_optional(
        "select uuid from job where runner_id = $1 and status in ('claimed', 'running')",
        &[&runner],
    )
}

/// Lists the jobs of a project, newest first.
pub fn list(tx: &mut Tx<'_>, project: ProjectId, filter: &JobFilter, page: &Page) -> Result<(Vec<Job>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let (found, total) = tx.page::<JobRow>(
        &List {
            from: &format!(
                "{TABLES} where job.project_id = $1 and (cast($2 as text) is null or job.status = $2)"
            ),
            order: &format!("job.created {direction}, job.id {direction}"),
        },
        &[&project, &filter.status],
        page,
    )?;
    Ok((found.into_iter().map(|found| found.job).collect(), total))
}

/// Capabilities of a runner, to select a job.
#[derive(Clone, Copy, Debug)]
pub struct RunnerCapabilities<'a> {
    /// Runner.
    pub runner: RunnerId,
    /// Operating system and architecture, if the runner sent them.
    pub platform: Option<(&'a str, &'a str)>,
}

/// Returns the next job for a runner, if any: the first pending job whose spec the runner serves and whose organization
/// or address is below its concurrency limit. A runner that has a job gets no other job.
pub fn next(tx: &mut Tx<'_>, able: RunnerCapabilities<'_>) -> Result<Option<JobId>> {
    let (os, architecture) = able.platform.unzip();
    tx.fetch_optional(
        "select job.id from job
         join runner_spec on runner_spec.spec_id = job.spec_id and runner_spec.runner_id = $1
         join spec on spec.id = job.spec_id
         join project on project.id = job.project_id and project.deleted is null
         where job.status = 'pending'
           and (cast($2 as text) is null or (spec.os = $2 and spec.architecture = $3))
           and not exists (select 1 from job as own where own.runner_id = $1 and own.status in ('claimed', 'running'))
           and (job.concurrency is null or job.concurrency >
                (select count(*) from job as busy join project as home on home.id = busy.project_id
                 where busy.status in ('claimed', 'running')
                   and (busy.address = job.address
                        or (job.address is null and home.organization_id = project.organization_id))))
         order by job.rank desc, job.created, job.id limit 1",
        &[&able.runner, &os, &architecture],
    )
}

/// Returns the job that a runner claimed with this lease but has not started, if any: the response to the claim may
/// have been lost.
pub fn leased(tx: &mut Tx<'_>, runner: RunnerId, lease: LeaseUuid) -> Result<Option<JobRow>> {
    let sql = format!(
        "select {{columns}} from {TABLES}
         where job.runner_id = $1 and job.status = 'claimed' and job.lease = $2"
    );
    tx.fetch_optional(&sql, &[&runner, &lease])
}

/// Claims the next job for a runner, if any. Concurrent claims are serialized, because each claim counts towards the
/// concurrency limits of the others.
pub fn claim(
    tx: &mut Tx<'_>,
    able: RunnerCapabilities<'_>,
    lease: LeaseUuid,
    now: Timestamp,
    patience: i64,
) -> Result<Option<JobRow>> {
    tx.lock(Lock::Queue)?;
    let Some(job) = next(tx, able)? else { return Ok(None) };
    let timeout: i64 = tx.value("select timeout from job where id = $1", &[&job])?;
    let deadline = Some(now.plus_seconds(timeout.saturating_add(patience)));
    let change =
        JobUpdate { runner: Some(able.runner), lease: Some(lease), deadline, ..JobUpdate::default() };
    if !advance(tx, job, JobEvent::Claim, change, now)? {
        return Ok(None);
    }
    let sql = format!("select {{columns}} from {TABLES} where job.id = $1");
    tx.fetch_one("job", &sql, &[&job]).map(Some)
}

/// Records a heartbeat of the runner of a job, and the output of the job, if it is new.
pub fn record_heartbeat(tx: &mut Tx<'_>, job: JobId, printed: Option<&str>, now: Timestamp) -> Result<()> {
    tx.execute(
        "update job set heartbeat = $2, printed = coalesce($3, printed)
         where id = $1 and status in ('claimed', 'running')",
        &[&job, &now, &printed],
    )?;
    Ok(())
}

/// Stores the output of a job before the job ends. Returns whether the status still allows it.
pub fn upload(tx: &mut Tx<'_>, job: JobId, output: Uuid) -> Result<bool> {
    let kept = tx.execute(
        "update job set output = $2 where id = $1
         and (status in ('claimed', 'running', 'unknown') or (status = 'canceled' and output is null))",
        &[&job, &output],
    )?;
    Ok(kept == 1)
}

/// Stores the output of a canceled job, whose status does not change. Returns whether the job had no output.
pub fn store_canceled_output(tx: &mut Tx<'_>, job: JobId, output: Uuid) -> Result<bool> {
    let kept = tx.execute(
        "update job set output = $2 where id = $1 and output is null and status = 'canceled'",
        &[&job, &output],
    )?;
    Ok(kept == 1)
}

/// Stores the noise of the machine before and after the runs of a job.
pub fn record_noise(tx: &mut Tx<'_>, job: JobId, noise: JobNoise) -> Result<()> {
    tx.execute(
        "update job set noise_before = $2, noise_after = $3 where id = $1",
        &[&job, &noise.before, &noise.after],
    )?;
    Ok(())
}

/// Stores the warnings about the results of a job.
pub fn record_warnings(tx: &mut Tx<'_>, job: JobId, warnings: &[String]) -> Result<()> {
    let warnings = serde_json::to_string(warnings).map_err(|error| Error::Engine(error.into()))?;
    tx.execute("update job set warnings = $2 where id = $1", &[&job, &warnings])?;
    Ok(())
}

/// Raises the rank of the pending jobs of an organization after it was claimed or got a plan. The limit of its address no longer
/// applies to them; `concurrency` is the limit of the organization.
pub fn raise_rank(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    rank: i64,
    concurrency: Option<u32>,
) -> Result<()> {
    tx.execute(
        "update job set rank = $2, address = null, concurrency = $3 where status = 'pending' and rank < $2
         and project_id in (select id from project where organization_id = $1)",
        &[&organization, &rank, &concurrency],
    )?;
    Ok(())
}

/// Returns the runner minutes of an organization for jobs that ended from `from` to `until`. Every started minute of a
/// job counts, regardless of its result.
pub fn runner_minutes(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    from: Timestamp,
    until: Timestamp,
) -> Result<u64> {
    // A canceled job counts until the last heartbeat of its runner, not until the cancellation.
    tx.value(
        "select cast(coalesce(sum((ended - started + 59999999) / 60000000), 0) as bigint)
         from (select job.started,
                      case when job.status = 'canceled' then coalesce(job.heartbeat, job.completed)
                           else coalesce(job.completed, job.heartbeat) end as ended
               from project join job on job.project_id = project.id
               where project.organization_id = $1 and job.started is not null) as worked
         where ended between $2 and $3",
        &[&organization, &from, &until],
    )
}
