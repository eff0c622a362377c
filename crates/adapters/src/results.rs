//! Parsed results: benchmarks with their metrics, in the order of the output. The server assigns them to the benchmarks and
//! measures of a project.

use std::{cell::RefCell, collections::HashMap, fmt};

use foldhash::quality::RandomState;
use tidemark_api::{Adapter, BenchmarkName, Fold, MeasureDirection, Parameters, ResourceName, excerpt};

use crate::{Entries, EntryRef, Failure, Position, fold, group::group};

/// Suffixes of a label that disable alerts.
const IGNORE_SUFFIXES: [&str; 6] = [
    "_bencher_ignore",
    "BencherIgnore",
    "-bencher-ignore",
    "_tidemark_ignore",
    "TidemarkIgnore",
    "-tidemark-ignore",
];

/// Returns the name without an ignore suffix; `None` if it has none.
pub(crate) fn ignored_name(name: &str) -> Option<&str> {
    // Every suffix ends with `gnore`.
    let has_end = name.ends_with("gnore");
    IGNORE_SUFFIXES.iter().filter(|_| has_end).find_map(|suffix| name.strip_suffix(suffix))
}

/// Results of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Tool of the output, never `magic`.
    pub adapter: Adapter,
    /// Benchmarks in the order of the output; no two have the same label and parameters.
    pub entries: Entries,
}

/// A benchmark of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name or reference of the benchmark.
    pub label: Label,
    /// Parameters of the variant.
    pub parameters: Option<Parameters>,
    /// Whether alerts are disabled.
    pub ignored: bool,
    /// Metrics, one per measure.
    pub metrics: Vec<ParsedMetric>,
}

/// How a result identifies a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label<T = BenchmarkName> {
    /// By its name, never interpreted as a UUID or a slug.
    Name(T),
    /// By its UUID, its slug or its name.
    Reference(T),
}

/// A metric of a benchmark. All numbers are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedMetric {
    /// UUID, slug or name of the measure; the slug for a built-in measure.
    pub measure: ResourceName,
    /// Units of the measure, if it is neither built in nor known to the project.
    pub units: Option<ResourceName>,
    /// Direction of the measure, if the output declares it.
    pub direction: Option<MeasureDirection>,
    /// Value.
    pub value: f64,
    /// Lower end of the range.
    pub lower_value: Option<f64>,
    /// Upper end of the range.
    pub upper_value: Option<f64>,
}

/// A metric of a benchmark in [`Entries`]. All numbers are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricRef<'a> {
    /// UUID, slug or name of the measure; the slug for a built-in measure.
    pub measure: &'a ResourceName,
    /// Units of the measure, if it is neither built in nor known to the project.
    pub units: Option<&'a ResourceName>,
    /// Direction of the measure, if the output declares it.
    pub direction: Option<MeasureDirection>,
    /// Value.
    pub value: f64,
    /// Lower end of the range.
    pub lower_value: Option<f64>,
    /// Upper end of the range.
    pub upper_value: Option<f64>,
}

impl MetricRef<'_> {
    /// Returns a copy that does not borrow from the entries.
    pub fn to_metric(self) -> ParsedMetric {
        let Self { measure, units, direction, value, lower_value, upper_value } = self;
        ParsedMetric {
            measure: measure.clone(),
            units: units.cloned(),
            direction,
            value,
            lower_value,
            upper_value,
        }
    }
}

impl Label {
    /// Returns the text of the label.
    pub fn as_str(&self) -> &str {
        let (Self::Name(name) | Self::Reference(name)) = self;
        name.as_str()
    }
}

impl<'a> Label<&'a str> {
    /// Returns the text of the label.
    pub fn as_str(self) -> &'a str {
        let (Self::Name(name) | Self::Reference(name)) = self;
        name
    }

    /// Returns a copy that does not borrow from the entries.
    pub fn to_name(self) -> Label {
        let name = self.as_str().parse().expect("the text was a benchmark name");
        match self {
            Self::Name(_) => Label::Name(name),
            Self::Reference(_) => Label::Reference(name),
        }
    }
}

