//! Branches.

use std::collections::HashMap;

use tidemark_api::{
    ProjBranchesSort,
    branch::{Branch, BranchFilter, BranchName, BranchPatch, Head},
    id::NameId,
};
use uuid::Uuid;

use crate::{
    BranchId, HeadId, ProjectId, Result, Tx, WriteContext,
    columns::columns,
    dimension::{self, Dimension, DimensionFilter, DimensionUpdate, ItemReference, single_key},
    head,
};

columns!(Branch {
    uuid: "branch.uuid",
    project: "project.uuid",
    name: "branch.name",
    slug: "branch.slug",
    created: "branch.created",
    modified: "branch.modified",
    archived: "branch.archived",
    head: Head,
});

impl Dimension for Branch {
    type Id = BranchId;
    /// The caller must call [`head::create`] in the same transaction.
    type Fields<'a> = ();
    const TABLE: &'static str = "branch";
    const NEWEST_RUN: &'static str = "from report as newest where newest.branch_id = branch.id
         order by newest.start_time desc, newest.id desc limit 1";

    fn joins() -> String {
        format!(
            "join project on project.id = branch.project_id
             join head on head.branch_id = branch.id and head.replaced is null {}",
            head::JOINS
        )
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }
}

impl<'a> From<&'a BranchFilter> for DimensionFilter<'a> {
    fn from(filter: &'a BranchFilter) -> Self {
        Self {
            name: filter.name.as_ref().map(BranchName::as_str),
            search: filter.search.as_ref().map(AsRef::as_ref),
            archived: filter.archived.unwrap_or(false),
            by_newest_run: filter.sort == Some(ProjBranchesSort::NewestRun),
        }
    }
}

impl<'a> From<&'a BranchPatch> for DimensionUpdate<'a> {
    fn from(patch: &'a BranchPatch) -> Self {
        Self {
            name: patch.name.as_ref().map(BranchName::as_str),
            slug: patch.slug.as_ref(),
            archived: patch.archived,
        }
    }
}

/// Returns the name of the default branch of a project: `main`, `master`, `trunk` or `develop`, or the branch with the most
/// reports; `None` if the project has no branch.
pub fn default_name(tx: &mut Tx<'_>, project: ProjectId) -> Result<Option<BranchName>> {
    tx.fetch_optional(
        "select branch.name from branch where branch.project_id = $1 and branch.archived is null
         order by case branch.name when 'main' then 0 when 'master' then 1 when 'trunk' then 2 when 'develop' then 3
                  else 4 end,
             (select coalesce(sum(lane.reports), 0) from lane where lane.branch_id = branch.id) desc, branch.id
         limit 1",
        &[&project],
    )
}

/// Returns the primary key of a branch. Creates it if it is missing and restores it if it is archived. The head of a
/// new branch starts from `start` and inherits the given number of versions.
pub fn ensure(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    branch: &NameId,
    name: &BranchName,
    start: Option<(&head::ResolvedStartPoint, u32)>,
) -> Result<BranchId> {
    let wanted = ItemReference { reference: Some(branch), name: name.as_str(), slug: None, fields: () };
    let id = single_key(dimension::ensure::<Branch>(tx, context, project, &[wanted])?)?;
    // A transaction that lost the race for the branch has waited until the other transaction created the head.
    if !tx.value::<bool>("select exists (select 1 from head where branch_id = $1)", &[&id])? {
        let (start, max_versions) = start.unzip();
        head::create(tx, context, id, start, max_versions.unwrap_or_default())?;
    }
    Ok(id)
}

/// Returns the branches of a project with these UUIDs, each with the primary key of its current head.
pub fn with_heads(
    tx: &mut Tx<'_>,
    project: ProjectId,
    uuids: &[Uuid],
) -> Result<HashMap<Uuid, (BranchId, HeadId, Branch)>> {
    let sql = format!(
        "select {{columns}} from branch {} where branch.project_id = $1 and branch.uuid in {{uuids $2}}",
        Branch::joins()
    );
    let rows: Vec<BranchWithHead> = tx.fetch_all(&sql, &[&project, &uuids])?;
    Ok(rows.into_iter().map(|row| (row.branch.uuid(), (row.id, row.head, row.branch))).collect())
}

columns! {
    struct BranchWithHead {
        id: BranchId = "branch.id",
        head: HeadId = "head.id",
        branch: Branch,
    }
}
