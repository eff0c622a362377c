//! The values of reports alone, one vector a report: all that detection reads of earlier ones.

use tidemark_api::{ReportUuid, Timestamp};

use crate::{
    HeadId, Kind, MeasureId, Param, ReportId, Result, SpecId, TestbedId, Tx, Value, VersionId, lane,
    version::Stretch,
};

/// Which reports before another one to read the vectors of, on a stretch of a history.
#[derive(Clone, Copy, Debug)]
pub struct Earlier {
    /// Where they were measured.
    pub testbed: TestbedId,
    /// Only those of jobs on this spec.
    pub spec: Option<SpecId>,
    /// Only those whose run began at this time or later.
    pub from: Timestamp,
    /// Only those whose run began at this time or earlier.
    pub until: Timestamp,
    /// Only those with this key or a greater one.
    pub since: ReportId,
    /// Only those with a smaller key.
    pub before: ReportId,
    /// Only those older than this one, which was read before.
    pub after: Option<Mark>,
    /// How many to read.
    pub limit: i64,
}

/// Where a report stands among those of its history.
pub type Mark = (VersionId, Timestamp, ReportId);

/// What the first report comes after.
pub fn before_all() -> Mark {
    (VersionId::from(0), Timestamp::MIN, ReportId::from(0))
}

/// Reads the vectors of earlier reports, the newest first, and hands the series and the values of each to `vector`, with
/// when its run began; answers the last of them if there may be more.
pub fn earlier(
    tx: &mut Tx<'_>,
    stretch: &Stretch,
    earlier: &Earlier,
    mut vector: impl FnMut(Timestamp, &[u8], &[u8]),
) -> Result<Option<Mark>> {
    let (mut count, mut mark) = (0, None);
    let newest = (stretch.last, Timestamp::MAX, ReportId::from(i64::MAX));
    let after = earlier.after.unwrap_or(newest);
    tx.each(
        "select report.start_time, report_vector.series, report_vector.vals, report.version_id, report.id
         from report join report_vector on report_vector.report_id = report.id
         where report.head_id = $1 and report.testbed_id = $2 and report.version_id between $3 and $4
           and report.start_time between $5 and $6 and report.id >= $7 and report.id < $8
           and (cast($9 as bigint) is null or report.spec_id = $9)
           and (report.version_id, report.start_time, report.id) < ($4, $10, $11)
         order by report.version_id desc, report.start_time desc, report.id desc limit $12",
        &[
            &stretch.head,
            &earlier.testbed,
            &stretch.first,
            &after.0,
            &earlier.from,
            &earlier.until,
            &earlier.since,
            &earlier.before,
            &earlier.spec,
            &after.1,
            &after.2,
            &earlier.limit,
        ],
        |row| {
            let start = row.get(0)?;
            row.bytes(1, |series| row.bytes(2, |values| vector(start, series, values)))??;
            count += 1;
            mark = Some((row.get(3)?, start, row.get(4)?));
            Ok(())
        },
    )?;
    Ok(mark.filter(|_| count == earlier.limit))
}

/// The common factors of a report: by measure, the logarithm of the factor that moved all benchmarks. Measures without one are absent.
pub type Factors = Vec<(MeasureId, f64)>;

/// A report among those of its head and testbed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The report.
    pub report: ReportId,
    /// What it is known by.
    pub uuid: ReportUuid,
    /// The version that it measured.
    pub version: VersionId,
    /// When its run began.
    pub start_time: Timestamp,
    /// What was measured, by its content.
    pub binary_hash: Option<String>,
    /// The machine that it was measured on.
    pub host: Option<String>,
    /// The common factors, or none before the first analysis.
    pub factors: Option<Factors>,
}

impl Measured {
    /// Where it stands.
    pub fn mark(&self) -> Mark {
        (self.version, self.start_time, self.report)
    }

    /// Returns the common factor of a measure.
    pub fn factor(&self, measure: MeasureId) -> f64 {
        let moved = self.factors.iter().flatten().find(|(moved, _)| *moved == measure);
        moved.map_or(1.0, |(_, factor)| factor.exp())
    }

    /// Whether both measured the same, so that they differ by noise only.
    pub fn is_same_code(&self, other: &Self) -> bool {
        self.version == other.version || (self.binary_hash.is_some() && self.binary_hash == other.binary_hash)
    }
}

/// Reads the vectors of the newest reports on a stretch of a history and on a testbed, the newest first, and hands each with
/// its report to `vector`.
pub fn newest(
    tx: &mut Tx<'_>,
    stretch: &Stretch,
    testbed: TestbedId,
    limit: i64,
    vector: impl FnMut(Measured, &[u8], &[u8]),
) -> Result<()> {
    let sql = format!(
        "{MEASURED} and report.version_id between $3 and $4
         order by report.version_id desc, report.start_time desc, report.id desc limit $5"
    );
    measured(tx, &sql, &[&stretch.head, &testbed, &stretch.first, &stretch.last, &limit], vector)
}

