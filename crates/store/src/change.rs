//! Changes of the levels of series.

use tidemark_api::{
    Change, ChangeCause, ChangeDirection, ChangePoint, ChangeStatus, ChangeUuid, NonEmpty, Page,
    ProjChangesSort, ReportUuid, Timestamp, Variant, Version, page::Direction,
};
use uuid::Uuid;

use crate::{
    Cells, Error, Fresh, HeadId, Kind, List, Param, ProjectId, ReportId, Result, TestbedId, Tx, Value,
    VersionId, benchmark, branch, head,
    lane::Lane,
    measure,
    series::SeriesKey,
    series_filter::SeriesFilter,
    sql::{Conditions, direction},
    testbed,
};

/// A change that detection found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetectedChange {
    /// First report of the new level.
    pub at: ReportId,
    /// First report that may be the start of the new level.
    pub earliest: ReportId,
    /// Last report that may be the start of the new level.
    pub latest: ReportId,
    /// Start time of the first run of the new level.
    pub start_time: Timestamp,
    /// Old level.
    pub before: f64,
    /// New level.
    pub after: f64,
    /// Difference of the levels as a fraction of the old level.
    pub effect: Option<f64>,
    /// Difference of the levels in standard deviations.
    pub sigma: f64,
    /// Confidence of the change.
    pub confidence: f64,
    /// Direction: regression (1), improvement (-1) or unknown (0).
    pub worse: i64,
    /// Probable cause.
    pub cause: ChangeCause,
}

/// A stored change.
#[derive(Clone, Copy, Debug)]
pub struct StoredChange {
    /// UUID.
    pub uuid: ChangeUuid,
    /// Benchmark, variant and measure.
    pub series_key: SeriesKey,
    /// The change.
    pub found: DetectedChange,
    /// Status set by users.
    pub status: ChangeStatus,
    /// Whether a user set the status or a note.
    pub is_touched: bool,
    /// Whether detection has withdrawn the change.
    pub is_withdrawn: bool,
    /// Whether the change was selected for notification.
    pub is_raised: bool,
}

/// A change to write.
#[derive(Clone, Copy, Debug)]
pub struct ChangeWrite {
    /// UUID; `None` for a new change.
    pub uuid: Option<ChangeUuid>,
    /// Benchmark, variant and measure.
    pub series_key: SeriesKey,
    /// The change.
    pub found: DetectedChange,
    /// Time when detection withdrew the change.
    pub withdrawn: Option<Timestamp>,
    /// Whether the change has just been selected for notification.
    pub is_raised: bool,
    /// Whether the change belongs to an event without an earlier notification.
    pub starts_event: bool,
}

/// Returns the changes on heads and a testbed, oldest first.
pub fn of_heads(tx: &mut Tx<'_>, heads: &[HeadId], testbed: TestbedId) -> Result<Vec<StoredChange>> {
    let heads: Vec<i64> = heads.iter().map(|head| head.get()).collect();
    tx.all(
        "select uuid, benchmark_id, variant_id, measure_id, report_id, earliest_id, latest_id, start_time, old_level,
                new_level, effect, sigma, confidence, worse, cause, status, status <> 'active' or note is not null,
                withdrawn is not null, raised is not null
         from change where head_id in {ints $1} and testbed_id = $2 order by id",
        &[&heads, &testbed],
        |row| {
            let cells = &mut row.cells();
            Ok(StoredChange {
                uuid: cells.take()?,
                series_key: SeriesKey {
                    benchmark: cells.take()?,
                    variant: cells.take()?,
                    measure: cells.take()?,
                },
                found: DetectedChange {
                    at: cells.take()?,
                    earliest: cells.take()?,
                    latest: cells.take()?,
                    start_time: cells.take()?,
                    before: cells.take()?,
                    after: cells.take()?,
                    effect: cells.take()?,
                    sigma: cells.take()?,
                    confidence: cells.take()?,
                    worse: cells.take()?,
                    cause: cells.take()?,
                },
                status: cells.take()?,
                is_touched: cells.take()?,
                is_withdrawn: cells.take()?,
                is_raised: cells.take()?,
            })
        },
    )
}

