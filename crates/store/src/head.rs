//! Heads of branches: which versions they see, where they start, and how one replaces another.
//!
//! A version belongs to the head it was made on. A head that starts from another sees that one's versions through its
//! lineage: a few ranges of numbers (`segment`), written once when the head is made, however long the history is.

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

/// Where a new head would start: a version that the current head of a branch sees.
#[derive(Clone, Debug)]
pub struct Start {
    /// The branch it starts from.
    pub branch: BranchId,
    /// The hash of the version it starts from, if that has one.
    pub hash: Option<GitHash>,
    head: HeadId,
    version: i64,
    number: i64,
}

/// Where the current head of a branch started.
#[derive(Clone, Debug)]
pub struct Current {
    /// The head.
    pub id: HeadId,
    /// The branch it started from, if any.
    pub start_branch: Option<BranchId>,
    /// The hash of the version it started from, if it has one.
    pub start_hash: Option<GitHash>,
}

/// The columns of a head with its start point, for [`read`]; the head's table is `head`.
pub(crate) const COLUMNS: &str = "head.uuid, head.created, head.replaced, start_branch.uuid, start_head.uuid, \
     start_version.number, start_version.hash";
/// The joins that [`COLUMNS`] needs.
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
        // The source or its version is gone.
        _ => None,
    };
    Ok(Head { uuid, start_point, version: None, created, replaced })
}

/// The head with this id, of this branch, replaced ones included.
pub fn find(tx: &mut Tx<'_>, branch: BranchId, head: HeadUuid) -> Result<Head> {
    tx.one(
        "head",
        &format!("select {COLUMNS} from head {JOINS} where head.branch_id = $1 and head.uuid = $2"),
        &[&branch, &head],
        |row| read(&mut row.cells()),
    )
}

/// The heads with these ids, replaced ones included, each with its key and its branch.
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

/// The current head of a branch and where it started.
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

/// Resolves a start point: the version of this hash that the source's head sees, or else its newest. `None` when there
/// is no such branch or it has no version yet.
pub fn resolve(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: &NameId,
    hash: Option<&GitHash>,
) -> Result<Option<Start>> {
    let Some(branch) = BRANCH.resolve(tx, project, branch)? else { return Ok(None) };
    tx.optional(
        // One version a source at the most: its newest of this hash, or else its newest. Two steps in an index each.
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

/// Makes a head and, with a start, gives it the newest versions up to there. The cost does not grow with the history.
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
        // What the source inherited itself, and then what it made, each cut to the wanted range.
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

/// Stamps the current head of a branch as replaced and silences its alerts; another head must be made in the same
/// transaction.
pub fn replace(tx: &mut Tx<'_>, head: HeadId, now: Timestamp) -> Result<()> {
    tx.execute("update head set replaced = $2 where id = $1", &[&head, &now])?;
    alert::silence(tx, head, now)
}

/// Moves a branch to a start point if that is another than it has. A start point without a hash does not move a head
/// that started from the same branch: the source moving on is no reason to lose the history.
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
        // The hash it started from may have left the source since; asking for it again is no change.
        Some(_) if wanted.hash.is_none() || wanted.hash == current.start_hash => false,
        // A hash that the source does not have says nothing about where to start.
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
