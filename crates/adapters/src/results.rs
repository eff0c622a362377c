//! Parsed results: benchmarks with their metrics, in the order of the output. The server assigns them to the benchmarks and
//! measures of a project.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt,
    hash::{BuildHasher, Hash, RandomState},
};

use tidemark_api::{Adapter, BenchmarkName, Fold, MeasureDirection, Parameters, ResourceName, excerpt};

use crate::{Failure, Position, fold};

/// Suffixes of a label that disable alerts.
const IGNORE_SUFFIXES: [&str; 6] = [
    "_bencher_ignore",
    "BencherIgnore",
    "-bencher-ignore",
    "_tidemark_ignore",
    "TidemarkIgnore",
    "-tidemark-ignore",
];

/// Results of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Tool of the output, never `magic`.
    pub adapter: Adapter,
    /// Benchmarks in the order of the output; no two have the same label and parameters.
    pub entries: Vec<Entry>,
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// By its name, never interpreted as a UUID or a slug.
    Name(BenchmarkName),
    /// By its UUID, its slug or its name.
    Reference(BenchmarkName),
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

impl Label {
    /// Returns the text of the label.
    pub fn as_str(&self) -> &str {
        let (Self::Name(name) | Self::Reference(name)) = self;
        name.as_str()
    }
}

impl Entry {
    /// Creates the entry of a named benchmark; `position` is its position in the output.
    pub(crate) fn new(
        position: impl FnOnce() -> Position,
        name: &str,
        mut metrics: Vec<ParsedMetric>,
    ) -> Result<Self, Failure> {
        // A report has many entries, and most have few metrics.
        metrics.shrink_to_fit();
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

    fn is_finite(&self) -> bool {
        [Some(self.value), self.lower_value, self.upper_value].into_iter().flatten().all(f64::is_finite)
    }
}

impl Results {
    /// Normalizes the entries: removes the ignore suffix, and keeps each benchmark and each of its measures once. Of two
    /// metrics, the later one is kept.
    pub(crate) fn collect(adapter: Adapter, mut entries: Vec<Entry>) -> Result<Self, Failure> {
        for entry in &mut entries {
            entry.strip_ignore_suffix()?;
        }
        if !are_unique(entries.iter().map(Entry::key)) {
            merge(&mut entries)?;
        }
        for entry in &mut entries {
            entry.keep_last_metrics();
        }
        Ok(Self { adapter, entries })
    }

    /// Folds several results into one: metrics of the same benchmark and parameters are folded. Returns `None` if there are
    /// no results.
    pub fn fold(results: &[Self], how: Fold) -> Option<Self> {
        let all: Vec<&Entry> = results.iter().flat_map(|result| &result.entries).collect();
        let (groups, count) = group(all.iter().map(|entry| entry.key()));
        let mut grouped: Vec<Vec<&Entry>> = vec![Vec::new(); count];
        for (entry, group) in all.into_iter().zip(groups) {
            grouped[group].push(entry);
        }
        Some(Self {
            adapter: results.first()?.adapter,
            entries: grouped.iter().map(|entries| fold_entries(entries, how)).collect(),
        })
    }
}

/// Merges the entries of the same benchmark and parameters into the first of them. Their number decreases in place, because a copy
/// would double the memory.
fn merge(entries: &mut Vec<Entry>) -> Result<(), Failure> {
    let (groups, count) = group(entries.iter().map(Entry::key));
    let mut next = 0;
    for (index, group) in groups.into_iter().enumerate() {
        if group == next {
            entries.swap(next, index);
            next += 1;
        } else if entries[group].ignored == entries[index].ignored {
            let metrics = std::mem::take(&mut entries[index].metrics);
            entries[group].metrics.extend(metrics);
        } else {
            return Err(Failure::invalid(
                Position::Path(excerpt::of_path(entries[index].label.as_str())),
                "a benchmark either with its ignore suffix or without",
                "both",
            ));
        }
    }
    entries.truncate(count);
    Ok(())
}

/// Folds the entries, at least one, of the same benchmark and parameters.
fn fold_entries(entries: &[&Entry], how: Fold) -> Entry {
    let metrics: Vec<&ParsedMetric> = entries.iter().flat_map(|entry| &entry.metrics).collect();
    let (groups, count) = group(metrics.iter().map(|metric| &metric.measure));
    let mut grouped: Vec<Vec<&ParsedMetric>> = vec![Vec::new(); count];
    for (metric, group) in metrics.into_iter().zip(groups) {
        grouped[group].push(metric);
    }
    Entry {
        ignored: entries.iter().any(|entry| entry.ignored),
        metrics: grouped.into_iter().map(|metrics| fold(metrics, how)).collect(),
        ..entries[0].clone()
    }
}

impl Entry {
    pub(crate) fn key(&self) -> (&Label, Option<&Parameters>) {
        (&self.label, self.parameters.as_ref())
    }

