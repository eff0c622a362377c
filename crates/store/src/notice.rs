//! Notices: configured destinations of the notifications of projects and users. `delivery.rs` contains the deliveries.

use tidemark_api::{
    DeliveryStatus, Digest, Email, MinChange, NamePattern, Notice, NoticeDirection, NoticeFilter, NoticeKind,
    NoticeUuid, NotificationFilter, Notifies, Page, PlainKey, ProjectUuid, QuietHours, ResourceName,
    Timestamp, Url, UserUuid, page::Direction,
};

use crate::{
    List, Lock, NoticeId, OrganizationId, Param, ProjectId, Result, Tx, UserId, WriteContext,
    columns::columns, sql::direction,
};

/// Maximum number of notices of a project or a user.
pub const MAX_NOTICES: i64 = 64;

/// Owner of a notice.
#[derive(Clone, Copy, Debug)]
pub enum NoticeOwner {
    /// A project; the notice covers this project.
    Project(ProjectId),
    /// A user; the notice covers the projects that the user may view.
    User(UserId),
}

impl NoticeOwner {
    /// Locks the number of notices of the owner.
    pub fn lock(self, tx: &mut Tx<'_>) -> Result<()> {
        tx.lock(match self {
            Self::Project(project) => Lock::Project(project.get()),
            Self::User(user) => Lock::User(user.get()),
        })
    }

    /// Returns the predicate that a notice belongs to the owner, whose primary key is the first parameter.
    const fn condition(self) -> &'static str {
        match self {
            Self::Project(_) => "notice.project_id = $1 and notice.account_id is null",
            Self::User(_) => "notice.account_id = $1",
        }
    }

    fn key(&self) -> &dyn Param {
        match self {
            Self::Project(project) => project,
            Self::User(user) => user,
        }
    }
}

/// A notice with its primary key.
#[derive(Clone, Debug)]
pub struct NoticeRow {
    /// Primary key.
    pub id: NoticeId,
    /// URL of the destination, which `notice` masks.
    pub url: Option<Url>,
    /// Representation in the API.
    pub notice: Notice,
}

/// Fields of a notice that can be updated.
#[derive(Clone, Debug)]
pub struct NoticeSettings {
    /// Name.
    pub name: ResourceName,
    /// URL of the destination, unless it is e-mail.
    pub url: Option<Url>,
    /// Recipient of the e-mail of a project.
    pub email: Option<Email>,
    /// Filter of changes and alerts.
    pub filter: NotificationFilter,
    /// Quiet hours.
    pub quiet: Option<QuietHours>,
    /// Digest: how notifications are combined.
    pub digest: Digest,
    /// Time when the notice was archived.
    pub archived: Option<Timestamp>,
}

columns!(QuietHours { from: "notice.quiet_from", to: "notice.quiet_to" });

columns! {
    /// Filter of a notice.
    pub(crate) struct FilterColumns {
        branch: Option<NamePattern> = "notice.branch",
        testbed: Option<NamePattern> = "notice.testbed",
        benchmark: Option<NamePattern> = "notice.benchmark",
        direction: NoticeDirection = "notice.direction",
        min_change: Option<MinChange> = "notice.min_change",
    }
}

impl From<FilterColumns> for NotificationFilter {
    fn from(columns: FilterColumns) -> Self {
        let FilterColumns { branch, testbed, benchmark, direction, min_change } = columns;
        Self { branch, testbed, benchmark, direction, min_change }
    }
}

columns!(NotificationFilter from FilterColumns);

columns! {
    struct NoticeColumns {
        id: NoticeId = "notice.id",
        uuid: NoticeUuid = "notice.uuid",
        project: Option<ProjectUuid> = "about.uuid",
        notifies: Option<Notifies> = "about.notifies",
        user: Option<UserUuid> = "account.uuid",
        name: ResourceName = "notice.name",
        kind: NoticeKind = "notice.kind",
        url: Option<Url> = "notice.url",
        email: Option<Email> = "case when notice.kind = 'email' then coalesce(notice.email, account.email) end",
        filter: NotificationFilter,
        quiet: Option<QuietHours>,
        digest: Digest = "notice.digest",
        created: Timestamp = "notice.created",
        modified: Timestamp = "notice.modified",
        archived: Option<Timestamp> = "notice.archived",
    }
}

impl From<NoticeColumns> for NoticeRow {
    fn from(columns: NoticeColumns) -> Self {
        let NoticeColumns { id, url, filter, quiet, digest, archived, .. } = columns;
        let summary = filter.summary(columns.notifies, digest, quiet.as_ref(), archived.is_some());
        let NotificationFilter { branch, testbed, benchmark, direction, min_change } = filter;
        let notice = Notice {
            uuid: columns.uuid,
            project: columns.project,
            user: columns.user,
            name: columns.name,
            kind: columns.kind,
            url: url.as_ref().map(Url::masked),
            email: columns.email,
            // Only the response that creates the notice contains the secret.
            secret: None,
            summary,
            branch,
            testbed,
            benchmark,
            direction,
            min_change,
            quiet,
            digest,
            created: columns.created,
            modified: columns.modified,
            archived,
        };
        Self { id, url, notice }
    }
}

