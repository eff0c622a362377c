//! Resolves the names in results to keys, and creates benchmarks, measures and variants that do not exist. It writes nothing
//! else.

use std::collections::{BTreeMap, HashMap, HashSet};

use tidemark_adapters::{EntryRef, Label, MetricRef, Results, fold};
use tidemark_api::{Fold, IterationCounts, Measure, MeasureDirection, NameId, Parameters, ResourceName};
use tidemark_store::{
    BenchmarkId, Dimension, MeasureId, ProjectId, Tx, VariantId, WriteContext, benchmark, measure,
    series::SeriesKey, variant,
};

use crate::domain::error::{Error, Result};

/// A metric with resolved names.
pub(super) struct ResolvedMetric<'a> {
    pub(super) series_key: SeriesKey,
    pub(super) iteration: u32,
    /// Whether it raises no alert.
    pub(super) ignored: bool,
    pub(super) measured: MetricRef<'a>,
}

/// Results with resolved names.
pub(super) struct ResolvedResults<'a> {
    /// Metrics, sorted by series key.
    pub(super) items: Vec<ResolvedMetric<'a>>,
    /// Warnings for the sender.
    pub(super) warnings: Vec<String>,
}

/// Finds or creates everything that the results name.
pub(super) fn resolve<'a>(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: ProjectId,
    results: &'a [Results],
    how: Option<Fold>,
) -> Result<ResolvedResults<'a>> {
    let benchmarks = Benchmarks::ensure(tx, fresh, project, results)?;
    let measures = Measures::ensure(tx, fresh, project, results)?;
    let warnings = set_directions(tx, fresh, results, &measures)?;
    let parameters: Vec<(BenchmarkId, Parameters)> =
        entries(results).filter_map(|entry| Some((benchmarks.of(entry), entry.parameters()?))).collect();
    let parameters: Vec<_> =
        parameters.iter().map(|(benchmark, parameters)| (*benchmark, parameters)).collect();
    let mut variants = variant::ensure(tx, fresh, &parameters)?.into_iter().peekable();

    let count = entries(results).map(|entry| entry.metrics().len()).sum();
    let mut found: Vec<(SeriesKey, u32, EntryRef<'_>, MetricRef<'_>)> = Vec::with_capacity(count);
    for (iteration, result) in (0..).zip(results) {
        for entry in &result.entries {
            let benchmark = benchmarks.of(entry);
            let variant = variants.next_if(|_| entry.has_parameters()).map_or(0, VariantId::get);
            found.extend(entry.metrics().map(|measured| {
                let series_key = SeriesKey { benchmark, variant, measure: measures.of(measured) };
                (series_key, iteration, entry, measured)
            }));
        }
    }
    found.sort_by_key(|(series_key, iteration, ..)| (*series_key, *iteration));
    reject_duplicates(&found)?;
    let items = match how {
        None => found
            .into_iter()
            .map(|(series_key, iteration, entry, measured)| ResolvedMetric {
                series_key,
                iteration,
                ignored: entry.ignored,
                measured,
            })
            .collect(),
        Some(how) => found
            .chunk_by(|left, right| left.0 == right.0)
            .map(|same| ResolvedMetric {
                series_key: same[0].0,
                iteration: 0,
                ignored: same.iter().any(|(_, _, entry, _)| entry.ignored),
                measured: fold(same.iter().map(|(.., measured)| *measured).collect(), how),
            })
            .collect(),
    };
    Ok(ResolvedResults { items, warnings })
}

fn entries(results: &[Results]) -> impl Iterator<Item = EntryRef<'_>> {
    results.iter().flat_map(|result| &result.entries)
}

/// The keys of the benchmarks in the results.
struct Benchmarks<'a> {
    places: HashMap<Label<&'a str>, usize>,
    keys: Vec<BenchmarkId>,
}

impl<'a> Benchmarks<'a> {
    fn ensure(
        tx: &mut Tx<'_>,
        fresh: &WriteContext,
        project: ProjectId,
        results: &'a [Results],
    ) -> Result<Self> {
        let mut places: HashMap<Label<&str>, usize> = HashMap::new();
        let mut wanted: Vec<(Option<NameId>, Label)> = Vec::new();
        for entry in entries(results) {
            places.entry(entry.label).or_insert_with(|| {
                let reference = match entry.label {
                    Label::Name(_) => None,
                    Label::Reference(text) => NameId::try_from(text.to_owned()).ok(),
                };
                wanted.push((reference, entry.label.to_name()));
                wanted.len() - 1
            });
        }
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(reference, Label::Name(name) | Label::Reference(name))| (reference.as_ref(), name))
            .collect();
        let keys = benchmark::ensure(tx, fresh, project, &wanted).map_err(|error| match error {
            tidemark_store::Error::NotFound(_) => Error::NotFound(
                "The results contain a benchmark UUID that does not exist in the project.".into(),
            ),
            error => error.into(),
        })?;
        Ok(Self { places, keys })
    }

    fn of(&self, entry: EntryRef<'_>) -> BenchmarkId {
        self.keys[self.places[&entry.label]]
    }
}

/// The keys of the measures in the results.
struct Measures<'a> {
    places: HashMap<&'a ResourceName, usize>,
    keys: Vec<MeasureId>,
}

