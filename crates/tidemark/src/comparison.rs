//! Comparison of two sides of results: their common benchmarks and measures, the differences and the verdicts. `rounds` compares
//! pairs while they are measured; `show` prints the comparison; `tidemark-stats` has the computation.

mod rounds;
mod show;

use std::collections::HashMap;

use tidemark_adapters::{EntryRef, MetricRef, Results};
use tidemark_api::{Adapter, MeasureDirection, Parameters, ResourceName, measure};
use tidemark_stats::{Comparison, Criteria, Samples, Verdict, Worse, compare, verdicts};

pub(crate) use self::rounds::Rounds;

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
    /// Range within which two sides count as equal, in percent [default: 5 for files, 3 for commits]
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    same_within: Option<f64>,
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

    /// Returns the criteria. Runs in pairs continue until they are as precise as necessary; files have a given number of runs.
    fn criteria(&self, paired: bool) -> Criteria {
        let same_within = self.same_within.unwrap_or(if paired { 3.0 } else { 5.0 });
        Criteria { smallest_change: self.min_change / 100.0, same_within: same_within / 100.0 }
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
}

/// Result of a comparison.
pub(crate) struct ComparisonReport {
    base_name: String,
    new_name: String,
    confidence: f64,
    paired: bool,
    /// Hash of the binaries of both sides, if they are identical, so that nothing was measured.
    identical: Option<String>,
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
    /// Remark if a side has only one value.
    note: &'static str,
}

/// A benchmark with its parameters, and a measure.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) parameters: Option<Parameters>,
    /// Slug of a built-in measure, otherwise the reported name.
    pub(crate) measure: ResourceName,
}

/// Values of a series, one per run.
#[derive(Default)]
struct Values<'a> {
    base: Vec<MetricRef<'a>>,
    new: Vec<MetricRef<'a>>,
}

impl Sides {
    /// Compares the series that both sides have.
    pub(crate) fn compare(&self, flags: &CriteriaFlags) -> Result<ComparisonReport> {
        let confidence = flags.confidence(false);
        let (order, mut values) = self.series();
        let (mut rows, mut only_base, mut only_new) = (Vec::new(), Vec::new(), Vec::new());
        for series in order {
            let Some(both) = values.remove(&series) else { continue };
            match (both.base.is_empty(), both.new.is_empty()) {
                (false, false) => rows.push(both.compare(series, confidence)),
                (false, true) => only_base.push(series.title()),
                (true, _) => only_new.push(series.title()),
            }
        }
        let mut report = ComparisonReport {
            base_name: self.base_name.clone(),
            new_name: self.new_name.clone(),
            confidence,
            paired: false,
            identical: None,
            adapter: self.adapter(),
            rows,
            only_base,
            only_new,
        };
        report.judge(&flags.criteria(false))?;
        Ok(report)
    }

    /// Returns the adapter of all results; `magic` if they differ.
    fn adapter(&self) -> Adapter {
        let mut adapters = self.base.iter().chain(&self.new).map(|results| results.adapter);
        let first = adapters.next().unwrap_or_default();
        if adapters.all(|adapter| adapter == first) { first } else { Adapter::Magic }
    }

    /// Returns the values of each series, and the series in order of appearance.
    fn series(&self) -> (Vec<Series>, HashMap<Series, Values<'_>>) {
        let (mut order, mut values) = (Vec::new(), HashMap::<Series, Values<'_>>::new());
        for (is_new, results) in [(false, &self.base), (true, &self.new)] {
            for result in results {
                for entry in &result.entries {
                    for measured in entry.metrics() {
                        let series = Series::of(entry, measured);
                        let both = values.entry(series.clone()).or_insert_with(|| {
                            order.push(series);
                            Values::default()
                        });
                        let side = if is_new { &mut both.new } else { &mut both.base };
                        side.push(measured);
                    }
                }
            }
        }
        (order, values)
    }
}

impl ComparisonReport {
    /// Computes the verdicts on all rows, and sorts the rows by them. Fails if there is no row.
    fn judge(&mut self, criteria: &Criteria) -> Result {
        if self.rows.is_empty() {
            return Err(Failure::with(
                Exit::Empty,
                format!(
                    "{} and {} have no benchmark and measure in common; check that both sides ran the same \
                     benchmarks.",
                    self.base_name, self.new_name
                ),
            ));
        }
        let comparisons: Vec<(Comparison, Worse)> =
            self.rows.iter().map(|row| (row.comparison, row.worse)).collect();
        for (row, (verdict, adjusted)) in self.rows.iter_mut().zip(verdicts(&comparisons, criteria)) {
            (row.verdict, row.adjusted) = (verdict, adjusted);
        }
        self.rows.sort_by(|left, right| {
            left.verdict.cmp(&right.verdict).then(right.severity().total_cmp(&left.severity()))
        });
        Ok(())
    }

