//! From the output of a tool to a report with its verdict: read everything first, then write everything in one
//! transaction, at a number of statements that does not grow with the report.

mod sample;

use std::collections::{BTreeMap, HashMap};

use tidemark_adapters::{Entry, Label, Measured, Results};
use tidemark_api::{
    Adapter, BranchName, DEFAULT_MAX_VERSIONS, GitHash, IterationCounts, NameId, ReportSettings,
    ReportThresholds, ResourceName, StartPointPatch, Timestamp,
};
use tidemark_stats::{Model, Prepared};
use tidemark_store::{
    BranchId, Fresh, HeadId, Lock, MeasureId, ModelId, ProjectId, ReportId, TestbedId, ThresholdId, Tx,
    UserId, VariantId, alert, benchmark, branch, head, measure, metric,
    metric::{Judged, Packed},
    report,
    series::{self, Subject},
    testbed, threshold, variant, version,
};
use uuid::Uuid;

use crate::http::{
    branch::start_from,
    error::{Error, Result},
};

/// A report that has been read and is to be recorded.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Who sends it.
    pub user: Option<UserId>,
    /// The branch that was measured.
    pub branch: NameId,
    /// The commit that was measured.
    pub hash: Option<GitHash>,
    /// Where the branch starts from.
    pub start_point: Option<StartPointPatch>,
    /// Where it was measured.
    pub testbed: NameId,
    /// Whether the testbed loses its spec.
    pub spec_reset: bool,
    /// The thresholds for the branch and the testbed.
    pub thresholds: Option<ReportThresholds>,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// The tool that was named.
    pub adapter: Adapter,
    /// What was read, one for each iteration.
    pub results: Vec<Results>,
    /// By what it is known when it is sent again.
    pub idempotency_key: Option<Uuid>,
}

/// Reads what tools printed. This takes as long as the texts are; it is not for a thread that others wait for.
pub fn read(texts: &[String], settings: ReportSettings) -> Result<Vec<Results>> {
    let adapter = settings.adapter.unwrap_or_default();
    let mut results = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let read = tidemark_adapters::parse(adapter, text, settings.average);
        results.push(
            read.map_err(|error| Error::Invalid(format!("`results[{index}]` could not be read: {error}")))?,
        );
    }
    Ok(match settings.fold {
        Some(fold) if !results.is_empty() => vec![tidemark_adapters::fold(results, fold)],
        _ => results,
    })
}

/// Records a report: all of it, or nothing. One that was sent before with the same key is answered as it was.
pub fn record(tx: &mut Tx<'_>, fresh: &Fresh, project: ProjectId, new: &Submission) -> Result<ReportId> {
    tx.lock(Lock::Project(project.get()))?;
    if let Some(key) = new.idempotency_key
        && let Some(first) = report::by_idempotency_key(tx, project, key)?
    {
        return Ok(first);
    }
    let branch = ensure_branch(tx, fresh, project, new)?;
    let name = valid::<ResourceName>("testbed", &new.testbed)?;
    let testbed = testbed::ensure(tx, fresh, project, &new.testbed, &name)
        .map_err(|error| unknown(error, "testbed", &new.testbed))?;
    if new.spec_reset {
        testbed::clear_spec(tx, testbed, fresh.now)?;
    }
    if let Some(thresholds) = &new.thresholds {
        set_thresholds(tx, fresh, project, (branch, testbed), thresholds)?;
    }
    let head = head::current(tx, branch)?.id;
    let items = resolve(tx, fresh, project, &new.results)?;
    let version = version::ensure(tx, fresh, head, new.hash.as_ref())?;
    let new_report = report::New {
        project,
        user: new.user,
        branch,
        head,
        version,
        testbed,
        spec: None,
        adapter: new.adapter.plain(),
        start_time: new.start_time,
        end_time: new.end_time,
        idempotency_key: new.idempotency_key,
        counts: &count(&items),
        metrics: items.len(),
    };
    let (id, _) = report::insert(tx, fresh, &new_report)?;
    let place = Place { project, branch, head, testbed, report: id, start_time: new.start_time };
    write_metrics(tx, fresh, &place, items)?;
    Ok(id)
}

