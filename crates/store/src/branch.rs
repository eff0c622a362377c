//! Branches.

use std::collections::HashMap;

use tidemark_api::{
    branch::{Branch, BranchFilter, BranchName},
    id::{NameId, ResourceId},
    page::Page,
    slug::Slug,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    BranchId, Cells, Fresh, HeadId, ProjectId, Result, Tx,
    dimension::{self, BRANCH, Wanted, only},
    head,
};

/// Columns of a branch with its head, for [`read`].
pub(crate) fn columns() -> String {
    format!(
        "branch.uuid, project.uuid, branch.name, branch.slug, branch.created, branch.modified, branch.archived, {}",
        head::COLUMNS
    )
}

/// Joins that [`columns`] requires, to the current head.
pub(crate) fn joins() -> String {
    format!(
        "join project on project.id = branch.project_id
         join head on head.branch_id = branch.id and head.replaced is null {}",
        head::JOINS
    )
}

pub(crate) fn read(cells: &mut Cells<'_>) -> Result<Branch> {
    Ok(Branch {
        uuid: cells.take()?,
        project: cells.take()?,
        name: cells.take()?,
        slug: cells.take()?,
        created: cells.take()?,
        modified: cells.take()?,
        archived: cells.take()?,
        head: head::read(cells)?,
    })
}

/// Inserts a branch without a head. The caller must call [`head::create`] in the same transaction.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    name: &BranchName,
    slug: Option<&Slug>,
) -> Result<BranchId> {
    let uuid = fresh.uuid();
    let slug = BRANCH.slug(tx, fresh, project, uuid, slug, name.as_ref())?;
    let id = tx.one(
        "branch",
        "insert into branch (uuid, project_id, name, slug, created, modified)
         values ($1, $2, $3, $4, $5, $5) returning id",
        &[&uuid, &project, name, &slug, &fresh.now],
        |row| row.get(0),
    )?;
    BRANCH.count(tx, project, 1, 0)?;
    Ok(id)
}

/// Returns the primary key of the branch with this slug or UUID.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, branch: &ResourceId) -> Result<BranchId> {
    BRANCH.find(tx, project, branch).map(BranchId::from)
}

/// Returns the primary key of the branch with this UUID, slug or name, if it exists.
pub fn resolve(tx: &mut Tx<'_>, project: ProjectId, branch: &NameId) -> Result<Option<BranchId>> {
    Ok(BRANCH.resolve(tx, project, branch)?.map(BranchId::from))
}

/// Returns the primary key of a branch. Creates it if it is missing and restores it if it is archived. The head of a
/// new branch starts from `start` and inherits the given number of versions.
pub fn ensure(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    branch: &NameId,
    name: &BranchName,
    start: Option<(&head::Start, u32)>,
) -> Result<BranchId> {
    let wanted = Wanted { reference: Some(branch), name: name.as_str(), slug: None, units: None };
    let id = only(BRANCH.ensure(tx, fresh, project, &[wanted])?)?;
    // A transaction that lost the race for the branch has waited until the other transaction created the head.
    if !tx.value::<bool>("select exists (select 1 from head where branch_id = $1)", &[&id])? {
        let (start, max_versions) = start.unzip();
        head::create(tx, fresh, id, start, max_versions.unwrap_or_default())?;
    }
    Ok(id)
}

/// Returns a branch with its current head.
pub fn view(tx: &mut Tx<'_>, branch: BranchId) -> Result<Branch> {
    let sql = format!("select {} from branch {} where branch.id = $1", columns(), joins());
    tx.one("branch", &sql, &[&branch], |row| read(&mut row.cells()))
}

/// Returns the branches of a project with these UUIDs, each with its current head and the primary key of the head.
pub fn by_uuids(
    tx: &mut Tx<'_>,
    project: ProjectId,
    uuids: &[Uuid],
) -> Result<HashMap<Uuid, (BranchId, HeadId, Branch)>> {
    let sql = format!(
        "select branch.id, head.id, {} from branch {} where branch.project_id = $1 and branch.uuid in {{uuids $2}}",
        columns(),
        joins()
    );
    let rows = tx.all(&sql, &[&project, &uuids], |row| {
        let cells = &mut row.cells();
        let (id, head) = (cells.take()?, cells.take()?);
        let branch = read(cells)?;
        Ok((branch.uuid.uuid(), (id, head, branch)))
    })?;
    Ok(rows.into_iter().collect())
}

/// Lists the branches of a project, by name.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &BranchFilter,
    page: &Page,
) -> Result<(Vec<Branch>, i64)> {
    let filter = dimension::Filter {
        name: filter.name.as_ref().map(BranchName::as_str),
        search: filter.search.as_ref().map(AsRef::as_ref),
        archived: filter.archived.unwrap_or(false),
    };
    BRANCH.list(tx, project, filter, page, (&columns(), &joins()), |row| read(&mut row.cells()))
}

/// Updates a branch; [`head`] updates its head.
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: BranchId,
    name: Option<&BranchName>,
    slug: Option<&Slug>,
    archived: Option<bool>,
    now: Timestamp,
) -> Result<()> {
    let change = dimension::Change { name: name.map(BranchName::as_str), slug, archived };
    BRANCH.update(tx, project, branch.get(), change, now)
}

/// Deletes a branch that no report and no threshold uses.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId, branch: BranchId) -> Result<()> {
    BRANCH.delete(tx, project, branch.get())
}
