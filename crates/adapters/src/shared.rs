//! Measures and parameters that many benchmarks of [`Entries`](crate::Entries) share. Each is stored once.

use std::collections::HashMap;

use smallvec::SmallVec;
use tidemark_api::{MeasureDirection, ResourceName};

/// Variant of an entry without parameters.
pub(crate) const NO_PARAMETERS: usize = 0;
/// Variant of an entry that contains its parameters.
pub(crate) const OWN_PARAMETERS: usize = 1;
/// Variant of an entry with the first shared parameters.
const FIRST_PARAMETERS: usize = 2;

/// Number of parameters and measures that are compared one by one, which takes less time than a table.
pub(crate) const FEW: usize = 16;

/// Measures and parameters, without duplicates.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    /// The first [`FEW`] distinct parameters, packed. A table of many would take more memory than it saves.
    parameters: Vec<Box<str>>,
    measures: Vec<Measure>,
    /// Indexes of the measures after the first [`FEW`].
    more_measures: HashMap<Measure, usize>,
}

/// What the output states about a measure.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Measure {
    pub(crate) name: ResourceName,
    pub(crate) units: Option<ResourceName>,
    pub(crate) direction: Option<MeasureDirection>,
}

/// A metric with the index of its measure.
#[derive(Clone, Copy)]
pub(crate) struct PackedMetric {
    pub(crate) measure: usize,
    pub(crate) value: f64,
    pub(crate) lower_value: Option<f64>,
    pub(crate) upper_value: Option<f64>,
}

/// Metrics of a benchmark; most have one.
pub(crate) type PackedMetrics = SmallVec<[PackedMetric; 4]>;

impl Shared {
    /// Returns the variant of an entry with these parameters.
    pub(crate) fn variant(&mut self, parameters: &str) -> usize {
        if let Some(index) = self.parameters.iter().position(|known| **known == *parameters) {
            return FIRST_PARAMETERS + index;
        }
        if self.parameters.len() == FEW {
            return OWN_PARAMETERS;
        }
        self.parameters.push(parameters.into());
        FIRST_PARAMETERS + self.parameters.len() - 1
    }

    /// Returns the shared parameters of a variant.
    pub(crate) fn parameters(&self, variant: usize) -> &str {
        &self.parameters[variant - FIRST_PARAMETERS]
    }

    /// Returns the index of a measure.
    pub(crate) fn measure_index(&mut self, measure: Measure) -> usize {
        if let Some(index) = self.measures.iter().take(FEW).position(|known| *known == measure) {
            return index;
        }
        if self.measures.len() < FEW {
            self.measures.push(measure);
            return self.measures.len() - 1;
        }
        if let Some(index) = self.more_measures.get(&measure) {
            return *index;
        }
        self.measures.push(measure.clone());
        self.more_measures.insert(measure, self.measures.len() - 1);
        self.measures.len() - 1
    }

    /// Returns the measure with an index.
    pub(crate) fn measure(&self, index: usize) -> &Measure {
        &self.measures[index]
    }

    /// Keeps the last metric of each measure, in the order of the first ones.
    pub(crate) fn keep_last_of_each(&self, metrics: &mut PackedMetrics) {
        let name = |metric: &PackedMetric| &self.measure(metric.measure).name;
        let mut places: HashMap<&ResourceName, usize> = HashMap::new();
        let is_long = metrics.len() > FEW;
        let mut end = 0;
        for index in 0..metrics.len() {
            let metric = metrics[index];
            let known = if is_long {
                Some(*places.entry(name(&metric)).or_insert(end)).filter(|place| *place < end)
            } else {
                metrics[..end].iter().position(|known| name(known) == name(&metric))
            };
            metrics[known.unwrap_or(end)] = metric;
            end += usize::from(known.is_none());
        }
        metrics.truncate(end);
    }
}