/// Reads the vectors of reports on a head and a testbed that come after a place, the oldest first, and hands each with its
/// report to `vector`.
pub fn after(
    tx: &mut Tx<'_>,
    head: HeadId,
    testbed: TestbedId,
    (version, start_time, report): Mark,
    limit: i64,
    vector: impl FnMut(Measured, &[u8], &[u8]),
) -> Result<()> {
    let sql = format!(
        "{MEASURED} and (report.version_id, report.start_time, report.id) > ($3, $4, $5)
         order by report.version_id, report.start_time, report.id limit $6"
    );
    measured(tx, &sql, &[&head, &testbed, &version, &start_time, &report, &limit], vector)
}

/// How many reports with results there are on a head and a testbed, `most` at the most, and the place of the one before these
/// if there are more.
pub fn newest_from(
    tx: &mut Tx<'_>,
    head: HeadId,
    testbed: TestbedId,
    most: i64,
) -> Result<(Option<Mark>, i64)> {
    let mark = tx.optional(
        "select report.version_id, report.start_time, report.id
         from report join report_vector on report_vector.report_id = report.id
         where report.head_id = $1 and report.testbed_id = $2
         order by report.version_id desc, report.start_time desc, report.id desc limit 1 offset $3",
        &[&head, &testbed, &most],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if mark.is_some() {
        return Ok((mark, most));
    }
    let count = tx.value(
        "select count(*) from report join report_vector on report_vector.report_id = report.id
         where report.head_id = $1 and report.testbed_id = $2",
        &[&head, &testbed],
    )?;
    Ok((None, count))
}

const MEASURED: &str =
    "select report.id, report.uuid, report.version_id, report.start_time, report.binary_hash, report.host,
        report_vector.series, report_vector.vals, report_factor.factors
     from report join report_vector on report_vector.report_id = report.id
     left join report_factor on report_factor.report_id = report.id
     where report.head_id = $1 and report.testbed_id = $2";

fn measured(
    tx: &mut Tx<'_>,
    sql: &str,
    params: &[&dyn Param],
    mut vector: impl FnMut(Measured, &[u8], &[u8]),
) -> Result<()> {
    tx.each(sql, params, |row| {
        let measured = Measured {
            report: row.get(0)?,
            uuid: row.get(1)?,
            version: row.get(2)?,
            start_time: row.get(3)?,
            binary_hash: row.get(4)?,
            host: row.get(5)?,
            factors: row.get::<Option<Vec<u8>>>(8)?.map(|bytes| factors(&bytes)),
        };
        row.bytes(6, |series| row.bytes(7, |values| vector(measured, series, values)))?
    })
}

/// The series of a report's vector, in order.
pub fn series(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The values of a report's vector, in the order of series and iteration.
pub fn values(bytes: &[u8]) -> &[[u8; size_of::<f64>()]] {
    bytes.as_chunks().0
}

fn factors(bytes: &[u8]) -> Factors {
    let (numbers, _) = bytes.as_chunks::<{ size_of::<i64>() }>();
    let pair =
        |pair: &[[u8; 8]; 2]| (MeasureId::from(i64::from_le_bytes(pair[0])), f64::from_le_bytes(pair[1]));
    numbers.as_chunks::<2>().0.iter().map(pair).collect()
}

/// Stores the common factors of reports.
pub fn insert_factors(tx: &mut Tx<'_>, reports: &[(ReportId, Factors)]) -> Result<()> {
    let bytes = |factors: &Factors| -> Vec<u8> {
        let pair = |(measure, factor): &(MeasureId, f64)| {
            [measure.get().to_le_bytes(), factor.to_le_bytes()].concat()
        };
        factors.iter().flat_map(pair).collect()
    };
    let bytes: Vec<(ReportId, Vec<u8>)> =
        reports.iter().map(|(report, factors)| (*report, bytes(factors))).collect();
    let rows: Vec<_> = bytes.iter().map(|(report, bytes)| vec![report.value(), Value::Blob(bytes)]).collect();
    let columns = [("report_id", Kind::Int), ("factors", Kind::Blob)];
    tx.insert_many("report_factor", &columns, &rows, "on conflict do nothing")
}

/// Writes the vector of a new report.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    report: ReportId,
    metrics: impl Iterator<Item = (u32, f64)>,
) -> Result<()> {
    let (mut series, mut values) = (Vec::new(), Vec::new());
    for (one, value) in metrics {
        series.extend_from_slice(&one.to_le_bytes());
        values.extend_from_slice(&value.to_le_bytes());
    }
    tx.execute(
        "insert into report_vector (report_id, series, vals) values ($1, $2, $3)",
        &[&report, &series, &values],
    )?;
    lane::join(tx, report)
}
