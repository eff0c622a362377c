//! Projects: what holds the dimensions and the results.

use tidemark_api::{
    detection::Notifies,
    id::ResourceId,
    name::ResourceName,
    page::{Direction, Page},
    project::{Project, ProjectFilter, Visibility},
    right::{OrganizationRole, ProjectRole},
    slug::Slug,
    time::Timestamp,
    uri::AnyUrl,
};
use uuid::Uuid;

use crate::{
    Cells, Fresh, List, OrganizationId, Param, ProjectId, Result, Row, Tx, UserId, slug,
    sql::{contains, direction},
};

/// A project with its keys.
#[derive(Clone, Debug)]
pub struct Found {
    /// The key.
    pub id: ProjectId,
    /// The organization it belongs to.
    pub organization: OrganizationId,
    /// What the wire shows.
    pub project: Project,
}

/// The roles of one user around one project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// In its organization.
    pub organization: Option<OrganizationRole>,
    /// In the project itself.
    pub project: Option<ProjectRole>,
}

/// Who looks at a list of projects.
#[derive(Clone, Copy, Debug)]
pub enum Viewer {
    /// Anybody: sees what is public.
    Public,
    /// A user: sees what is public, and what a role opens.
    User(UserId),
    /// An administrator: sees all.
    Admin,
    /// A project's key: sees its own.
    Key(ProjectId),
}

/// What a change may set.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The new name.
    pub name: Option<ResourceName>,
    /// The new slug.
    pub slug: Option<Slug>,
    /// The address: absent keeps it, `None` removes it.
    pub url: Option<Option<AnyUrl>>,
    /// Who may see it.
    pub visibility: Option<Visibility>,
}

const COLUMNS: &str = "project.id, project.organization_id, project.uuid, organization.uuid, project.name, \
     project.slug, project.url, project.visibility, project.created, project.modified, organization.claimed";
const TABLES: &str = "project join organization on organization.id = project.organization_id";

fn read(cells: &mut Cells<'_>) -> Result<Found> {
    Ok(Found {
        id: cells.take()?,
        organization: cells.take()?,
        project: Project {
            uuid: cells.take()?,
            organization: cells.take()?,
            name: cells.take()?,
            slug: cells.take()?,
            url: cells.take()?,
            visibility: cells.take()?,
            created: cells.take()?,
            modified: cells.take()?,
            claimed: cells.take()?,
        },
    })
}

fn read_row(row: &Row<'_>) -> Result<Found> {
    read(&mut row.cells())
}

/// A project to add.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// The organization it belongs to.
    pub organization: OrganizationId,
    /// Its id; a new one if none is given.
    pub uuid: Option<Uuid>,
    /// What it is called.
    pub name: &'a ResourceName,
    /// Its slug; made from the name if none is given.
    pub slug: Option<&'a Slug>,
    /// Its website.
    pub url: Option<&'a AnyUrl>,
    /// Who may see it.
    pub visibility: Visibility,
}

/// Adds a project to an organization.
pub fn create(tx: &mut Tx<'_>, fresh: &Fresh, new: &New<'_>) -> Result<Found> {
    let New { organization, uuid, name, slug, url, visibility } = *new;
    let uuid = uuid.unwrap_or_else(|| fresh.uuid());
    let slug = slug::choose(fresh, uuid, slug, name.as_ref(), |slug| {
        tx.value("select exists (select 1 from project where slug = $1)", &[slug])
    })?;
    let id: ProjectId = tx.one(
        "project",
        "insert into project (uuid, organization_id, name, slug, url, visibility, created, modified, notifies)
         values ($1, $2, $3, $4, $5, $6, $7, $7, $8) returning id",
        &[&uuid, &organization, name, &slug, &url, &visibility, &fresh.now, &Notifies::default()],
        |row| row.get(0),
    )?;
    by_id(tx, id)
}

/// The project with this key.
pub fn by_id(tx: &mut Tx<'_>, project: ProjectId) -> Result<Found> {
    tx.one("project", &format!("select {COLUMNS} from {TABLES} where project.id = $1"), &[&project], read_row)
}

/// The live project with this slug or UUID, and the roles of a user around it.
pub fn find(tx: &mut Tx<'_>, project: &ResourceId, user: Option<UserId>) -> Result<(Found, Roles)> {
    let (column, value) = key(project);
    tx.one(
        "project",
        &format!(
            "select {COLUMNS}, member.role, project_member.role from {TABLES}
             left join member on member.organization_id = project.organization_id and member.account_id = $2
             left join project_member on project_member.project_id = project.id and project_member.account_id = $2
             where project.{column} = $1 and project.deleted is null"
        ),
        &[value, &user],
        |row| {
            let cells = &mut row.cells();
            Ok((read(cells)?, Roles { organization: cells.take()?, project: cells.take()? }))
        },
    )
}

