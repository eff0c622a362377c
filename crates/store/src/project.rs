//! Projects: the containers of dimensions and results.

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
    List, OrganizationId, Param, ProjectId, Result, Tx, UserId, WriteContext,
    columns::columns,
    slug,
    sql::{contains, direction},
};

columns!(
    /// A project with its primary key and its organization.
    #[derive(Clone, Debug)]
    pub struct ProjectRow {
        /// Primary key.
        pub id: ProjectId = "project.id",
        /// Organization.
        pub organization: OrganizationId = "project.organization_id",
        /// Representation in the API.
        pub project: Project,
    }
);
columns!(Project {
    uuid: "project.uuid",
    organization: "organization.uuid",
    name: "project.name",
    slug: "project.slug",
    url: "project.url",
    visibility: "project.visibility",
    created: "project.created",
    modified: "project.modified",
    claimed: "organization.claimed",
});
const TABLES: &str = "project join organization on organization.id = project.organization_id";

columns!(
    /// Roles of a user in a project and its organization.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ProjectRoles {
        /// Role in the organization.
        pub organization: Option<OrganizationRole> = "member.role",
        /// Role in the project.
        pub project: Option<ProjectRole> = "project_member.role",
    }
);

/// The viewer of a list of projects.
#[derive(Clone, Copy, Debug)]
pub enum Viewer {
    /// Anonymous: can view public projects.
    Public,
    /// User: can view public projects and projects in which the user has a role.
    User(UserId),
    /// Administrator: can view all projects.
    Admin,
    /// Project key: can view its own project.
    Key(ProjectId),
}

/// Fields to update.
#[derive(Clone, Debug, Default)]
pub struct ProjectUpdate {
    /// New name.
    pub name: Option<ResourceName>,
    /// New slug.
    pub slug: Option<Slug>,
    /// URL: absent keeps it, `None` removes it.
    pub url: Option<Option<AnyUrl>>,
    /// Visibility.
    pub visibility: Option<Visibility>,
}

/// A project to insert.
#[derive(Clone, Copy, Debug)]
pub struct NewProjectRow<'a> {
    /// Organization.
    pub organization: OrganizationId,
    /// UUID; generated if `None`.
    pub uuid: Option<Uuid>,
    /// Name.
    pub name: &'a ResourceName,
    /// Slug; derived from the name if `None`.
    pub slug: Option<&'a Slug>,
    /// Website.
    pub url: Option<&'a AnyUrl>,
    /// Visibility.
    pub visibility: Visibility,
}

/// Inserts a project into an organization.
pub fn create(tx: &mut Tx<'_>, context: &WriteContext, new: &NewProjectRow<'_>) -> Result<ProjectRow> {
    let NewProjectRow { organization, uuid, name, slug, url, visibility } = *new;
    let uuid = uuid.unwrap_or_else(|| context.uuid());
    let slug = slug::unused(context, uuid, slug, name.as_ref(), |slug| {
        tx.value("select exists (select 1 from project where slug = $1)", &[slug])
    })?;
    let id: ProjectId = tx.fetch_one(
        "project",
        "insert into project (uuid, organization_id, name, slug, url, visibility, created, modified, notifies)
         values ($1, $2, $3, $4, $5, $6, $7, $7, $8) returning id",
        &[&uuid, &organization, name, &slug, &url, &visibility, &context.now, &Notifies::default()],
    )?;
    by_id(tx, id)
}

/// Returns the project with this primary key.
pub fn by_id(tx: &mut Tx<'_>, project: ProjectId) -> Result<ProjectRow> {
    tx.fetch_one("project", &format!("select {{columns}} from {TABLES} where project.id = $1"), &[&project])
}

columns!(
    struct ProjectWithRoles {
        project: ProjectRow,
        roles: ProjectRoles,
    }
);

/// Returns the project with this slug or UUID, unless it is deleted, and the roles of a user in it.
pub fn find(
    tx: &mut Tx<'_>,
    project: &ResourceId,
    user: Option<UserId>,
) -> Result<(ProjectRow, ProjectRoles)> {
    let (column, value) = key(project);
    let ProjectWithRoles { project, roles } = tx.fetch_one(
        "project",
        &format!(
            "select {{columns}} from {TABLES}
             left join member on member.organization_id = project.organization_id and member.account_id = $2
             left join project_member on project_member.project_id = project.id and project_member.account_id = $2
             where project.{column} = $1 and project.deleted is null"
        ),
        &[value, &user],
    )?;
    Ok((project, roles))
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

/// Returns the project with this slug or UUID, including deleted ones.
pub fn find_any(tx: &mut Tx<'_>, project: &ResourceId) -> Result<ProjectRow> {
    let (column, value) = key(project);
    tx.fetch_one(
        "project",
        &format!("select {{columns}} from {TABLES} where project.{column} = $1"),
        &[value],
    )
}

fn key(project: &ResourceId) -> (&'static str, &dyn Param) {
    match project {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    }
}

/// Lists the projects that a viewer can view, of one organization or of all, by name.
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
    )
}

/// Maximum length in bytes of a name that gets a number without truncation. A longer name is truncated to
/// [`NUMBERED_NAME_CUT`] characters.
const NUMBERED_NAME_MAX_BYTES: usize = 41;
const NUMBERED_NAME_CUT: usize = 38;

/// Returns a name that no project of the organization has: the given name, or the name with the next number as a
/// suffix.
pub fn unused_name(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    name: &ResourceName,
) -> Result<ResourceName> {
    let stem = match name.as_str() {
        text if text.len() > NUMBERED_NAME_MAX_BYTES => {
            format!("{}...", text.chars().take(NUMBERED_NAME_CUT).collect::<String>())
        }
        text => text.to_owned(),
    };
    let length = i32::try_from(stem.chars().count()).unwrap_or(i32::MAX);
    let taken: Vec<String> = tx.fetch_all(
        "select name from project where organization_id = $1 and (name = $2 or substr(name, 1, $4) = $3)",
        &[&organization, name, &stem, &length],
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

/// Updates a project.
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    change: &ProjectUpdate,
    now: Timestamp,
) -> Result<ProjectRow> {
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

/// Marks the project as deleted and frees its name and slug.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Result<()> {
    tx.execute(
        "update project set deleted = $2, name = 'Deleted ' || cast(uuid as text),
                slug = 'deleted-' || cast(uuid as text), modified = $2
         where id = $1",
        &[&project, &now],
    )?;
    Ok(())
}

/// Deletes the project and all of its data permanently.
pub fn destroy(tx: &mut Tx<'_>, project: ProjectId) -> Result<()> {
    tx.execute("delete from project where id = $1", &[&project])?;
    Ok(())
}
