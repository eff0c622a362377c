//! Heads of branches: their versions, start points and replacement.
//!
//! A version belongs to the head that it was created on. A head that starts from another head inherits versions of that
//! head as version ranges (`segment`). The ranges are written once when the head is created, and their number does not
//! depend on the length of the history.

use std::collections::HashMap;

use tidemark_api::{
    DEFAULT_MAX_VERSIONS, StartPointPatch,
    branch::{Branch, GitHash, Head, StartPoint, Version},
    id::{BranchUuid, HeadUuid, NameId},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    BranchId, HeadId, Lock, ProjectId, Result, Tx, WriteContext, alert, columns::columns,
    dimension::Dimension, threshold,
};

columns! {
    /// Start point of a new head: a version in the history of the current head of a branch.
    #[derive(Clone, Debug)]
    pub struct ResolvedStartPoint {
        /// Branch of the start point.
        pub branch: BranchId = "source.branch_id",
        /// Commit hash of the version, if it has one.
        pub hash: Option<GitHash> = "version.hash",
        head: HeadId = "source.head_id",
        version: i64 = "version.id",
        number: i64 = "version.number",
    }
}

columns! {
    /// Current head of a branch and its start point.
    #[derive(Clone, Debug)]
    pub struct CurrentHead {
        /// Head.
        pub id: HeadId = "head.id",
        /// Branch of the start point, if any.
        pub start_branch: Option<BranchId> = "start_head.branch_id",
        /// Commit hash of the start point, if any.
        pub start_hash: Option<GitHash> = "start_version.hash",
    }
}

columns! {
    /// A head with the columns of its start point; the table of the head is `head`.
    struct HeadRow {
        uuid: HeadUuid = "head.uuid",
        created: Timestamp = "head.created",
        replaced: Option<Timestamp> = "head.replaced",
        start_branch: Option<BranchUuid> = "start_branch.uuid",
        start_head: Option<HeadUuid> = "start_head.uuid",
        start_number: Option<u32> = "start_version.number",
        start_hash: Option<GitHash> = "start_version.hash",
    }
}
columns!(Head from HeadRow);

/// Joins that the columns of a head require.
pub(crate) const JOINS: &str = "left join head as start_head on start_head.id = head.start_head_id
     left join version as start_version on start_version.id = head.start_version_id
     left join branch as start_branch on start_branch.id = start_head.branch_id";

impl From<HeadRow> for Head {
    fn from(row: HeadRow) -> Self {
        let start_point = match (row.start_branch, row.start_head, row.start_number) {
            (Some(branch), Some(head), Some(number)) => {
                Some(StartPoint { branch, head, version: Version { number, hash: row.start_hash } })
            }
            // The branch or the version of the start point was deleted.
            _ => None,
        };
        Self { uuid: row.uuid, start_point, version: None, created: row.created, replaced: row.replaced }
    }
}

/// Returns the head of this branch with this UUID, current or replaced.
pub fn find(tx: &mut Tx<'_>, branch: BranchId, head: HeadUuid) -> Result<Head> {
    tx.fetch_one(
        "head",
        &format!("select {{columns}} from head {JOINS} where head.branch_id = $1 and head.uuid = $2"),
        &[&branch, &head],
    )
}

/// Returns the heads with these UUIDs, current or replaced, each with its primary key and its branch.
pub fn by_uuids(tx: &mut Tx<'_>, uuids: &[Uuid]) -> Result<HashMap<Uuid, (HeadId, BranchId, Head)>> {
    if uuids.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!("select {{columns}} from head {JOINS} where head.uuid in {{uuids $1}}");
    let rows: Vec<HeadWithKeys> = tx.fetch_all(&sql, &[&uuids])?;
    Ok(rows.into_iter().map(|row| (row.head.uuid.uuid(), (row.id, row.branch, row.head))).collect())
}

columns! {
    struct HeadWithKeys {
        id: HeadId = "head.id",
        branch: BranchId = "head.branch_id",
        head: Head,
    }
}

/// Returns the current head of a branch and its start point.
pub fn current(tx: &mut Tx<'_>, branch: BranchId) -> Result<CurrentHead> {
    tx.fetch_one(
        "head",
        "select {columns} from head
         left join head as start_head on start_head.id = head.start_head_id
         left join version as start_version on start_version.id = head.start_version_id
         where head.branch_id = $1 and head.replaced is null",
        &[&branch],
    )
}

