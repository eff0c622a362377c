//! Lanes: a branch on a testbed, whose reports are analyzed together.

use crate::{
    BranchId, HeadId, Param, ProjectId, ReportId, Result, TestbedId, Tx, columns::columns,
    series_filter::SeriesFilter,
};

columns! {
    /// A lane and its analysis state.
    #[derive(Clone, Copy, Debug)]
    pub struct Lane {
        /// Project.
        pub project: ProjectId = "branch.project_id",
        /// Branch.
        pub branch: BranchId = "lane.branch_id",
        /// Current head of the branch.
        pub head: HeadId = "head.id",
        /// Testbed.
        pub testbed: TestbedId = "lane.testbed_id",
        /// Number of reports with results.
        pub reports: i64 = "lane.reports",
        /// Number of deleted reports.
        pub deleted: i64 = "lane.deleted",
        /// Number of reports at the last analysis; negative if the lane must be analyzed again.
        pub analyzed: i64 = "lane.analyzed",
    }
}

/// Returns the cursor before the first lane.
pub fn start_cursor() -> (BranchId, TestbedId) {
    (BranchId::from(0), TestbedId::from(0))
}

/// Returns the lanes after a cursor with reports that are not analyzed, at most `limit`.
pub fn pending(tx: &mut Tx<'_>, (branch, testbed): (BranchId, TestbedId), limit: i64) -> Result<Vec<Lane>> {
    read(
        tx,
        "lane.reports <> lane.analyzed and (lane.branch_id, lane.testbed_id) > ($1, $2)
         order by lane.branch_id, lane.testbed_id limit $3",
        &[&branch, &testbed, &limit],
    )
}

/// Returns the lanes with reports of a project, filtered by branch and testbed.
pub fn of_project(tx: &mut Tx<'_>, project: ProjectId, part: &SeriesFilter) -> Result<Vec<Lane>> {
    read(
        tx,
        "branch.project_id = $1 and lane.reports > 0 and lane.branch_id = coalesce($2, lane.branch_id)
         and lane.testbed_id = coalesce($3, lane.testbed_id) order by lane.branch_id, lane.testbed_id",
        &[&project, &part.branch, &part.testbed],
    )
}

/// Returns the number of metrics of the reports of a project, filtered by branch and testbed.
pub fn count_metrics(tx: &mut Tx<'_>, project: ProjectId, part: &SeriesFilter) -> Result<i64> {
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
        "select {{columns}} from lane join branch on branch.id = lane.branch_id
         join head on head.branch_id = branch.id and head.replaced is null where {condition}"
    );
    tx.fetch_all(&sql, params)
}

/// Whether all reports of a lane are analyzed.
pub fn is_analyzed(tx: &mut Tx<'_>, branch: BranchId, testbed: TestbedId) -> Result<bool> {
    tx.value(
        "select exists (select 1 from lane where branch_id = $1 and testbed_id = $2 and reports = analyzed)",
        &[&branch, &testbed],
    )
}

/// Marks a lane as analyzed with its number of reports, unless another transaction has marked it for another analysis
/// since it was read.
pub fn mark_analyzed(tx: &mut Tx<'_>, lane: &Lane) -> Result<()> {
    tx.execute(
        "update lane set analyzed = $3 where branch_id = $1 and testbed_id = $2 and analyzed = $4",
        &[&lane.branch, &lane.testbed, &lane.reports, &lane.analyzed],
    )?;
    Ok(())
}

/// Counts a report that has just received its results.
pub(crate) fn add_report(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    tx.execute(
        "insert into lane (branch_id, testbed_id, reports) select branch_id, testbed_id, 1 from report where id = $1
         on conflict (branch_id, testbed_id) do update set reports = lane.reports + 1",
        &[&report],
    )?;
    Ok(())
}

/// Subtracts a report that is about to be deleted, and marks its lane for another analysis.
pub(crate) fn remove_report(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    tx.execute(
        "update lane set reports = reports - (select count(*) from report_vector where report_id = $1),
             deleted = deleted + 1, analyzed = case when analyzed < 0 then analyzed - 1 else -1 end
         where (branch_id, testbed_id) = (select branch_id, testbed_id from report where id = $1)",
        &[&report],
    )?;
    Ok(())
}
