//! Lanes: a branch on a testbed, whose reports are looked at together.

use crate::{BranchId, HeadId, Param, ProjectId, ReportId, Result, TestbedId, Tx, part::Part};

/// A lane with reports that were not looked at for changes.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// The project.
    pub project: ProjectId,
    /// The branch.
    pub branch: BranchId,
    /// Its head.
    pub head: HeadId,
    /// The testbed.
    pub testbed: TestbedId,
    /// How many reports with results there are.
    pub reports: i64,
    /// How many reports were deleted.
    pub deleted: i64,
    /// How many there were when it was last looked at; less than none if that has to be done again.
    pub analyzed: i64,
}

/// What the first lane comes after.
pub fn before_all() -> (BranchId, TestbedId) {
    (BranchId::from(0), TestbedId::from(0))
}

/// Lanes after this one with reports that were not looked at, at most so many.
pub fn stale(tx: &mut Tx<'_>, (branch, testbed): (BranchId, TestbedId), limit: i64) -> Result<Vec<Lane>> {
    read(
        tx,
        "lane.reports <> lane.analyzed and (lane.branch_id, lane.testbed_id) > ($1, $2)
         order by lane.branch_id, lane.testbed_id limit $3",
        &[&branch, &testbed, &limit],
    )
}

/// The lanes of a part of a project that have reports.
pub fn of_project(tx: &mut Tx<'_>, project: ProjectId, part: &Part) -> Result<Vec<Lane>> {
    read(
        tx,
        "branch.project_id = $1 and lane.reports > 0 and lane.branch_id = coalesce($2, lane.branch_id)
         and lane.testbed_id = coalesce($3, lane.testbed_id) order by lane.branch_id, lane.testbed_id",
        &[&project, &part.branch, &part.testbed],
    )
}

/// How many values the reports of a part of a project have.
pub fn values(tx: &mut Tx<'_>, project: ProjectId, part: &Part) -> Result<i64> {
    tx.value(
        "select cast(coalesce(sum(report.metrics), 0) as bigint) from report
         join head on head.id = report.head_id and head.replaced is null
         where report.project_id = $1 and report.branch_id = coalesce($2, report.branch_id)
           and report.testbed_id = coalesce($3, report.testbed_id)",
        &[&project, &part.branch, &part.testbed],
    )
}

fn read(tx: &mut Tx<'_>, condition: &str, params: &[&dyn Param]) -> Result<Vec<Lane>> {
    let sql = format!(
        "select branch.project_id, lane.branch_id, head.id, lane.testbed_id, lane.reports, lane.analyzed, lane.deleted
         from lane join branch on branch.id = lane.branch_id
         join head on head.branch_id = branch.id and head.replaced is null where {condition}"
    );
    tx.all(&sql, params, |row| {
        Ok(Lane {
            project: row.get(0)?,
            branch: row.get(1)?,
            head: row.get(2)?,
            testbed: row.get(3)?,
            reports: row.get(4)?,
            analyzed: row.get(5)?,
            deleted: row.get(6)?,
        })
    })
}

/// Whether all reports of a lane were looked at.
pub fn is_settled(tx: &mut Tx<'_>, branch: BranchId, testbed: TestbedId) -> Result<bool> {
    tx.value(
        "select exists (select 1 from lane where branch_id = $1 and testbed_id = $2 and reports = analyzed)",
        &[&branch, &testbed],
    )
}

/// Remembers that a lane was looked at when it had so many reports; not if something has happened since that has to be looked
/// at again.
pub fn settle(tx: &mut Tx<'_>, lane: &Lane) -> Result<()> {
    tx.execute(
        "update lane set analyzed = $3 where branch_id = $1 and testbed_id = $2 and analyzed = $4",
        &[&lane.branch, &lane.testbed, &lane.reports, &lane.analyzed],
    )?;
    Ok(())
}

/// Counts a report that has just got its results.
pub(crate) fn join(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    tx.execute(
        "insert into lane (branch_id, testbed_id, reports) select branch_id, testbed_id, 1 from report where id = $1
         on conflict (branch_id, testbed_id) do update set reports = lane.reports + 1",
        &[&report],
    )?;
    Ok(())
}

/// Counts a report no more that is about to be deleted, and has its lane looked at again.
pub(crate) fn leave(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    tx.execute(
        "update lane set reports = reports - (select count(*) from report_vector where report_id = $1),
             deleted = deleted + 1, analyzed = case when analyzed < 0 then analyzed - 1 else -1 end
         where (branch_id, testbed_id) = (select branch_id, testbed_id from report where id = $1)",
        &[&report],
    )?;
    Ok(())
}
