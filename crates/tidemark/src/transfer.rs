//! Transfer of reports between servers: lists the reports, the oldest first, and converts each into a run that recreates it.
//! Commands choose the source and the target.

mod status;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tidemark_adapters::{Entry, Label, ParsedMetric, Results};
use tidemark_api::{
    Adapter, Alert, Branch, BranchUuid, Direction, GitHash, HeadUuid, MeasurePatch, MeasureUuid, Model,
    NameId, NewModel, NewRun, Report, ReportFilter, ReportIdempotencyKey, ReportMeasure, ReportResult,
    ReportSettings, ReportThresholds, ReportUuid, ResourceId, ResourceName, RunContext, StartPoint,
    StartPointPatch, TestbedUuid, Timestamp, measure::UNKNOWN_UNITS,
};
use tidemark_client::{Client, Error, measures as measures_of, reports, run};

use crate::{
    failure::{Failure, Result},
    output,
    progress::Steps,
};

/// Source and target of a transfer.
pub(crate) struct Route<'a> {
    /// Server of the source.
    pub(crate) from: &'a Client,
    /// Project of the source.
    pub(crate) source: &'a ResourceId,
    /// Server of the target.
    pub(crate) to: &'a Client,
    /// Project of the target; the server creates it if it does not exist.
    pub(crate) target: &'a ResourceId,
}

/// Counts of a transfer.
#[derive(Clone, Copy)]
pub(crate) struct TransferCounts {
    /// Number of reports of the source.
    pub(crate) found: usize,
    /// Number of reports that the target did not have.
    pub(crate) missing: usize,
}

/// A run to send, with data that is not part of a run.
pub(crate) struct PendingRun {
    pub(crate) run: NewRun,
    /// Units of its measures.
    pub(crate) units: HashMap<ResourceName, ResourceName>,
    /// Dismissed alerts of the report.
    pub(crate) dismissed: Vec<Alert>,
}

/// Sends all reports of a project that the target does not have, or only counts them. After an interruption, a repetition sends
/// only the missing reports.
pub(crate) fn copy(route: &Route<'_>, dry_run: bool, quiet: bool) -> Result<TransferCounts> {
    let mut looking = Steps::start("Looking for reports", None, quiet);
    let all = list(route.from, route.source, |count| looking.at(count))?;
    drop(looking);
    let mut converter = RunConverter::new(Some(route.target.clone()), &all);
    let keys: Vec<Option<Key>> = all.iter().map(|summary| Some(summary.key.clone())).collect();
    let counts = send_missing(route.to, route.target, &keys, dry_run, quiet, |index, is_missing| {
        let summary = &all[index];
        if !is_missing {
            converter.skip(summary);
            return Ok(None);
        }
        let report = route.from.send(&reports(route.source).view(&summary.uuid))?;
        let units = measures(&report).map(|measured| &measured.measure);
        let units = units.map(|measure| (measure.name.clone(), measure.units.clone())).collect();
        let dismissed = status::dismissed(&report);
        Ok(Some(PendingRun { run: converter.run(&report)?, units, dismissed }))
    })?;
    if counts.missing > 0 && !dry_run && !status::archive(route)? {
        message!(
            "warning: The server did not permit archiving the resources that are archived at the source; \
             this requires the permission to edit {}.",
            route.target
        );
    }
    Ok(counts)
}

/// Sends runs that the target does not have, or only counts them.
pub(crate) fn send(
    to: &Client,
    target: &ResourceId,
    runs: Vec<PendingRun>,
    dry_run: bool,
    quiet: bool,
) -> Result<TransferCounts> {
    let keys: Vec<Option<Key>> = runs.iter().map(|pending| Key::of(&pending.run)).collect();
    let mut runs: Vec<Option<PendingRun>> = runs.into_iter().map(Some).collect();
    send_missing(to, target, &keys, dry_run, quiet, |index, is_missing| {
        Ok(runs[index].take().filter(|_| is_missing))
    })
}