impl<'a> Measures<'a> {
    fn ensure(
        tx: &mut Tx<'_>,
        fresh: &WriteContext,
        project: ProjectId,
        results: &'a [Results],
    ) -> Result<Self> {
        let mut places: HashMap<&ResourceName, usize> = HashMap::new();
        let mut wanted: Vec<(NameId, MetricRef<'_>)> = Vec::new();
        for measured in entries(results).flat_map(|entry| entry.metrics()) {
            if !places.contains_key(measured.measure) {
                let reference = NameId::try_from(measured.measure.as_str().to_owned());
                wanted.push((reference.map_err(|error| Error::Internal(error.into()))?, measured));
                places.insert(measured.measure, wanted.len() - 1);
            }
        }
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(reference, measured)| (reference, measured.measure, measured.units))
            .collect();
        Ok(Self { places, keys: ensure_measures(tx, fresh, project, &wanted)? })
    }

    fn of(&self, measured: MetricRef<'_>) -> MeasureId {
        self.keys[self.places[measured.measure]]
    }
}

/// Sets the directions that the results declare, for measures without a direction. Returns a warning for each other direction.
fn set_directions(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    results: &[Results],
    measures: &Measures<'_>,
) -> Result<Vec<String>> {
    let metrics = entries(results).flat_map(|entry| entry.metrics());
    let mut declared: Vec<_> =
        metrics.filter_map(|measured| Some((measures.of(measured), measured.direction?))).collect();
    if declared.is_empty() {
        return Ok(Vec::new());
    }
    // The first declaration counts.
    let mut seen = HashSet::new();
    declared.retain(|one| seen.insert(*one));
    let ids: Vec<i64> = declared.iter().map(|(measure, _)| measure.get()).collect();
    let known = Measure::by_ids::<Measure>(tx, &ids)?;
    let (mut new, mut warnings) = (HashMap::new(), Vec::new());
    for (id, direction) in declared {
        let Some(measure) = known.get(&id) else { continue };
        let current = measure.direction.unwrap_or_else(|| *new.entry(id).or_insert(direction));
        if current != direction {
            warnings.push(format!(
                "The direction of the measure `{}` stays `{current}`; the results declare `{direction}`. If this is correct, change \
                 the direction of the measure.",
                measure.name
            ));
        }
    }
    for direction in MeasureDirection::ALL {
        let ids: Vec<i64> =
            new.iter().filter(|(_, new)| *new == direction).map(|(measure, _)| measure.get()).collect();
        if !ids.is_empty() {
            measure::set_direction(tx, &ids, Some(*direction), fresh.now)?;
            measure::reclassify(tx, fresh, &ids, Some(*direction))?;
        }
    }
    Ok(warnings)
}

/// Finds or creates measures, each given by reference, name and units.
pub(super) fn ensure_measures(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: ProjectId,
    wanted: &[(&NameId, &ResourceName, Option<&ResourceName>)],
) -> Result<Vec<MeasureId>> {
    measure::ensure(tx, fresh, project, wanted).map_err(|error| match error {
        tidemark_store::Error::NotFound(_) => {
            let uuids = wanted.iter().filter(|(reference, ..)| reference.uuid().is_some());
            let uuids: Vec<&str> = uuids.map(|(reference, ..)| reference.as_str()).collect();
            Error::NotFound(format!("The project has no measure with the UUID {}.", uuids.join(" or ")))
        }
        error => error.into(),
    })
}

/// Rejects two values of the same series and iteration, for example under two spellings of a name, because it is not clear which
/// one counts.
fn reject_duplicates(found: &[(SeriesKey, u32, EntryRef<'_>, MetricRef<'_>)]) -> Result<()> {
    let duplicates = found.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
    let Some([(_, iteration, first, measured), (_, _, second, other)]) =
        duplicates.and_then(|pair| pair.first_chunk::<2>())
    else {
        return Ok(());
    };
    let (label, other_label) = (first.label.as_str(), second.label.as_str());
    let (measure, other_measure) = (measured.measure, other.measure);
    let what = if label == other_label {
        format!("`{measure}` and `{other_measure}` of `{label}` are the same measure")
    } else {
        format!("`{label}` and `{other_label}` are the same benchmark, and both have `{measure}`")
    };
    Err(Error::Invalid(format!("`results[{iteration}]`: {what}; send it once.")))
}

/// Returns the number of benchmarks and measures of each iteration that has metrics.
pub(super) fn count(items: &[ResolvedMetric<'_>]) -> Vec<IterationCounts> {
    let mut benchmarks: Vec<_> = items
        .iter()
        .map(|item| (item.iteration, item.series_key.benchmark, item.series_key.variant))
        .collect();
    let mut measures: Vec<_> = items.iter().map(|item| (item.iteration, item.series_key.measure)).collect();
    benchmarks.sort_unstable();
    benchmarks.dedup();
    measures.sort_unstable();
    measures.dedup();
    let mut counts: BTreeMap<u32, IterationCounts> = BTreeMap::new();
    for (iteration, ..) in benchmarks {
        counts.entry(iteration).or_default().benchmarks += 1;
    }
    for (iteration, _) in measures {
        counts.entry(iteration).or_default().measures += 1;
    }
    counts.into_values().collect()
}
