//! Deliveries of notices. The transaction that records a report enqueues them. The deliveries of one notice and project
//! are sent in order: the outbox contains only the first waiting delivery, and completing it enqueues the next one. A test
//! of a notice does not wait for other deliveries, and they do not wait for the test.
//!
//! A delivery exists only if the branch and the testbed of the report match the filter of the notice. The other filters
//! need the results of the report, and apply when the notification is composed.
//!
//! Every function that changes which delivery is next holds the lock of the project, as do writers of reports. Adding a
//! delivery also locks the notice against archiving, because archiving drops all waiting deliveries of the notice, of
//! every project.

use tidemark_api::{
    Delivery, DeliveryFilter, DeliveryStatus, DeliveryUuid, NotificationFilter, NotificationUuid, Page,
    PlainKey, Timestamp, page::Direction,
};
use uuid::Uuid;

use crate::{
    Error, List, Lock, NoticeId, OrganizationId, ProjectId, ReportId, Result, Tx, UserId, WriteContext,
    columns::{columns, insert_columns},
    notice, outbox,
    sql::direction,
};

/// Kind of deliveries in the outbox.
pub const KIND: &str = "notice";

/// Maximum number of reports per event.
pub const MAX_REPORTS_PER_EVENT: i64 = 32;

columns!(Delivery {
    uuid: "delivery.uuid",
    notice: "notice.uuid",
    event: "delivery.event",
    project: "project.uuid",
    report: "report.uuid",
    test: "delivery.test",
    status: "delivery.status",
    attempts: "delivery.attempts",
    error: "delivery.error",
    created: "delivery.created",
    tried: "delivery.tried",
});

const TABLES: &str = "delivery join notice on notice.id = delivery.notice_id
     join project on project.id = delivery.project_id
     left join report on report.id = delivery.report_id";

insert_columns! {
    struct NewDelivery {
        uuid: Uuid,
        notice_id: NoticeId,
        project_id: ProjectId,
        report_id: Option<ReportId>,
        event: NotificationUuid,
        again: bool,
        test: bool,
        status: DeliveryStatus,
        attempts: i64,
        created: Timestamp,
    }
}

columns! {
    /// A notice that may receive a report; `$1` is the project.
    struct Recipient {
        notice: NoticeId = "notice.id",
        filter: NotificationFilter,
        has_waiting: bool = "exists (select 1 from delivery where delivery.notice_id = notice.id
                                     and delivery.project_id = $1 and delivery.status = 'waiting'
                                     and not delivery.test)",
        owner: Option<OrganizationId> = "(select organization_id from project where project.id = $1)",
    }
}

/// Enqueues deliveries of a report to all notices of the project whose filter matches the branch and the testbed of the
/// report. Returns whether there is a delivery. The caller holds the lock of the project.
pub fn enqueue(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    report: ReportId,
) -> Result<bool> {
    let sql = format!(
        "select {{columns}} from notice
         where notice.archived is null and notice.id in (
             select id from notice where project_id = $1
             union all
             select general.id from project join member on member.organization_id = project.organization_id
             join notice as general on general.account_id = member.account_id and general.project_id is null
             where project.id = $1)
         order by notice.id {}",
        tx.for_share("notice")
    );
    let mut recipients: Vec<Recipient> = tx.fetch_all(&sql, &[&project])?;
    if recipients.is_empty() {
        return Ok(false);
    }
    let (branch, testbed): (String, String) = tx.fetch_one(
        "report",
        "select branch.name, testbed.name from report join branch on branch.id = report.branch_id
         join testbed on testbed.id = report.testbed_id where report.id = $1",
        &[&report],
    )?;
    recipients.retain(|recipient| recipient.filter.matches_report(&branch, &testbed));
    if recipients.is_empty() {
        return Ok(false);
    }
    let new: Vec<_> = recipients.into_iter().map(|recipient| (context.uuid(), recipient)).collect();
    let rows: Vec<_> = new
        .iter()
        .map(|(uuid, recipient)| NewDelivery {
            uuid: *uuid,
            notice_id: recipient.notice,
            project_id: project,
            report_id: Some(report),
            event: NotificationUuid::from(*uuid),
            again: false,
            test: false,
            status: DeliveryStatus::Waiting,
            attempts: 0,
            created: context.now,
        })
        .collect();
    tx.insert_many("delivery", &rows, "")?;
    let first = new.iter().filter(|(_, recipient)| !recipient.has_waiting);
    let first = first.map(|(uuid, recipient)| (uuid.to_string(), recipient.owner));
    outbox::add_many(tx, KIND, &first.collect::<Vec<_>>(), context.now)?;
    Ok(true)
}

