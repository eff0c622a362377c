//! Reports in chronological order, for perf queries.

use std::sync::Arc;

use tidemark_api::{ReportUuid, Timestamp, Version};

use crate::{HeadId, ReportId, Result, SpecId, TestbedId, Tx, VersionId};

/// A report with its position in the history.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Primary key.
    pub id: ReportId,
    /// UUID.
    pub uuid: ReportUuid,
    /// Head.
    pub head: HeadId,
    /// Primary key of the version.
    pub version_id: VersionId,
    /// Number and commit of the version.
    pub version: Arc<Version>,
    /// Testbed.
    pub testbed: TestbedId,
    /// Spec of the job of the report.
    pub spec: Option<SpecId>,
    /// Start time of the run.
    pub start_time: Timestamp,
    /// End time of the run.
    pub end_time: Timestamp,
    /// Number of iterations, which is the maximum number of metrics per series.
    pub iterations: u64,
}

/// Returns the reports of heads on testbeds, ordered by version, start time and primary key; reports of the heads `others`
/// only up to the version `last`.
pub fn placed(
    tx: &mut Tx<'_>,
    heads: &[i64],
    (others, last): (&[i64], VersionId),
    testbeds: &[i64],
    start_time: Option<Timestamp>,
    end_time: Option<Timestamp>,
) -> Result<Vec<Placed>> {
    let all: Vec<i64> = heads.iter().chain(others).copied().collect();
    tx.all(
        "select report.id, report.uuid, report.head_id, report.version_id, version.number, version.hash,
                report.testbed_id, report.spec_id, report.start_time, report.end_time, report.iterations
         from report join version on version.id = report.version_id
         where report.head_id in {ints $1} and report.testbed_id in {ints $2}
           and (cast($3 as bigint) is null or report.start_time >= $3)
           and (cast($4 as bigint) is null or report.end_time <= $4)
           and (report.version_id <= $5 or report.head_id in {ints $6})
         order by version.number, report.start_time, report.id",
        &[&all, &testbeds, &start_time, &end_time, &last, &heads],
        |row| {
            Ok(Placed {
                id: row.get(0)?,
                uuid: row.get(1)?,
                head: row.get(2)?,
                version_id: row.get(3)?,
                version: Arc::new(Version { number: row.get(4)?, hash: row.get(5)? }),
                testbed: row.get(6)?,
                spec: row.get(7)?,
                start_time: row.get(8)?,
                end_time: row.get(9)?,
                iterations: row.get(10)?,
            })
        },
    )
}