/// Sends the runs whose keys the target does not have. Calls `pending` for each run in turn, unless it only counts.
fn send_missing(
    to: &Client,
    target: &ResourceId,
    keys: &[Option<Key>],
    dry_run: bool,
    quiet: bool,
    mut pending: impl FnMut(usize, bool) -> Result<Option<PendingRun>>,
) -> Result<TransferCounts> {
    let existing = match list(to, target, |_| {}) {
        // The first run creates the project.
        Err(Error::Refused { status: 404, .. }) => Vec::new(),
        listed => listed?,
    };
    let missing = missing(keys, &existing);
    let count = missing.iter().filter(|is_missing| **is_missing).count();
    let counts = TransferCounts { found: keys.len(), missing: count };
    if dry_run {
        return Ok(counts);
    }
    let (mut sent, mut without_units, mut without_dismissals) = (0, false, false);
    let mut warnings = BTreeSet::new();
    let mut sending = Steps::start("Sending reports", Some(count), quiet);
    for (index, is_missing) in missing.into_iter().enumerate() {
        let mut one = || -> Result<bool> {
            let Some(PendingRun { run, units, dismissed }) = pending(index, is_missing)? else {
                return Ok(false);
            };
            let mut made = run::create(to, run)?;
            warnings.extend(made.warnings.drain(..));
            for (id, units) in unknown_units(&units, &made) {
                let patch = MeasurePatch { units: Some(units), ..MeasurePatch::default() };
                match to.send(&measures_of(target).update(&id, &patch)) {
                    // A credential that can send results may lack the permission to update measures.
                    Err(Error::Refused { .. }) => without_units = true,
                    other => drop(other?),
                }
            }
            without_dismissals |= !status::dismiss(to, target, &dismissed, &made)?;
            Ok(true)
        };
        let was_sent = one().map_err(|failure| {
            failure.and(&format!(
                "{sent} of {count} reports were sent; run the command again to send the others."
            ))
        })?;
        if was_sent {
            sent += 1;
            sending.step();
        }
    }
    drop(sending);
    for warning in &warnings {
        message!("warning: {}", output::plain(warning));
    }
    if without_units {
        message!(
            "warning: The server did not permit setting the units of new measures; this requires the \
             permission to edit {target}."
        );
    }
    if without_dismissals {
        message!(
            "warning: The server did not permit dismissing the alerts that are dismissed at the source; \
             this requires the permission to edit {target}."
        );
    }
    Ok(counts)
}

/// A report without its results.
struct ReportSummary {
    uuid: ReportUuid,
    created: Timestamp,
    branch: BranchUuid,
    head: HeadUuid,
    key: Key,
}

/// Identity of a run on both servers, regardless of the user who sent it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    branch: String,
    hash: Option<GitHash>,
    testbed: String,
    start_time: Timestamp,
    end_time: Timestamp,
}

impl Key {
    /// Returns the key of a run.
    fn of(run: &NewRun) -> Option<Self> {
        Some(Self {
            branch: run.branch.as_ref()?.as_str().to_owned(),
            hash: run.hash.clone(),
            testbed: run.testbed.as_ref()?.as_str().to_owned(),
            start_time: run.start_time,
            end_time: run.end_time,
        })
    }
}

/// Lists the reports of a project in the order in which they arrived, which is the order of versions. Calls `on_page` with the
/// number of reports so far.
fn list(
    client: &Client,
    project: &ResourceId,
    mut on_page: impl FnMut(usize),
) -> std::result::Result<Vec<ReportSummary>, Error> {
    let mut all = Vec::new();
    for archived in [false, true] {
        let filter = ReportFilter { archived: Some(archived), ..ReportFilter::default() };
        // The oldest first, so that a report that arrives meanwhile moves no other report to the next page.
        client.pages(&reports(project).list(&filter), Some(Direction::Asc), |_, found| {
            all.extend(found.into_iter().map(ReportSummary::from));
            on_page(all.len());
            Ok(())
        })?;
    }
    all.sort_by_key(|summary| (summary.created, summary.key.start_time, summary.uuid));
    Ok(all)
}

