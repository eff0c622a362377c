//! Comparison of two sides of results: their common benchmarks and measures, the differences and the verdicts. `show` prints the
//! comparison; `tidemark-stats` has the computation.

mod show;

use std::collections::HashMap;

use tidemark_adapters::{Entry, Label, ParsedMetric, Results};
use tidemark_api::{Adapter, MeasureDirection, Parameters, ResourceName, measure};
use tidemark_stats::{Comparison, Criteria, Samples, Verdict, Worse, compare, pairs_left, verdicts};

use crate::{
    failure::{Exit, Failure, Result},
    output,
};

/// Criteria for a change.
#[derive(clap::Args)]
pub(crate) struct CriteriaFlags {
    /// Confidence level of the intervals, as a probability: the share of comparisons without a change that raise no alarm
    /// [default: 0.95 for files, 0.99 for commits]
    #[arg(long, value_name = "PROBABILITY", value_parser = probability)]
    confidence: Option<f64>,
    /// Smallest change that counts, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percentage)]
    min_change: f64,
    /// Range within which two sides count as equal, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percentage)]
    same_within: f64,
}

fn probability(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.5..1.0).contains(number));
    number.ok_or_else(|| "it must be a number of at least 0.5 and less than 1".to_owned())
}

fn percentage(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "it must be a number of at least 0".to_owned())
}

impl CriteriaFlags {
    /// Returns the confidence level. The verdicts on pairs are monitored while they are measured, and may start a review or fail a
    /// build without further runs; they are therefore more cautious.
    fn confidence(&self, paired: bool) -> f64 {
        self.confidence.unwrap_or(if paired { 0.99 } else { 0.95 })
    }
}

/// The two sides of a comparison.
pub(crate) struct Sides {
    /// Name of the base.
    pub(crate) base_name: String,
    /// Name of the new side.
    pub(crate) new_name: String,
    /// Results of the base, one per run.
    pub(crate) base: Vec<Results>,
    pub(crate) new: Vec<Results>,
    /// Whether the runs of both sides form pairs.
    pub(crate) paired: bool,
}

/// Result of a comparison.
pub(crate) struct ComparisonReport {
    base_name: String,
    new_name: String,
    confidence: f64,
    same_within: f64,
    paired: bool,
    /// Adapter of both sides; `magic` if they differ.
    adapter: Adapter,
    /// Rows, the worst first.
    rows: Vec<Row>,
    /// Benchmarks with measures that only the base has.
    only_base: Vec<String>,
    only_new: Vec<String>,
}

/// Comparison of one benchmark and measure.
struct Row {
    series: Series,
    units: String,
    worse: Worse,
    verdict: Verdict,
    comparison: Comparison,
    /// Probability, corrected for the number of comparisons.
    adjusted: Option<f64>,
    base_runs: usize,
    new_runs: usize,
    /// Pairs of values, if the sides were measured in pairs.
    pairs: Vec<(f64, f64)>,
    /// Remark if a side has only one value.
    note: &'static str,
}

/// A benchmark with its parameters, and a measure.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Series {
    label: String,
    parameters: Option<Parameters>,
    measure: ResourceName,
}

/// Values of a series, each with the number of its run.
#[derive(Default)]
struct Values {
    base: Vec<(usize, ParsedMetric)>,
    new: Vec<(usize, ParsedMetric)>,
}

impl Sides {
    /// Compares the series that both sides have.
    pub(crate) fn compare(&self, flags: &CriteriaFlags) -> Result<ComparisonReport> {
        let confidence = flags.confidence(self.paired);
        let (order, mut values) = self.series();
        let (mut rows, mut only_base, mut only_new) = (Vec::new(), Vec::new(), Vec::new());
        for series in order {
            let Some(both) = values.remove(&series) else { continue };
            match (both.base.is_empty(), both.new.is_empty()) {
                (false, false) => rows.push(both.compare(series, self.paired, confidence)),
                (false, true) => only_base.push(series.title()),
                (true, _) => only_new.push(series.title()),
            }
        }
        if rows.is_empty() {
            return Err(Failure::with(
                Exit::Empty,
                format!(
                    "{} and {} have no benchmark and measure in common; check that both sides ran the same \
                     benchmarks.",
                    self.base_name, self.new_name
                ),
            ));
        }
        let criteria =
            Criteria { smallest_change: flags.min_change / 100.0, same_within: flags.same_within / 100.0 };
        let comparisons: Vec<(Comparison, Worse)> =
            rows.iter().map(|row| (row.comparison, row.worse)).collect();
        for (row, (verdict, adjusted)) in rows.iter_mut().zip(verdicts(&comparisons, &criteria)) {
            (row.verdict, row.adjusted) = (verdict, adjusted);
        }
        rows.sort_by(|left, right| {
            left.verdict.cmp(&right.verdict).then(right.severity().total_cmp(&left.severity()))
        });
        let adapter = self.adapter();
        Ok(ComparisonReport {
            base_name: self.base_name.clone(),
            new_name: self.new_name.clone(),
            confidence,
            same_within: criteria.same_within,
            paired: self.paired,
            adapter,
            rows,
            only_base,
            only_new,
        })
    }

