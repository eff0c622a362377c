//! Which jobs the server itself has to look after: those whose time is up, and those whose results are to be read. What
//! happens to them is `advance_all`.

use tidemark_api::{id::JobUuid, job::JobStatus, job_event::JobEvent, time::Timestamp};

use crate::{JobId, Result, Tx};

/// Why the time of a job is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// No runner has taken it.
    Untaken,
    /// It takes longer than it may.
    Late,
    /// The runner that was to get it has never spoken of it.
    Unheard,
    /// Its runner has not spoken of it any more.
    Silent,
}

impl Overdue {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Untaken, Self::Late, Self::Unheard, Self::Silent];

    /// What is to happen to such a job.
    pub fn event(self) -> JobEvent {
        match self {
            Self::Untaken | Self::Late => JobEvent::Cancel,
            Self::Unheard => JobEvent::Return,
            Self::Silent => JobEvent::Lose,
        }
    }
}

/// A job whose time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The key.
    pub id: JobId,
    /// Why.
    pub overdue: Overdue,
}

/// The jobs whose time is up, or whose runners were to be heard of since `alive` and were not.
pub fn due(tx: &mut Tx<'_>, now: Timestamp, alive: Timestamp) -> Result<Vec<Due>> {
    tx.all(
        "select id, status, deadline, heartbeat from job
         where status in ('pending', 'claimed', 'running')
           and (deadline <= $1 or (status <> 'pending' and coalesce(heartbeat, claimed) < $2))
         order by id limit 256",
        &[&now, &alive],
        |row| {
            let (deadline, heartbeat): (Option<Timestamp>, Option<Timestamp>) = (row.get(2)?, row.get(3)?);
            let overdue = match row.get(1)? {
                JobStatus::Pending => Overdue::Untaken,
                _ if deadline.is_some_and(|deadline| deadline <= now) => Overdue::Late,
                _ if heartbeat.is_none() => Overdue::Unheard,
                _ => Overdue::Silent,
            };
            Ok(Due { id: row.get(0)?, overdue })
        },
    )
}

/// Whether there is a job that has not ended.
pub fn is_any_open(tx: &mut Tx<'_>) -> Result<bool> {
    tx.value(
        "select exists (select 1 from job where status in ('pending', 'claimed', 'running', 'completed'))",
        &[],
    )
}

/// The jobs whose results wait to become reports, the oldest first.
pub fn completed(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<JobUuid>> {
    tx.all(
        "select uuid from job where status = 'completed' and (retry is null or retry <= $1)
         order by completed, id limit 64",
        &[&now],
        |row| row.get(0),
    )
}

/// A job whose results wait to become a report, and how often that has failed; nothing if it does not wait any more.
pub fn attempts(tx: &mut Tx<'_>, job: JobUuid) -> Result<Option<(JobId, u32)>> {
    tx.optional("select id, attempts from job where uuid = $1 and status = 'completed'", &[&job], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// Lets the results of a job wait until `retry`, as they could not be read for the `attempts`th time.
pub fn put_off(tx: &mut Tx<'_>, job: JobId, attempts: u32, retry: Timestamp) -> Result<()> {
    // Of several servers that fail at the same time one counts.
    tx.execute(
        "update job set attempts = $2, retry = $3 where id = $1 and status = 'completed' and attempts < $2",
        &[&job, &attempts, &retry],
    )?;
    Ok(())
}