/// Returns, for each run, whether the target lacks it. If several runs have the same key, either all exist or all count as
/// missing: the server ignores a repetition.
fn missing(wanted: &[Option<Key>], existing: &[ReportSummary]) -> Vec<bool> {
    let mut counts: HashMap<&Key, (usize, usize)> = HashMap::new();
    wanted.iter().flatten().for_each(|key| counts.entry(key).or_default().0 += 1);
    existing.iter().for_each(|summary| counts.entry(&summary.key).or_default().1 += 1);
    let is_missing = |key: &Key| counts.get(key).is_none_or(|(wanted, existing)| existing < wanted);
    wanted.iter().map(|key| key.as_ref().is_none_or(is_missing)).collect()
}

impl From<Report> for ReportSummary {
    fn from(report: Report) -> Self {
        Self {
            uuid: report.uuid,
            created: report.created,
            branch: report.branch.uuid,
            head: report.branch.head.uuid,
            key: Key {
                hash: report.branch.head.version.and_then(|version| version.hash),
                branch: report.branch.name.as_str().to_owned(),
                testbed: report.testbed.name.as_str().to_owned(),
                start_time: report.start_time,
                end_time: report.end_time,
            },
        }
    }
}

/// Converts the reports of a project into runs. It must process all reports in order, because a run contains only what changed: a
/// new head of its branch, or other thresholds.
struct RunConverter {
    project: Option<ResourceId>,
    names: HashMap<BranchUuid, NameId>,
    heads: HashMap<BranchUuid, HeadUuid>,
    models: HashMap<(BranchUuid, TestbedUuid), BTreeMap<NameId, NewModel>>,
}

impl RunConverter {
    /// Creates runs for this project; without a project, the key determines it.
    fn new(project: Option<ResourceId>, all: &[ReportSummary]) -> Self {
        let named = |summary: &ReportSummary| Some((summary.branch, summary.key.branch.parse().ok()?));
        let names = all.iter().filter_map(named).collect();
        Self { project, names, heads: HashMap::new(), models: HashMap::new() }
    }

    /// Processes a report that is not sent.
    fn skip(&mut self, summary: &ReportSummary) {
        self.heads.insert(summary.branch, summary.head);
    }

    /// Returns the run that recreates this report. Its idempotency key is the UUID of the report, so that the server records it
    /// once.
    fn run(&mut self, report: &Report) -> Result<NewRun> {
        let invalid = |what: &str| Failure::new(format!("The report {} has {what}.", report.uuid));
        let results = report.results.as_ref().ok_or_else(|| invalid("no results"))?;
        let settings = ReportSettings { adapter: Some(Adapter::Json), ..ReportSettings::default() };
        let version = report.branch.head.version.as_ref();
        Ok(NewRun {
            project: self.project.clone(),
            branch: Some(reference(&report.branch.name).ok_or_else(|| invalid("a branch without a name"))?),
            hash: version.and_then(|version| version.hash.clone()),
            start_point: self.start_point(&report.branch),
            testbed: Some(
                reference(&report.testbed.name).ok_or_else(|| invalid("a testbed without a name"))?,
            ),
            spec_reset: None,
            thresholds: self.thresholds(report),
            start_time: report.start_time,
            end_time: report.end_time,
            results: texts(results)
                .map_err(|error| invalid(&format!("results that cannot be written ({error})")))?,
            settings: Some(settings),
            job: None,
            context: Some(project_name_context(report.project.name.as_str())),
            idempotency_key: Some(ReportIdempotencyKey(report.uuid.uuid())),
        })
    }

    /// Returns the start point of the branch, with the first report of each head.
    fn start_point(&mut self, branch: &Branch) -> Option<StartPointPatch> {
        let earlier = self.heads.insert(branch.uuid, branch.head.uuid);
        if earlier == Some(branch.head.uuid) {
            return None;
        }
        // A branch without reports was not sent, so it cannot be a start point.
        let source =
            |start: &StartPoint| Some((self.names.get(&start.branch)?.clone(), start.version.hash.clone()));
        let (from, hash) = branch.head.start_point.as_ref().and_then(source).unzip();
        let patch = StartPointPatch {
            branch: from,
            hash: hash.flatten(),
            reset: earlier.map(|_| true),
            ..StartPointPatch::default()
        };
        (patch != StartPointPatch::default()).then_some(patch)
    }

