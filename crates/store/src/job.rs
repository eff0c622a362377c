//! Jobs: runs that runners make, from the queue to the report. Every change of a status goes through [`advance`], which
//! lets nothing happen that the table of the API does not have.

mod due;

use tidemark_api::{
    id::{JobUuid, LeaseUuid},
    job::{Job, JobCallback, JobConfig, JobFilter, JobNoise, JobStatus},
    job_event::JobEvent,
    page::{Direction, Page},
    time::Timestamp,
};
use uuid::Uuid;

pub use self::due::{Due, Overdue, attempts, completed, due, is_any_open, put_off};
use crate::{
    Cells, Error, Fresh, JobId, List, Lock, OrganizationId, ProjectId, ReportId, Result, RunnerId, SpecId,
    Tx, outbox, plan, spec, sql::direction,
};

/// A job to write down.
#[derive(Clone, Debug)]
pub struct New<'a> {
    /// The project it belongs to.
    pub project: ProjectId,
    /// The report that it fills.
    pub report: ReportId,
    /// The machine that it runs on.
    pub spec: SpecId,
    /// The higher, the sooner.
    pub rank: i64,
    /// Where it was asked for from, if jobs are limited by that.
    pub address: Option<&'a str>,
    /// How many such jobs may be under way at once.
    pub concurrency: Option<u32>,
    /// What the runner is told.
    pub config: &'a JobConfig,
    /// Whom to tell of its end.
    pub callback: Option<&'a JobCallback>,
    /// When it is canceled if no runner has taken it.
    pub expires: Timestamp,
}

/// Adds a job to the queue.
pub fn create(tx: &mut Tx<'_>, fresh: &Fresh, new: &New<'_>) -> Result<JobUuid> {
    let uuid = JobUuid::from(fresh.uuid());
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
            &serde_json::to_string(&config).map_err(unreadable)?,
            &new.callback.map(serde_json::to_string).transpose().map_err(unreadable)?,
            &new.config.timeout,
            &fresh.now,
            &new.expires,
            &new.config.env.as_ref().map(serde_json::to_string).transpose().map_err(unreadable)?,
        ],
    )?;
    Ok(uuid)
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::Engine(error.into())
}

/// Which parts of a job to change with its status.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change<'a> {
    /// What went wrong.
    pub error: Option<&'a str>,
    /// The object that holds the output.
    pub output: Option<Uuid>,
    /// When it is given up in the new status; one that waits again is given up when it was to be.
    pub deadline: Option<Timestamp>,
    /// The runner that takes it.
    pub runner: Option<RunnerId>,
    /// What the runner that takes it holds it by; of one that was taken, what it must be held by for anything to happen.
    pub lease: Option<LeaseUuid>,
}

/// Lets something happen to a job, if it can happen in the status that the job has at this moment; answers whether it
/// did.
pub fn advance(
    tx: &mut Tx<'_>,
    job: JobId,
    event: JobEvent,
    change: Change<'_>,
    now: Timestamp,
) -> Result<bool> {
    Ok(!advance_all(tx, &[job], event, change, now)?.is_empty())
}

/// Lets the same happen to several jobs; answers those that it happened to.
pub fn advance_all(
    tx: &mut Tx<'_>,
    jobs: &[JobId],
    event: JobEvent,
    change: Change<'_>,
    now: Timestamp,
) -> Result<Vec<JobUuid>> {
    let jobs: Vec<i64> = jobs.iter().map(|job| job.get()).collect();
    let sources: Vec<&str> = event.sources().map(JobStatus::as_str).collect();
    let changed: Vec<(JobUuid, bool, Option<OrganizationId>)> = tx.all(
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
         returning uuid, callback is not null,
                   (select organization_id from project where project.id = job.project_id)",
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
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if ENDS.contains(&event.target()) {
        let wanted = changed.iter().filter(|(_, is_wanted, _)| *is_wanted);
        let wanted: Vec<_> = wanted.map(|(uuid, _, owner)| (uuid.to_string(), *owner)).collect();
        outbox::add_many(tx, CALLBACK, &wanted, now)?;
    }
    let changed: Vec<JobUuid> = changed.into_iter().map(|(uuid, ..)| uuid).collect();
    if matches!(event, JobEvent::Complete | JobEvent::Fail | JobEvent::Cancel) {
        plan::meter_jobs(tx, &changed, now)?;
    }
    Ok(changed)
}

/// The kind of the work in the outbox that tells of the end of a job; its payload is the UUID of the job.
pub const CALLBACK: &str = "job_callback";

/// The statuses that the one who asked for a job wants to be told of.
pub const ENDS: [JobStatus; 4] =
    [JobStatus::Processed, JobStatus::Failed, JobStatus::Canceled, JobStatus::Unknown];

/// Whom to tell of the end of a job, if somebody wants to know and has not been told.
pub fn callback(tx: &mut Tx<'_>, job: JobId) -> Result<Option<JobCallback>> {
    let text: Option<String> = tx.value("select callback from job where id = $1", &[&job])?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(unreadable)
}

/// Forgets whom to tell, and the token for that.
pub fn forget_callback(tx: &mut Tx<'_>, job: JobUuid) -> Result<()> {
    tx.execute("update job set callback = null where uuid = $1", &[&job])?;
    Ok(())
}

/// Forgets the same of all jobs that ended before.
pub fn forget_callbacks(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    let ends = ENDS.map(JobStatus::as_str);
    tx.execute(
        "update job set callback = null where callback is not null and modified < $1 and status in {texts $2}",
        &[&before, &&ends[..]],
    )?;
    Ok(())
}

/// A job with what only the server knows of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The key.
    pub id: JobId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// The organization of the project.
    pub organization: OrganizationId,
    /// The report that it fills.
    pub report: ReportId,
    /// The runner that has it.
    pub runner: Option<RunnerId>,
    /// What that runner holds it by.
    pub lease: Option<LeaseUuid>,
    /// What the runner is told.
    pub config: JobConfig,
    /// The object that holds the output.
    pub output: Option<Uuid>,
    /// When its runner last spoke of it, if it has.
    pub heartbeat: Option<Timestamp>,
    /// What the wire shows.
    pub job: Job,
}

