//! Metrics in a packed format: how they are written with their report and read again.
//!
//! A report has one vector with the values of its metrics, ordered by series and iteration, and one row for every 64
//! neighboring series with all fields of their metrics. The UUID of a metric is the UUID of its report with the index of
//! the metric in the vector XORed into the last four bytes.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{
    Benchmark, Iteration, Measure, Metric, MetricBoundary, MetricDetail, MetricUuid, Project, ReportUuid,
};
use tidemark_stats::Limits;
use uuid::Uuid;

use crate::{
    Error, ModelId, ProjectId, ReportId, Result, Tx, alert,
    columns::{columns, insert_columns},
    dimension::Dimension,
    report, series, threshold, variant, vector,
};

/// Number of neighboring series per row, as a power of two.
const BUCKET_BITS: u32 = 6;

/// Number of neighboring series per row.
pub(crate) const SERIES_PER_ROW: i64 = 1 << BUCKET_BITS;

/// A metric in the packed format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedMetric {
    /// Series.
    pub series: u32,
    /// Iteration of the report.
    pub iteration: u32,
    /// Value.
    pub value: f64,
    /// Lower value.
    pub lower_value: Option<f64>,
    /// Upper value.
    pub upper_value: Option<f64>,
    /// Model and limits, if a threshold checked the metric.
    pub judged: Option<ThresholdCheck>,
}

/// Model and limits that a metric was compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdCheck {
    /// Model.
    pub model: ModelId,
    /// Limits; `None` if the sample was too small.
    pub limits: Option<Limits>,
}

impl ThresholdCheck {
    /// Returns the limits as an API type.
    pub fn boundary(&self) -> MetricBoundary {
        self.limits.into()
    }
}

/// Returns the UUID of the metric at an index of its report's vector.
pub fn uuid(report: ReportUuid, index: u32) -> MetricUuid {
    let mut bytes = report.uuid().into_bytes();
    // Counted from 1, so that no metric has the UUID of its report.
    for (byte, mask) in bytes[12..].iter_mut().zip(index.wrapping_add(1).to_be_bytes()) {
        *byte ^= mask;
    }
    Uuid::from_bytes(bytes).into()
}

/// Returns a metric of a project with its report, benchmark and measure.
pub fn view(tx: &mut Tx<'_>, (id, project): (ProjectId, &Project), uuid: MetricUuid) -> Result<MetricDetail> {
    let (report, index) = find(tx, id, uuid)?;
    let found = report::summary(tx, project, report)?.report;
    let mut metric = None;
    of_reports(tx, &[report.get()], |_, at, one| {
        if at == index {
            metric = Some(one);
        }
        Ok(())
    })?;
    let one = metric.ok_or(Error::NotFound("metric"))?;
    let series_key = series::series_keys(tx, &[one.series.into()])?
        .remove(&one.series)
        .ok_or(Error::NotFound("series"))?;
    let variant = variant::by_ids(tx, &[series_key.variant])?.remove(&series_key.variant.into());
    let judges = match one.judged {
        Some(judged) => threshold::by_models(tx, &[judged.model.get()])?,
        None => HashMap::new(),
    };
    let alert = alert::of_metrics(tx, &[report.get()])?.into_iter().find(|((_, at), _)| *at == index);
    Ok(MetricDetail {
        uuid,
        report: found.uuid,
        iteration: Iteration::new(one.iteration),
        start_time: found.start_time,
        end_time: found.end_time,
        branch: found.branch,
        testbed: found.testbed,
        benchmark: Benchmark::view(tx, series_key.benchmark)?,
        variant: variant.map(Arc::unwrap_or_clone),
        measure: Measure::view(tx, series_key.measure)?,
        metric: Metric { uuid, value: one.value, lower_value: one.lower_value, upper_value: one.upper_value },
        threshold: judges.into_values().next(),
        boundary: one.judged.map(|judged| judged.boundary()),
        alert: alert.map(|(_, alert)| alert),
    })
}

