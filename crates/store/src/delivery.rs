//! Deliveries of notices. They are promised with the report that they tell, and those of a notice are told one
//! after the other for each project: the outbox holds the first that waits, and whoever settles it puts in the next.
//!
//! Every function that changes whose turn it is holds the lock of the project, as those do who record reports. Whoever adds
//! a delivery also keeps the notice from being put out of use, which lets go of all that waits whatever the project.

use tidemark_api::{
    Delivery, DeliveryFilter, DeliveryStatus, DeliveryUuid, EventUuid, Page, PlainKey, Timestamp,
    page::Direction,
};

use crate::{
    Error, Fresh, Kind, List, Lock, NoticeId, OrganizationId, Param, ProjectId, ReportId, Result, Row, Tx,
    UserId, Value, notice, outbox, sql::direction,
};

/// The word for deliveries in the outbox.
pub const KIND: &str = "notice";

/// The most reports that are told at once.
pub const MOST: i64 = 32;

const COLUMNS: &str = "delivery.uuid, notice.uuid, delivery.event, project.uuid, report.uuid, delivery.status, delivery.attempts, \
     delivery.error, delivery.created, delivery.tried";
const TABLES: &str = "delivery join notice on notice.id = delivery.notice_id
     join project on project.id = delivery.project_id
     left join report on report.id = delivery.report_id";

fn read(row: &Row<'_>) -> Result<Delivery> {
    Ok(Delivery {
        uuid: row.get(0)?,
        notice: row.get(1)?,
        event: row.get(2)?,
        project: row.get(3)?,
        report: row.get(4)?,
        status: row.get(5)?,
        attempts: row.get(6)?,
        error: row.get(7)?,
        created: row.get(8)?,
        tried: row.get(9)?,
    })
}

const INSERTED: [(&str, Kind); 9] = [
    ("uuid", Kind::Uuid),
    ("notice_id", Kind::Int),
    ("project_id", Kind::Int),
    ("report_id", Kind::Int),
    ("event", Kind::Uuid),
    ("again", Kind::Bool),
    ("status", Kind::Text),
    ("attempts", Kind::Int),
    ("created", Kind::Int),
];

