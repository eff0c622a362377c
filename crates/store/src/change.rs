//! Changes of the levels of series.

use tidemark_api::{
    Benchmark, Branch, Change, ChangeCause, ChangeDirection, ChangePoint, ChangeUuid, EventStatus, Measure,
    MeasureDirection, Page, ProjChangesSort, ReportUuid, Testbed, Timestamp, Variant, Version,
    page::Direction,
};

use crate::{
    BenchmarkId, Cells, EventId, FromRow, HeadId, List, MeasureId, ProjectId, ReportId, Result, TestbedId,
    Tx, VersionId, WriteContext,
    columns::{columns, insert_columns},
    head,
    lane::Lane,
    series::SeriesKey,
    series_filter::SeriesFilter,
    sql::{Conditions, direction},
};

columns! {
    /// A change that detection found.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DetectedChange {
        /// First report of the new level.
        pub at: ReportId = "report_id",
        /// First report that may be the start of the new level.
        pub earliest: ReportId = "earliest_id",
        /// Last report that may be the start of the new level.
        pub latest: ReportId = "latest_id",
        /// Start time of the first run of the new level.
        pub start_time: Timestamp = "start_time",
        /// Old level.
        pub before: f64 = "old_level",
        /// New level.
        pub after: f64 = "new_level",
        /// Difference of the levels as a fraction of the old level.
        pub effect: Option<f64> = "effect",
        /// Difference of the levels in standard deviations.
        pub sigma: f64 = "sigma",
        /// Confidence of the change.
        pub confidence: f64 = "confidence",
        /// Direction: regression (1), improvement (-1) or unknown (0).
        pub worse: i64 = "worse",
        /// Probable cause.
        pub cause: ChangeCause = "cause",
        /// Whether the level returned to the old level, or closer to it than to the new one.
        pub is_recovered: bool = "recovered",
    }
}

columns! {
    /// A stored change.
    #[derive(Clone, Copy, Debug)]
    pub struct StoredChange {
        /// UUID.
        pub uuid: ChangeUuid = "uuid",
        /// Benchmark, variant and measure.
        pub series_key: SeriesKey,
        /// The change.
        pub found: DetectedChange,
        /// Event that the change belongs to.
        pub event: EventId = "event_id",
        /// Status of the event.
        pub status: EventStatus = "(select status from event where event.id = event_id)",
        /// Whether a user set the status or a note.
        pub is_touched: bool = "(select status not in ('open', 'recovered') or note is not null from event where event.id = event_id)",
        /// Whether detection has withdrawn the change.
        pub is_withdrawn: bool = "withdrawn is not null",
        /// Whether the change was selected for notification.
        pub is_raised: bool = "raised is not null",
    }
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
    /// Event that the change belongs to.
    pub event: EventId,
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
    let sql = "select {columns} from change where head_id in {ints $1} and testbed_id = $2 order by id";
    tx.fetch_all(sql, &[&heads, &testbed])
}

