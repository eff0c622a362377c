//! Usage: the metrics of the projects of an organization in a period, including deleted projects.

use std::collections::HashSet;

use tidemark_api::Timestamp;

use crate::{OrganizationId, ReportId, Result, Tx, columns::columns, vector};

columns!(
    /// Metrics received in a period.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ReceivedMetrics {
        /// Number of metrics.
        pub metrics: u64 = "cast(coalesce(sum(report.metrics), 0) as bigint)",
        /// Time when the first metrics were received.
        pub first: Option<Timestamp> = "min(report.created)",
    }
);

/// Counts the metrics received after `from` and until `until`, independent of the time of their runs. Limits use this
/// number.
pub fn received(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    from: Timestamp,
    until: Timestamp,
) -> Result<ReceivedMetrics> {
    tx.fetch_one(
        "value",
        "select {columns} from project
         join report on report.project_id = project.id and report.created > $2 and report.created <= $3
         where project.organization_id = $1",
        &[&organization, &from, &until],
    )
}

/// Counts the metrics of runs that ended from `from` to `until`, independent of when they were received. Billing uses
/// this number.
pub fn measured(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    from: Timestamp,
    until: Timestamp,
) -> Result<u64> {
    tx.value(
        "select cast(coalesce(sum(report.metrics), 0) as bigint) from project
         join report on report.project_id = project.id and report.end_time between $2 and $3
         where project.organization_id = $1",
        &[&organization, &from, &until],
    )
}

/// Counts the distinct series with values from runs that ended from `from` to `until`.
pub fn active_series(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    from: Timestamp,
    until: Timestamp,
) -> Result<u64> {
    let mut seen = HashSet::new();
    tx.fetch_each(
        "select report.id, report_vector.series from project
         join report on report.project_id = project.id and report.end_time between $2 and $3
         join report_vector on report_vector.report_id = report.id
         where project.organization_id = $1",
        &[&organization, &from, &until],
        |_: ReportId, cells| {
            seen.extend(vector::series(cells.bytes()?));
            Ok(())
        },
    )?;
    Ok(u64::try_from(seen.len()).unwrap_or(u64::MAX))
}
