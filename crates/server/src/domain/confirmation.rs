//! Holds back the notification about new events until a job has confirmed or refuted them. `jobs/confirmation.rs` requests the jobs
//! and decides.

use tidemark_api::{ChangeCause, ConfirmMode, ConfirmationState};
use tidemark_store::{
    EventId, ReportId, Tx, WriteContext,
    confirmation::{self, NewConfirmation},
};

use crate::domain::error::Result;

/// Maximum time that a notification waits for a confirmation, in seconds.
const TIMEOUT_SECONDS: i64 = 6 * 60 * 60;
/// Reason why an event that the machine caused is not confirmed.
const NOT_CODE: &str = "The probable cause is the machine; a comparison of commits does not apply.";

/// Suspects the events of a report that have no confirmation yet. Returns whether the notification about the report waits: the
/// confirmation of an event is pending, and no event of the report is already confirmed. The caller holds the lock of the project.
pub(crate) fn suspect(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    confirm: ConfirmMode,
    report: ReportId,
    events: &[EventId],
) -> Result<bool> {
    if confirm == ConfirmMode::Off || events.is_empty() {
        return Ok(false);
    }
    let events = confirmation::events(tx, events)?;
    let new: Vec<NewConfirmation> = events
        .iter()
        .filter(|event| event.pending.is_none())
        .map(|event| {
            let pending = event.cause == ChangeCause::Code;
            NewConfirmation {
                event_id: event.id,
                report_id: report,
                state: ConfirmationState::Suspected,
                pending,
                reason: (!pending).then(|| NOT_CODE.to_owned()),
                deadline: fresh.now.plus_seconds(TIMEOUT_SECONDS),
                created: fresh.now,
                modified: fresh.now,
            }
        })
        .collect();
    confirmation::insert(tx, &new)?;
    // A report whose events are all being confirmed already needs no notification of its own.
    let is_pending = new.iter().any(|one| one.pending);
    Ok(is_pending || (new.is_empty() && events.iter().all(|event| event.pending == Some(true))))
}
