//! Pull requests: branches with a start point, and their newest reports.

use std::collections::HashMap;

use tidemark_api::{Branch, Page, Project, Pull, Report, page::Direction};

use crate::{
    BranchId, Dimension, List, ProjectId, ReportId, Result, Tx, columns::columns, report, sql::direction,
};

columns! {
    struct PullRow {
        id: BranchId = "branch.id",
        branch: Branch,
    }
}

/// Lists the branches of a project that start from another branch and have a report, by the time of their newest report.
pub fn list(tx: &mut Tx<'_>, (id, project): (ProjectId, &Project), page: &Page) -> Result<(Vec<Pull>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let from = format!(
        "branch {} where branch.project_id = $1 and branch.archived is null and head.start_head_id is not null
           and exists (select 1 from report where report.head_id = head.id)",
        Branch::joins()
    );
    let order =
        format!("(select max(report.id) from report where report.head_id = head.id) {direction}, branch.id");
    let (rows, total): (Vec<PullRow>, i64) = tx.page(&List { from: &from, order: &order }, &[&id], page)?;
    let branches: Vec<i64> = rows.iter().map(|row| row.id.get()).collect();
    let newest: Vec<ReportId> = tx.fetch_all(
        "select max(report.id) from report join head on head.id = report.head_id
         where report.branch_id in {ints $1} and head.replaced is null
         group by report.branch_id, report.testbed_id",
        &[&branches],
    )?;
    let mut reports: HashMap<_, Vec<Report>> = HashMap::new();
    for found in report::summaries(tx, project, &newest)?.into_iter().rev() {
        reports.entry(found.report.branch.uuid).or_default().push(found.report);
    }
    let pull = |row: PullRow| {
        let reports = reports.remove(&row.branch.uuid).unwrap_or_default();
        Pull { branch: row.branch, reports }
    };
    Ok((rows.into_iter().map(pull).collect(), total))
}
