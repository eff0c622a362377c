//! Reports in the order of time, for what is measured over it.

use std::sync::Arc;

use tidemark_api::{ReportUuid, Timestamp, Version};

use crate::{HeadId, ReportId, Result, SpecId, TestbedId, Tx, VersionId};

/// A report in its place in time.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The key.
    pub id: ReportId,
    /// The id.
    pub uuid: ReportUuid,
    /// The head it was made under.
    pub head: HeadId,
    /// The version that was measured.
    pub version_id: VersionId,
    /// The number and the commit of the version.
    pub version: Arc<Version>,
    /// Where it was measured.
    pub testbed: TestbedId,
    /// The spec of the job that made it.
    pub spec: Option<SpecId>,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// How many iterations it has, and so the most metrics of a series.
    pub iterations: u64,
}

/// The reports of these heads on these testbeds, by version, start and key; those of the other heads only up to a
/// version.
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
