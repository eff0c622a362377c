//! Values of series over time, without the other fields of their metrics.

use serde::Deserialize;
use tidemark_api::{BenchmarkUuid, MeasureUuid, PerfQuery, ReportUuid, ResourceId, VariantUuid};

use crate::{Client, Error, Request};

/// Values of one series, from the oldest to the newest.
#[derive(Clone, Debug)]
pub struct Series {
    /// Benchmark.
    pub benchmark: BenchmarkUuid,
    /// Variant of the benchmark, if it has parameters.
    pub variant: Option<VariantUuid>,
    /// Measure.
    pub measure: MeasureUuid,
    /// Values, each with its report.
    pub values: Vec<(ReportUuid, f64)>,
}

/// Returns the values of many series. All other fields of the response are skipped.
pub fn values(client: &Client, project: &ResourceId, query: &PerfQuery) -> Result<Vec<Series>, Error> {
    #[derive(Deserialize)]
    struct PerfResponse {
        results: Vec<PerfSeries>,
    }
    #[derive(Deserialize)]
    struct PerfSeries {
        benchmark: Identified<BenchmarkUuid>,
        variant: Option<Identified<VariantUuid>>,
        measure: Identified<MeasureUuid>,
        metrics: Vec<Point>,
    }
    #[derive(Deserialize)]
    struct Identified<T> {
        uuid: T,
    }
    #[derive(Deserialize)]
    struct Point {
        report: ReportUuid,
        metric: Value,
    }
    #[derive(Deserialize)]
    struct Value {
        value: f64,
    }
    let request = Request::<PerfResponse>::get(&[&"projects", project, &"perf"]).query(query);
    let response = client.send(&request)?;
    let series = response.results.into_iter().map(|series| Series {
        benchmark: series.benchmark.uuid,
        variant: series.variant.map(|variant| variant.uuid),
        measure: series.measure.uuid,
        values: series.metrics.into_iter().map(|point| (point.report, point.metric.value)).collect(),
    });
    Ok(series.collect())
}