/// Resolves a start point: the version with this hash in the history of the branch's current head, or else its newest
/// version. Returns `None` if the branch does not exist or has no version.
pub fn resolve(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: &NameId,
    hash: Option<&GitHash>,
) -> Result<Option<ResolvedStartPoint>> {
    let Some(branch) = Branch::resolve(tx, project, branch)? else { return Ok(None) };
    tx.fetch_optional(
        // At most one version per source: the newest with this hash, or else the newest. Two index lookups each.
        "select {columns} from (
             select head.branch_id, head.id as head_id, head.id as source_head_id, 0 as first_number,
                    9223372036854775807 as last_number
             from head where head.branch_id = $1 and head.replaced is null
             union all
             select head.branch_id, head.id, segment.source_head_id, segment.first_number, segment.last_number
             from head join segment on segment.head_id = head.id
             where head.branch_id = $1 and head.replaced is null
         ) as source
         join version on version.head_id = source.source_head_id and version.number = coalesce(
             (select max(number) from version as same
              where same.head_id = source.source_head_id and same.hash = $2
                    and same.number between source.first_number and source.last_number),
             (select max(number) from version as newest
              where newest.head_id = source.source_head_id
                    and newest.number between source.first_number and source.last_number))
         order by case when version.hash = $2 then 0 else 1 end, version.number desc limit 1",
        &[&branch, &hash],
    )
}

/// Inserts a head. With a start point, the head inherits the newest versions up to it. The cost does not depend on the
/// length of the history.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    branch: BranchId,
    start: Option<&ResolvedStartPoint>,
    max_versions: u32,
) -> Result<HeadId> {
    let head: HeadId = tx.fetch_one(
        "head",
        "insert into head (uuid, branch_id, start_head_id, start_version_id, created)
         values ($1, $2, $3, $4, $5) returning id",
        &[
            &context.uuid(),
            &branch,
            &start.map(|start| start.head),
            &start.map(|start| start.version),
            &context.now,
        ],
    )?;
    if let Some(start) = start.filter(|_| max_versions > 0) {
        let first = start.number - i64::from(max_versions) + 1;
        // The version ranges that the source inherited, then its own versions, each limited to the requested range.
        tx.execute(
            "insert into segment (head_id, source_head_id, first_number, last_number)
             select $1, source_head_id, case when first_number < $3 then $3 else first_number end,
                    case when last_number > $4 then $4 else last_number end
             from segment where head_id = $2 and last_number >= $3 and first_number <= $4",
            &[&head, &start.head, &first, &start.number],
        )?;
        tx.execute(
            "insert into segment (head_id, source_head_id, first_number, last_number)
             select $1, head_id, min(number), max(number) from version
             where head_id = $2 and number between $3 and $4 group by head_id",
            &[&head, &start.head, &first, &start.number],
        )?;
    }
    Ok(head)
}

/// Marks the current head of a branch as replaced and silences its alerts. The caller must create another head in the
/// same transaction.
pub fn replace(tx: &mut Tx<'_>, head: HeadId, now: Timestamp) -> Result<()> {
    tx.execute("update head set replaced = $2 where id = $1", &[&head, &now])?;
    alert::silence(tx, head, now)
}

/// Changes the start point of a branch if it differs from the current one. A start point without a hash does not
/// replace a head that started from the same branch: new versions of the source are no reason to lose the history.
pub fn start_from(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    id: BranchId,
    wanted: &StartPointPatch,
) -> Result<()> {
    tx.lock(Lock::Project(project.get()))?;
    let start = match &wanted.branch {
        Some(source) => resolve(tx, project, source, wanted.hash.as_ref())?,
        None => None,
    };
    let current = current(tx, id)?;
    let moves = match &start {
        _ if wanted.reset.unwrap_or(false) => true,
        None => false,
        Some(start) if current.start_branch != Some(start.branch) => true,
        // The source may no longer have the hash of the current start point; the same hash is not a change.
        Some(_) if wanted.hash.is_none() || wanted.hash == current.start_hash => false,
        // A hash that the source does not have is ignored.
        Some(start) => start.hash == wanted.hash,
    };
    if moves {
        replace(tx, current.id, context.now)?;
        let max_versions = wanted.max_versions.unwrap_or(DEFAULT_MAX_VERSIONS);
        create(tx, context, id, start.as_ref(), max_versions)?;
    }
    if let (Some(start), Some(true)) = (&start, wanted.clone_thresholds) {
        threshold::copy_models(tx, context, project, start.branch, id)?;
    }
    Ok(())
}
