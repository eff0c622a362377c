//! Reports in chronological order, for perf queries.

use std::sync::Arc;

use tidemark_api::{ReportUuid, Timestamp, Version};

use crate::{HeadId, ReportId, Result, SpecId, TestbedId, Tx, VersionId, columns::columns};

columns! {
    /// A report with its position in the history.
    #[derive(Clone, Debug)]
    pub struct PerfReport {
        /// Primary key.
        pub id: ReportId = "report.id",
        /// UUID.
        pub uuid: ReportUuid = "report.uuid",
        /// Head.
        pub head: HeadId = "report.head_id",
        /// Primary key of the version.
        pub version_id: VersionId = "report.version_id",
        /// Number and commit of the version.
        pub version: Arc<Version>,
        /// Testbed.
        pub testbed: TestbedId = "report.testbed_id",
        /// Spec of the job of the report.
        pub spec: Option<SpecId> = "report.spec_id",
        /// Start time of the run.
        pub start_time: Timestamp = "report.start_time",
        /// End time of the run.
        pub end_time: Timestamp = "report.end_time",
        /// Number of iterations, which is the maximum number of metrics per series.
        pub iterations: u64 = "report.iterations",
    }
}

/// Returns the reports of heads on testbeds, ordered by version, start time and primary key; reports of the heads `others`
/// only up to the version `last`.
pub fn reports(
    tx: &mut Tx<'_>,
    heads: &[i64],
    (others, last): (&[i64], VersionId),
    testbeds: &[i64],
    start_time: Option<Timestamp>,
    end_time: Option<Timestamp>,
) -> Result<Vec<PerfReport>> {
    let all: Vec<i64> = heads.iter().chain(others).copied().collect();
    tx.fetch_all(
        "select {columns} from report join version on version.id = report.version_id
         where report.head_id in {ints $1} and report.testbed_id in {ints $2}
           and (cast($3 as bigint) is null or report.start_time >= $3)
           and (cast($4 as bigint) is null or report.end_time <= $4)
           and (report.version_id <= $5 or report.head_id in {ints $6})
         order by version.number, report.start_time, report.id",
        &[&all, &testbeds, &start_time, &end_time, &last, &heads],
    )
}