    /// Keeps the last metric of each measure, in the order of the first ones.
    fn keep_last_metrics(&mut self) {
        let measures = || self.metrics.iter().map(|metric| &metric.measure);
        // A comparison of few measures takes less time than a table of them.
        let is_unique = match self.metrics.len() {
            0 | 1 => true,
            2..=8 => measures()
                .enumerate()
                .all(|(index, measure)| !measures().take(index).any(|other| other == measure)),
            _ => are_unique(measures()),
        };
        if is_unique {
            return;
        }
        let (groups, count) = group(measures());
        for (index, group) in groups.into_iter().enumerate() {
            self.metrics.swap(group, index);
        }
        self.metrics.truncate(count);
        self.metrics.shrink_to_fit();
    }

    /// Removes an ignore suffix and marks the entry as ignored.
    fn strip_ignore_suffix(&mut self) -> Result<(), Failure> {
        let (Label::Name(label) | Label::Reference(label)) = &mut self.label;
        if let Some(name) = IGNORE_SUFFIXES.iter().find_map(|suffix| label.as_str().strip_suffix(suffix)) {
            *label = name.parse().map_err(|_| {
                Failure::invalid(
                    Position::Path(excerpt::of_path(label.as_str())),
                    "a benchmark name before the ignore suffix",
                    label.as_str(),
                )
            })?;
            self.ignored = true;
        }
        Ok(())
    }
}

/// Maximum number of names that are kept for sharing.
const MAX_SHARED_NAMES: usize = 1_000;

/// Returns a name; `None` if it is not valid. Equal names share their text, because a report has few measures but many metrics.
pub(crate) fn shared_name(name: &str) -> Option<ResourceName> {
    thread_local! {
        static NAMES: RefCell<HashMap<Box<str>, ResourceName>> = RefCell::default();
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

/// Whether no two keys are equal. May return false for different keys, but needs less memory than [`group`].
pub(crate) fn are_unique<K: Hash>(keys: impl Iterator<Item = K>) -> bool {
    let state = RandomState::new();
    let mut hashes: Vec<u64> = keys.map(|key| state.hash_one(key)).collect();
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

/// Groups equal keys: returns the group of each key, from zero in order of appearance, and the number of groups.
pub(crate) fn group<K: Eq + Hash>(keys: impl Iterator<Item = K>) -> (Vec<usize>, usize) {
    let mut known = HashMap::with_capacity(keys.size_hint().0);
    let groups = keys
        .map(|key| {
            let next = known.len();
            *known.entry(key).or_insert(next)
        })
        .collect();
    (groups, known.len())
}

/// Writes one line per metric: `label {name=value} measure value [lower, upper]`.
impl fmt::Display for Results {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            let mut title = entry.label.as_str().to_owned();
            if let Some(parameters) = &entry.parameters {
                let parameters: Vec<_> =
                    parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
                title = format!("{title} {{{}}}", parameters.join(", "));
            }
            if entry.ignored {
                title.push_str(" (ignored)");
            }
            if entry.metrics.is_empty() {
                writeln!(formatter, "{title}")?;
            }
            for metric in &entry.metrics {
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
            vec![
                entry("a", vec![ParsedMetric::latency(1.0), ParsedMetric::throughput(5.0)]),
                entry("b", vec![ParsedMetric::latency(3.0)]),
                entry("a", vec![ParsedMetric::latency(2.0).with_deviation(0.5)]),
            ],
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
            Results::collect(Adapter::Json, vec![reference("a-bencher-ignore"), reference("a-b")]).unwrap();
        assert_eq!(results.entries[0].label, Label::Reference("a".parse().unwrap()));
        assert_eq!(results.entries[1].label, Label::Reference("a-b".parse().unwrap()));
        assert!(Results::collect(Adapter::Json, vec![entry("BencherIgnore", vec![])]).is_err());
        assert!(
            Results::collect(Adapter::Json, vec![entry("a", vec![]), entry("aBencherIgnore", vec![])])
                .is_err()
        );
    }

    #[test]
    fn several_results_are_folded() {
        let result = |entries| Results::collect(Adapter::Json, entries).unwrap();
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
    fn invalid_names_and_numbers_are_rejected() {
        for (name, value) in [("", 1.0), ("a\0", 1.0), (&*"x".repeat(1025), 1.0), ("a", f64::INFINITY)] {
            let metrics = vec![ParsedMetric::latency(value)];
            assert!(matches!(Entry::new(|| Position::Line(3), name, metrics), Err(Failure::Invalid(_))));
        }
    }
}
