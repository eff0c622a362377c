//! Reviews of the old events of a demo project: the statuses and notes that a team would have set.

use tidemark_api::{
    Actor, ActorKind, ChangeCause, Event, EventStatus, NonEmpty, Page, ProjChangesSort, Timestamp,
};
use tidemark_server::domain::error::{Error, Result};
use tidemark_store::{ProjectId, Tx, WriteContext, event};

use super::{DAY, internal};

/// Number of days from the first run of an event to its review.
const REVIEW_DAYS: i64 = 2;
/// Maximum distance of the events of a new machine image from its first day, in days.
const MACHINE_DAYS: i64 = 14;

/// A review of the events with a benchmark: prefix, status and note.
struct Review(&'static str, EventStatus, &'static str);

const REVIEWS: [Review; 9] = [
    Review("parser::json::", EventStatus::Fixed, "Reverted the new tokenizer."),
    Review("index/btree/", EventStatus::Fixed, "Fixed by the branch fix/btree-split."),
    Review("query::join::hash", EventStatus::Expected, "Accepted cost of joins that spill to disk."),
    Review("codec/zstd/compress", EventStatus::Expected, "New version of the library."),
    Review("startup/", EventStatus::Expected, "Plugins are loaded on demand."),
    Review("lexer::utf8", EventStatus::Expected, "Validates eight bytes at a time."),
    Review("net/http/parse headers", EventStatus::Expected, "The test data grows with each release."),
    Review("alloc::fragmented", EventStatus::Expected, "The test data grows with each release."),
    Review("", EventStatus::Expected, "Reviewed: a consequence of intended changes."),
];
const MACHINE_NOTE: &str = "New image of the CI machine.";
const NOISE_NOTE: &str = "A single slow run; the next one was normal.";

/// Reviews the events that began before `settled`. The machine got its new image at `new_image`.
pub(super) fn review(
    tx: &mut Tx<'_>,
    fresh: &impl Fn(Timestamp) -> WriteContext,
    project: ProjectId,
    settled: Timestamp,
    new_image: Timestamp,
) -> Result<()> {
    let actor = Actor { kind: ActorKind::User, uuid: None, name: Some("Maintainer".to_owned()) };
    let mut page = Page { page: 1, per_page: u8::MAX, direction: None };
    let mut events = Vec::new();
    loop {
        let filter = event::EventFilter::default();
        let (found, _) = event::list(tx, project, &filter, ProjChangesSort::Time, &page)?;
        if found.is_empty() {
            break;
        }
        events.extend(found);
        page.page += 1;
    }
    let old = events.iter().filter(|event| event.start_time < settled);
    old.filter(|event| is_unreviewed(event.status)).try_for_each(|event| {
        let (status, note) = decide(event, new_image);
        let note: NonEmpty = note.parse().map_err(internal)?;
        let context = fresh(event.start_time.plus_seconds(REVIEW_DAYS * DAY));
        event::update(tx, &context, project, event.uuid, Some(status), Some(Some(&note)), &actor)
            .map_err(Error::from)
    })
}

fn is_unreviewed(status: EventStatus) -> bool {
    matches!(status, EventStatus::Open | EventStatus::Recovered)
}

/// Returns the status and the note of an event.
fn decide(event: &Event, new_image: Timestamp) -> (EventStatus, &'static str) {
    let distance = (event.start_time.seconds() - new_image.seconds()).abs();
    let names: Vec<&str> = event.changes.iter().map(|change| change.benchmark.name.as_str()).collect();
    if names.is_empty() {
        return (EventStatus::FalseAlarm, NOISE_NOTE);
    }
    if event.cause == ChangeCause::Host || distance <= MACHINE_DAYS * DAY {
        return (EventStatus::Expected, MACHINE_NOTE);
    }
    let is_about = |review: &&Review| names.iter().any(|name| name.starts_with(review.0));
    let found = REVIEWS.iter().find(is_about);
    found.map_or((EventStatus::Expected, MACHINE_NOTE), |Review(_, status, note)| (*status, *note))
}
