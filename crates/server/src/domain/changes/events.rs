//! Assigns changes to events: changes of a head with the same cause that may have begun with the same version.

use tidemark_api::{ChangeCause, EventStatus, EventUuid, Timestamp};
use tidemark_store::{
    EventId, Tx, VersionId, WriteContext,
    event::{self, NewEvent, StoredEvent},
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
    let known: Vec<EventId> = changes.iter().filter_map(|change| change.event).collect();
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

/// A change to assign.
#[derive(Clone, Copy, Debug)]
struct Member {
    event: Option<EventId>,
    cause: ChangeCause,
    range: (VersionId, VersionId),
    start_time: Timestamp,
}

impl Member {
    fn of(change: &ReconciledChange) -> Self {
        let found = &change.written.found;
        Self { event: change.event, cause: found.cause, range: change.span, start_time: found.start_time }
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
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|index| (members[*index].range.1, members[*index].range.0));
    let mut places = vec![0; members.len()];
    for index in order {
        let member = &members[index];
        let current = member.event.and_then(|event| stored.iter().position(|stored| stored.id == event));
        let current = current.filter(|at| stored[*at].is_reviewed || events[*at].cause == member.cause);
        let fits = |event: &GroupedEvent| event.cause == member.cause && event.overlaps(member.range);
        let place = current.or_else(|| events.iter().position(fits)).unwrap_or_else(|| {
            let Member { cause, range, start_time, .. } = *member;
            events.push(GroupedEvent { cause, range, start_time });
            events.len() - 1
        });
        events[place].add(member);
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
}
