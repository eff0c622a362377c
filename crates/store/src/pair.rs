//! Pairs: the values of jobs that compare an image with a base, by series.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{Benchmark, Measure, ReportPairs, Shared};

use crate::{
    BenchmarkId, Error, MeasureId, ReportId, Result, Tx,
    columns::{columns, insert_columns},
    dimension::Dimension,
    series::SeriesKey,
    value::distinct,
    variant,
};

/// Pairs of a series: the value of the base and the value of the image, in the order of the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPairs {
    /// Benchmark, variant and measure.
    pub series_key: SeriesKey,
    /// Pairs.
    pub pairs: Vec<(f64, f64)>,
}

insert_columns! {
    struct NewPairs {
        report_id: ReportId,
        benchmark_id: BenchmarkId,
        variant_id: i64,
        measure_id: MeasureId,
        pairs: Vec<u8>,
    }
}

columns! {
    struct PairsRow {
        series_key: SeriesKey,
        pairs: Vec<u8> = "pairs",
    }
}

/// Inserts the pairs of a report.
pub fn insert(tx: &mut Tx<'_>, report: ReportId, series: &[SeriesPairs]) -> Result<()> {
    let rows: Vec<NewPairs> = series
        .iter()
        .map(|SeriesPairs { series_key, pairs }| NewPairs {
            report_id: report,
            benchmark_id: series_key.benchmark,
            variant_id: series_key.variant,
            measure_id: series_key.measure,
            pairs: pairs.iter().flat_map(|(base, head)| [*base, *head]).flat_map(f64::to_le_bytes).collect(),
        })
        .collect();
    tx.insert_many("pair_series", &rows, "")
}

/// Returns the pairs of a report, by benchmark, variant and measure; empty if its job has no base.
pub fn of_report(tx: &mut Tx<'_>, report: ReportId) -> Result<Vec<SeriesPairs>> {
    let rows: Vec<PairsRow> = tx.fetch_all(
        "select {columns} from pair_series where report_id = $1 order by benchmark_id, variant_id, measure_id",
        &[&report],
    )?;
    Ok(rows
        .into_iter()
        .map(|PairsRow { series_key, pairs }| SeriesPairs { series_key, pairs: unpack(&pairs) })
        .collect())
}

fn unpack(bytes: &[u8]) -> Vec<(f64, f64)> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (pairs, _) = numbers.as_chunks::<2>();
    pairs.iter().map(|[base, head]| (f64::from_le_bytes(*base), f64::from_le_bytes(*head))).collect()
}

/// Returns the pairs of a report for the API, by name.
pub fn view(tx: &mut Tx<'_>, report: ReportId) -> Result<Vec<ReportPairs>> {
    let found = of_report(tx, report)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let keys = |key: fn(&SeriesKey) -> i64| distinct(found.iter().map(|one| key(&one.series_key)));
    let (benchmark_keys, measure_keys) = (keys(|key| key.benchmark.get()), keys(|key| key.measure.get()));
    let variant_keys = keys(|key| key.variant);
    let benchmarks: HashMap<_, Arc<Benchmark>> = Benchmark::by_ids(tx, &benchmark_keys)?;
    let measures: HashMap<_, Shared<Measure>> = Measure::by_ids(tx, &measure_keys)?;
    let variants = variant::by_ids(tx, &variant_keys)?;
    let gone = || Error::engine("a pair lacks its benchmark or measure");
    let mut pairs = found
        .into_iter()
        .map(|SeriesPairs { series_key, pairs }| {
            let (base, head) = pairs.into_iter().unzip();
            Ok(ReportPairs {
                benchmark: Arc::clone(benchmarks.get(&series_key.benchmark).ok_or_else(gone)?),
                variant: variants.get(&series_key.variant.into()).map(Arc::clone),
                measure: measures.get(&series_key.measure).ok_or_else(gone)?.clone(),
                base,
                head,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    pairs.sort_by(|left, right| {
        let key = |one: &ReportPairs| (one.benchmark.name.clone(), one.measure.name.clone());
        key(left).cmp(&key(right))
    });
    Ok(pairs)
}