fn columns() -> String {
    format!(
        "job.id, job.project_id, project.organization_id, job.report_id, job.runner_id, job.lease, job.config,
         job.env, job.output, job.heartbeat, job.uuid, job.status, report.uuid, runner.uuid, job.timeout, job.error, job.created, job.modified,
         job.claimed, job.started, job.completed, {}",
        spec::COLUMNS
    )
}

const TABLES: &str =
    "job join project on project.id = job.project_id join report on report.id = job.report_id
     join spec on spec.id = job.spec_id left join runner on runner.id = job.runner_id";

fn read(cells: &mut Cells<'_>) -> Result<Found> {
    let (id, project, organization, report) = (cells.take()?, cells.take()?, cells.take()?, cells.take()?);
    let (runner, lease) = (cells.take()?, cells.take()?);
    let mut config: JobConfig = serde_json::from_str(&cells.take::<String>()?).map_err(unreadable)?;
    let env: Option<String> = cells.take()?;
    config.env = env.map(|env| serde_json::from_str(&env)).transpose().map_err(unreadable)?;
    let (output, heartbeat) = (cells.take()?, cells.take()?);
    let job = Job {
        uuid: cells.take()?,
        status: cells.take()?,
        report: cells.take()?,
        runner: cells.take()?,
        timeout: cells.take()?,
        error: cells.take()?,
        created: cells.take()?,
        modified: cells.take()?,
        claimed: cells.take()?,
        started: cells.take()?,
        completed: cells.take()?,
        spec: spec::read(cells)?.ok_or(Error::NotFound("spec"))?,
        image: config.image.clone(),
        position: None,
        printed: None,
        output: None,
    };
    Ok(Found { id, project, organization, report, runner, lease, config, output, heartbeat, job })
}

/// The job of a project with this id; when it waits, with its place in the queue, and when it runs, with what it prints.
pub fn view(tx: &mut Tx<'_>, project: ProjectId, job: JobUuid) -> Result<Found> {
    let sql = format!("select {} from {TABLES} where job.project_id = $1 and job.uuid = $2", columns());
    let mut found = tx.one("job", &sql, &[&project, &job], |row| read(&mut row.cells()))?;
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

/// The job with this id, whatever its project.
pub fn find(tx: &mut Tx<'_>, job: JobUuid) -> Result<Found> {
    let sql = format!("select {} from {TABLES} where job.uuid = $1", columns());
    tx.one("job", &sql, &[&job], |row| read(&mut row.cells()))
}

/// The job that a runner has under way, if there is one.
pub fn of_runner(tx: &mut Tx<'_>, runner: RunnerId) -> Result<Option<JobUuid>> {
    tx.optional(
        "select uuid from job where runner_id = $1 and status in ('claimed', 'running')",
        &[&runner],
        |row| row.get(0),
    )
}

/// The jobs of a project, the newest first.
pub fn list(tx: &mut Tx<'_>, project: ProjectId, filter: &JobFilter, page: &Page) -> Result<(Vec<Job>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let (found, total) = tx.page(
        &List {
            columns: &columns(),
            from: &format!(
                "{TABLES} where job.project_id = $1 and (cast($2 as text) is null or job.status = $2)"
            ),
            order: &format!("job.created {direction}, job.id {direction}"),
        },
        &[&project, &filter.status],
        page,
        |row| read(&mut row.cells()),
    )?;
    Ok((found.into_iter().map(|found| found.job).collect(), total))
}

