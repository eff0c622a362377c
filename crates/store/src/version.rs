//! Versions: the numbered positions in the history of a head, and the order of reports in it.
//!
//! Within a head, the primary keys of versions increase with their numbers, and keep this order when versions are
//! renumbered.

use std::collections::HashMap;

use tidemark_api::{GitHash, Version};

use crate::{HeadId, Result, Tx, VersionId, WriteContext, columns::columns, value::distinct};

columns!(Version { number: "version.number", hash: "version.hash" });

/// A version range in the history of a head: its own versions, or inherited versions of another head.
#[derive(Clone, Copy, Debug)]
pub struct VersionRange {
    /// Head that owns the versions.
    pub head: HeadId,
    /// Primary key of the first version.
    pub first: VersionId,
    /// Primary key of the last version.
    pub last: VersionId,
}

impl VersionRange {
    /// Returns the range of all versions of a head.
    pub fn of_head(head: HeadId) -> Self {
        Self { head, first: VersionId::from(0), last: VersionId::from(i64::MAX) }
    }
}

/// Returns the history of a head, from its own versions back to the oldest inherited ones.
pub fn history(tx: &mut Tx<'_>, head: HeadId) -> Result<Vec<VersionRange>> {
    Ok(histories(tx, &[head.get()])?.remove(&head).unwrap_or_default())
}

/// Returns the history of each head.
pub fn histories(tx: &mut Tx<'_>, heads: &[i64]) -> Result<HashMap<HeadId, Vec<VersionRange>>> {
    let own = |head: &i64| (HeadId::from(*head), vec![VersionRange::of_head(HeadId::from(*head))]);
    let mut histories: HashMap<_, _> = heads.iter().map(own).collect();
    let ranges: Vec<Segment> = tx.fetch_all(
        "select {columns} from segment where head_id in {ints $1} order by head_id, last_number desc",
        &[&heads],
    )?;
    for Segment { head, source, first, last } in ranges {
        // A range whose reports were all deleted is empty.
        if let (Some(first), Some(last)) = (first, last) {
            histories.entry(head).or_default().push(VersionRange { head: source, first, last });
        }
    }
    Ok(histories)
}

columns! {
    /// A version range that a head inherits.
    struct Segment {
        head: HeadId = "head_id",
        source: HeadId = "source_head_id",
        first: Option<VersionId> = "(select id from version where version.head_id = segment.source_head_id
             and number >= segment.first_number order by number limit 1)",
        last: Option<VersionId> = "(select id from version where version.head_id = segment.source_head_id
             and number <= segment.last_number order by number desc limit 1)",
    }
}

/// Returns the versions of each range, at most `most` per range, oldest first.
pub(crate) fn of_ranges(tx: &mut Tx<'_>, ranges: &[VersionRange], most: usize) -> Result<Vec<Vec<Version>>> {
    let mut found = vec![Vec::new(); ranges.len()];
    let heads = distinct(ranges.iter().map(|range| range.head.get()));
    let first = ranges.iter().map(|range| range.first.get()).min().unwrap_or_default();
    let last = ranges.iter().map(|range| range.last.get()).max().unwrap_or_default();
    let versions: Vec<(HeadId, (VersionId, Version))> = tx.fetch_all(
        "select head_id, id, {columns} from version where head_id in {ints $1} and id between $2 and $3
         order by head_id, id",
        &[&heads, &first, &last],
    )?;
    for (head, (id, version)) in versions {
        for (range, found) in ranges.iter().zip(&mut found) {
            if range.head == head && (range.first..=range.last).contains(&id) && found.len() < most {
                found.push(version.clone());
            }
        }
    }
    Ok(found)
}

/// Returns versions by their primary keys.
pub fn by_ids(
    tx: &mut Tx<'_>,
    versions: impl Iterator<Item = VersionId>,
) -> Result<HashMap<VersionId, Version>> {
    let ids = distinct(versions.map(VersionId::get));
    let found: Vec<(VersionId, Version)> =
        tx.fetch_all("select id, {columns} from version where id in {ints $1}", &[&ids])?;
    Ok(found.into_iter().collect())
}

/// Returns the version for a report on a head: the version of the same commit, or a new one.
pub fn ensure(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    head: HeadId,
    hash: Option<&GitHash>,
) -> Result<VersionId> {
    if let Some(hash) = hash {
        let same = tx.fetch_optional(
            "select id from version where head_id = $1 and hash = $2 order by number desc limit 1",
            &[&head, hash],
        )?;
        if let Some(version) = same {
            return Ok(version);
        }
    }
    tx.fetch_one(
        "version",
        "insert into version (head_id, number, hash, created)
         select $1, coalesce((select max(number) from version where head_id = $1),
                             (select max(last_number) from segment where head_id = $1), -1) + 1,
                cast($2 as text), cast($3 as bigint)
         returning id",
        &[&head, &hash, &context.now],
    )
}

/// Deletes a version without reports, and renumbers the later versions in every history that contains them.
pub fn remove_unused(tx: &mut Tx<'_>, version: VersionId) -> Result<()> {
    let removed: Option<(HeadId, i64)> = tx.fetch_optional(
        "delete from version where id = $1 and not exists (select 1 from report where version_id = $1)
         returning head_id, number",
        &[&version],
    )?;
    let Some((head, number)) = removed else { return Ok(()) };
    // A head that started from the version keeps the branch of its start point.
    tx.execute("update head set start_version_id = null where start_version_id = $1", &[&version])?;
    // The heads whose own versions follow the deleted one: heads that inherit a range with it or beyond it, and heads
    // that inherit from these heads.
    let shifted: Vec<i64> = tx.fetch_all(
        "with recursive shifted (head_id) as (
             select head_id from segment where source_head_id = $1 and last_number >= $2
             union
             select segment.head_id from segment join shifted on segment.source_head_id = shifted.head_id
         ) select head_id from shifted",
        &[&head, &number],
    )?;
    // Uses negative numbers as an intermediate step, because the numbers of a head must be unique at all times.
    tx.execute(
        "update version set number = -number where (head_id = $1 and number > $2) or head_id in {ints $3}",
        &[&head, &number, &shifted],
    )?;
    tx.execute(
        "update version set number = -number - 1 where number < 0 and (head_id = $1 or head_id in {ints $2})",
        &[&head, &shifted],
    )?;
    tx.execute(
        "delete from segment where source_head_id = $1 and first_number = $2 and last_number = $2",
        &[&head, &number],
    )?;
    tx.execute(
        "update segment set first_number = first_number - case when first_number > $1 then 1 else 0 end,
                last_number = last_number - 1
         where head_id in {ints $2} and last_number >= $1",
        &[&number, &shifted],
    )?;
    Ok(())
}
