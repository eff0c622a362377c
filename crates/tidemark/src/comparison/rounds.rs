//! Comparison of two sides while they are measured in pairs. A round does not repeat the tests of the earlier rounds.

use std::collections::HashMap;

use tidemark_adapters::{MetricRef, ParsedMetric, Results};
use tidemark_api::{Adapter, MeasureDirection};
use tidemark_stats::{Comparison, Pairs, Verdict, Worse, verdicts};

use super::{ComparisonReport, CriteriaFlags, Row, Series, compare_ranges};
use crate::{failure::Result, output};

/// Maximum number of series that are listed after a round.
const MAX_LISTED: usize = 20;

/// Rounds of a comparison in pairs.
pub(crate) struct Rounds<'a> {
    names: (String, String),
    flags: &'a CriteriaFlags,
    /// Series to compare; `None` for all.
    only: Option<&'a [Series]>,
    /// Adapter of both sides; `magic` if they differ.
    adapter: Option<Adapter>,
    /// Series in order of appearance.
    all: Vec<MeasuredSeries>,
    index: HashMap<Series, usize>,
}

/// A series with its pairs.
struct MeasuredSeries {
    series: Series,
    pairs: Pairs,
    /// First value of each side.
    first: (Option<ParsedMetric>, Option<ParsedMetric>),
    /// Direction that the results declare.
    declared: Option<MeasureDirection>,
    verdict: Verdict,
}

impl<'a> Rounds<'a> {
    /// Starts a comparison of the sides with these names.
    pub(crate) fn new(
        base_name: &str,
        new_name: &str,
        flags: &'a CriteriaFlags,
        only: Option<&'a [Series]>,
    ) -> Self {
        let names = (base_name.to_owned(), new_name.to_owned());
        Self { names, flags, only, adapter: None, all: Vec::new(), index: HashMap::new() }
    }

    /// Adds the results of a round, and computes the verdicts.
    pub(crate) fn push(&mut self, base: &Results, new: &Results) {
        for adapter in [base.adapter, new.adapter] {
            let is_same = self.adapter.is_none_or(|known| known == adapter);
            self.adapter = Some(if is_same { adapter } else { Adapter::Magic });
        }
        let mut round: HashMap<usize, f64> = HashMap::new();
        self.each(base, |this, index, measured| {
            round.insert(index, measured.value);
            this.all[index].first.0.get_or_insert_with(|| measured.to_metric());
        });
        self.each(new, |this, index, measured| {
            let one = &mut this.all[index];
            one.first.1.get_or_insert_with(|| measured.to_metric());
            one.declared = one.declared.or(measured.direction);
            if let Some(value) = round.remove(&index) {
                one.pairs.push(value, measured.value);
            }
        });
        self.judge();
    }