fn ensure_branch(tx: &mut Tx<'_>, fresh: &Fresh, project: ProjectId, new: &Submission) -> Result<BranchId> {
    let name = valid::<BranchName>("branch", &new.branch)?;
    let mut start = None;
    if let Some(wanted) = &new.start_point
        && let Some(source) = &wanted.branch
    {
        start = head::resolve(tx, project, source, wanted.hash.as_ref())?;
    }
    let max_versions =
        new.start_point.as_ref().and_then(|wanted| wanted.max_versions).unwrap_or(DEFAULT_MAX_VERSIONS);
    let start = start.as_ref().map(|start| (start, max_versions));
    let branch = branch::ensure(tx, fresh, project, &new.branch, &name, start)
        .map_err(|error| unknown(error, "branch", &new.branch))?;
    if let Some(wanted) = &new.start_point {
        start_from(tx, fresh, project, branch, wanted)?;
    }
    Ok(branch)
}

/// The name that something gets if it has to be made.
fn valid<T: std::str::FromStr<Err: std::fmt::Display>>(field: &str, reference: &NameId) -> Result<T> {
    reference.as_str().parse().map_err(|error| Error::Invalid(format!("`{field}` is wrong: {error}.")))
}

/// Says which reference was not found: only a UUID can be unknown.
fn unknown(error: tidemark_store::Error, noun: &str, reference: &NameId) -> Error {
    match error {
        tidemark_store::Error::NotFound(_) => Error::NotFound(format!(
            "The project has no {noun} with the UUID {reference}; use a name or slug to make a new one."
        )),
        error => error.into(),
    }
}

fn set_thresholds(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    lane: (BranchId, TestbedId),
    thresholds: &ReportThresholds,
) -> Result<()> {
    let empty = BTreeMap::new();
    let models = thresholds.models.as_ref().unwrap_or(&empty);
    let reset = thresholds.reset.unwrap_or(false);
    if models.is_empty() && !reset {
        return Ok(());
    }
    let names = models
        .keys()
        .map(|key| valid::<ResourceName>("thresholds.models", key))
        .collect::<Result<Vec<_>>>()?;
    let wanted: Vec<_> = models.keys().zip(&names).map(|(key, name)| (key, name, None)).collect();
    let measures = ensure_measures(tx, fresh, project, &wanted)?;
    let ids: Vec<i64> = measures.iter().map(|measure| measure.get()).collect();
    let known = measure::by_ids(tx, &ids)?;
    let mut complete: BTreeMap<MeasureId, (&NameId, Model)> = BTreeMap::new();
    for ((key, model), id) in models.iter().zip(measures) {
        let worse =
            known.get(&id).map(|measure| measure.worse()).ok_or_else(|| Error::not_found("measure"))?;
        let model = model.complete(worse).map_err(|error| {
            Error::Invalid(format!("The model for `{key}` in `thresholds` is wrong: {error}"))
        })?;
        if let Some((other, _)) = complete.insert(id, (key, model)) {
            return Err(Error::Invalid(format!(
                "`{other}` and `{key}` in `thresholds` are the same measure; give it one model."
            )));
        }
    }
    let complete: Vec<_> = complete.into_iter().map(|(measure, (_, model))| (measure, model)).collect();
    Ok(threshold::set(tx, fresh, project, lane, &complete, reset)?)
}

fn ensure_measures(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
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

/// A metric, its names resolved.
struct Item<'a> {
    subject: Subject,
    iteration: u32,
    entry: &'a Entry,
    measured: &'a Measured,
}

