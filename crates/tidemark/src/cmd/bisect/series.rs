//! Series of a search: the benchmark and the measure whose change is searched for, and its choice.

use std::collections::HashMap;

use tidemark_adapters::Results;
use tidemark_api::{Parameters, ResourceName, measure};
use tidemark_stats::Bisection;

use crate::{
    failure::{Exit, Failure, Result},
    output,
};

/// Filter of the series to search.
pub(super) struct SeriesChoice<'a> {
    /// Name of the benchmark, with or without parameters.
    pub(super) benchmark: Option<&'a str>,
    /// Slug or name of the measure.
    pub(super) measure: Option<&'a str>,
}

/// A benchmark with its parameters, and a measure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Series {
    pub(super) label: String,
    pub(super) parameters: Option<Parameters>,
    /// Slug of a built-in measure, otherwise the reported name.
    pub(super) measure: ResourceName,
}

/// Values of a measurement.
pub(super) struct Values {
    values: HashMap<Series, (f64, String)>,
    /// Series in the order of the output.
    order: Vec<Series>,
}

impl Values {
    pub(super) fn new(results: &Results) -> Self {
        let (mut values, mut order) = (HashMap::new(), Vec::new());
        for entry in &results.entries {
            for measured in entry.metrics() {
                let series = Series {
                    label: entry.label.as_str().to_owned(),
                    parameters: entry.parameters(),
                    measure: slug(measured.measure),
                };
                let value = (measured.value, output::units(measured.measure, measured.units).to_owned());
                if values.insert(series.clone(), value).is_none() {
                    order.push(series);
                }
            }
        }
        Self { values, order }
    }

    pub(super) fn get(&self, series: &Series) -> Option<f64> {
        self.values.get(series).map(|(value, _)| *value)
    }

    pub(super) fn units(&self, series: &Series) -> &str {
        self.values.get(series).map_or("", |(_, units)| units)
    }
}

impl Series {
    pub(super) fn benchmark(&self) -> String {
        output::benchmark(&self.label, self.parameters.as_ref())
    }

    /// Returns the name of the measure.
    pub(super) fn measure(&self) -> &str {
        measure::built_in(self.measure.as_str()).map_or(self.measure.as_str(), |known| known.name)
    }

    /// Returns the benchmark and the measure, for messages.
    pub(super) fn title(&self) -> String {
        format!("{} ({})", self.benchmark(), output::plain(self.measure()))
    }
}

/// Returns the slug of a built-in measure, which a tool may report by its slug or its name.
fn slug(name: &ResourceName) -> ResourceName {
    let known = measure::built_in(name.as_str()).and_then(|known| known.slug.parse().ok());
    known.unwrap_or_else(|| name.clone())
}

impl SeriesChoice<'_> {
    /// Returns the series that differs most between the good and the bad commit: the one whose change is most probable and, of
    /// several, the one with the largest difference in multiples of the noise. Also returns the number of series to choose from.
    pub(super) fn choose(&self, good: &[&Values], bad: &[&Values]) -> Result<(Series, usize)> {
        let first = good.first().into_iter().flat_map(|values| &values.order);
        let all = || good.iter().chain(bad);
        let common: Vec<&Series> =
            first.filter(|series| all().all(|values| values.get(series).is_some())).collect();
        let candidates: Vec<&Series> = common.iter().copied().filter(|series| self.matches(series)).collect();
        let chosen = candidates.iter().max_by(|left, right| {
            let (left, right) = (difference(left, good, bad), difference(right, good, bad));
            left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1))
        });
        chosen.map(|series| ((*series).clone(), candidates.len())).ok_or_else(|| {
            let known = common.iter().map(|series| series.title()).take(5).collect::<Vec<_>>().join(", ");
            let what = match (self.benchmark, self.measure) {
                (None, None) => "benchmark and measure".to_owned(),
                (benchmark, measure) => {
                    let parts = [benchmark, measure].into_iter().flatten().map(output::plain);
                    format!("result of {}", parts.collect::<Vec<_>>().join(", "))
                }
            };
            let known = if known.is_empty() { "nothing".to_owned() } else { known };
            Failure::with(
                Exit::Empty,
                format!("The good and the bad commit have no {what} in common; both have {known}."),
            )
        })
    }

    fn matches(&self, series: &Series) -> bool {
        let is_benchmark = |name: &str| series.label == name || series.benchmark() == name;
        let is_measure = |name: &str| series.measure.as_str() == name || series.measure() == name;
        self.benchmark.is_none_or(is_benchmark) && self.measure.is_none_or(is_measure)
    }
}

/// Returns the probability of a change and its size in multiples of the noise.
fn difference(series: &Series, good: &[&Values], bad: &[&Values]) -> (f64, f64) {
    let mut bisection = Bisection::new(1);
    for (commit, values) in [(0, good), (1, bad)] {
        for value in values.iter().filter_map(|values| values.get(series)) {
            bisection.record(commit, value, 0);
        }
    }
    let assessment = bisection.assess();
    let size = assessment.difference.map_or(0.0, |difference| difference.in_deviations.abs());
    (1.0 - assessment.no_change, size)
}
