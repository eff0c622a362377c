//! Which jobs wait for nothing any more but that somebody looks at the clock. What happens to them is `advance_all`.

use tidemark_api::{job::JobStatus, job_event::JobEvent, time::Timestamp};

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