    /// Calls a function for each metric of a series that is compared.
    fn each(&mut self, results: &Results, mut visit: impl FnMut(&mut Self, usize, MetricRef<'_>)) {
        for entry in &results.entries {
            for measured in entry.metrics() {
                let series = Series::of(entry, measured);
                if self.only.is_some_and(|only| !only.contains(&series)) {
                    continue;
                }
                let index = match self.index.get(&series) {
                    Some(index) => *index,
                    None => {
                        self.index.insert(series.clone(), self.all.len());
                        self.all.push(MeasuredSeries {
                            series,
                            pairs: Pairs::new(
                                self.flags.confidence(true),
                                self.flags.criteria(true).same_within,
                            ),
                            first: (None, None),
                            declared: None,
                            verdict: Verdict::Inconclusive,
                        });
                        self.all.len() - 1
                    }
                };
                visit(self, index, measured);
            }
        }
    }

    fn judge(&mut self) {
        let compared: Vec<(Comparison, Worse)> =
            self.compared().map(|one| (one.pairs.quick_comparison(), one.worse())).collect();
        let found = verdicts(&compared, &self.flags.criteria(true));
        let compared = self.all.iter_mut().filter(|one| !one.pairs.is_empty());
        for (one, (verdict, _)) in compared.zip(found) {
            one.verdict = verdict;
        }
    }

    /// Returns the series that both sides have.
    fn compared(&self) -> impl Iterator<Item = &MeasuredSeries> {
        self.all.iter().filter(|one| !one.pairs.is_empty())
    }

    fn undecided(&self) -> impl Iterator<Item = &MeasuredSeries> {
        self.compared().filter(|one| one.verdict == Verdict::Inconclusive)
    }

    /// Whether there are pairs.
    pub(crate) fn is_empty(&self) -> bool {
        self.compared().next().is_none()
    }

    /// Whether every comparison has a verdict.
    pub(crate) fn is_conclusive(&self) -> bool {
        !self.is_empty() && self.undecided().next().is_none()
    }

    /// Returns the adapter of the results; `None` before the first round, and if the adapters differ.
    pub(crate) fn adapter(&self) -> Option<Adapter> {
        self.adapter.filter(|adapter| *adapter != Adapter::Magic)
    }

    /// Returns the names of the benchmarks without a verdict, and the names of the others.
    pub(crate) fn selection(&self) -> (Vec<String>, Vec<String>) {
        let mut wanted: Vec<String> = match self.only {
            Some(only) if self.all.is_empty() => only.iter().map(|series| series.label.clone()).collect(),
            _ => self.undecided().map(|one| one.series.label.clone()).collect(),
        };
        let mut others: Vec<String> = self.all.iter().map(|one| one.series.label.clone()).collect();
        for names in [&mut wanted, &mut others] {
            names.sort();
            names.dedup();
        }
        others.retain(|name| wanted.binary_search(name).is_err());
        (wanted, others)
    }

    /// Returns the expected number of further rounds until every comparison has a verdict; `None` if it cannot be predicted.
    pub(crate) fn rounds_left(&self) -> Option<u32> {
        let count = self.compared().count();
        self.undecided()
            .map(|one| one.pairs.pairs_left(count))
            .try_fold(0, |most, left| Some(most.max(left?)))
    }

    /// Returns the number of series with each verdict.
    pub(crate) fn counts(&self) -> String {
        super::show::counts(self.compared().map(|one| one.verdict))
    }

    /// Returns a line per series with its verdict, its change so far and the expected number of further rounds: the worst first,
    /// then those that need most rounds.
    pub(crate) fn lines(&self) -> Vec<String> {
        let count = self.compared().count();
        let mut rows: Vec<(Verdict, u32, String)> = self
            .compared()
            .map(|one| {
                let left = one.pairs.pairs_left(count).filter(|_| one.verdict == Verdict::Inconclusive);
                let change = one.pairs.quick_comparison().change;
                let mut line = format!("  {:13}  {}", super::show::label(one.verdict), one.series.title());
                if let Some(change) = change {
                    line.push_str(&format!(": {}", output::percent(change)));
                }
                match left {
                    Some(1) => line.push_str(", about 1 more round"),
                    Some(left) => line.push_str(&format!(", about {left} more rounds")),
                    None => {}
                }
                (one.verdict, u32::MAX - left.unwrap_or(0), line)
            })
            .collect();
        rows.sort_by_key(|(verdict, order, _)| (*verdict, *order));
        let more = rows.len().saturating_sub(MAX_LISTED);
        let mut lines: Vec<String> = rows.into_iter().take(MAX_LISTED).map(|(_, _, line)| line).collect();
        if more > 0 {
            lines.push(format!("  … and {more} more"));
        }
        lines
    }

    /// Returns the comparison.
    pub(crate) fn report(&self) -> Result<ComparisonReport> {
        let rows = self.compared().map(MeasuredSeries::row).collect();
        let only = |is_base: bool| {
            let side = self.all.iter().filter(|one| one.pairs.is_empty());
            side.filter(|one| one.first.0.is_some() == is_base).map(|one| one.series.title()).collect()
        };
        let mut report = ComparisonReport {
            base_name: self.names.0.clone(),
            new_name: self.names.1.clone(),
            confidence: self.flags.confidence(true),
            paired: true,
            identical: None,
            adapter: self.adapter.unwrap_or_default(),
            rows,
            only_base: only(true),
            only_new: only(false),
        };
        report.judge(&self.flags.criteria(true))?;
        Ok(report)
    }
}

impl MeasuredSeries {
    fn worse(&self) -> Worse {
        let declared = self.declared.or_else(|| self.first.0.as_ref()?.direction);
        MeasureDirection::worse(self.series.measure.as_str(), declared)
    }

    fn row(&self) -> Row {
        let runs = self.pairs.len();
        let note = match &self.first {
            (Some(base), Some(new)) if runs == 1 => {
                compare_ranges(base.lower_value.zip(base.upper_value), new.lower_value.zip(new.upper_value))
            }
            _ => "",
        };
        Row {
            series: self.series.clone(),
            units: self
                .first
                .1
                .as_ref()
                .map_or("", |new| output::units(&new.measure, new.units.as_ref()))
                .to_owned(),
            worse: self.worse(),
            verdict: self.verdict,
            comparison: self.pairs.comparison(),
            adjusted: None,
            base_runs: runs,
            new_runs: runs,
            note,
        }
    }
}