/// Finds or makes everything that the results name, and puts the metrics in the order of what they are of.
fn resolve<'a>(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    results: &'a [Results],
) -> Result<Vec<Item<'a>>> {
    let entries = || results.iter().flat_map(|result| &result.entries);
    let mut labels: HashMap<&Label, usize> = HashMap::new();
    let mut references: Vec<(Option<NameId>, &Label)> = Vec::new();
    for entry in entries() {
        labels.entry(&entry.label).or_insert_with(|| {
            let reference = match &entry.label {
                Label::Name(_) => None,
                Label::Reference(text) => NameId::try_from(text.as_str().to_owned()).ok(),
            };
            references.push((reference, &entry.label));
            references.len() - 1
        });
    }
    let wanted: Vec<_> = references
        .iter()
        .map(|(reference, label)| {
            let (Label::Name(name) | Label::Reference(name)) = label;
            (reference.as_ref(), name)
        })
        .collect();
    let benchmarks = benchmark::ensure(tx, fresh, project, &wanted).map_err(|error| match error {
        tidemark_store::Error::NotFound(_) => {
            Error::NotFound("The results name a benchmark by a UUID that the project does not have.".into())
        }
        error => error.into(),
    })?;

    let mut names: HashMap<&ResourceName, usize> = HashMap::new();
    let mut keys: Vec<(NameId, &Measured)> = Vec::new();
    for measured in entries().flat_map(|entry| &entry.metrics) {
        if !names.contains_key(&measured.measure) {
            let key = NameId::try_from(measured.measure.as_str().to_owned());
            keys.push((key.map_err(|error| Error::Internal(error.into()))?, measured));
            names.insert(&measured.measure, keys.len() - 1);
        }
    }
    let wanted: Vec<_> =
        keys.iter().map(|(key, measured)| (key, &measured.measure, measured.units.as_ref())).collect();
    let measures = ensure_measures(tx, fresh, project, &wanted)?;

    let with_parameters: Vec<_> = entries()
        .filter_map(|entry| Some((benchmarks[labels[&entry.label]], entry.parameters.as_ref()?)))
        .collect();
    let mut variants = variant::ensure(tx, fresh, &with_parameters)?.into_iter();

    let mut items = Vec::with_capacity(entries().map(|entry| entry.metrics.len()).sum());
    for (iteration, result) in (0..).zip(results) {
        for entry in &result.entries {
            let benchmark = benchmarks[labels[&entry.label]];
            let variant = match entry.parameters {
                Some(_) => variants.next().map_or(0, VariantId::get),
                None => 0,
            };
            items.extend(entry.metrics.iter().map(|measured| {
                let measure = measures[names[&measured.measure]];
                Item { subject: Subject { benchmark, variant, measure }, iteration, entry, measured }
            }));
        }
    }
    items.sort_by_key(|item| (item.subject, item.iteration));
    let twice = items
        .windows(2)
        .find(|pair| (pair[0].subject, pair[0].iteration) == (pair[1].subject, pair[1].iteration));
    if let Some([first, second]) = twice.and_then(|pair| pair.first_chunk::<2>()) {
        let (label, measure) = (first.entry.label.as_str(), &first.measured.measure);
        let (other_label, other_measure) = (second.entry.label.as_str(), &second.measured.measure);
        let what = if first.entry.ignored != second.entry.ignored && label == other_label {
            format!("`{label}` stands with an ignore suffix and without, and both have `{measure}`")
        } else if label == other_label {
            format!("`{measure}` and `{other_measure}` of `{label}` are the same measure")
        } else {
            format!("`{label}` and `{other_label}` are the same benchmark, and both have `{measure}`")
        };
        return Err(Error::Invalid(format!("`results[{}]`: {what}; send it once.", first.iteration)));
    }
    Ok(items)
}