impl Entry {
    /// Creates the entry of a named benchmark; `position` is its position in the output.
    pub(crate) fn new(
        position: impl FnOnce() -> Position,
        name: &str,
        metrics: Vec<ParsedMetric>,
    ) -> Result<Self, Failure> {
        let Ok(name) = name.parse() else {
            return Err(Failure::invalid(
                position(),
                "a benchmark name of 1 to 1024 bytes without the character NUL",
                name,
            ));
        };
        if let Some(metric) = metrics.iter().find(|metric| !metric.is_finite()) {
            return Err(Failure::invalid(
                position(),
                format!("a `{}` within the range of a double", metric.measure),
                &metric.value.to_string(),
            ));
        }
        Ok(Self { label: Label::Name(name), parameters: None, ignored: false, metrics })
    }
}

impl ParsedMetric {
    /// Creates a metric of a built-in measure, given by its slug.
    pub(crate) fn of(slug: &'static str, value: f64) -> Self {
        let measure = shared_name(slug).expect("the slug of a built-in measure is a name");
        Self { measure, units: None, direction: None, value, lower_value: None, upper_value: None }
    }

    /// Creates a metric of a measure that is named by its units; `None` if they are not a valid name.
    pub(crate) fn named_by_units(units: &str, value: f64) -> Option<Self> {
        let measure = shared_name(units)?;
        let units = Some(measure.clone());
        Some(Self { measure, units, direction: None, value, lower_value: None, upper_value: None })
    }

    /// Creates a metric of a measure with a name and, if the tool states them, units. Returns `None` if they are not valid.
    pub(crate) fn named(name: &str, units: Option<&str>, value: f64) -> Option<Self> {
        let units = match units {
            Some(units) => Some(shared_name(units)?),
            None => None,
        };
        let measure = shared_name(name)?;
        Some(Self { measure, units, direction: None, value, lower_value: None, upper_value: None })
    }

    /// Returns the metric with the direction of its measure.
    pub(crate) fn with_direction(self, direction: MeasureDirection) -> Self {
        Self { direction: Some(direction), ..self }
    }

    /// Creates a latency in nanoseconds.
    pub(crate) fn latency(value: f64) -> Self {
        Self::of("latency", value)
    }

    /// Creates a throughput in operations per second.
    pub(crate) fn throughput(value: f64) -> Self {
        Self::of("throughput", value)
    }

    /// Returns the metric with a range.
    pub(crate) fn with_range(self, lower_value: f64, upper_value: f64) -> Self {
        Self { lower_value: Some(lower_value), upper_value: Some(upper_value), ..self }
    }

    /// Returns the metric with a symmetric range.
    pub(crate) fn with_deviation(self, spread: f64) -> Self {
        let value = self.value;
        self.with_range(value - spread, value + spread)
    }

    /// Returns a metric that borrows its names.
    #[cfg(test)]
    pub(crate) fn as_ref(&self) -> MetricRef<'_> {
        let Self { measure, units, direction, value, lower_value, upper_value } = self;
        let (value, direction, units) = (*value, *direction, units.as_ref());
        MetricRef { measure, units, direction, value, lower_value: *lower_value, upper_value: *upper_value }
    }

    fn is_finite(&self) -> bool {
        [Some(self.value), self.lower_value, self.upper_value].into_iter().flatten().all(f64::is_finite)
    }
}

impl Results {
    /// Merges the entries of the same benchmark and parameters. Of two metrics of a measure, the later one is kept.
    pub(crate) fn collect(adapter: Adapter, mut entries: Entries) -> Result<Self, Failure> {
        let invalid = |name: &str, expected: &str, found: &str| {
            Err(Failure::invalid(Position::Path(excerpt::of_path(name)), expected, found))
        };
        if let Some(name) = entries.bare_suffix() {
            return invalid(name, "a benchmark name before the ignore suffix", name);
        }
        if !entries.are_unique() {
            let (groups, count) = group(&entries.iter().map(|entry| entry.key()).collect::<Vec<_>>());
            let mut ignored = vec![None; count];
            for (entry, group) in entries.iter().zip(&groups) {
                if *ignored[*group as usize].get_or_insert(entry.ignored) != entry.ignored {
                    let expected = "a benchmark either with its ignore suffix or without";
                    return invalid(entry.label.as_str(), expected, "both");
                }
            }
            entries.merge(&groups);
        }
        Ok(Self { adapter, entries })
    }