/// Promises to tell a report to everybody who wants to hear of the project, and answers whether there is anybody. The
/// caller holds the lock of the project.
pub fn promise(tx: &mut Tx<'_>, fresh: &Fresh, project: ProjectId, report: ReportId) -> Result<bool> {
    let sql = format!(
        "select notice.id, exists (select 1 from delivery where delivery.notice_id = notice.id
                                   and delivery.project_id = $1 and delivery.status = 'waiting'),
                (select organization_id from project where project.id = $1)
         from notice
         where notice.archived is null and notice.id in (
             select id from notice where project_id = $1
             union all
             select general.id from project join member on member.organization_id = project.organization_id
             join notice as general on general.account_id = member.account_id and general.project_id is null
             where project.id = $1)
         order by notice.id {}",
        tx.share("notice")
    );
    let notices: Vec<(NoticeId, bool, Option<OrganizationId>)> =
        tx.all(&sql, &[&project], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if notices.is_empty() {
        return Ok(false);
    }
    let new: Vec<_> =
        notices.into_iter().map(|(notice, waits, owner)| (fresh.uuid(), notice, waits, owner)).collect();
    let rows: Vec<Vec<Value<'_>>> = new
        .iter()
        .map(|(uuid, notice, ..)| {
            let columns: [&dyn Param; 9] =
                [uuid, notice, &project, &report, uuid, &false, &DeliveryStatus::Waiting, &0, &fresh.now];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    tx.insert_many("delivery", &INSERTED, &rows, "")?;
    let first = new.iter().filter(|(_, _, waits, _)| !waits);
    let first = first.map(|(uuid, _, _, owner)| (uuid.to_string(), *owner));
    outbox::add_many(tx, KIND, &first.collect::<Vec<_>>(), fresh.now)?;
    Ok(true)
}

/// A delivery whose turn it is.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The project.
    pub project: ProjectId,
    /// The organization of the project.
    pub organization: OrganizationId,
    /// Whether the project is gone.
    pub is_gone: bool,
    /// Who is told, if the notice is that of a user.
    pub user: Option<UserId>,
    /// How it is told.
    pub notice: notice::Found,
    /// What signs it.
    pub secret: Option<PlainKey>,
    /// What the receiver knows it by.
    pub event: EventUuid,
    /// Whether somebody asked for it to be told again.
    pub again: bool,
    /// When its event was promised; the same when it is told again.
    pub promised: Timestamp,
    /// What became of the one before it.
    pub before: Option<DeliveryStatus>,
}

/// The delivery with this id, if it still waits.
pub fn turn(tx: &mut Tx<'_>, delivery: DeliveryUuid) -> Result<Option<Turn>> {
    tx.optional(
        &format!(
            "select project.id, project.organization_id, project.deleted is not null, account.id, notice.secret, delivery.event,
                    delivery.again,
                    (select min(same.created) from delivery as same
                     where same.notice_id = delivery.notice_id and same.event = delivery.event),
                    (select earlier.status from delivery as earlier
                     where earlier.notice_id = delivery.notice_id and earlier.id < delivery.id
                     order by earlier.id desc limit 1),
                    {}
             from delivery join ({}) on notice.id = delivery.notice_id
             join project on project.id = delivery.project_id
             where delivery.uuid = $1 and delivery.status = 'waiting'",
            notice::COLUMNS,
            notice::TABLES
        ),
        &[&delivery],
        |row| {
            let mut cells = row.cells();
            let (project, organization, is_gone) = (cells.take()?, cells.take()?, cells.take()?);
            let user = cells.take()?;
            let (secret, event, again) = (cells.take()?, cells.take()?, cells.take()?);
            let (promised, before) = (cells.take()?, cells.take()?);
            let notice = notice::read(&mut cells)?;
            Ok(Turn { project, organization, is_gone, user, notice, secret, event, again, promised, before })
        },
    )
}

/// Makes one event of a delivery and those that wait behind it and were promised before `end`.
pub fn gather(tx: &mut Tx<'_>, turn: &Turn, end: Timestamp) -> Result<()> {
    tx.execute(
        "update delivery set event = $2
         where id in (select id from delivery where notice_id = $1 and project_id = $5 and status = 'waiting'
                      and not again and created < $3 order by id limit $4)",
        &[&turn.notice.id, &turn.event, &end, &MOST, &turn.project],
    )?;
    Ok(())
}

/// The reports of an event that are to be told, in order.
pub fn reports(tx: &mut Tx<'_>, notice: NoticeId, event: EventUuid) -> Result<Vec<ReportId>> {
    tx.all(
        "select report_id from delivery
         where notice_id = $1 and event = $2 and status = 'waiting' and report_id is not null
         group by report_id order by min(id)",
        &[&notice, &event],
        |row| row.get(0),
    )
}

/// Remembers that an attempt did not succeed and that there will be another.
pub fn put_off(tx: &mut Tx<'_>, turn: &Turn, error: &str, now: Timestamp) -> Result<()> {
    settle(tx, turn, DeliveryStatus::Waiting, Some(error), now).map(drop)
}

/// Settles an event for good, and gives the turn to the next. Nothing happens when it was settled before.
pub fn end(
    tx: &mut Tx<'_>,
    turn: &Turn,
    status: DeliveryStatus,
    error: Option<&str>,
    now: Timestamp,
) -> Result<bool> {
    tx.lock(Lock::Project(turn.project.get()))?;
    if settle(tx, turn, status, error, now)? == 0 {
        return Ok(false);
    }
    let next: Option<DeliveryUuid> = tx.optional(
        "select uuid from delivery where notice_id = $1 and project_id = $2 and status = 'waiting'
         order by id limit 1",
        &[&turn.notice.id, &turn.project],
        |row| row.get(0),
    )?;
    if let Some(next) = next {
        outbox::add(tx, KIND, &next.to_string(), Some(turn.organization), now)?;
    }
    Ok(true)
}

fn settle(
    tx: &mut Tx<'_>,
    turn: &Turn,
    status: DeliveryStatus,
    error: Option<&str>,
    now: Timestamp,
) -> Result<u64> {
    tx.execute(
        "update delivery set status = $3, attempts = attempts + 1, error = $4, tried = $5
         where notice_id = $1 and event = $2 and status = 'waiting'",
        &[&turn.notice.id, &turn.event, &status, &error, &now],
    )
}

/// Why a delivery is not told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAgain {
    /// It still waits.
    Waiting,
    /// The notice is out of use.
    OutOfUse,
}

