//! Vectors: the values of a report without their other fields. Detection reads only the vectors of earlier reports.

use std::collections::HashSet;

use tidemark_api::{ReportUuid, Timestamp};

use crate::{
    Cells, Error, FromRow, HeadId, MeasureId, Param, ReportId, Result, SpecId, TestbedId, Tx, VersionId,
    columns::{columns, insert_columns},
    lane,
    version::VersionRange,
};

/// Filter of the earlier reports whose vectors to read, in a version range.
#[derive(Clone, Copy, Debug)]
pub struct VectorFilter {
    /// Testbed.
    pub testbed: TestbedId,
    /// Only reports of jobs on this spec.
    pub spec: Option<SpecId>,
    /// Only reports of runs that started at this time or later.
    pub from: Timestamp,
    /// Only reports of runs that started at this time or earlier.
    pub until: Timestamp,
    /// Only reports with this primary key or a greater one.
    pub since: ReportId,
    /// Only reports with a smaller primary key.
    pub before: ReportId,
    /// Cursor: only reports older than this one, which was read before.
    pub after: Option<ReportPosition>,
    /// Maximum number of reports.
    pub limit: i64,
}

/// Position of a report in the history of its head.
pub type ReportPosition = (VersionId, Timestamp, ReportId);

/// Returns the cursor before the first report.
pub fn start_cursor() -> ReportPosition {
    (VersionId::from(0), Timestamp::MIN, ReportId::from(0))
}

/// Reads the vectors of earlier reports, newest first, and passes the start time, the series and the values of each to
/// `vector`. Returns the cursor of the last report if there may be more.
pub fn earlier(
    tx: &mut Tx<'_>,
    stretch: &VersionRange,
    earlier: &VectorFilter,
    mut vector: impl FnMut(Timestamp, &[u8], &[u8]),
) -> Result<Option<ReportPosition>> {
    let (mut count, mut mark) = (0, None);
    let newest = (stretch.last, Timestamp::MAX, ReportId::from(i64::MAX));
    let after = earlier.after.unwrap_or(newest);
    tx.fetch_each(
        "select {columns}, report_vector.series, report_vector.vals from report join report_vector on report_vector.report_id = report.id
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
        |position: Position, rest| {
            vector(position.start_time, rest.bytes()?, rest.bytes()?);
            count += 1;
            mark = Some(position.into());
            Ok(())
        },
    )?;
    Ok(mark.filter(|_| count == earlier.limit))
}

columns! {
    struct Position {
        version: VersionId = "report.version_id",
        start_time: Timestamp = "report.start_time",
        report: ReportId = "report.id",
    }
}

impl From<Position> for ReportPosition {
    fn from(Position { version, start_time, report }: Position) -> Self {
        (version, start_time, report)
    }
}

/// Common factors of a report: by measure, the logarithm of the factor that moved all benchmarks. Measures without a
/// common factor are absent.
pub type CommonFactors = Vec<(MeasureId, f64)>;

columns! {
    /// A report of a head and a testbed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MeasuredReport {
        /// Report.
        pub report: ReportId = "report.id",
        /// UUID.
        pub uuid: ReportUuid = "report.uuid",
        /// Version.
        pub version: VersionId = "report.version_id",
        /// Start time of the run.
        pub start_time: Timestamp = "report.start_time",
        /// Hash of the measured binary.
        pub binary_hash: Option<String> = "report.binary_hash",
        /// Host of the run.
        pub host: Option<String> = "report.host",
        /// Common factors; `None` before the first analysis.
        pub factors: Option<CommonFactors> = "report_factor.factors",
    }
}

impl MeasuredReport {
    /// Returns the position of the report.
    pub fn position(&self) -> ReportPosition {
        (self.version, self.start_time, self.report)
    }

    /// Returns the common factor of a measure.
    pub fn factor(&self, measure: MeasureId) -> f64 {
        let moved = self.factors.iter().flatten().find(|(moved, _)| *moved == measure);
        moved.map_or(1.0, |(_, factor)| factor.exp())
    }

    /// Whether both reports measured the same version or binary, so that they differ only by noise.
    pub fn is_same_code(&self, other: &Self) -> bool {
        self.version == other.version || (self.binary_hash.is_some() && self.binary_hash == other.binary_hash)
    }
}

/// Reads the vectors of the newest reports in a version range and on a testbed, newest first, and passes each with its
/// report to `vector`.
pub fn newest(
    tx: &mut Tx<'_>,
    stretch: &VersionRange,
    testbed: TestbedId,
    limit: i64,
    vector: impl FnMut(MeasuredReport, &[u8], &[u8]),
) -> Result<()> {
    let sql = format!(
        "{MEASURED} and report.version_id between $3 and $4
         order by report.version_id desc, report.start_time desc, report.id desc limit $5"
    );
    measured(tx, &sql, &[&stretch.head, &testbed, &stretch.first, &stretch.last, &limit], vector)
}