    /// Returns the result for sides with identical binaries, which were not measured.
    pub(crate) fn identical(base_name: &str, new_name: &str, flags: &CriteriaFlags, hash: String) -> Self {
        Self {
            base_name: base_name.to_owned(),
            new_name: new_name.to_owned(),
            confidence: flags.confidence(true),
            paired: true,
            identical: Some(hash),
            adapter: Adapter::Magic,
            rows: Vec::new(),
            only_base: Vec::new(),
            only_new: Vec::new(),
        }
    }

    /// Whether the binaries of both sides are identical.
    pub(crate) fn is_identical(&self) -> bool {
        self.identical.is_some()
    }

    /// Returns the verdict on a series with the number of pairs; `None` if it was not measured on both sides.
    pub(crate) fn verdict(&self, series: &Series) -> Option<(Verdict, &Comparison, usize)> {
        let row = self.rows.iter().find(|row| row.series == *series)?;
        Some((row.verdict, &row.comparison, row.new_runs))
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
    fn of(entry: EntryRef<'_>, measured: MetricRef<'_>) -> Self {
        // A tool may report a built-in measure by its slug or its name.
        let known = measure::built_in(measured.measure.as_str()).and_then(|known| known.slug.parse().ok());
        Self {
            label: entry.label.as_str().to_owned(),
            parameters: entry.parameters(),
            measure: known.unwrap_or_else(|| measured.measure.clone()),
        }
    }

    /// Returns the benchmark with its parameters.
    pub(crate) fn benchmark(&self) -> String {
        output::benchmark(&self.label, self.parameters.as_ref())
    }

    /// Returns the benchmark and the measure, for messages.
    pub(crate) fn title(&self) -> String {
        format!("{} ({})", self.benchmark(), output::plain(self.measure.as_str()))
    }
}

impl Values<'_> {
    fn compare(&self, series: Series, confidence: f64) -> Row {
        let values =
            |side: &[MetricRef<'_>]| -> Vec<f64> { side.iter().map(|measured| measured.value).collect() };
        let (base, new) = (values(&self.base), values(&self.new));
        let comparison = compare(Samples::Independent(&base, &new), confidence);
        let note = match (self.base.as_slice(), self.new.as_slice()) {
            ([base], [new]) => {
                compare_ranges(base.lower_value.zip(base.upper_value), new.lower_value.zip(new.upper_value))
            }
            _ => "",
        };
        let units = self.new.first().map_or("", |new| output::units(new.measure, new.units)).to_owned();
        let declared = self.new.iter().chain(&self.base).find_map(|measured| measured.direction);
        let worse = MeasureDirection::worse(series.measure.as_str(), declared);
        let verdict = Verdict::Inconclusive;
        let (base_runs, new_runs) = (base.len(), new.len());
        Row { series, units, worse, verdict, comparison, adjusted: None, base_runs, new_runs, note }
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

/// Ends of the range of a value, if it has one.
type Range = Option<(f64, f64)>;

/// Compares the ranges of two single values. A range covers only one run, so the result is a hint and not a verdict.
fn compare_ranges(base: Range, new: Range) -> &'static str {
    match (base, new) {
        (Some((base_lower, base_upper)), Some((new_lower, new_upper))) => {
            if new_lower > base_upper || new_upper < base_lower { "ranges apart" } else { "ranges overlap" }
        }
        _ => "",
    }
}