/// Moves the changes that refer to a report that is about to be deleted to the nearest other report.
pub(crate) fn reassign_report(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    let position: Position =
        tx.fetch_one("report", "select {columns} from report where id = $1", &[&report])?;
    let beside: Option<ReportId> = tx.fetch_optional(
        "select id from report where head_id = $1 and testbed_id = $2 and id <> $3
         order by (version_id, start_time, id) < ($4, $5, $3), abs(version_id - $4), abs(start_time - $5) limit 1",
        &[&position.head, &position.testbed, &report, &position.version, &position.start_time]
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

columns! {
    /// Position of a report in the history of its head.
    struct Position {
        head: HeadId = "head_id",
        testbed: TestbedId = "testbed_id",
        version: VersionId = "version_id",
        start_time: Timestamp = "start_time",
    }
}

/// Upserts changes of a lane, whose newest report is `newest`. Keeps the identity of existing changes.
pub fn write(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    lane: &Lane,
    newest: Option<ReportId>,
    changes: &[ChangeWrite],
) -> Result<()> {
    let rows: Vec<ChangeInsert> = changes
        .iter()
        .map(|ChangeWrite { uuid, series_key, found, event, withdrawn, is_raised, starts_event }| {
            ChangeInsert {
                uuid: uuid.unwrap_or_else(|| ChangeUuid::from(context.uuid())),
                project_id: lane.project,
                head_id: lane.head,
                testbed_id: lane.testbed,
                benchmark_id: series_key.benchmark,
                variant_id: series_key.variant,
                measure_id: series_key.measure,
                report_id: found.at,
                earliest_id: found.earliest,
                latest_id: found.latest,
                old_level: found.before,
                new_level: found.after,
                effect: found.effect,
                size: found.size(),
                sigma: found.sigma,
                confidence: found.confidence,
                worse: found.worse,
                cause: found.cause,
                found_id: newest,
                raised_id: newest.filter(|_| *starts_event),
                raised: is_raised.then_some(context.now),
                event_id: *event,
                recovered: found.is_recovered,
                start_time: found.start_time,
                withdrawn: *withdrawn,
                created: context.now,
                modified: context.now,
            }
        })
        .collect();
    tx.insert_many(
        "change",
        &rows,
        "on conflict (uuid) do update set report_id = excluded.report_id, earliest_id = excluded.earliest_id,
             latest_id = excluded.latest_id, old_level = excluded.old_level, new_level = excluded.new_level,
             effect = excluded.effect, size = excluded.size, sigma = excluded.sigma,
             confidence = excluded.confidence, worse = excluded.worse, cause = excluded.cause,
             raised_id = coalesce(change.raised_id, excluded.raised_id),
             raised = coalesce(change.raised, excluded.raised), start_time = excluded.start_time,
             event_id = excluded.event_id, recovered = excluded.recovered,
             withdrawn = excluded.withdrawn, modified = excluded.modified",
    )
}

/// Updates the changes of measures after the direction of the measures changed. Returns the events of the changes.
pub(crate) fn reclassify(
    tx: &mut Tx<'_>,
    measures: &[i64],
    direction: Option<MeasureDirection>,
) -> Result<Vec<EventId>> {
    let worse = match direction {
        Some(MeasureDirection::LowerIsBetter) => "case when new_level > old_level then 1 else -1 end",
        Some(MeasureDirection::HigherIsBetter) => "case when new_level > old_level then -1 else 1 end",
        None => "0",
    };
    let sql = format!("update change set worse = {worse} where measure_id in {{ints $1}} returning event_id");
    tx.fetch_all(&sql, &[&measures])
}

insert_columns! {
    struct ChangeInsert {
        uuid: ChangeUuid,
        project_id: ProjectId,
        head_id: HeadId,
        testbed_id: TestbedId,
        benchmark_id: BenchmarkId,
        variant_id: i64,
        measure_id: MeasureId,
        report_id: ReportId,
        earliest_id: ReportId,
        latest_id: ReportId,
        old_level: f64,
        new_level: f64,
        effect: Option<f64>,
        size: f64,
        sigma: f64,
        confidence: f64,
        worse: i64,
        cause: ChangeCause,
        found_id: Option<ReportId>,
        raised_id: Option<ReportId>,
        raised: Option<Timestamp>,
        event_id: EventId,
        recovered: bool,
        start_time: Timestamp,
        withdrawn: Option<Timestamp>,
        created: Timestamp,
        modified: Timestamp,
    }
}

impl DetectedChange {
    /// Returns the size of the change: its absolute effect, or `f64::MAX` if the old level is 0.
    fn size(&self) -> f64 {
        self.effect.map_or(f64::MAX, f64::abs)
    }
}

columns!(Change {
    uuid: "change.uuid",
    branch: Branch,
    testbed: Testbed,
    benchmark: Benchmark,
    variant: Option<Variant>,
    measure: Measure,
    at: ChangePoint {
        report: "at_report.uuid",
        version: Version { number: "at_version.number", hash: "at_version.hash" },
        start_time: "at_report.start_time",
    },
    earliest: ChangePoint {
        report: "earliest_report.uuid",
        version: Version { number: "earliest_version.number", hash: "earliest_version.hash" },
        start_time: "earliest_report.start_time",
    },
    latest: ChangePoint {
        report: "latest_report.uuid",
        version: Version { number: "latest_version.number", hash: "latest_version.hash" },
        start_time: "latest_report.start_time",
    },
    before: "change.old_level",
    after: "change.new_level",
    effect: "change.effect",
    sigma: "change.sigma",
    confidence: "change.confidence",
    direction: "change.worse",
    cause: "change.cause",
    event: "event.uuid",
    status: "event.status",
    raised: "change.raised",
    muted: (None),
    confirmation: "(select state from confirmation where confirmation.event_id = change.event_id)",
    created: "change.created",
    modified: "change.modified",
});

impl FromRow for ChangeDirection {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        Ok(match i64::from_row(cells)? {
            1.. => Self::Regression,
            0 => Self::Unknown,
            _ => Self::Improvement,
        })
    }
}

fn joins() -> String {
    let point = |name: &str, column: &str| {
        format!(
            "join report as {name}_report on {name}_report.id = change.{column}
             join version as {name}_version on {name}_version.id = {name}_report.version_id"
        )
    };
    format!(
        "change join event on event.id = change.event_id join project on project.id = change.project_id
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

/// Filter of the changes to list.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// Only changes of events with this status.
    pub status: Option<EventStatus>,
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
    conditions.and("event.status =", &which.status);
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
            from: &format!("{} where {}", joins(), conditions.sql),
            order: &format!("change.{column} {direction}, change.id {direction}"),
        },
        &conditions.params,
        page,
    )
}