    /// Folds several results into one: metrics of the same benchmark and parameters are folded. Returns `None` if there are
    /// no results.
    pub fn fold(results: &[Self], how: Fold) -> Option<Self> {
        let all: Vec<EntryRef<'_>> = results.iter().flat_map(|result| &result.entries).collect();
        let (groups, count) = group(&all.iter().map(EntryRef::variant).collect::<Vec<_>>());
        let mut grouped: Vec<Vec<EntryRef<'_>>> = vec![Vec::new(); count];
        for (entry, group) in all.into_iter().zip(groups) {
            grouped[group as usize].push(entry);
        }
        Some(Self {
            adapter: results.first()?.adapter,
            entries: grouped.iter().map(|entries| fold_entries(entries, how)).collect(),
        })
    }
}

/// Folds the entries, at least one, of the same benchmark and parameters.
fn fold_entries(entries: &[EntryRef<'_>], how: Fold) -> Entry {
    let metrics: Vec<MetricRef<'_>> = entries.iter().flat_map(EntryRef::metrics).collect();
    let (groups, count) = group(&metrics.iter().map(|metric| metric.measure.as_str()).collect::<Vec<_>>());
    let mut grouped: Vec<Vec<MetricRef<'_>>> = vec![Vec::new(); count];
    for (metric, group) in metrics.into_iter().zip(groups) {
        grouped[group as usize].push(metric);
    }
    Entry {
        label: entries[0].label.to_name(),
        parameters: entries[0].parameters(),
        ignored: entries.iter().any(|entry| entry.ignored),
        metrics: grouped.into_iter().map(|metrics| fold(metrics, how).to_metric()).collect(),
    }
}

/// Folds the repeated runs of each benchmark to their median, within the least and the greatest value.
pub(crate) fn fold_repeated(entries: &mut Entries) {
    if entries.are_unique() {
        return;
    }
    let (groups, _) = group(&entries.iter().map(|entry| entry.key()).collect::<Vec<_>>());
    entries.fold(&groups, |runs| {
        let mut folded = fold_entries(runs, Fold::Median);
        for metric in &mut folded.metrics {
            let same =
                runs.iter().flat_map(EntryRef::metrics).filter(|other| *other.measure == metric.measure);
            let (mut least, mut greatest) = (metric.value, metric.value);
            for other in same {
                least = least.min(other.value);
                greatest = greatest.max(other.value);
            }
            (metric.lower_value, metric.upper_value) = (Some(least), Some(greatest));
        }
        folded
    });
}

/// Maximum number of names that are kept for sharing.
const MAX_SHARED_NAMES: usize = 1_000;

/// Returns a name; `None` if it is not valid. Equal names share their text, because a report has few measures but many metrics.
pub(crate) fn shared_name(name: &str) -> Option<ResourceName> {
    thread_local! {
        static NAMES: RefCell<HashMap<Box<str>, ResourceName, RandomState>> = RefCell::default();
    }
    NAMES.with_borrow_mut(|names| {
        if let Some(known) = names.get(name) {
            return Some(known.clone());
        }
        let new: ResourceName = name.parse().ok()?;
        if names.len() >= MAX_SHARED_NAMES {
            names.clear();
        }
        names.insert(name.into(), new.clone());
        Some(new)
    })
}

/// Writes one line per metric: `label {name=value} measure value [lower, upper]`.
impl fmt::Display for Results {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            let mut title = entry.label.as_str().to_owned();
            if let Some(parameters) = entry.parameters() {
                let parameters: Vec<_> =
                    parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
                title = format!("{title} {{{}}}", parameters.join(", "));
            }
            if entry.ignored {
                title.push_str(" (ignored)");
            }
            if entry.metrics().len() == 0 {
                writeln!(formatter, "{title}")?;
            }
            for metric in entry.metrics() {
                write!(formatter, "{title} {} {}", metric.measure, metric.value)?;
                let bound =
                    |bound: Option<f64>| bound.map_or_else(|| "-".to_owned(), |bound| bound.to_string());
                if metric.lower_value.is_some() || metric.upper_value.is_some() {
                    write!(formatter, " [{}, {}]", bound(metric.lower_value), bound(metric.upper_value))?;
                }
                writeln!(formatter)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, metrics: Vec<ParsedMetric>) -> Entry {
        Entry::new(|| Position::Line(1), name, metrics).unwrap()
    }

    #[test]
    fn the_last_metric_of_a_measure_is_kept() {
        let results = Results::collect(
            Adapter::Json,
            Entries::from(vec![
                entry("a", vec![ParsedMetric::latency(1.0), ParsedMetric::throughput(5.0)]),
                entry("b", vec![ParsedMetric::latency(3.0)]),
                entry("a", vec![ParsedMetric::latency(2.0).with_deviation(0.5)]),
            ]),
        )
        .unwrap();
        insta::assert_snapshot!(results, @"
        a latency 2 [1.5, 2.5]
        a throughput 5
        b latency 3
        ");
    }

    #[test]
    fn an_ignore_suffix_disables_alerts() {
        let names =
            ["a_bencher_ignore", "bBencherIgnore", "c-bencher-ignore", "d_tidemark_ignore", "e_ignore"];
        let results =
            Results::collect(Adapter::Json, names.iter().map(|name| entry(name, vec![])).collect()).unwrap();
        insta::assert_snapshot!(results, @"
        a (ignored)
        b (ignored)
        c (ignored)
        d (ignored)
        e_ignore
        ");
        let reference =
            |name: &str| Entry { label: Label::Reference(name.parse().unwrap()), ..entry("x", vec![]) };
        let results =
            Results::collect(Adapter::Json, vec![reference("a-bencher-ignore"), reference("a-b")].into())
                .unwrap();
        let labels: Vec<_> = results.entries.iter().map(|entry| entry.label).collect();
        assert_eq!(labels, [Label::Reference("a"), Label::Reference("a-b")]);
        assert!(Results::collect(Adapter::Json, vec![entry("BencherIgnore", vec![])].into()).is_err());
        assert!(
            Results::collect(Adapter::Json, vec![entry("a", vec![]), entry("aBencherIgnore", vec![])].into())
                .is_err()
        );
    }

    #[test]
    fn several_results_are_folded() {
        let result = |entries: Vec<Entry>| Results::collect(Adapter::Json, entries.into()).unwrap();
        let results = [
            result(vec![
                entry("a", vec![ParsedMetric::latency(1.0)]),
                entry("b", vec![ParsedMetric::latency(7.0)]),
            ]),
            result(vec![
                entry("aBencherIgnore", vec![ParsedMetric::latency(3.0), ParsedMetric::throughput(5.0)]),
                entry("c", vec![]),
            ]),
        ];
        insta::assert_snapshot!(Results::fold(&results, Fold::Mean).unwrap(), @"
        a (ignored) latency 2
        a (ignored) throughput 5
        b latency 7
        c
        ");
        assert_eq!(Results::fold(&[], Fold::Mean), None);
    }

    #[test]
    fn variants_are_folded_by_their_parameters() {
        let variant = |size: &str, value: f64| {
            let parameters = Parameters::try_from(&[("size", size)].into_iter().collect()).unwrap();
            Entry { parameters: Some(parameters), ..entry("a", vec![ParsedMetric::latency(value)]) }
        };
        let result = |entries: Vec<Entry>| Results::collect(Adapter::Json, entries.into()).unwrap();
        let results = [
            result(vec![variant("1", 2.0), variant("2", 20.0)]),
            result(vec![variant("2", 40.0), variant("1", 4.0)]),
        ];
        insta::assert_snapshot!(Results::fold(&results, Fold::Mean).unwrap(), @"
        a {size=1} latency 3
        a {size=2} latency 30
        ");
    }

    #[test]
    fn invalid_names_and_numbers_are_rejected() {
        for (name, value) in [("", 1.0), ("a\0", 1.0), (&*"x".repeat(1025), 1.0), ("a", f64::INFINITY)] {
            let metrics = vec![ParsedMetric::latency(value)];
            assert!(matches!(Entry::new(|| Position::Line(3), name, metrics), Err(Failure::Invalid(_))));
        }
    }
}