columns! {
    /// A waiting delivery that is next in order.
    #[derive(Clone, Debug)]
    pub struct PendingDelivery {
        /// Project.
        pub project: ProjectId = "project.id",
        /// Organization of the project.
        pub organization: OrganizationId = "project.organization_id",
        /// Whether the project is deleted.
        pub is_gone: bool = "project.deleted is not null",
        /// Recipient, if the notice belongs to a user.
        pub user: Option<UserId> = "account.id",
        /// Notice.
        pub notice: notice::NoticeRow,
        /// Secret that signs the message.
        pub secret: Option<PlainKey> = "notice.secret",
        /// Event identifier, which the receiver sees.
        pub event: NotificationUuid = "delivery.event",
        /// Whether a user requested to send the event again.
        pub again: bool = "delivery.again",
        /// Whether it is a test.
        pub is_test: bool = "delivery.test",
        /// Time when the event was first enqueued. It stays the same when the event is sent again.
        pub enqueued: Timestamp = "(select min(same.created) from delivery as same
             where same.notice_id = delivery.notice_id and same.event = delivery.event)",
        /// Status of the previous delivery of the notice.
        pub before: Option<DeliveryStatus> = "(select earlier.status from delivery as earlier
             where earlier.notice_id = delivery.notice_id and earlier.id < delivery.id and not earlier.test
             order by earlier.id desc limit 1)",
    }
}

/// Returns the delivery with this UUID, if it is still waiting.
pub fn find_waiting(tx: &mut Tx<'_>, delivery: DeliveryUuid) -> Result<Option<PendingDelivery>> {
    tx.fetch_optional(
        &format!(
            "select {{columns}} from delivery join ({}) on notice.id = delivery.notice_id
             join project on project.id = delivery.project_id
             where delivery.uuid = $1 and delivery.status = 'waiting'",
            notice::TABLES
        ),
        &[&delivery],
    )
}

/// Combines a delivery and the waiting deliveries after it that were enqueued before `end` into one event.
pub fn merge_waiting(tx: &mut Tx<'_>, pending: &PendingDelivery, end: Timestamp) -> Result<()> {
    tx.execute(
        "update delivery set event = $2
         where id in (select id from delivery where notice_id = $1 and project_id = $5 and status = 'waiting'
                      and not again and not test and created < $3 order by id limit $4)",
        &[&pending.notice.id, &pending.event, &end, &MAX_REPORTS_PER_EVENT, &pending.project],
    )?;
    Ok(())
}

/// Returns the reports of an event that are waiting for delivery, in order.
pub fn reports(tx: &mut Tx<'_>, notice: NoticeId, event: NotificationUuid) -> Result<Vec<ReportId>> {
    tx.fetch_all(
        "select report_id from delivery
         where notice_id = $1 and event = $2 and status = 'waiting' and report_id is not null
         group by report_id order by min(id)",
        &[&notice, &event],
    )
}

/// Records a failed attempt that will be retried.
pub fn record_failed_attempt(
    tx: &mut Tx<'_>,
    pending: &PendingDelivery,
    error: &str,
    now: Timestamp,
) -> Result<()> {
    set_status(tx, pending, DeliveryStatus::Waiting, Some(error), now).map(drop)
}

/// Sets the final status of an event and enqueues the next delivery. Returns `false` and changes nothing if the event
/// is already completed.
pub fn complete(
    tx: &mut Tx<'_>,
    pending: &PendingDelivery,
    status: DeliveryStatus,
    error: Option<&str>,
    now: Timestamp,
) -> Result<bool> {
    tx.lock(Lock::Project(pending.project.get()))?;
    if set_status(tx, pending, status, error, now)? == 0 {
        return Ok(false);
    }
    if pending.is_test {
        return Ok(true);
    }
    let next: Option<DeliveryUuid> = tx.fetch_optional(
        "select uuid from delivery where notice_id = $1 and project_id = $2 and status = 'waiting' and not test
         order by id limit 1",
        &[&pending.notice.id, &pending.project],
    )?;
    if let Some(next) = next {
        outbox::add(tx, KIND, &next.to_string(), Some(pending.organization), now)?;
    }
    Ok(true)
}

fn set_status(
    tx: &mut Tx<'_>,
    pending: &PendingDelivery,
    status: DeliveryStatus,
    error: Option<&str>,
    now: Timestamp,
) -> Result<u64> {
    tx.execute(
        "update delivery set status = $3, attempts = attempts + 1, error = $4, tried = $5
         where notice_id = $1 and event = $2 and status = 'waiting'",
        &[&pending.notice.id, &pending.event, &status, &error, &now],
    )
}

/// Why a delivery cannot be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedeliverError {
    /// The delivery is still waiting.
    Waiting,
    /// The notice is archived.
    OutOfUse,
    /// The delivery is a test.
    Test,
}

columns! {
    /// A delivery whose event is sent again.
    struct Redelivered {
        project: ProjectId = "project_id",
        event: NotificationUuid = "event",
        report: Option<ReportId> = "report_id",
        is_test: bool = "test",
        owner: Option<OrganizationId> =
            "(select organization_id from project where project.id = delivery.project_id)",
    }
}