/// Reads the vectors of the reports on a head and a testbed after a position, oldest first, and passes each with its
/// report to `vector`.
pub fn after(
    tx: &mut Tx<'_>,
    head: HeadId,
    testbed: TestbedId,
    (version, start_time, report): ReportPosition,
    limit: i64,
    vector: impl FnMut(MeasuredReport, &[u8], &[u8]),
) -> Result<()> {
    let sql = format!(
        "{MEASURED} and (report.version_id, report.start_time, report.id) > ($3, $4, $5)
         order by report.version_id, report.start_time, report.id limit $6"
    );
    measured(tx, &sql, &[&head, &testbed, &version, &start_time, &report, &limit], vector)
}

/// Returns the number of reports with results on a head and a testbed, at most `most`, and the position of the report
/// before them, if there are more.
pub fn newest_from(
    tx: &mut Tx<'_>,
    head: HeadId,
    testbed: TestbedId,
    most: i64,
) -> Result<(Option<ReportPosition>, i64)> {
    let mark: Option<Position> = tx.fetch_optional(
        "select {columns} from report join report_vector on report_vector.report_id = report.id
         where report.head_id = $1 and report.testbed_id = $2
         order by report.version_id desc, report.start_time desc, report.id desc limit 1 offset $3",
        &[&head, &testbed, &most],
    )?;
    if mark.is_some() {
        return Ok((mark.map(Into::into), most));
    }
    let count = tx.value(
        "select count(*) from report join report_vector on report_vector.report_id = report.id
         where report.head_id = $1 and report.testbed_id = $2",
        &[&head, &testbed],
    )?;
    Ok((None, count))
}

const MEASURED: &str = "select {columns}, report_vector.series, report_vector.vals
     from report join report_vector on report_vector.report_id = report.id
     left join report_factor on report_factor.report_id = report.id
     where report.head_id = $1 and report.testbed_id = $2";

fn measured(
    tx: &mut Tx<'_>,
    sql: &str,
    params: &[&dyn Param],
    mut vector: impl FnMut(MeasuredReport, &[u8], &[u8]),
) -> Result<()> {
    tx.fetch_each(sql, params, |measured, rest| {
        vector(measured, rest.bytes()?, rest.bytes()?);
        Ok(())
    })
}

/// Returns the series of a report's vector, in order.
pub fn series(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Replaces the series of a vector by new keys.
pub(crate) fn renumber_series(bytes: &[u8], new_key: impl Fn(i64) -> Result<i64>) -> Result<Vec<u8>> {
    if !bytes.len().is_multiple_of(size_of::<u32>()) {
        return Err(Error::engine("a vector of series is damaged"));
    }
    let mut renumbered = Vec::with_capacity(bytes.len());
    for series in series(bytes) {
        let series = u32::try_from(new_key(i64::from(series))?)
            .map_err(|_| Error::engine("there are no more numbers for series"))?;
        renumbered.extend_from_slice(&series.to_le_bytes());
    }
    Ok(renumbered)
}

/// Replaces the measures of the common factors of a report by new keys.
pub(crate) fn renumber_measures(bytes: &[u8], new_key: impl Fn(i64) -> Result<i64>) -> Result<Vec<u8>> {
    let (pairs, rest) = bytes.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(Error::engine("common factors are damaged"));
    }
    let mut renumbered = Vec::with_capacity(bytes.len());
    for pair in pairs {
        let (measure, factor) = pair.split_at(8);
        let measure = measure.first_chunk().copied().map_or(0, i64::from_le_bytes);
        renumbered.extend_from_slice(&new_key(measure)?.to_le_bytes());
        renumbered.extend_from_slice(factor);
    }
    Ok(renumbered)
}

/// Returns the values of a report's vector, ordered by series and iteration.
pub fn values(bytes: &[u8]) -> &[[u8; size_of::<f64>()]] {
    bytes.as_chunks().0
}

impl FromRow for CommonFactors {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let (numbers, _) = cells.bytes()?.as_chunks::<{ size_of::<i64>() }>();
        let pair =
            |pair: &[[u8; 8]; 2]| (MeasureId::from(i64::from_le_bytes(pair[0])), f64::from_le_bytes(pair[1]));
        Ok(numbers.as_chunks::<2>().0.iter().map(pair).collect())
    }
}

/// Stores the common factors of reports that still exist.
pub fn insert_factors(tx: &mut Tx<'_>, reports: &[(ReportId, CommonFactors)]) -> Result<()> {
    let bytes = |factors: &CommonFactors| -> Vec<u8> {
        let pair = |(measure, factor): &(MeasureId, f64)| {
            [measure.get().to_le_bytes(), factor.to_le_bytes()].concat()
        };
        factors.iter().flat_map(pair).collect()
    };
    let ids: Vec<i64> = reports.iter().map(|(report, _)| report.get()).collect();
    let sql = format!("select id from report where id in {{ints $1}} {}", tx.for_share("report"));
    let existing: HashSet<ReportId> = tx.fetch_all(&sql, &[&ids])?.into_iter().collect();
    let reports = reports.iter().filter(|(report, _)| existing.contains(report));
    let rows: Vec<NewFactors> =
        reports.map(|(report, factors)| NewFactors { report_id: *report, factors: bytes(factors) }).collect();
    tx.insert_many("report_factor", &rows, "on conflict do nothing")
}

insert_columns! {
    struct NewFactors {
        report_id: ReportId,
        factors: Vec<u8>,
    }
}

/// Inserts the vector of a new report.
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
    lane::add_report(tx, report)
}
