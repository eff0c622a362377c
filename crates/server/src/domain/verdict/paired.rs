//! Verdicts on the pairs of a job that compares its image with a base: both sides were measured together, so that no earlier run is
//! needed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use tidemark_api::{Benchmark, ChangeCause, Measure, Shared, Verdict, VerdictBaseline, VerdictComparison};
use tidemark_stats::{
    Comparison, Criteria, PAIRED_CONFIDENCE, Samples, Verdict as Outcome, Worse, compare, verdicts,
};
use tidemark_store::{
    Dimension, ReportId, Tx,
    pair::{self, SeriesPairs},
    series::SeriesKey,
    variant,
};

use super::{
    VerdictInput,
    summary::{answer, count, counts_answer, number, sort_key},
};
use crate::domain::error::{Error, Result};

/// Comparison of the pairs of a series.
#[derive(Clone, Debug)]
pub(crate) struct PairedComparison {
    pub(crate) series_key: SeriesKey,
    pub(crate) outcome: Outcome,
    pub(crate) comparison: VerdictComparison,
}

/// Compares both sides of each selected series of a report, each by its own criteria.
pub(crate) fn compare_pairs(
    tx: &mut Tx<'_>,
    report: ReportId,
    is_selected: impl Fn(&SeriesKey) -> bool,
    criteria: impl Fn(&SeriesKey) -> Criteria,
) -> Result<Vec<PairedComparison>> {
    let mut series = pair::of_report(tx, report)?;
    series.retain(|one| is_selected(&one.series_key));
    if series.is_empty() {
        return Ok(Vec::new());
    }
    let keys = |key: fn(&SeriesKey) -> i64| -> Vec<i64> {
        let mut keys: Vec<i64> = series.iter().map(|one| key(&one.series_key)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let benchmarks: HashMap<_, Arc<Benchmark>> = Benchmark::by_ids(tx, &keys(|key| key.benchmark.get()))?;
    let measures: HashMap<_, Shared<Measure>> = Measure::by_ids(tx, &keys(|key| key.measure.get()))?;
    let variants = variant::by_ids(tx, &keys(|key| key.variant))?;
    let compared: Vec<(Comparison, Worse)> = series
        .iter()
        .map(|SeriesPairs { series_key, pairs }| {
            let worse = measures.get(&series_key.measure).map_or(Worse::Unknown, |measure| measure.worse());
            (compare(Samples::Paired(pairs), PAIRED_CONFIDENCE), worse)
        })
        .collect();
    // All comparisons are made together, so that each of the criteria judges all of them.
    let mut by_criteria: BTreeMap<[u64; 2], Vec<(Outcome, Option<f64>)>> = BTreeMap::new();
    let judged: Vec<(Outcome, Option<f64>)> = series
        .iter()
        .enumerate()
        .map(|(index, one)| {
            let criteria = criteria(&one.series_key);
            let key = [criteria.smallest_change.to_bits(), criteria.same_within.to_bits()];
            by_criteria.entry(key).or_insert_with(|| verdicts(&compared, &criteria))[index]
        })
        .collect();
    let judged = compared.iter().zip(judged);
    let comparisons = series.iter().zip(judged).map(|(one, ((comparison, _), (outcome, p)))| {
        let SeriesPairs { series_key, pairs } = one;
        let (Some(benchmark), Some(measure)) =
            (benchmarks.get(&series_key.benchmark), measures.get(&series_key.measure))
        else {
            return Err(Error::not_found("benchmark"));
        };
        let (answer, direction) = answer(outcome);
        let comparison = VerdictComparison {
            benchmark: (**benchmark).clone(),
            variant: variants.get(&series_key.variant.into()).map(|variant| (**variant).clone()),
            measure: (**measure).clone(),
            answer,
            direction,
            muted: None,
            base: Some(comparison.base),
            base_runs: number(pairs.len()),
            base_version: None,
            head: comparison.new,
            head_runs: number(pairs.len()),
            change: comparison.change,
            lower: comparison.interval.map(|interval| interval.0),
            upper: comparison.interval.map(|interval| interval.1),
            noise: None,
            detectable: comparison.detectable,
            p,
        };
        Ok(PairedComparison { series_key: *series_key, outcome, comparison })
    });
    comparisons.collect()
}

impl VerdictInput {
    /// Returns the verdict on the pairs of a job with a base.
    pub(super) fn paired_verdict(self) -> Verdict {
        let mut comparisons = self.paired;
        let (branch, testbed) = (self.report.branch, self.report.testbed);
        for one in &mut comparisons {
            one.muted = self.mutes.of_series(
                branch.name.as_str(),
                testbed.name.as_str(),
                one.benchmark.name.as_str(),
            );
        }
        comparisons.sort_by(|left, right| sort_key(left).total_cmp(&sort_key(right)));
        let counts = count(&comparisons);
        let report = self.report.uuid;
        Verdict {
            report,
            baseline: Some(VerdictBaseline {
                report,
                branch: branch.clone(),
                testbed: testbed.clone(),
                reports: 1,
            }),
            branch,
            testbed,
            pairs: comparisons.iter().map(|one| one.head_runs).max(),
            answer: counts_answer(&counts),
            counts,
            cause: ChangeCause::Code,
            factors: Vec::new(),
            comparisons,
            settled: self.settled,
            changes: self.changes,
        }
    }
}