/// Moves the changes that refer to a report that is about to be deleted to the nearest other report.
pub(crate) fn leave(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    let (head, testbed, version, start_time): (HeadId, TestbedId, VersionId, Timestamp) = tx.one(
        "report",
        "select head_id, testbed_id, version_id, start_time from report where id = $1",
        &[&report],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    let beside: Option<ReportId> = tx.optional(
        "select id from report where head_id = $1 and testbed_id = $2 and id <> $3
         order by (version_id, start_time, id) < ($4, $5, $3), abs(version_id - $4), abs(start_time - $5) limit 1",
        &[&head, &testbed, &report, &version, &start_time],
        |row| row.get(0),
    )?;
    let Some(beside) = beside else { return Ok(()) };
    tx.execute(
        "update change set report_id = case when report_id = $1 then $2 else report_id end,
             earliest_id = case when earliest_id = $1 then $2 else earliest_id end,
             latest_id = case when latest_id = $1 then $2 else latest_id end
         where report_id = $1 or earliest_id = $1 or latest_id = $1",
        &[&report, &beside],
    )?;
    Ok(())
}

/// Upserts changes of a lane, whose newest report is `newest`. Keeps the status and the notes of existing changes.
pub fn write(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    lane: &Lane,
    newest: Option<ReportId>,
    changes: &[ChangeWrite],
) -> Result<()> {
    let made: Vec<_> = changes
        .iter()
        .map(|change| {
            let uuid = change.uuid.unwrap_or_else(|| ChangeUuid::from(fresh.uuid()));
            let raised = (newest.filter(|_| change.starts_event), change.is_raised.then_some(fresh.now));
            (uuid, change.found.size(), raised)
        })
        .collect();
    let rows: Vec<Vec<Value<'_>>> = changes
        .iter()
        .zip(&made)
        .map(|(ChangeWrite { series_key, found, withdrawn, .. }, (uuid, size, raised))| {
            let columns: [&dyn Param; 26] = [
                uuid,
                &lane.project,
                &lane.head,
                &lane.testbed,
                &series_key.benchmark,
                &series_key.variant,
                &series_key.measure,
                &found.at,
                &found.earliest,
                &found.latest,
                &found.before,
                &found.after,
                &found.effect,
                size,
                &found.sigma,
                &found.confidence,
                &found.worse,
                &found.cause,
                &newest,
                &raised.0,
                &raised.1,
                &ChangeStatus::Active,
                &found.start_time,
                withdrawn,
                &fresh.now,
                &fresh.now,
            ];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    let columns = [
        ("uuid", Kind::Uuid),
        ("project_id", Kind::Int),
        ("head_id", Kind::Int),
        ("testbed_id", Kind::Int),
        ("benchmark_id", Kind::Int),
        ("variant_id", Kind::Int),
        ("measure_id", Kind::Int),
        ("report_id", Kind::Int),
        ("earliest_id", Kind::Int),
        ("latest_id", Kind::Int),
        ("old_level", Kind::Real),
        ("new_level", Kind::Real),
        ("effect", Kind::Real),
        ("size", Kind::Real),
        ("sigma", Kind::Real),
        ("confidence", Kind::Real),
        ("worse", Kind::Int),
        ("cause", Kind::Text),
        ("found_id", Kind::Int),
        ("raised_id", Kind::Int),
        ("raised", Kind::Int),
        ("status", Kind::Text),
        ("start_time", Kind::Int),
        ("withdrawn", Kind::Int),
        ("created", Kind::Int),
        ("modified", Kind::Int),
    ];
    tx.insert_many(
        "change",
        &columns,
        &rows,
        "on conflict (uuid) do update set report_id = excluded.report_id, earliest_id = excluded.earliest_id,
             latest_id = excluded.latest_id, old_level = excluded.old_level, new_level = excluded.new_level,
             effect = excluded.effect, size = excluded.size, sigma = excluded.sigma,
             confidence = excluded.confidence, worse = excluded.worse, cause = excluded.cause,
             raised_id = coalesce(change.raised_id, excluded.raised_id),
             raised = coalesce(change.raised, excluded.raised), start_time = excluded.start_time,
             withdrawn = excluded.withdrawn, modified = excluded.modified",
    )?;
    Ok(())
}

impl DetectedChange {
    /// Returns the size of the change: its absolute effect, or `f64::MAX` if the old level is 0.
    fn size(&self) -> f64 {
        self.effect.map_or(f64::MAX, f64::abs)
    }
}

fn columns() -> String {
    let point = |name: &str| {
        format!("{name}_report.uuid, {name}_version.number, {name}_version.hash, {name}_report.start_time")
    };
    format!(
        "change.uuid, {}, {}, {}, variant.uuid, variant.parameters, {}, {}, {}, {}, change.old_level,
         change.new_level, change.effect, change.sigma, change.confidence, change.worse, change.cause, change.status,
         change.note, change.raised, change.created, change.modified",
        branch::columns(),
        testbed::columns(),
        benchmark::COLUMNS,
        measure::COLUMNS,
        point("at"),
        point("earliest"),
        point("latest")
    )
}

fn joins() -> String {
    let point = |name: &str, column: &str| {
        format!(
            "join report as {name}_report on {name}_report.id = change.{column}
             join version as {name}_version on {name}_version.id = {name}_report.version_id"
        )
    };
    format!(
        "change join project on project.id = change.project_id
         join head on head.id = change.head_id {} join branch on branch.id = head.branch_id
         join testbed on testbed.id = change.testbed_id left join spec on spec.id = testbed.spec_id
         join benchmark on benchmark.id = change.benchmark_id
         left join variant on variant.id = change.variant_id
         join measure on measure.id = change.measure_id {} {} {}",
        head::JOINS,
        point("at", "report_id"),
        point("earliest", "earliest_id"),
        point("latest", "latest_id")
    )
}

fn read(cells: &mut Cells<'_>) -> Result<Change> {
    let point = |cells: &mut Cells<'_>| {
        Ok::<_, Error>(ChangePoint {
            report: cells.take()?,
            version: Version { number: cells.take()?, hash: cells.take()? },
            start_time: cells.take()?,
        })
    };
    let uuid = cells.take()?;
    let (branch, testbed, benchmark) = (branch::read(cells)?, testbed::read(cells)?, benchmark::read(cells)?);
    let variant = match (cells.take()?, cells.take()?) {
        (Some(uuid), Some(parameters)) => Some(Variant { uuid, parameters }),
        _ => None,
    };
    let measure = measure::read(cells)?;
    let (at, earliest, latest) = (point(cells)?, point(cells)?, point(cells)?);
    Ok(Change {
        uuid,
        branch,
        testbed,
        benchmark,
        variant,
        measure,
        at,
        earliest,
        latest,
        before: cells.take()?,
        after: cells.take()?,
        effect: cells.take()?,
        sigma: cells.take()?,
        confidence: cells.take()?,
        direction: match cells.take::<i64>()? {
            1.. => ChangeDirection::Regression,
            0 => ChangeDirection::Unknown,
            _ => ChangeDirection::Improvement,
        },
        cause: cells.take()?,
        status: cells.take()?,
        note: cells.take()?,
        raised: cells.take()?,
        created: cells.take()?,
        modified: cells.take()?,
    })
}

/// Filter of the changes to list.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// Only changes with this status.
    pub status: Option<ChangeStatus>,
    /// Only regressions (1), improvements (-1) or changes of unknown direction (0).
    pub worse: Option<i64>,
    /// Only changes of this branch, testbed, benchmark and measure.
    pub part: SeriesFilter,
    /// Only changes that were found with this report.
    pub report: Option<ReportId>,
}

/// Lists the changes of a project on the current heads of its branches.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &ChangeFilter,
    sort: ProjChangesSort,
    page: &Page,
) -> Result<(Vec<Change>, i64)> {
    let live = "change.project_id = $1 and change.withdrawn is null and head.replaced is null".to_owned();
    let mut conditions = Conditions::new(live, vec![&project]);
    conditions.and("change.status =", &which.status);
    conditions.and("change.worse =", &which.worse);
    conditions.and("head.branch_id =", &which.part.branch);
    conditions.and("change.testbed_id =", &which.part.testbed);
    conditions.and("change.benchmark_id =", &which.part.benchmark);
    conditions.and("change.measure_id =", &which.part.measure);
    conditions.and("change.found_id =", &which.report);
    let column = match sort {
        ProjChangesSort::Time => "start_time",
        ProjChangesSort::Size => "size",
    };
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    tx.page(
        &List {
            columns: &columns(),
            from: &format!("{} where {}", joins(), conditions.sql),
            order: &format!("change.{column} {direction}, change.id {direction}"),
        },
        &conditions.params,
        page,
        |row| read(&mut row.cells()),
    )
}