    /// Returns the models of the report, if they differ from the models of the previous report. Ignores thresholds of measures
    /// that the report does not have.
    fn thresholds(&mut self, report: &Report) -> Option<ReportThresholds> {
        let known = self.models.entry((report.branch.uuid, report.testbed.uuid)).or_default();
        let (mut changed, mut removed) = (BTreeMap::new(), false);
        for measured in measures(report) {
            let Some(key) = reference(&measured.measure.name) else { continue };
            match measured.threshold.as_ref().map(|threshold| new_model(&threshold.model)) {
                Some(model) if known.get(&key) != Some(&model) => {
                    known.insert(key.clone(), model);
                    changed.insert(key, model);
                }
                Some(_) => {}
                None => removed |= known.remove(&key).is_some(),
            }
        }
        let models = if removed { known.clone() } else { changed };
        let thresholds = ReportThresholds {
            models: Some(models).filter(|models| !models.is_empty()),
            reset: removed.then_some(true),
        };
        (thresholds != ReportThresholds::default()).then_some(thresholds)
    }
}

/// Returns the context that determines the name of a new project.
pub(crate) fn project_name_context(name: &str) -> RunContext {
    [("repo/name", name.to_owned())].into_iter().collect()
}

/// Returns the measures of a new report whose units the server does not know, with their units.
fn unknown_units(
    known: &HashMap<ResourceName, ResourceName>,
    made: &Report,
) -> BTreeMap<MeasureUuid, ResourceName> {
    measures(made)
        .filter(|measured| measured.measure.units.as_str() == UNKNOWN_UNITS)
        .filter_map(|measured| Some((measured.measure.uuid, known.get(&measured.measure.name)?.clone())))
        .filter(|(_, units)| units.as_str() != UNKNOWN_UNITS)
        .collect()
}

fn measures(report: &Report) -> impl Iterator<Item = &ReportMeasure> {
    report.results.iter().flatten().flatten().flat_map(|result| &result.measures)
}

/// Returns a name as an identifier of an existing or new resource.
fn reference(name: &impl AsRef<str>) -> Option<NameId> {
    name.as_ref().parse().ok()
}

fn new_model(model: &Model) -> NewModel {
    NewModel {
        test: model.test,
        min_sample_size: model.min_sample_size,
        max_sample_size: model.max_sample_size,
        window: model.window,
        lower_boundary: model.lower_boundary,
        upper_boundary: model.upper_boundary,
    }
}

/// Returns the results in the format of the adapter `json`, one text per iteration; an empty iteration keeps its position.
fn texts(results: &[Vec<ReportResult>]) -> serde_json::Result<Vec<String>> {
    let mut iterations: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
    for result in results.iter().flatten() {
        iterations.entry(result.iteration.get()).or_default().push(entry(result));
    }
    let count = iterations.last_key_value().map_or(0, |(last, _)| last + 1);
    (0..count)
        .map(|iteration| {
            let entries = iterations.remove(&iteration).unwrap_or_default().into();
            serde_json::to_string(&Results { adapter: Adapter::Json, entries })
        })
        .collect()
}

/// Returns a benchmark of a report as an entry of the output of a tool.
pub(crate) fn entry(result: &ReportResult) -> Entry {
    let measured = |measured: &ReportMeasure| ParsedMetric {
        measure: measured.measure.name.clone(),
        units: Some(measured.measure.units.clone()),
        direction: measured.measure.direction,
        value: measured.metric.value,
        lower_value: measured.metric.lower_value,
        upper_value: measured.metric.upper_value,
    };
    Entry {
        label: Label::Reference(result.benchmark.name.clone()),
        parameters: result.variant.as_ref().map(|variant| variant.parameters.clone()),
        ignored: false,
        metrics: result.measures.iter().map(measured).collect(),
    }
}