    /// Returns the adapter of all results; `magic` if they differ.
    fn adapter(&self) -> Adapter {
        let mut adapters = self.base.iter().chain(&self.new).map(|results| results.adapter);
        let first = adapters.next().unwrap_or_default();
        if adapters.all(|adapter| adapter == first) { first } else { Adapter::Magic }
    }

    /// Returns the values of each series, and the series in order of appearance.
    fn series(&self) -> (Vec<Series>, HashMap<Series, Values>) {
        let (mut order, mut values) = (Vec::new(), HashMap::<Series, Values>::new());
        for (is_new, results) in [(false, &self.base), (true, &self.new)] {
            for (run, result) in results.iter().enumerate() {
                for entry in &result.entries {
                    for measured in &entry.metrics {
                        let series = Series::of(entry, measured);
                        let both = values.entry(series.clone()).or_insert_with(|| {
                            order.push(series);
                            Values::default()
                        });
                        let side = if is_new { &mut both.new } else { &mut both.base };
                        side.push((run, measured.clone()));
                    }
                }
            }
        }
        (order, values)
    }
}

impl ComparisonReport {
    /// Whether every comparison has a verdict.
    pub(crate) fn is_conclusive(&self) -> bool {
        self.rows.iter().all(|row| row.verdict != Verdict::Inconclusive)
    }

    /// Returns the expected number of further pairs until every comparison has a verdict; `None` if it cannot be predicted.
    pub(crate) fn pairs_left(&self) -> Option<u32> {
        let inconclusive = self.rows.iter().filter(|row| row.verdict == Verdict::Inconclusive);
        let left = |row: &Row| pairs_left(&row.pairs, self.rows.len(), self.confidence, self.same_within);
        inconclusive.map(left).try_fold(0, |most, left| Some(most.max(left?)))
    }

    /// Returns a failure if there is a regression, with `--error-on-alert`.
    pub(crate) fn gate(&self, error_on_alert: bool) -> Result {
        let sentence = match self.rows.iter().filter(|row| row.verdict == Verdict::Regression).count() {
            0 => return Ok(()),
            _ if !error_on_alert => return Ok(()),
            1 => "There is 1 regression.".to_owned(),
            count => format!("There are {count} regressions."),
        };
        Err(Failure::with(Exit::Regression, sentence))
    }
}

impl Series {
    fn of(entry: &Entry, measured: &ParsedMetric) -> Self {
        let (Label::Name(name) | Label::Reference(name)) = &entry.label;
        // A tool may report a built-in measure by its slug or its name.
        let known = measure::built_in(measured.measure.as_str()).and_then(|known| known.slug.parse().ok());
        Self {
            label: name.as_str().to_owned(),
            parameters: entry.parameters.clone(),
            measure: known.unwrap_or_else(|| measured.measure.clone()),
        }
    }

    fn benchmark(&self) -> String {
        output::benchmark(&self.label, self.parameters.as_ref())
    }

    fn title(&self) -> String {
        format!("{} ({})", self.benchmark(), output::plain(self.measure.as_str()))
    }
}

impl Values {
    fn compare(self, series: Series, paired: bool, confidence: f64) -> Row {
        let values = |side: &[(usize, ParsedMetric)]| -> Vec<f64> {
            side.iter().map(|(_, measured)| measured.value).collect()
        };
        let (comparison, pairs, base_runs, new_runs) = if paired {
            let of_new: HashMap<usize, f64> =
                self.new.iter().map(|(run, measured)| (*run, measured.value)).collect();
            let pairs: Vec<(f64, f64)> = self
                .base
                .iter()
                .filter_map(|(run, measured)| Some((measured.value, *of_new.get(run)?)))
                .collect();
            let count = pairs.len();
            (compare(Samples::Paired(&pairs), confidence), pairs, count, count)
        } else {
            let (base, new) = (values(&self.base), values(&self.new));
            (compare(Samples::Independent(&base, &new), confidence), Vec::new(), base.len(), new.len())
        };
        let note = match (self.base.as_slice(), self.new.as_slice()) {
            ([(_, base)], [(_, new)]) => compare_ranges(base, new),
            _ => "",
        };
        let units = self.new.first().map_or("", |(_, measured)| output::units(measured)).to_owned();
        let declared = self.new.iter().chain(&self.base).find_map(|(_, measured)| measured.direction);
        let worse = MeasureDirection::worse(series.measure.as_str(), declared);
        let verdict = Verdict::Inconclusive;
        Row { series, units, worse, verdict, comparison, adjusted: None, base_runs, new_runs, pairs, note }
    }
}

impl Row {
    /// Returns by how much the new side is worse, as a share; negative if better.
    fn severity(&self) -> f64 {
        let change = self.comparison.change.unwrap_or(f64::INFINITY);
        match self.worse {
            Worse::Up => change,
            Worse::Down => -change,
            Worse::Unknown => change.abs(),
        }
    }
}

/// Compares the ranges of two single values. A range covers only one run, so the result is a hint and not a verdict.
fn compare_ranges(base: &ParsedMetric, new: &ParsedMetric) -> &'static str {
    let ends = |measured: &ParsedMetric| measured.lower_value.zip(measured.upper_value);
    match (ends(base), ends(new)) {
        (Some((base_lower, base_upper)), Some((new_lower, new_upper))) => {
            if new_lower > base_upper || new_upper < base_lower { "ranges apart" } else { "ranges overlap" }
        }
        _ => "",
    }
}
