//! Incidents: the version ranges in which changes of a project may have begun, from which changes with a common cause
//! are grouped.

use tidemark_api::{ChangeStatus, ChangeUuid};

use crate::{BranchId, HeadId, ProjectId, Result, Tx, columns::columns, sql::Conditions};

columns! {
    /// The version range in which a change may have begun, its size and its direction.
    #[derive(Clone, Copy, Debug)]
    pub struct ChangeRange {
        /// Primary key; older changes have smaller keys.
        pub id: i64 = "change.id",
        /// UUID.
        pub uuid: ChangeUuid = "change.uuid",
        /// Head.
        pub head: HeadId = "change.head_id",
        /// Number of the first version that the change may have begun with: the version after the last one that the
        /// testbed measured before the change. The testbed may not have measured this version.
        pub earliest: u32 =
            "coalesce((select version.number + 1 from report join version on version.id = report.version_id
                       where report.head_id = change.head_id and report.testbed_id = change.testbed_id
                         and report.version_id < first.id
                       order by report.version_id desc, report.start_time desc, report.id desc limit 1),
                      first.number)",
        /// Number of the last version that the change may have begun with.
        pub latest: u32 = "last.number",
        /// Size of the change.
        pub size: f64 = "change.size",
        /// Direction: regression (1), improvement (-1) or unknown (0).
        pub worse: i64 = "change.worse",
    }
}

/// Returns the version ranges in which the changes of a project may have begun, on the current heads of its branches.
pub fn change_ranges(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: Option<BranchId>,
    status: Option<ChangeStatus>,
) -> Result<Vec<ChangeRange>> {
    let live = "change.project_id = $1 and change.withdrawn is null and head.replaced is null".to_owned();
    let mut conditions = Conditions::new(live, vec![&project]);
    conditions.and("head.branch_id =", &branch);
    conditions.and("change.status =", &status);
    let sql = format!(
        "select {{columns}}
         from change join head on head.id = change.head_id
         join report as first_report on first_report.id = change.earliest_id
         join version as first on first.id = first_report.version_id
         join report as last_report on last_report.id = change.latest_id
         join version as last on last.id = last_report.version_id where {}",
        conditions.sql
    );
    tx.fetch_all(&sql, &conditions.params)
}