/// Promises to tell the event of a delivery again, after all that waits.
pub fn again(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    notice: NoticeId,
    delivery: DeliveryUuid,
) -> Result<Result<Delivery, NotAgain>> {
    let (project, event, report, owner): (ProjectId, EventUuid, Option<ReportId>, Option<OrganizationId>) =
        tx.one(
            "delivery",
            "select project_id, event, report_id,
                    (select organization_id from project where project.id = delivery.project_id)
             from delivery where notice_id = $1 and uuid = $2",
            &[&notice, &delivery],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
    tx.lock(Lock::Project(project.get()))?;
    if !notice::is_used(tx, notice)? {
        return Ok(Err(NotAgain::OutOfUse));
    }
    let waits = "select exists (select 1 from delivery where notice_id = $1 and status = 'waiting'";
    if tx.value(&format!("{waits} and event = $2)"), &[&notice, &event])? {
        return Ok(Err(NotAgain::Waiting));
    }
    let is_behind: bool = tx.value(&format!("{waits} and project_id = $2)"), &[&notice, &project])?;
    let members: Vec<Option<ReportId>> = tx.all(
        "select report_id from delivery where notice_id = $1 and event = $2 group by report_id order by min(id)",
        &[&notice, &event],
        |row| row.get(0),
    )?;
    let new: Vec<_> = members.into_iter().map(|report| (fresh.uuid(), report)).collect();
    let rows: Vec<Vec<Value<'_>>> = new
        .iter()
        .map(|(uuid, report)| {
            let columns: [&dyn Param; 9] =
                [uuid, &notice, &project, report, &event, &true, &DeliveryStatus::Waiting, &0, &fresh.now];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    tx.insert_many("delivery", &INSERTED, &rows, "")?;
    if let Some((first, _)) = new.first().filter(|_| !is_behind) {
        outbox::add(tx, KIND, &first.to_string(), owner, fresh.now)?;
    }
    let same = new.iter().find(|(_, one)| *one == report).or(new.first());
    let (uuid, _) = same.ok_or_else(|| Error::engine("an event without a delivery"))?;
    view(tx, notice, DeliveryUuid::from(*uuid)).map(Ok)
}

/// One delivery of a notice.
pub fn view(tx: &mut Tx<'_>, notice: NoticeId, delivery: DeliveryUuid) -> Result<Delivery> {
    tx.one(
        "delivery",
        &format!("select {COLUMNS} from {TABLES} where delivery.notice_id = $1 and delivery.uuid = $2"),
        &[&notice, &delivery],
        read,
    )
}

/// The deliveries of a notice, the newest first.
pub fn list(
    tx: &mut Tx<'_>,
    notice: NoticeId,
    filter: &DeliveryFilter,
    page: &Page,
) -> Result<(Vec<Delivery>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    tx.page(
        &List {
            columns: COLUMNS,
            from: &format!(
                "{TABLES} where delivery.notice_id = $1 and (cast($2 as text) is null or delivery.status = $2)"
            ),
            order: &format!("delivery.id {direction}"),
        },
        &[&notice, &filter.status],
        page,
        read,
    )
}

/// Forgets what was settled before a time.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.execute("delete from delivery where tried < $1 and status <> 'waiting'", &[&before])?;
    Ok(())
}
