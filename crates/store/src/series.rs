//! Series: a testbed, benchmark, variant and measure, identified by a number. Metrics are packed by this number.

use std::collections::HashMap;

use crate::{
    BenchmarkId, Error, MeasureId, ReportId, Result, TestbedId, Tx,
    columns::{columns, insert_columns},
};

columns! {
    /// Benchmark, variant and measure of a series on a testbed. Without parameters, the variant is 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct SeriesKey {
        /// Benchmark.
        pub benchmark: BenchmarkId = "benchmark_id",
        /// Variant of the benchmark, or 0.
        pub variant: i64 = "variant_id",
        /// Measure.
        pub measure: MeasureId = "measure_id",
    }
}

columns! {
    /// A series on a testbed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Series {
        /// Number of the series.
        pub id: u32 = "id",
        /// First report of the series: no report with a smaller primary key has it.
        pub since: ReportId = "since",
    }
}

columns! {
    struct KeyedSeries {
        key: SeriesKey,
        series: Series,
    }
}

columns! {
    struct TestbedSeries {
        testbed: TestbedId = "testbed_id",
        key: SeriesKey,
        id: u32 = "id",
    }
}

insert_columns! {
    struct NewSeries {
        testbed_id: TestbedId,
        benchmark_id: BenchmarkId,
        variant_id: i64,
        measure_id: MeasureId,
        since: ReportId,
    }
}

/// Returns the series of a testbed for `series_keys`, which are sorted and distinct. Missing series are created and start
/// with this report.
pub fn ensure(
    tx: &mut Tx<'_>,
    testbed: TestbedId,
    report: ReportId,
    series_keys: &[SeriesKey],
) -> Result<Vec<Series>> {
    if series_keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut existing = existing(tx, testbed, series_keys)?;
    let missing: Vec<usize> = (0..series_keys.len()).filter(|place| existing[*place].is_none()).collect();
    let rows: Vec<NewSeries> = missing
        .iter()
        .map(|place| {
            let SeriesKey { benchmark, variant, measure } = series_keys[*place];
            let (benchmark_id, variant_id, measure_id) = (benchmark, variant, measure);
            NewSeries { testbed_id: testbed, benchmark_id, variant_id, measure_id, since: report }
        })
        .collect();
    let keys = tx.insert_keyed("series", &rows, "")?;
    for (place, key) in missing.into_iter().zip(keys) {
        let id = u32::try_from(key).map_err(|_| Error::engine("the numbers of series are used up"))?;
        existing[place] = Some(Series { id, since: report });
    }
    let mut found = existing
        .into_iter()
        .map(|series| series.ok_or_else(|| Error::engine("a new series is not there")))
        .collect::<Result<Vec<_>>>()?;
    // The results of a job arrive after the results of reports that were inserted later.
    let early: Vec<i64> =
        found.iter().filter(|series| series.since > report).map(|series| i64::from(series.id)).collect();
    if !early.is_empty() {
        tx.execute("update series set since = $2 where id in {ints $1}", &[&early, &report])?;
        for series in &mut found {
            series.since = series.since.min(report);
        }
    }
    Ok(found)
}

/// Returns the existing series with these keys.
fn existing(tx: &mut Tx<'_>, testbed: TestbedId, series_keys: &[SeriesKey]) -> Result<Vec<Option<Series>>> {
    let mut benchmarks: Vec<i64> = series_keys.iter().map(|series_key| series_key.benchmark.get()).collect();
    benchmarks.dedup();
    let mut found: Vec<Option<Series>> = vec![None; series_keys.len()];
    let mut place = 0;
    // Both lists have the same order, so that one pass is enough.
    tx.fetch_each(
        "select {columns} from series
         where testbed_id = $1 and benchmark_id in {ints $2} order by benchmark_id, variant_id, measure_id",
        &[&testbed, &benchmarks],
        |KeyedSeries { key, series }, _| {
            while series_keys.get(place).is_some_and(|wanted| *wanted < key) {
                place += 1;
            }
            if series_keys.get(place) == Some(&key) {
                found[place] = Some(series);
            }
            Ok(())
        },
    )?;
    Ok(found)
}

/// Returns the benchmark, variant and measure of each series.
pub fn series_keys(tx: &mut Tx<'_>, ids: &[i64]) -> Result<HashMap<u32, SeriesKey>> {
    let rows: Vec<(u32, SeriesKey)> =
        tx.fetch_all("select id, {columns} from series where id in {ints $1}", &[&ids])?;
    Ok(rows.into_iter().collect())
}

/// Returns the series of testbeds, benchmarks and measures: testbed, key and number; series without parameters
/// first.
pub fn find(
    tx: &mut Tx<'_>,
    testbeds: &[i64],
    benchmarks: &[i64],
    measures: &[i64],
) -> Result<Vec<(TestbedId, SeriesKey, u32)>> {
    let rows: Vec<TestbedSeries> = tx.fetch_all(
        "select {columns} from series
         where testbed_id in {ints $1} and benchmark_id in {ints $2} and measure_id in {ints $3}
         order by variant_id",
        &[&testbeds, &benchmarks, &measures],
    )?;
    Ok(rows.into_iter().map(|row| (row.testbed, row.key, row.id)).collect())
}

/// Deletes series without metrics.
pub(crate) fn delete(tx: &mut Tx<'_>, ids: &[i64]) -> Result<()> {
    if !ids.is_empty() {
        tx.execute("delete from series where id in {ints $1}", &[&ids])?;
    }
    Ok(())
}