/// Returns the changes of a project with these UUIDs, in any order.
pub fn by_uuids(tx: &mut Tx<'_>, project: ProjectId, uuids: &[Uuid]) -> Result<Vec<Change>> {
    let sql = format!(
        "select {} from {} where change.project_id = $1 and change.uuid in {{uuids $2}}",
        columns(),
        joins()
    );
    tx.all(&sql, &[&project, &uuids], |row| read(&mut row.cells()))
}

/// Returns the changes of a project that were selected for notification with these reports, each with its report.
pub fn raised_with(
    tx: &mut Tx<'_>,
    project: ProjectId,
    reports: &[i64],
) -> Result<Vec<(ReportUuid, Change)>> {
    let sql = format!(
        "select raising.uuid, {} from {} join report as raising on raising.id = change.raised_id
         where change.project_id = $1 and change.raised_id in {{ints $2}} and change.withdrawn is null
         order by change.worse desc, change.size desc, change.id",
        columns(),
        joins()
    );
    tx.all(&sql, &[&project, &reports], |row| {
        let cells = &mut row.cells();
        Ok((cells.take()?, read(cells)?))
    })
}

/// Returns the version ranges and the directions of the changes of a head that were selected for notification since a
/// time.
pub fn raised_since(
    tx: &mut Tx<'_>,
    head: HeadId,
    since: Timestamp,
) -> Result<Vec<(VersionId, VersionId, i64)>> {
    tx.all(
        "select first.version_id, last.version_id, change.worse from change
         join report as first on first.id = change.earliest_id join report as last on last.id = change.latest_id
         where change.head_id = $1 and change.raised >= $2 and change.withdrawn is null
           and change.status <> 'false_alarm'",
        &[&head, &since],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )
}

/// Returns a change.
pub fn view(tx: &mut Tx<'_>, project: ProjectId, change: ChangeUuid) -> Result<Change> {
    let sql =
        format!("select {} from {} where change.project_id = $1 and change.uuid = $2", columns(), joins());
    tx.one("change", &sql, &[&project, &change], |row| read(&mut row.cells()))
}

/// Updates the status and the note of a change.
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    change: ChangeUuid,
    status: Option<ChangeStatus>,
    note: Option<Option<&NonEmpty>>,
    now: Timestamp,
) -> Result<()> {
    let updated = tx.execute(
        "update change set status = coalesce($3, status), note = case when $4 then $5 else note end, modified = $6
         where project_id = $1 and uuid = $2",
        &[&project, &change, &status, &note.is_some(), &note.flatten(), &now],
    )?;
    if updated == 0 { Err(Error::NotFound("change")) } else { Ok(()) }
}