/// Returns the report of a project and the index that the UUID of a metric contains.
fn find(tx: &mut Tx<'_>, project: ProjectId, metric: MetricUuid) -> Result<(ReportId, u32)> {
    let bytes = metric.uuid().into_bytes();
    let (mut first, mut last) = (bytes, bytes);
    first[12..].fill(0);
    last[12..].fill(u8::MAX);
    let (first, last) = (Uuid::from_bytes(first), Uuid::from_bytes(last));
    let sql = "select id, uuid from report where uuid between $1 and $2 and project_id = $3";
    let (id, report): (ReportId, ReportUuid) = tx.fetch_one("metric", sql, &[&first, &last, &project])?;
    let mut index = [0; 4];
    for (index, (left, right)) in
        index.iter_mut().zip(bytes[12..].iter().zip(&report.uuid().into_bytes()[12..]))
    {
        *index = left ^ right;
    }
    Ok((id, u32::from_be_bytes(index).wrapping_sub(1)))
}

/// Inserts the metrics of a new report, which are ordered by series and iteration.
pub fn insert(tx: &mut Tx<'_>, report: ReportId, metrics: &[PackedMetric]) -> Result<()> {
    vector::insert(tx, report, metrics.iter().map(|metric| (metric.series, metric.value)))?;
    let (mut rows, mut first) = (Vec::new(), 0);
    for chunk in metrics.chunk_by(|left, right| bucket(left.series) == bucket(right.series)) {
        let mut body = Vec::with_capacity(chunk.len() * 48);
        chunk.iter().for_each(|metric| pack(metric, &mut body));
        rows.push(NewChunk { bucket: bucket(chunk[0].series), report_id: report, first, body });
        first += i64::try_from(chunk.len()).unwrap_or(i64::MAX);
    }
    tx.insert_many("metric", &rows, "")
}

insert_columns! {
    struct NewChunk {
        bucket: u32,
        report_id: ReportId,
        first: i64,
        body: Vec<u8>,
    }
}

columns! {
    /// Metrics of neighboring series of a report. The column `body` follows.
    struct Chunk {
        bucket: u32 = "bucket",
        report: ReportId = "report_id",
        first: u32 = "first",
    }
}

/// Reads the metrics of reports, each with its report and index, ordered by report, series and iteration.
pub fn of_reports(
    tx: &mut Tx<'_>,
    reports: &[i64],
    mut each: impl FnMut(ReportId, u32, PackedMetric) -> Result<()>,
) -> Result<()> {
    tx.fetch_each(
        "select {columns}, body from metric where report_id in {ints $1} order by report_id, bucket",
        &[&reports],
        |Chunk { bucket, report, first }, rest| {
            unpack(bucket, first, rest.bytes()?, |index, metric| each(report, index, metric))
        },
    )
}

/// Reads the metrics of series in reports, ordered by bucket and report.
pub fn of_series(
    tx: &mut Tx<'_>,
    reports: &[i64],
    series: &[u32],
    mut each: impl FnMut(ReportId, u32, PackedMetric) -> Result<()>,
) -> Result<()> {
    let mut buckets: Vec<i64> = series.iter().map(|series| i64::from(bucket(*series))).collect();
    buckets.sort_unstable();
    buckets.dedup();
    tx.fetch_each(
        "select {columns}, body from metric where bucket in {ints $1} and report_id in {ints $2}",
        &[&buckets, &reports],
        |Chunk { bucket, report, first }, rest| {
            unpack(bucket, first, rest.bytes()?, |index, metric| each(report, index, metric))
        },
    )
}

/// Returns the series of a report that no other report has.
pub(crate) fn exclusive_series(tx: &mut Tx<'_>, report: ReportId) -> Result<Vec<i64>> {
    let mut own: Vec<u32> = Vec::new();
    of_reports(tx, &[report.get()], |_, _, metric| {
        own.push(metric.series);
        Ok(())
    })?;
    own.dedup();
    let mut others = std::collections::HashSet::new();
    // Most series are in the most recent other report; search all reports only for the rest.
    for newest_only in [true, false] {
        own.retain(|series| !others.contains(series));
        if own.is_empty() {
            break;
        }
        let mut buckets: Vec<i64> = own.iter().map(|series| i64::from(bucket(*series))).collect();
        buckets.dedup();
        let newest = "and report_id = (select max(report_id) from metric as other
                       where other.bucket = metric.bucket and other.report_id <> $2)";
        let sql = format!(
            "select {{columns}}, body from metric where bucket in {{ints $1}} and report_id <> $2 {}",
            if newest_only { newest } else { "" }
        );
        tx.fetch_each(&sql, &[&buckets, &report], |Chunk { bucket, first, .. }, rest| {
            unpack(bucket, first, rest.bytes()?, |_, metric| {
                others.insert(metric.series);
                Ok(())
            })
        })?;
    }
    own.retain(|series| !others.contains(series));
    Ok(own.into_iter().map(i64::from).collect())
}

