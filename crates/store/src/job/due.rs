//! Jobs that the server has to process: overdue jobs, and completed jobs whose results are not yet parsed.
//! `advance_all` applies the events.

use tidemark_api::{id::JobUuid, job::JobStatus, job_event::JobEvent, time::Timestamp};

use crate::{JobId, Result, Tx, columns::columns};

/// Why a job is overdue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverdueReason {
    /// No runner has claimed the job.
    Unclaimed,
    /// The job exceeds its time limit.
    TimedOut,
    /// The runner that claimed the job has never sent a heartbeat.
    NeverStarted,
    /// The runner of the job stopped sending heartbeats.
    HeartbeatLost,
}

impl OverdueReason {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::Unclaimed, Self::TimedOut, Self::NeverStarted, Self::HeartbeatLost];

    /// Returns the event to apply to the job.
    pub fn event(self) -> JobEvent {
        match self {
            Self::Unclaimed | Self::TimedOut => JobEvent::Cancel,
            Self::NeverStarted => JobEvent::Return,
            Self::HeartbeatLost => JobEvent::Lose,
        }
    }
}

/// An overdue job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverdueJob {
    /// Primary key.
    pub id: JobId,
    /// Reason.
    pub overdue: OverdueReason,
}

columns! {
    struct OverdueColumns {
        id: JobId = "id",
        status: JobStatus = "status",
        deadline: Option<Timestamp> = "deadline",
        heartbeat: Option<Timestamp> = "heartbeat",
    }
}

/// Returns the jobs that are past their deadline or whose runner sent no heartbeat since `alive`.
pub fn overdue(tx: &mut Tx<'_>, now: Timestamp, alive: Timestamp) -> Result<Vec<OverdueJob>> {
    let found: Vec<OverdueColumns> = tx.fetch_all(
        "select {columns} from job
         where status in ('pending', 'claimed', 'running')
           and (deadline <= $1 or (status <> 'pending' and coalesce(heartbeat, claimed) < $2))
         order by id limit 256",
        &[&now, &alive],
    )?;
    let due = found.into_iter().map(|OverdueColumns { id, status, deadline, heartbeat }| {
        let overdue = match status {
            JobStatus::Pending => OverdueReason::Unclaimed,
            _ if deadline.is_some_and(|deadline| deadline <= now) => OverdueReason::TimedOut,
            _ if heartbeat.is_none() => OverdueReason::NeverStarted,
            _ => OverdueReason::HeartbeatLost,
        };
        OverdueJob { id, overdue }
    });
    Ok(due.collect())
}

/// Whether any job has not ended.
pub fn is_any_open(tx: &mut Tx<'_>) -> Result<bool> {
    tx.value(
        "select exists (select 1 from job where status in ('pending', 'claimed', 'running', 'completed'))",
        &[],
    )
}

/// Returns the completed jobs whose results are to be processed, oldest first.
pub fn completed(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<JobUuid>> {
    tx.fetch_all(
        "select uuid from job where status = 'completed' and (retry is null or retry <= $1)
         order by completed, id limit 64",
        &[&now],
    )
}

/// Returns a completed job and its number of failed processing attempts; `None` if the job no longer waits for
/// processing.
pub fn attempts(tx: &mut Tx<'_>, job: JobUuid) -> Result<Option<(JobId, u32)>> {
    tx.fetch_optional("select id, attempts from job where uuid = $1 and status = 'completed'", &[&job])
}

/// Postpones the processing of a job until `retry`, after its `attempts`th failed attempt.
pub fn postpone_processing(tx: &mut Tx<'_>, job: JobId, attempts: u32, retry: Timestamp) -> Result<()> {
    // If several servers fail at the same time, only one of them counts the attempt.
    tx.execute(
        "update job set attempts = $2, retry = $3 where id = $1 and status = 'completed' and attempts < $2",
        &[&job, &attempts, &retry],
    )?;
    Ok(())
}
