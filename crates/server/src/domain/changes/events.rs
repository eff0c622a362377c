//! Assigns changes to events: changes of a head with the same cause that may have begun with the same version. A change of a series
//! with alerts joins the event of the alerts.

use std::collections::BTreeSet;

use tidemark_api::{ChangeCause, EventStatus, EventUuid, Timestamp};
use tidemark_store::{
    EventId, Tx, VersionId, WriteContext,
    event::{self, NewEvent, StoredEvent},
    event_alert,
    lane::Lane,
};

use super::reconciliation::ReconciledChange;
use crate::domain::error::Result;

/// Sets the events of changes that are about to be written. Creates the events that do not exist yet, and updates the versions
/// of the others.
pub(super) fn assign(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    lane: &Lane,
    changes: &mut [ReconciledChange],
) -> Result<()> {
    let Some(first) = changes.iter().map(|change| change.span.0).min() else { return Ok(()) };
    let known: Vec<EventId> =
        changes.iter().flat_map(|change| [change.event, change.alert_event]).flatten().collect();
    let stored = event::of_head(tx, lane.head, first, &known)?;
    let members: Vec<Member> = changes.iter().map(Member::of).collect();
    let (events, places) = group(&stored, &members);
    let row = |event: &GroupedEvent, uuid: EventUuid| NewEvent {
        uuid,
        project_id: lane.project,
        head_id: lane.head,
        first_version: event.range.0,
        last_version: event.range.1,
        cause: event.cause,
        status: EventStatus::Open,
        start_time: event.start_time,
        created: context.now,
        modified: context.now,
    };
    let (old, new) = events.split_at(stored.len());
    let new: Vec<NewEvent> = new.iter().map(|event| row(event, EventUuid::from(context.uuid()))).collect();
    let updated: Vec<NewEvent> = old
        .iter()
        .zip(&stored)
        .filter(|(event, stored)| **event != GroupedEvent::of(stored))
        .map(|(event, stored)| row(event, stored.uuid))
        .collect();
    event::update_ranges(tx, &updated)?;
    let mut keys: Vec<EventId> = stored.iter().map(|event| event.id).collect();
    keys.extend(event::insert(tx, &new)?);
    for (change, place) in changes.iter_mut().zip(places) {
        change.written.event = keys[place];
    }
    Ok(())
}

/// Finds the events of the alerts of new changes: an alert belongs to the last change of its series that may have begun with the
/// version of the alert or earlier. `changes` are all current changes of their series.
pub(super) fn find_alert_events(
    tx: &mut Tx<'_>,
    lane: &Lane,
    changes: &mut [ReconciledChange],
) -> Result<()> {
    let new = || changes.iter().filter(|change| change.event.is_none());
    let Some(since) = new().map(|change| change.span.0).min() else { return Ok(()) };
    let benchmarks: BTreeSet<i64> = new().map(|change| change.written.series_key.benchmark.get()).collect();
    let benchmarks: Vec<i64> = benchmarks.into_iter().collect();
    for alert in event_alert::first_alerts(tx, lane.head, lane.testbed, since, &benchmarks)? {
        let own = changes
            .iter_mut()
            .filter(|change| change.written.series_key == alert.series_key && change.span.0 <= alert.version)
            .max_by_key(|change| change.span);
        if let Some(change) = own.filter(|change| change.event.is_none()) {
            change.alert_event.get_or_insert(alert.event);
        }
    }
    Ok(())
}

/// A change to assign.
#[derive(Clone, Copy, Debug)]
struct Member {
    event: Option<EventId>,
    /// Event of the alerts of a new change.
    alert_event: Option<EventId>,
    cause: ChangeCause,
    range: (VersionId, VersionId),
    start_time: Timestamp,
}

impl Member {
    fn of(change: &ReconciledChange) -> Self {
        let found = &change.written.found;
        Self {
            event: change.event,
            alert_event: change.alert_event,
            cause: found.cause,
            range: change.span,
            start_time: found.start_time,
        }
    }
}