/// How much is in each iteration that has metrics.
fn count(items: &[Item<'_>]) -> Vec<IterationCounts> {
    let mut benchmarks: Vec<_> =
        items.iter().map(|item| (item.iteration, item.subject.benchmark, item.subject.variant)).collect();
    let mut measures: Vec<_> = items.iter().map(|item| (item.iteration, item.subject.measure)).collect();
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

/// Where a new report stands.
struct Place {
    project: ProjectId,
    branch: BranchId,
    head: HeadId,
    testbed: TestbedId,
    report: ReportId,
    start_time: Timestamp,
}

/// A threshold at work.
struct Judge {
    threshold: ThresholdId,
    model: ModelId,
    settings: Model,
    prepared: Prepared,
    judged: i64,
    alerts: i64,
}

/// Judges the metrics and writes them down, with the alerts they raise.
fn write_metrics(tx: &mut Tx<'_>, fresh: &Fresh, place: &Place, items: Vec<Item<'_>>) -> Result<()> {
    let mut subjects: Vec<Subject> = items.iter().map(|item| item.subject).collect();
    subjects.dedup();
    let series = series::ensure(tx, place.project, place.testbed, place.report, &subjects)?;
    let mut next = subjects.iter().zip(&series).peekable();
    let mut metrics: Vec<(series::Series, Item<'_>)> = Vec::with_capacity(items.len());
    for item in items {
        while next.next_if(|(subject, _)| **subject != item.subject).is_some() {}
        let Some((_, series)) = next.peek() else { break };
        metrics.push((**series, item));
    }
    metrics.sort_by_key(|(series, item)| (series.id, item.iteration));

    let mut judges: HashMap<MeasureId, Judge> = threshold::active(tx, place.branch, place.testbed)?
        .into_iter()
        .filter_map(|one| {
            let (model, settings) = one.model?;
            let prepared = Prepared::new(&settings);
            Some((one.measure, Judge { threshold: one.id, model, settings, prepared, judged: 0, alerts: 0 }))
        })
        .collect();
    let wanted = metrics
        .chunk_by(|(left, _), (right, _)| left.id == right.id)
        .filter_map(|chunk| {
            let (series, item) = &chunk[0];
            let judge = judges.get(&item.subject.measure)?;
            sample::Wanted::new(*series, &judge.settings, place.start_time)
        })
        .collect();
    let samples = sample::fill(tx, place, wanted)?;

    let mut samples = samples.into_iter().peekable();
    let mut packed = Vec::with_capacity(metrics.len());
    let mut alerts = Vec::new();
    let mut sample: Vec<f64> = Vec::new();
    let mut current = None;
    for (at, (series, item)) in (0_u32..).zip(&metrics) {
        if current != Some(series.id) {
            current = Some(series.id);
            sample = samples
                .next_if(|found| found.series == series.id)
                .map(|found| found.values)
                .unwrap_or_default();
        }
        let value = item.measured.value;
        let judge =
            judges.get_mut(&item.subject.measure).map(|judge| (judge.prepared.limits(&sample), judge));
        let mut metric = Packed {
            series: series.id,
            iteration: item.iteration,
            value,
            lower_value: item.measured.lower_value,
            upper_value: item.measured.upper_value,
            judged: None,
        };
        if let Some((limits, judge)) = judge {
            judge.judged += 1;
            metric.judged = Some(Judged { model: judge.model, limits });
            let crossed = limits
                .and_then(|limits| tidemark_stats::judge(value, &limits))
                .filter(|_| !item.entry.ignored);
            if let Some(side) = crossed {
                judge.alerts += 1;
                let Subject { benchmark, variant, .. } = item.subject;
                let threshold = judge.threshold;
                alerts.push(alert::New {
                    threshold,
                    benchmark,
                    variant,
                    place: at,
                    metric,
                    limit: side.into(),
                });
            }
            // The next iteration sees this one as the newest.
            sample.insert(0, value);
        }
        packed.push(metric);
    }
    metric::insert(tx, place.report, &packed)?;
    alert::insert(tx, fresh, place.project, (place.report, place.head, place.start_time), &alerts)?;
    let counts: Vec<_> = judges
        .values()
        .filter(|judge| judge.judged > 0)
        .map(|judge| (judge.threshold, judge.judged, judge.alerts))
        .collect();
    Ok(threshold::count(tx, &counts)?)
}