/// What a runner can do, for the choice of a job.
#[derive(Clone, Copy, Debug)]
pub struct Able<'a> {
    /// The runner.
    pub runner: RunnerId,
    /// Its operating system and instruction set, if it says them.
    pub platform: Option<(&'a str, &'a str)>,
}

/// The job that a runner is to do next, if there is one: of those whose spec it serves and whose organization or
/// address has not enough under way, the first in the queue. A runner that has a job gets no other.
pub fn next(tx: &mut Tx<'_>, able: Able<'_>) -> Result<Option<JobId>> {
    let (os, architecture) = able.platform.unzip();
    tx.optional(
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
        |row| row.get(0),
    )
}

/// The job that a runner was given for its request but has not begun, if there is one: it may not have heard of it.
pub fn leased(tx: &mut Tx<'_>, runner: RunnerId, lease: LeaseUuid) -> Result<Option<Found>> {
    let sql = format!(
        "select {} from {TABLES} where job.runner_id = $1 and job.status = 'claimed' and job.lease = $2",
        columns()
    );
    tx.optional(&sql, &[&runner, &lease], |row| read(&mut row.cells()))
}

/// Gives a runner its next job, if there is one. Those who ask at the same time are served one after the other, because
/// what one gets counts against what another may get.
pub fn claim(
    tx: &mut Tx<'_>,
    able: Able<'_>,
    lease: LeaseUuid,
    now: Timestamp,
    patience: i64,
) -> Result<Option<Found>> {
    tx.lock(Lock::Queue)?;
    let Some(job) = next(tx, able)? else { return Ok(None) };
    let timeout: i64 = tx.value("select timeout from job where id = $1", &[&job])?;
    let deadline = Some(now.plus_seconds(timeout.saturating_add(patience)));
    let change = Change { runner: Some(able.runner), lease: Some(lease), deadline, ..Change::default() };
    if !advance(tx, job, JobEvent::Claim, change, now)? {
        return Ok(None);
    }
    let sql = format!("select {} from {TABLES} where job.id = $1", columns());
    tx.one("job", &sql, &[&job], |row| read(&mut row.cells())).map(Some)
}

/// Remembers that the runner of a job was heard of, and what the job has printed, if that is something new.
pub fn heard(tx: &mut Tx<'_>, job: JobId, printed: Option<&str>, now: Timestamp) -> Result<()> {
    tx.execute(
        "update job set heartbeat = $2, printed = coalesce($3, printed)
         where id = $1 and status in ('claimed', 'running')",
        &[&job, &now, &printed],
    )?;
    Ok(())
}

/// Keeps the output of a job before its end is told; answers whether it still can.
pub fn upload(tx: &mut Tx<'_>, job: JobId, output: Uuid) -> Result<bool> {
    let kept = tx.execute(
        "update job set output = $2 where id = $1
         and (status in ('claimed', 'running', 'unknown') or (status = 'canceled' and output is null))",
        &[&job, &output],
    )?;
    Ok(kept == 1)
}

/// Keeps the output of a job whose status does not change by it, such as a canceled one; answers whether it had none.
pub fn keep_output(tx: &mut Tx<'_>, job: JobId, output: Uuid) -> Result<bool> {
    let kept = tx.execute(
        "update job set output = $2 where id = $1 and output is null and status = 'canceled'",
        &[&job, &output],
    )?;
    Ok(kept == 1)
}

/// Writes down how restless the machine was around the runs of a job.
pub fn note_noise(tx: &mut Tx<'_>, job: JobId, noise: JobNoise) -> Result<()> {
    tx.execute(
        "update job set noise_before = $2, noise_after = $3 where id = $1",
        &[&job, &noise.before, &noise.after],
    )?;
    Ok(())
}

/// Moves the waiting jobs of an organization up, now that somebody owns it or pays for it.
pub fn raise(tx: &mut Tx<'_>, organization: OrganizationId, rank: i64) -> Result<()> {
    tx.execute(
        "update job set rank = $2, address = null, concurrency = null where status = 'pending' and rank < $2
         and project_id in (select id from project where organization_id = $1)",
        &[&organization, &rank],
    )?;
    Ok(())
}

/// How many minutes the runners worked for an organization on jobs that ended from `from` to `until`, each begun minute
/// of a job counted, whatever came of it.
pub fn minutes(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    from: Timestamp,
    until: Timestamp,
) -> Result<u64> {
    // A job that was given up ended when its runner was last heard of, not when somebody said so.
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