/// An event with the changes that were assigned to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupedEvent {
    cause: ChangeCause,
    range: (VersionId, VersionId),
    start_time: Timestamp,
}

impl GroupedEvent {
    fn of(stored: &StoredEvent) -> Self {
        let StoredEvent { cause, first, last, start_time, .. } = *stored;
        Self { cause, range: (first, last), start_time }
    }

    fn overlaps(&self, range: (VersionId, VersionId)) -> bool {
        self.range.0 <= range.1 && range.0 <= self.range.1
    }

    /// Adds a change. The event begins with a version that all its changes may have begun with.
    fn add(&mut self, member: &Member) {
        if self.overlaps(member.range) {
            self.range = (self.range.0.max(member.range.0), self.range.1.min(member.range.1));
        }
        self.start_time = self.start_time.min(member.start_time);
    }
}

/// Assigns changes to the stored events and to new events, in the smallest number of new events: the change with the earliest
/// last version begins an event, and all changes that may have begun with that version join it. Returns the stored events in
/// their order, then the new ones, and the index of the event of each change.
fn group(stored: &[StoredEvent], members: &[Member]) -> (Vec<GroupedEvent>, Vec<usize>) {
    let mut events: Vec<GroupedEvent> = stored.iter().map(GroupedEvent::of).collect();
    for (event, stored) in events.iter_mut().zip(stored).filter(|(_, stored)| !stored.is_reviewed) {
        let own: Vec<&Member> = members.iter().filter(|member| member.event == Some(stored.id)).collect();
        if i64::try_from(own.len()) != Ok(stored.changes) {
            continue;
        }
        match own[..] {
            // The only change of an event defines it.
            [one] => {
                *event = GroupedEvent { cause: one.cause, range: one.range, start_time: one.start_time };
            }
            // All changes of the event turned out to have another cause: for example, the machine moved all benchmarks.
            [first, ..] if own.iter().all(|one| one.cause == first.cause) => event.cause = first.cause,
            _ => (),
        }
    }
    // Alerts do not show with which version a change began, nor its cause: the first change of an event of alerts does.
    let mut has_changes: Vec<bool> = stored.iter().map(|stored| stored.changes > 0).collect();
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|index| (members[*index].range.1, members[*index].range.0));
    let mut places = vec![0; members.len()];
    for index in order {
        let member = &members[index];
        let find = |event: EventId| stored.iter().position(|stored| stored.id == event);
        let current = member.event.and_then(find);
        let current = current.filter(|at| stored[*at].is_reviewed || events[*at].cause == member.cause);
        let of_alerts = member.alert_event.and_then(find);
        if let Some(at) = of_alerts.filter(|at| !has_changes[*at]) {
            has_changes[at] = true;
            events[at].cause = member.cause;
            if events[at].overlaps(member.range) || stored[at].alert_series <= 1 {
                events[at].range = member.range;
            }
        }
        let current = current.or(of_alerts);
        let fits = |event: &GroupedEvent| event.cause == member.cause && event.overlaps(member.range);
        let place = current.or_else(|| events.iter().position(fits)).unwrap_or_else(|| {
            let Member { cause, range, start_time, .. } = *member;
            events.push(GroupedEvent { cause, range, start_time });
            events.len() - 1
        });
        events[place].add(member);
        if let Some(has_changes) = has_changes.get_mut(place) {
            *has_changes = true;
        }
        places[index] = place;
    }
    (events, places)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn member(event: Option<i64>, cause: ChangeCause, first: i64, last: i64) -> Member {
        Member {
            event: event.map(EventId::from),
            alert_event: None,
            cause,
            range: (VersionId::from(first), VersionId::from(last)),
            start_time: Timestamp::from_micros(first),
        }
    }

    fn stored(id: i64, first: i64, last: i64, changes: i64, is_reviewed: bool) -> StoredEvent {
        StoredEvent {
            id: EventId::from(id),
            uuid: EventUuid::from(Uuid::from_u128(1)),
            first: VersionId::from(first),
            last: VersionId::from(last),
            cause: ChangeCause::Code,
            start_time: Timestamp::from_micros(first),
            is_reviewed,
            changes,
            alert_series: 0,
        }
    }

    fn ranges(events: &[GroupedEvent]) -> Vec<(i64, i64)> {
        events.iter().map(|event| (event.range.0.get(), event.range.1.get())).collect()
    }

    #[test]
    fn changes_that_may_have_the_same_start_are_one_event() {
        let code = |first, last| member(None, ChangeCause::Code, first, last);
        let (events, places) =
            group(&[], &[code(50, 50), code(28, 32), code(30, 30), code(29, 33), code(34, 35)]);
        assert_eq!(ranges(&events), [(30, 30), (34, 35), (50, 50)]);
        assert_eq!(places, [2, 0, 0, 0, 1]);
        assert_eq!(events[0].start_time, Timestamp::from_micros(28));
    }

    #[test]
    fn a_later_change_joins_the_event_of_its_version() {
        let (events, places) =
            group(&[stored(7, 28, 32, 3, true)], &[member(None, ChangeCause::Code, 31, 40)]);
        assert_eq!((ranges(&events), places), (vec![(31, 32)], vec![0]));
    }

    #[test]
    fn causes_have_their_own_events() {
        let changes = [member(None, ChangeCause::Host, 30, 30), member(None, ChangeCause::Code, 30, 30)];
        let (events, places) = group(&[], &changes);
        assert_eq!((events.len(), places), (2, vec![0, 1]));
    }

    #[test]
    fn an_event_keeps_its_identity_when_all_its_changes_get_another_cause() {
        let host = member(Some(7), ChangeCause::Host, 30, 30);
        let (events, places) = group(&[stored(7, 30, 30, 2, false)], &[host, host]);
        assert_eq!((events.len(), events[0].cause, places), (1, ChangeCause::Host, vec![0, 0]));
        // One of three changes moves to an event of its own.
        let (events, places) = group(&[stored(7, 30, 30, 3, false)], &[host]);
        assert_eq!((events.len(), events[0].cause, places), (2, ChangeCause::Code, vec![1]));
        // Changes of a reviewed event stay.
        let (events, places) = group(&[stored(7, 30, 30, 3, true)], &[host]);
        assert_eq!((events.len(), places), (1, vec![0]));
    }

    #[test]
    fn the_only_change_of_an_event_moves_the_event() {
        let (events, places) =
            group(&[stored(7, 30, 34, 1, false)], &[member(Some(7), ChangeCause::Code, 36, 36)]);
        assert_eq!((ranges(&events), places), (vec![(36, 36)], vec![0]));
    }

    #[test]
    fn a_change_joins_the_event_of_its_alerts() {
        let of_alerts = |alert_series| StoredEvent { alert_series, ..stored(7, 32, 32, 0, false) };
        let change = |first, last| Member {
            alert_event: Some(EventId::from(7)),
            ..member(None, ChangeCause::Host, first, last)
        };
        // The change shows when the event may have begun, and its cause.
        let (events, places) = group(&[of_alerts(3)], &[change(29, 33)]);
        assert_eq!((ranges(&events), events[0].cause, places), (vec![(29, 33)], ChangeCause::Host, vec![0]));
        // The threshold was too wide for the first values, or did not exist.
        let (events, places) = group(&[of_alerts(1)], &[change(20, 21)]);
        assert_eq!((ranges(&events), places), (vec![(20, 21)], vec![0]));
        let (events, places) = group(&[of_alerts(3)], &[change(20, 21)]);
        assert_eq!((ranges(&events), places), (vec![(32, 32)], vec![0]));
        // Changes of other series that may have begun with the same version join, too.
        let other = member(None, ChangeCause::Host, 30, 40);
        let (events, places) = group(&[of_alerts(3)], &[change(29, 33), other]);
        assert_eq!((ranges(&events), places), (vec![(30, 33)], vec![0, 0]));
    }
}
