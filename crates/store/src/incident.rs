//! Incidents: where the changes of a project may have begun, so that those of one event can be put together.

use tidemark_api::{ChangeStatus, ChangeUuid};

use crate::{BranchId, HeadId, ProjectId, Result, Tx, sql::Conditions};

/// Where a change may have begun, and how it goes.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its key: an older one has a smaller key.
    pub id: i64,
    /// Its identifier.
    pub uuid: ChangeUuid,
    /// The head.
    pub head: HeadId,
    /// The number of the first version that it may have begun with, whether its testbed measured that or not: the one after
    /// the last that was measured before it.
    pub earliest: u32,
    /// The number of the last one.
    pub latest: u32,
    /// How large it is.
    pub size: f64,
    /// Whether it is worse (1), better (-1) or neither (0).
    pub worse: i64,
}

/// Where the changes of a project may have begun, on the heads that its branches have now.
pub fn spans(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: Option<BranchId>,
    status: Option<ChangeStatus>,
) -> Result<Vec<Span>> {
    let live = "change.project_id = $1 and change.withdrawn is null and head.replaced is null".to_owned();
    let mut conditions = Conditions::new(live, vec![&project]);
    conditions.and("head.branch_id =", &branch);
    conditions.and("change.status =", &status);
    let sql = format!(
        "select change.id, change.uuid, change.head_id,
                coalesce((select version.number + 1 from report join version on version.id = report.version_id
                          where report.head_id = change.head_id and report.testbed_id = change.testbed_id
                            and report.version_id < first.id
                          order by report.version_id desc, report.start_time desc, report.id desc limit 1),
                         first.number),
                last.number, change.size, change.worse
         from change join head on head.id = change.head_id
         join report as first_report on first_report.id = change.earliest_id
         join version as first on first.id = first_report.version_id
         join report as last_report on last_report.id = change.latest_id
         join version as last on last.id = last_report.version_id where {}",
        conditions.sql
    );
    tx.all(&sql, &conditions.params, |row| {
        let cells = &mut row.cells();
        Ok(Span {
            id: cells.take()?,
            uuid: cells.take()?,
            head: cells.take()?,
            earliest: cells.take()?,
            latest: cells.take()?,
            size: cells.take()?,
            worse: cells.take()?,
        })
    })
}