/// Enqueues the event of a delivery again, after all waiting deliveries.
pub fn redeliver(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    notice: NoticeId,
    delivery: DeliveryUuid,
) -> Result<Result<Delivery, RedeliverError>> {
    let Redelivered { project, event, report, is_test, owner } = tx.fetch_one(
        "delivery",
        "select {columns} from delivery where notice_id = $1 and uuid = $2",
        &[&notice, &delivery],
    )?;
    if is_test {
        return Ok(Err(RedeliverError::Test));
    }
    tx.lock(Lock::Project(project.get()))?;
    if !notice::is_used(tx, notice)? {
        return Ok(Err(RedeliverError::OutOfUse));
    }
    let waits = "select exists (select 1 from delivery where notice_id = $1 and status = 'waiting'";
    if tx.value(&format!("{waits} and event = $2)"), &[&notice, &event])? {
        return Ok(Err(RedeliverError::Waiting));
    }
    let is_behind: bool =
        tx.value(&format!("{waits} and project_id = $2 and not test)"), &[&notice, &project])?;
    let members: Vec<Option<ReportId>> = tx.fetch_all(
        "select report_id from delivery where notice_id = $1 and event = $2 group by report_id order by min(id)",
        &[&notice, &event],
    )?;
    let new: Vec<_> = members.into_iter().map(|report| (context.uuid(), report)).collect();
    let rows: Vec<_> = new
        .iter()
        .map(|(uuid, report)| NewDelivery {
            uuid: *uuid,
            notice_id: notice,
            project_id: project,
            report_id: *report,
            event,
            again: true,
            test: false,
            status: DeliveryStatus::Waiting,
            attempts: 0,
            created: context.now,
        })
        .collect();
    tx.insert_many("delivery", &rows, "")?;
    if let Some((first, _)) = new.first().filter(|_| !is_behind) {
        outbox::add(tx, KIND, &first.to_string(), owner, context.now)?;
    }
    let same = new.iter().find(|(_, one)| *one == report).or(new.first());
    let (uuid, _) = same.ok_or_else(|| Error::engine("an event without a delivery"))?;
    view(tx, notice, DeliveryUuid::from(*uuid)).map(Ok)
}

/// Why a notice cannot be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestError {
    /// A test is still waiting.
    Waiting,
    /// The notice is archived.
    OutOfUse,
    /// The notice is about all projects of a user, who has no project.
    NoProject,
}

columns! {
    /// A project that a test names.
    struct TestedProject {
        project: ProjectId = "project.id",
        owner: Option<OrganizationId> = "project.organization_id",
    }
}

/// Enqueues a test of a notice, which does not wait for other deliveries. It names the project of the notice, or the
/// oldest project of the organizations of the user.
pub fn enqueue_test(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    notice: NoticeId,
) -> Result<Result<Delivery, TestError>> {
    if !notice::is_used(tx, notice)? {
        return Ok(Err(TestError::OutOfUse));
    }
    let waits = "select exists (select 1 from delivery where notice_id = $1 and status = 'waiting' and test)";
    if tx.value(waits, &[&notice])? {
        return Ok(Err(TestError::Waiting));
    }
    let tested: Option<TestedProject> = tx.fetch_optional(
        "select {columns} from notice join project on project.id = coalesce(notice.project_id, (
             select min(own.id) from member join project as own on own.organization_id = member.organization_id
             where member.account_id = notice.account_id and own.deleted is null))
         where notice.id = $1 and project.deleted is null",
        &[&notice],
    )?;
    let Some(TestedProject { project, owner }) = tested else { return Ok(Err(TestError::NoProject)) };
    let uuid = context.uuid();
    let row = NewDelivery {
        uuid,
        notice_id: notice,
        project_id: project,
        report_id: None,
        event: NotificationUuid::from(uuid),
        again: false,
        test: true,
        status: DeliveryStatus::Waiting,
        attempts: 0,
        created: context.now,
    };
    tx.insert_many("delivery", &[row], "")?;
    outbox::add(tx, KIND, &uuid.to_string(), owner, context.now)?;
    view(tx, notice, DeliveryUuid::from(uuid)).map(Ok)
}

/// Returns a delivery of a notice.
pub fn view(tx: &mut Tx<'_>, notice: NoticeId, delivery: DeliveryUuid) -> Result<Delivery> {
    tx.fetch_one(
        "delivery",
        &format!("select {{columns}} from {TABLES} where delivery.notice_id = $1 and delivery.uuid = $2"),
        &[&notice, &delivery],
    )
}

/// Lists the deliveries of a notice, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    notice: NoticeId,
    filter: &DeliveryFilter,
    page: &Page,
) -> Result<(Vec<Delivery>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    tx.page(
        &List {
            from: &format!(
                "{TABLES} where delivery.notice_id = $1 and (cast($2 as text) is null or delivery.status = $2)"
            ),
            order: &format!("delivery.id {direction}"),
        },
        &[&notice, &filter.status],
        page,
    )
}

/// Deletes the deliveries that were completed before a time.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.execute("delete from delivery where tried < $1 and status <> 'waiting'", &[&before])?;
    Ok(())
}
