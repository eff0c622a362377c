//! Series: what is measured where, as one number. Metrics are packed by it.

use std::collections::HashMap;

use crate::{BenchmarkId, Error, Kind, MeasureId, Param, ReportId, Result, TestbedId, Tx, Value};

/// What a series is of, on one testbed. Without parameters the variant is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// The variant of the benchmark, or 0.
    pub variant: i64,
    /// The measure.
    pub measure: MeasureId,
}

/// A series on one testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The number that stands for it.
    pub id: u32,
    /// No report with a smaller key has it.
    pub since: ReportId,
}

/// The series of a testbed for all these subjects, which are in order and each there once; missing ones begin with this
/// report.
pub fn ensure(
    tx: &mut Tx<'_>,
    testbed: TestbedId,
    report: ReportId,
    subjects: &[Subject],
) -> Result<Vec<Series>> {
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let mut known = known(tx, testbed, subjects)?;
    let missing: Vec<usize> = (0..subjects.len()).filter(|place| known[*place].is_none()).collect();
    let rows: Vec<Vec<Value<'_>>> = missing
        .iter()
        .map(|place| {
            let subject = &subjects[*place];
            let columns: [&dyn Param; 5] =
                [&testbed, &subject.benchmark, &subject.variant, &subject.measure, &report];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    let columns = ["testbed_id", "benchmark_id", "variant_id", "measure_id", "since"];
    let keys = tx.insert_keyed("series", &columns.map(|column| (column, Kind::Int)), &rows, "")?;
    for (place, key) in missing.into_iter().zip(keys) {
        let id = u32::try_from(key).map_err(|_| Error::engine("the numbers of series are used up"))?;
        known[place] = Some(Series { id, since: report });
    }
    let mut found = known
        .into_iter()
        .map(|series| series.ok_or_else(|| Error::engine("a new series is not there")))
        .collect::<Result<Vec<_>>>()?;
    // The results of a job come after those of reports that were sent later.
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

/// The series of each of these subjects that has one.
fn known(tx: &mut Tx<'_>, testbed: TestbedId, subjects: &[Subject]) -> Result<Vec<Option<Series>>> {
    let mut benchmarks: Vec<i64> = subjects.iter().map(|subject| subject.benchmark.get()).collect();
    benchmarks.dedup();
    let mut found: Vec<Option<Series>> = vec![None; subjects.len()];
    let mut place = 0;
    // Both are in the same order, so that one walk will do.
    tx.each(
        "select benchmark_id, variant_id, measure_id, id, since from series
         where testbed_id = $1 and benchmark_id in {ints $2} order by benchmark_id, variant_id, measure_id",
        &[&testbed, &benchmarks],
        |row| {
            let subject = Subject { benchmark: row.get(0)?, variant: row.get(1)?, measure: row.get(2)? };
            while subjects.get(place).is_some_and(|wanted| *wanted < subject) {
                place += 1;
            }
            if subjects.get(place) == Some(&subject) {
                found[place] = Some(Series { id: row.get(3)?, since: row.get(4)? });
            }
            Ok(())
        },
    )?;
    Ok(found)
}

/// What these series are of.
pub fn subjects(tx: &mut Tx<'_>, ids: &[i64]) -> Result<HashMap<u32, Subject>> {
    let mut found = HashMap::with_capacity(ids.len());
    tx.each(
        "select id, benchmark_id, variant_id, measure_id from series where id in {ints $1}",
        &[&ids],
        |row| {
            let subject = Subject { benchmark: row.get(1)?, variant: row.get(2)?, measure: row.get(3)? };
            found.insert(row.get(0)?, subject);
            Ok(())
        },
    )?;
    Ok(found)
}

/// The series of these testbeds, benchmarks and measures: testbed, subject and number, those without parameters first.
pub fn find(
    tx: &mut Tx<'_>,
    testbeds: &[i64],
    benchmarks: &[i64],
    measures: &[i64],
) -> Result<Vec<(TestbedId, Subject, u32)>> {
    tx.all(
        "select testbed_id, benchmark_id, variant_id, measure_id, id from series
         where testbed_id in {ints $1} and benchmark_id in {ints $2} and measure_id in {ints $3}
         order by variant_id",
        &[&testbeds, &benchmarks, &measures],
        |row| {
            let subject = Subject { benchmark: row.get(1)?, variant: row.get(2)?, measure: row.get(3)? };
            Ok((row.get(0)?, subject, row.get(4)?))
        },
    )
}

/// Removes the series that no metric has any more.
pub(crate) fn delete(tx: &mut Tx<'_>, ids: &[i64]) -> Result<()> {
    if !ids.is_empty() {
        tx.execute("delete from series where id in {ints $1}", &[&ids])?;
    }
    Ok(())
}