columns!(NoticeRow from NoticeColumns);

pub(crate) const TABLES: &str = "notice left join project as about on about.id = notice.project_id \
     left join account on account.id = notice.account_id";

/// Returns the number of notices of an owner.
pub fn count(tx: &mut Tx<'_>, owner: NoticeOwner) -> Result<i64> {
    tx.value(&format!("select count(*) from notice where {}", owner.condition()), &[owner.key()])
}

/// Inserts a notice of a project, or of a user for all organizations of the user, with the secret of a webhook.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    owner: NoticeOwner,
    about: Option<ProjectId>,
    kind: NoticeKind,
    secret: Option<&PlainKey>,
    settings: &NoticeSettings,
) -> Result<NoticeRow> {
    let uuid = NoticeUuid::from(context.uuid());
    let user = match owner {
        NoticeOwner::Project(_) => None,
        NoticeOwner::User(user) => Some(user),
    };
    let NoticeSettings { name, url, email, filter, quiet, digest, archived } = settings;
    let NotificationFilter { branch, testbed, benchmark, direction, min_change } = filter;
    let (from, to) = (quiet.as_ref().map(|quiet| &quiet.from), quiet.as_ref().map(|quiet| &quiet.to));
    tx.execute(
        "insert into notice (uuid, project_id, account_id, name, kind, url, email, secret, direction, quiet_from,
                             quiet_to, digest, created, modified, archived, branch, testbed, benchmark, min_change)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15, $16, $17, $18)",
        &[
            &uuid,
            &about,
            &user,
            name,
            &kind,
            url,
            email,
            &secret,
            direction,
            &from,
            &to,
            digest,
            &context.now,
            archived,
            branch,
            testbed,
            benchmark,
            &min_change.map(MinChange::get),
        ],
    )?;
    find(tx, owner, uuid)
}

/// Returns a notice.
pub fn find(tx: &mut Tx<'_>, owner: NoticeOwner, notice: NoticeUuid) -> Result<NoticeRow> {
    tx.fetch_one(
        "notice",
        &format!("select {{columns}} from {TABLES} where {} and notice.uuid = $2", owner.condition()),
        &[owner.key(), &notice],
    )
}

/// Lists the notices of a project or a user, by name.
pub fn list(
    tx: &mut Tx<'_>,
    owner: NoticeOwner,
    filter: &NoticeFilter,
    page: &Page,
) -> Result<(Vec<Notice>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    let (rows, total) = tx.page::<NoticeRow>(
        &List {
            from: &format!("{TABLES} where {} and (notice.archived is not null) = $2", owner.condition()),
            order: &format!("lower(notice.name) {direction}, notice.id {direction}"),
        },
        &[owner.key(), &filter.archived.unwrap_or(false)],
        page,
    )?;
    Ok((rows.into_iter().map(|found| found.notice).collect(), total))
}

/// Whether a notice is not archived. It cannot be archived until the end of the transaction.
pub fn is_used(tx: &mut Tx<'_>, notice: NoticeId) -> Result<bool> {
    let sql = format!("select notice.archived is null from notice where id = $1 {}", tx.for_share("notice"));
    tx.fetch_one("notice", &sql, &[&notice])
}

/// Updates a notice. Archiving it drops all of its waiting deliveries.
pub fn update(tx: &mut Tx<'_>, notice: NoticeId, settings: &NoticeSettings, now: Timestamp) -> Result<()> {
    let NoticeSettings { name, url, email, filter, quiet, digest, archived } = settings;
    let NotificationFilter { branch, testbed, benchmark, direction, min_change } = filter;
    let (from, to) = (quiet.as_ref().map(|quiet| &quiet.from), quiet.as_ref().map(|quiet| &quiet.to));
    tx.execute(
        "update notice set name = $2, url = $3, email = $4, direction = $5, quiet_from = $6, quiet_to = $7,
                digest = $8, archived = $9, modified = $10, branch = $11, testbed = $12, benchmark = $13,
                min_change = $14
         where id = $1",
        &[
            &notice,
            name,
            url,
            email,
            direction,
            &from,
            &to,
            digest,
            archived,
            &now,
            branch,
            testbed,
            benchmark,
            &min_change.map(MinChange::get),
        ],
    )?;
    if archived.is_some() {
        tx.execute(
            "update delivery set status = $2, error = $3, tried = $4 where notice_id = $1 and status = 'waiting'",
            &[&notice, &DeliveryStatus::Dropped, &"The notice was put out of use.", &now],
        )?;
    }
    Ok(())
}

/// Deletes a notice with all of its deliveries.
pub fn delete(tx: &mut Tx<'_>, notice: NoticeId) -> Result<()> {
    tx.execute("delete from notice where id = $1", &[&notice])?;
    Ok(())
}

/// Whether an address belongs to a member of the organization who is not locked.
pub fn is_member(tx: &mut Tx<'_>, organization: OrganizationId, email: &Email) -> Result<bool> {
    tx.value(
        "select exists (select 1 from member join account on account.id = member.account_id
                        where member.organization_id = $1 and account.email = $2 and not account.locked)",
        &[&organization, email],
    )
}