/// Returns the first changes of events, at most `most` of each: regressions first, then by size, largest first. Each change
/// stands next to its event.
pub(crate) fn of_events(tx: &mut Tx<'_>, events: &[i64], most: usize) -> Result<Vec<(EventId, Change)>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = format!(
        "select change.event_id, {{columns}} from {} where change.id in (
             select id from (
                 select id, row_number() over (partition by event_id order by {WORST_FIRST}) as place
                 from change where event_id in {{ints $1}} and withdrawn is null) as ranked
             where place <= $2)
         order by change.event_id, {WORST_FIRST}",
        joins()
    );
    tx.fetch_all(&sql, &[&events, &most])
}

/// Order of the changes of an event: regressions first, then by size, largest first.
const WORST_FIRST: &str = "case when change.worse = 1 then 0 else 1 end, change.size desc, change.id";

/// Predicate that a change is not of an event whose notification waits for a confirmation, or was refuted.
pub(crate) const NOT_HELD_BACK: &str = "not exists (select 1 from confirmation
     where confirmation.event_id = change.event_id and (confirmation.pending or confirmation.state = 'refuted'))";

/// Returns the changes of a project that were selected for notification with these reports, each with its report. Leaves out
/// changes that wait for a confirmation, and refuted ones.
pub fn raised_with(
    tx: &mut Tx<'_>,
    project: ProjectId,
    reports: &[i64],
) -> Result<Vec<(ReportUuid, Change)>> {
    let sql = format!(
        "select raising.uuid, {{columns}} from {} join report as raising on raising.id = change.raised_id
         where change.project_id = $1 and change.raised_id in {{ints $2}} and change.withdrawn is null
           and {NOT_HELD_BACK}
         order by change.worse desc, change.size desc, change.id",
        joins()
    );
    tx.fetch_all(&sql, &[&project, &reports])
}

/// Returns the version ranges and the directions of the changes of a head that were selected for notification since a
/// time.
pub fn raised_since(
    tx: &mut Tx<'_>,
    head: HeadId,
    since: Timestamp,
) -> Result<Vec<(VersionId, VersionId, i64)>> {
    let rows: Vec<RaisedRange> = tx.fetch_all(
        "select {columns} from change
         join report as first on first.id = change.earliest_id join report as last on last.id = change.latest_id
         join event on event.id = change.event_id
         where change.head_id = $1 and change.raised >= $2 and change.withdrawn is null
           and event.status <> 'false_alarm'",
        &[&head, &since],
    )?;
    Ok(rows.into_iter().map(|row| (row.first, row.last, row.worse)).collect())
}

columns! {
    struct RaisedRange {
        first: VersionId = "first.version_id",
        last: VersionId = "last.version_id",
        worse: i64 = "change.worse",
    }
}

/// Returns a change.
pub fn view(tx: &mut Tx<'_>, project: ProjectId, change: ChangeUuid) -> Result<Change> {
    let sql =
        format!("select {{columns}} from {} where change.project_id = $1 and change.uuid = $2", joins());
    tx.fetch_one("change", &sql, &[&project, &change])
}
