//! Heads of branches: their versions, start points and replacement.
//!
//! A version belongs to the head that it was created on. A head that starts from another head inherits versions of that
//! head as version ranges (`segment`). The ranges are written once when the head is created, and their number does not
//! depend on the length of the history.

use std::collections::HashMap;

use tidemark_api::{
    DEFAULT_MAX_VERSIONS, StartPointPatch,
    branch::{GitHash, Head, StartPoint, Version},
    id::{HeadUuid, NameId},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    BranchId, Cells, Fresh, HeadId, Lock, ProjectId, Result, Tx, alert, dimension::BRANCH, threshold,
};

/// Start point of a new head: a version in the history of the current head of a branch.
#[derive(Clone, Debug)]
pub struct Start {
    /// Branch of the start point.
    pub branch: BranchId,
    /// Commit hash of the version, if it has one.
    pub hash: Option<GitHash>,
    head: HeadId,
    version: i64,
    number: i64,
}

/// Current head of a branch and its start point.
#[derive(Clone, Debug)]
pub struct Current {
    /// Head.
    pub id: HeadId,
    /// Branch of the start point, if any.
    pub start_branch: Option<BranchId>,
    /// Commit hash of the start point, if any.
    pub start_hash: Option<GitHash>,
}

/// Columns of a head with its start point, for [`read`]; the table of the head is `head`.
pub(crate) const COLUMNS: &str = "head.uuid, head.created, head.replaced, start_branch.uuid, start_head.uuid, \
     start_version.number, start_version.hash";
/// Joins that [`COLUMNS`] requires.
pub(crate) const JOINS: &str = "left join head as start_head on start_head.id = head.start_head_id
     left join version as start_version on start_version.id = head.start_version_id
     left join branch as start_branch on start_branch.id = start_head.branch_id";

pub(crate) fn read(cells: &mut Cells<'_>) -> Result<Head> {
    let (uuid, created, replaced) = (cells.take()?, cells.take()?, cells.take()?);
    let (branch, head) = (cells.take()?, cells.take()?);
    let (number, hash) = (cells.take()?, cells.take()?);
    let start_point = match (branch, head, number) {
        (Some(branch), Some(head), Some(number)) => {
            Some(StartPoint { branch, head, version: Version { number, hash } })
        }
        // The branch or the version of the start point was deleted.
        _ => None,
    };
    Ok(Head { uuid, start_point, version: None, created, replaced })
}

/// Returns the head of this branch with this UUID, current or replaced.
pub fn find(tx: &mut Tx<'_>, branch: BranchId, head: HeadUuid) -> Result<Head> {
    tx.one(
        "head",
        &format!("select {COLUMNS} from head {JOINS} where head.branch_id = $1 and head.uuid = $2"),
        &[&branch, &head],
        |row| read(&mut row.cells()),
    )
}

/// Returns the heads with these UUIDs, current or replaced, each with its primary key and its branch.
pub fn by_uuids(tx: &mut Tx<'_>, uuids: &[Uuid]) -> Result<HashMap<Uuid, (HeadId, BranchId, Head)>> {
    if uuids.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!(
        "select head.id, head.branch_id, {COLUMNS} from head {JOINS} where head.uuid in {{uuids $1}}"
    );
    let rows = tx.all(&sql, &[&uuids], |row| {
        let cells = &mut row.cells();
        let (id, branch) = (cells.take()?, cells.take()?);
        let head = read(cells)?;
        Ok((head.uuid.uuid(), (id, branch, head)))
    })?;
    Ok(rows.into_iter().collect())
}

/// Returns the current head of a branch and its start point.
pub fn current(tx: &mut Tx<'_>, branch: BranchId) -> Result<Current> {
    tx.one(
        "head",
        "select head.id, start_head.branch_id, start_version.hash from head
         left join head as start_head on start_head.id = head.start_head_id
         left join version as start_version on start_version.id = head.start_version_id
         where head.branch_id = $1 and head.replaced is null",
        &[&branch],
        |row| Ok(Current { id: row.get(0)?, start_branch: row.get(1)?, start_hash: row.get(2)? }),
    )
}

/// Resolves a start point: the version with this hash in the history of the branch's current head, or else its newest
/// version. Returns `None` if the branch does not exist or has no version.
pub fn resolve(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: &NameId,
    hash: Option<&GitHash>,
) -> Result<Option<Start>> {
    let Some(branch) = BRANCH.resolve(tx, project, branch)? else { return Ok(None) };
    tx.optional(
        // At most one version per source: the newest with this hash, or else the newest. Two index lookups each.
        "select source.branch_id, version.hash, source.head_id, version.id, version.number from (
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
        |row| {
            Ok(Start {
                branch: row.get(0)?,
                hash: row.get(1)?,
                head: row.get(2)?,
                version: row.get(3)?,
                number: row.get(4)?,
            })
        },
    )
}

/// Inserts a head. With a start point, the head inherits the newest versions up to it. The cost does not depend on the
/// length of the history.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    branch: BranchId,
    start: Option<&Start>,
    max_versions: u32,
) -> Result<HeadId> {
    let head: HeadId = tx.one(
        "head",
        "insert into head (uuid, branch_id, start_head_id, start_version_id, created)
         values ($1, $2, $3, $4, $5) returning id",
        &[
            &fresh.uuid(),
            &branch,
            &start.map(|start| start.head),
            &start.map(|start| start.version),
            &fresh.now,
        ],
        |row| row.get(0),
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
    fresh: &Fresh,
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
        replace(tx, current.id, fresh.now)?;
        let max_versions = wanted.max_versions.unwrap_or(DEFAULT_MAX_VERSIONS);
        create(tx, fresh, id, start.as_ref(), max_versions)?;
    }
    if let (Some(start), Some(true)) = (&start, wanted.clone_thresholds) {
        threshold::mirror(tx, fresh, project, start.branch, id)?;
    }
    Ok(())
}