/// Whether a user may view a project.
pub fn is_visible_to(tx: &mut Tx<'_>, project: ProjectId, user: UserId) -> Result<bool> {
    tx.value(
        "select exists (
             select 1 from project join account on account.id = $2
             where project.id = $1 and not account.locked
             and (account.admin or project.visibility = 'public'
                  or project.organization_id in (select organization_id from member where account_id = $2)
                  or project.id in (select project_id from project_member where account_id = $2)))",
        &[&project, &user],
    )
}

/// The project with this slug or UUID, deleted ones included.
pub fn find_any(tx: &mut Tx<'_>, project: &ResourceId) -> Result<Found> {
    let (column, value) = key(project);
    tx.one(
        "project",
        &format!("select {COLUMNS} from {TABLES} where project.{column} = $1"),
        &[value],
        read_row,
    )
}

fn key(project: &ResourceId) -> (&'static str, &dyn Param) {
    match project {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    }
}

/// The projects somebody may see, of one organization or of all, by name.
pub fn list(
    tx: &mut Tx<'_>,
    viewer: Viewer,
    organization: Option<OrganizationId>,
    filter: &ProjectFilter,
    page: &Page,
) -> Result<(Vec<Project>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    let (visible, viewer): (_, Option<i64>) = match viewer {
        Viewer::Public => ("project.visibility = 'public' and cast($4 as bigint) is null", None),
        Viewer::Admin => ("cast($4 as bigint) is null", None),
        Viewer::Key(project) => ("project.id = $4", Some(project.get())),
        Viewer::User(user) => (
            "(project.visibility = 'public'
              or project.organization_id in (select organization_id from member where account_id = $4)
              or project.id in (select project_id from project_member where account_id = $4))",
            Some(user.get()),
        ),
    };
    tx.page(
        &List {
            columns: COLUMNS,
            from: &format!(
                "{TABLES} where project.deleted is null
                 and (cast($1 as bigint) is null or project.organization_id = $1)
                 and (cast($2 as text) is null or project.name = $2)
                 and (cast($3 as text) is null or lower(project.name) like $3 escape '\\'
                      or project.slug like $3 escape '\\' or cast(project.uuid as text) like $3 escape '\\')
                 and {visible}"
            ),
            order: &format!("lower(project.name) {direction}, project.slug {direction}"),
        },
        &[
            &organization,
            &filter.name,
            &filter.search.as_ref().map(|search| contains(search.as_ref())),
            &viewer,
        ],
        page,
        |row| Ok(read_row(row)?.project),
    )
}

/// The longest name that a number still fits behind, in bytes, and what a longer one is cut to, in characters.
const NUMBERED: usize = 41;
const NUMBERED_CUT: usize = 38;

/// A name that no project of the organization has: this one, or with the next number behind it.
pub fn free_name(tx: &mut Tx<'_>, organization: OrganizationId, name: &ResourceName) -> Result<ResourceName> {
    let stem = match name.as_str() {
        text if text.len() > NUMBERED => {
            format!("{}...", text.chars().take(NUMBERED_CUT).collect::<String>())
        }
        text => text.to_owned(),
    };
    let length = i32::try_from(stem.chars().count()).unwrap_or(i32::MAX);
    let taken: Vec<String> = tx.all(
        "select name from project where organization_id = $1 and (name = $2 or substr(name, 1, $4) = $3)",
        &[&organization, name, &stem, &length],
        |row| row.get(0),
    )?;
    let number = |taken: &str| -> Option<u64> {
        let rest = taken.strip_prefix(&stem)?;
        if rest.is_empty() { Some(0) } else { rest.strip_prefix(" (")?.strip_suffix(')')?.parse().ok() }
    };
    let is_taken = taken.iter().any(|taken| taken == name.as_str());
    match taken.iter().filter_map(|taken| number(taken)).max() {
        None if !is_taken => Ok(name.clone()),
        last => format!("{stem} ({})", last.unwrap_or(0) + 1)
            .parse()
            .map_err(|error: tidemark_api::Invalid| crate::Error::Engine(error.into())),
    }
}

/// Changes a project.
pub fn update(tx: &mut Tx<'_>, project: ProjectId, change: &Change, now: Timestamp) -> Result<Found> {
    tx.execute(
        "update project set name = coalesce($2, name), slug = coalesce($3, slug),
                url = case when $4 then $5 else url end, visibility = coalesce($6, visibility), modified = $7
         where id = $1",
        &[
            &project,
            &change.name,
            &change.slug,
            &change.url.is_some(),
            &change.url.as_ref().and_then(Option::as_ref),
            &change.visibility,
            &now,
        ],
    )?;
    by_id(tx, project)
}

/// Hides the project and frees its name and slug.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Result<()> {
    tx.execute(
        "update project set deleted = $2, name = 'Deleted ' || cast(uuid as text),
                slug = 'deleted-' || cast(uuid as text), modified = $2
         where id = $1",
        &[&project, &now],
    )?;
    Ok(())
}

/// Removes the project and all it holds for good.
pub fn destroy(tx: &mut Tx<'_>, project: ProjectId) -> Result<()> {
    tx.execute("delete from project where id = $1", &[&project])?;
    Ok(())
}