const fn bucket(series: u32) -> u32 {
    series >> BUCKET_BITS
}

/// Flags of the optional numbers of a metric.
mod flag {
    pub(super) const LOWER_VALUE: u8 = 1;
    pub(super) const UPPER_VALUE: u8 = 1 << 1;
    pub(super) const JUDGED: u8 = 1 << 2;
    pub(super) const LIMITS: u8 = 1 << 3;
    pub(super) const BASELINE: u8 = 1 << 4;
    pub(super) const LOWER_LIMIT: u8 = 1 << 5;
    pub(super) const UPPER_LIMIT: u8 = 1 << 6;
}

/// Appends the index of the series in its bucket, the flags, the iteration, the model, the value, and the optional
/// numbers.
fn pack(metric: &PackedMetric, out: &mut Vec<u8>) {
    let limits = metric.judged.and_then(|judged| judged.limits);
    let numbers = [
        (flag::LOWER_VALUE, metric.lower_value),
        (flag::UPPER_VALUE, metric.upper_value),
        (flag::BASELINE, limits.and_then(|limits| limits.baseline)),
        (flag::LOWER_LIMIT, limits.and_then(|limits| limits.lower)),
        (flag::UPPER_LIMIT, limits.and_then(|limits| limits.upper)),
    ];
    let mut flags =
        numbers.iter().filter(|(_, number)| number.is_some()).fold(0, |flags, (flag, _)| flags | flag);
    if metric.judged.is_some() {
        flags |= flag::JUDGED;
    }
    if limits.is_some() {
        flags |= flag::LIMITS;
    }
    out.push((metric.series & ((1 << BUCKET_BITS) - 1)) as u8);
    out.push(flags);
    pack_number(u64::from(metric.iteration), out);
    if let Some(judged) = metric.judged {
        pack_number(judged.model.get().unsigned_abs(), out);
    }
    out.extend_from_slice(&metric.value.to_le_bytes());
    for number in numbers.iter().filter_map(|(_, number)| *number) {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// Appends a variable-length integer: 7 bits per byte, lowest bits first; the high bit marks that more bytes follow.
fn pack_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn unpack(
    bucket: u32,
    first: u32,
    body: &[u8],
    mut each: impl FnMut(u32, PackedMetric) -> Result<()>,
) -> Result<()> {
    let mut bytes = Bytes(body);
    let mut index = first;
    while !bytes.0.is_empty() {
        let metric = bytes.metric(bucket).ok_or_else(|| Error::engine("packed metrics are damaged"))?;
        each(index, metric)?;
        index += 1;
    }
    Ok(())
}

/// Replaces the models of packed metrics by new keys.
pub(crate) fn renumber_models(body: &[u8], new_key: impl Fn(i64) -> Result<i64>) -> Result<Vec<u8>> {
    let mut renumbered = Vec::with_capacity(body.len());
    unpack(0, 0, body, |_, mut metric| {
        if let Some(judged) = &mut metric.judged {
            judged.model = new_key(judged.model.get())?.into();
        }
        pack(&metric, &mut renumbered);
        Ok(())
    })?;
    Ok(renumbered)
}

/// Remaining bytes to unpack.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn metric(&mut self, bucket: u32) -> Option<PackedMetric> {
        let series = (bucket << BUCKET_BITS) | u32::from(self.byte()?);
        let flags = self.byte()?;
        let iteration = u32::try_from(self.number()?).ok()?;
        let model =
            if flags & flag::JUDGED == 0 { None } else { Some(i64::try_from(self.number()?).ok()?.into()) };
        let value = self.real()?;
        let mut optional = |flag| if flags & flag == 0 { Some(None) } else { self.real().map(Some) };
        let (lower_value, upper_value) = (optional(flag::LOWER_VALUE)?, optional(flag::UPPER_VALUE)?);
        let limits = Limits {
            baseline: optional(flag::BASELINE)?,
            lower: optional(flag::LOWER_LIMIT)?,
            upper: optional(flag::UPPER_LIMIT)?,
        };
        let limits = (flags & flag::LIMITS != 0).then_some(limits);
        let judged = model.map(|model| ThresholdCheck { model, limits });
        Some(PackedMetric { series, iteration, value, lower_value, upper_value, judged })
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn real(&mut self) -> Option<f64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(f64::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judged() -> impl Strategy<Value = Option<ThresholdCheck>> {
        let limits = (any::<Option<f64>>(), any::<Option<f64>>(), any::<Option<f64>>())
            .prop_map(|(baseline, lower, upper)| Limits { baseline, lower, upper });
        let judged = (0..i64::MAX, prop::option::of(limits))
            .prop_map(|(model, limits)| ThresholdCheck { model: model.into(), limits });
        prop::option::of(judged)
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            bucket in 0_u32..1 << (32 - BUCKET_BITS), first in 0_u32..1_000,
            offsets in prop::collection::vec(0_u32..1 << BUCKET_BITS, 0..40),
            iteration in any::<u32>(), value in -1e300..1e300, range in any::<(Option<f64>, Option<f64>)>(),
            judged in judged(),
        ) {
            let metrics: Vec<PackedMetric> = offsets.iter().map(|offset| PackedMetric {
                series: bucket << BUCKET_BITS | offset, iteration, value, lower_value: range.0, upper_value: range.1,
                judged,
            }).collect();
            let mut body = Vec::new();
            metrics.iter().for_each(|metric| pack(metric, &mut body));
            let mut unpacked = Vec::new();
            unpack(bucket, first, &body, |index, metric| {
                unpacked.push((index, metric));
                Ok(())
            }).unwrap();
            let expected: Vec<_> = (first..).zip(metrics).collect();
            prop_assert_eq!(format!("{unpacked:?}"), format!("{expected:?}"));
        }

        #[test]
        fn what_is_cut_short_is_noticed(
            iteration in any::<u32>(), value in any::<f64>(), range in any::<(Option<f64>, Option<f64>)>(),
            judged in judged(), cut in any::<prop::sample::Index>(),
        ) {
            let metric =
                PackedMetric { series: 7, iteration, value, lower_value: range.0, upper_value: range.1, judged };
            let mut body = Vec::new();
            pack(&metric, &mut body);
            let whole = body.len();
            pack(&metric, &mut body);
            // Cuts within the second metric.
            body.truncate(whole + 1 + cut.index(whole - 1));
            let mut places = Vec::new();
            let unpacked = unpack(0, 0, &body, |index, _| {
                places.push(index);
                Ok(())
            });
            prop_assert!(unpacked.is_err());
            prop_assert_eq!(places, [0]);
        }

        #[test]
        fn no_bytes_are_too_strange_to_unpack(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut metrics = 0;
            let unpacked = unpack(0, 0, &body, |_, _| {
                metrics += 1;
                Ok(())
            });
            // A metric has at least 11 bytes: index, flags, iteration and value.
            prop_assert!(metrics * 11 <= body.len());
            prop_assert!(unpacked.is_ok() || !body.is_empty());
        }

        #[test]
        fn a_place_is_found_in_a_uuid(report in any::<u128>(), index in any::<u32>()) {
            let report = ReportUuid::from(Uuid::from_u128(report));
            let metric = uuid(report, index);
            prop_assert_eq!(metric.uuid().as_bytes()[..12].to_vec(), report.uuid().as_bytes()[..12].to_vec());
            let tail = |uuid: Uuid| u32::from_be_bytes(uuid.into_bytes()[12..].try_into().unwrap());
            prop_assert_eq!((tail(metric.uuid()) ^ tail(report.uuid())).wrapping_sub(1), index);
        }
    }
}
