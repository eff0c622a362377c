//! Compares two reports, branches or versions by the same rules as `tidemark compare`: the statistics are in `tidemark-stats`,
//! and the reports come from the operations of the API, one at a time.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tidemark_api::{Branch, Report, ReportUuid, Testbed, Timestamp, Variant, measure::built_in};
use tidemark_stats::{Comparison, Criteria, Samples, Verdict, Worse, compare, verdicts};

use super::{
    answer::{self, Content, ToolError},
    call::OperationClient,
    summary::percent,
    tools,
};

/// Default and maximum number of reports of a branch.
const DEFAULT_REPORTS: usize = 10;
const MAX_REPORTS: usize = 20;
/// Maximum number of reports that are searched for a version.
const MAX_SEARCHED_REPORTS: usize = 255;
/// Confidence level, the same as the default of `tidemark compare`.
const CONFIDENCE: f64 = 0.95;
const CRITERIA: Criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };

/// Returns the input schema of the tool.
pub(super) fn input() -> Value {
    let side = "`report:UUID`, `branch:NAME` for its newest reports, or `version:BRANCH@VERSION` for all \
                reports of one version. VERSION is a number or the start of a commit hash.";
    json!({
        "type": "object",
        "properties": {
            "project": { "type": "string", "description": "The slug or UUID of the project." },
            "base": { "type": "string", "description": format!("The baseline: {side}") },
            "new": { "type": "string", "description": "The new side, in the same format." },
            "testbed": {
                "type": ["string", "null"],
                "description": "UUID, slug or name of a testbed; selects only its reports. Set it to compare \
                                results of one machine.",
            },
            "reports": {
                "type": ["integer", "null"], "minimum": 1, "maximum": MAX_REPORTS,
                "description": format!("Number of newest reports per branch; default {DEFAULT_REPORTS}."),
            },
        },
        "required": ["project", "base", "new"],
        "additionalProperties": false,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    project: String,
    base: String,
    new: String,
    testbed: Option<String>,
    reports: Option<usize>,
}

/// The values of one benchmark and measure on one side.
struct Cell {
    worse: Worse,
    units: String,
    values: Vec<f64>,
}

/// The values of one side, by the name of the benchmark, its parameters and the name of the measure.
type Cells = BTreeMap<(String, String, String), Cell>;

/// One side of a comparison: its reports as shown, oldest first, their testbeds, and their values.
#[derive(Default)]
struct Side {
    reports: Vec<Value>,
    testbeds: BTreeSet<String>,
    cells: Cells,
}

/// The part of a report that a comparison needs. Borrows from the JSON, which can have tens of megabytes.
#[derive(Deserialize)]
struct Values<'a> {
    uuid: ReportUuid,
    branch: Branch,
    testbed: Testbed,
    start_time: Timestamp,
    #[serde(borrow)]
    results: Vec<Vec<BenchmarkValues<'a>>>,
}

#[derive(Deserialize)]
struct BenchmarkValues<'a> {
    #[serde(borrow)]
    benchmark: BenchmarkName<'a>,
    variant: Option<Variant>,
    #[serde(borrow)]
    measures: Vec<MeasureValue<'a>>,
}

#[derive(Deserialize)]
struct BenchmarkName<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct MeasureValue<'a> {
    #[serde(borrow)]
    measure: MeasureName<'a>,
    metric: Metric,
}

#[derive(Deserialize)]
struct MeasureName<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    slug: Cow<'a, str>,
    #[serde(borrow)]
    units: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Metric {
    value: f64,
}

/// Compares the benchmarks that both sides have.
pub(super) async fn answer(client: &OperationClient, arguments: JsonObject) -> Result<Content, ToolError> {
    let arguments: Arguments = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolError::invalid(format!("The arguments are invalid: {error}.")))?;
    client.acquire_permit().await?;
    let base = fetch(client, &arguments, &arguments.base).await?;
    let new = fetch(client, &arguments, &arguments.new).await?;
    client.run_blocking(move || present(&arguments, &base, &new)).await?
}

fn present(arguments: &Arguments, base: &Side, new: &Side) -> Result<Content, ToolError> {
    let mut notes = Vec::new();
    if base.testbeds != new.testbeds || base.testbeds.len() > 1 {
        notes.push(
            "The reports are from different testbeds, so the machines can cause the differences; set `testbed`."
                .to_owned(),
        );
    }
    let show = |name: &str, side: &Side| json!({ "side": name, "reports": side.reports.iter().rev().collect::<Vec<_>>() });
    let shown = json!({ "base": show(&arguments.base, base), "new": show(&arguments.new, new) });
    let Value::Object(mut shown) = shown else { return Err(ToolError::internal()) };
    shown.extend(compare_sides(&base.cells, &new.cells));
    Ok(Content::Object(Value::Object(shown), notes))
}

/// Reads the reports of a side, one at a time.
async fn fetch(client: &OperationClient, arguments: &Arguments, side: &str) -> Result<Side, ToolError> {
    let (kind, name) = side.split_once(':').unwrap_or(("", side));
    let (branch, version) = match kind {
        "report" => return add(client, arguments, Side::default(), name).await,
        "branch" => (name, None),
        "version" => {
            name.rsplit_once('@').map(|(branch, version)| (branch, Some(version))).ok_or_else(|| {
                ToolError::invalid(format!("`{side}` contains no version; use `version:BRANCH@VERSION`."))
            })?
        }
        _ => {
            return Err(ToolError::invalid(format!(
                "`{side}` is not a valid side; use `report:UUID`, `branch:NAME` or `version:BRANCH@VERSION`."
            )));
        }
    };
    let most = arguments.reports.unwrap_or(DEFAULT_REPORTS).clamp(1, MAX_REPORTS);
    let mut sent = JsonObject::from_iter([
        ("project".to_owned(), json!(arguments.project)),
        ("branch".to_owned(), json!(branch)),
        ("per_page".to_owned(), json!(if version.is_some() { MAX_SEARCHED_REPORTS } else { most })),
    ]);
    if let Some(testbed) = &arguments.testbed {
        sent.insert("testbed".into(), json!(testbed));
    }
    let list = tools::named("list_reports");
    let reply = client.call(list, sent).await?;
    let (listed, _) = answer::read_json::<Vec<Report>>(list, &reply)?;
    let is_meant = |report: &&Report| match (version, &report.branch.head.version) {
        (None, _) => true,
        (Some(wanted), Some(found)) => {
            let is_hash = wanted.len() >= 7
                && found.hash.as_ref().is_some_and(|hash| hash.to_string().starts_with(wanted));
            is_hash || found.number.to_string() == wanted
        }
        (Some(_), None) => false,
    };
    let mut found = Side::default();
    let meant: Vec<_> = listed.iter().filter(is_meant).take(MAX_REPORTS).collect();
    for report in meant.into_iter().rev() {
        found = add(client, arguments, found, &report.uuid.to_string()).await?;
    }
    if found.reports.is_empty() {
        return Err(ToolError::invalid(format!(
            "No report matches `{side}` among the newest {MAX_SEARCHED_REPORTS} reports; `list_reports` \
             lists the reports."
        )));
    }
    Ok(found)
}

/// Reads a report and adds its values to a side.
async fn add(
    client: &OperationClient,
    arguments: &Arguments,
    mut side: Side,
    report: &str,
) -> Result<Side, ToolError> {
    let tool = tools::named("view_report");
    let sent = JsonObject::from_iter([
        ("project".to_owned(), json!(arguments.project)),
        ("report".to_owned(), json!(report)),
    ]);
    let reply = client.call(tool, sent).await?;
    let add = move || {
        let (values, _) = answer::read_json::<Values<'_>>(tool, &reply)?;
        let version = values.branch.head.version.as_ref();
        side.reports.push(json!({
            "uuid": values.uuid,
            "branch": values.branch.name,
            "version": version.map(|version| version.number),
            "hash": version.and_then(|version| version.hash.as_ref()),
            "testbed": values.testbed.name,
            "start_time": values.start_time,
        }));
        side.testbeds.insert(values.testbed.name.to_string());
        for result in values.results.iter().flatten() {
            let parameters = result.variant.as_ref().map_or_else(String::new, parameters);
            for MeasureValue { measure, metric } in &result.measures {
                let key = (result.benchmark.name.to_string(), parameters.clone(), measure.name.to_string());
                let cell = side.cells.entry(key).or_insert_with(|| Cell {
                    worse: built_in(&measure.slug).map_or(Worse::Unknown, |measure| measure.worse),
                    units: measure.units.to_string(),
                    values: Vec::new(),
                });
                cell.values.push(metric.value);
            }
        }
        Ok(side)
    };
    client.run_blocking(add).await?
}

fn parameters(variant: &Variant) -> String {
    json!(variant.parameters).to_string()
}

/// Returns the benchmarks that both sides have, worst first, and the benchmarks that only one side has.
fn compare_sides(base: &Cells, new: &Cells) -> JsonObject {
    let both: Vec<_> = base.iter().filter_map(|(key, cell)| Some((key, cell, new.get(key)?))).collect();
    let comparisons: Vec<(Comparison, Worse)> = both
        .iter()
        .map(|(_, base, new)| {
            (compare(Samples::Independent(&base.values, &new.values), CONFIDENCE), new.worse)
        })
        .collect();
    let mut rows: Vec<_> =
        both.into_iter().zip(&comparisons).zip(verdicts(&comparisons, &CRITERIA)).collect();
    let badness = |comparison: &Comparison, worse: Worse| {
        let change = comparison.change.unwrap_or(f64::INFINITY);
        match worse {
            Worse::Up => change,
            Worse::Down => -change,
            Worse::Unknown => change.abs(),
        }
    };
    rows.sort_by(
        |((_, (left, left_worse)), (left_verdict, _)), ((_, (right, right_worse)), (right_verdict, _))| {
            let by_size = badness(right, *right_worse).total_cmp(&badness(left, *left_worse));
            left_verdict.cmp(right_verdict).then(by_size)
        },
    );
    let count = |wanted: Verdict| rows.iter().filter(|(_, (verdict, _))| *verdict == wanted).count();
    let only = |one: &Cells, other: &Cells| -> Vec<Value> {
        let missing = one.keys().filter(|key| !other.contains_key(*key));
        missing.map(|(benchmark, parameters, measure)| json!([benchmark, parameters, measure])).collect()
    };
    let shown = json!({
        "confidence": CONFIDENCE,
        "regressions": count(Verdict::Regression),
        "improvements": count(Verdict::Improvement),
        "differences": count(Verdict::Difference),
        "unclear": count(Verdict::Inconclusive),
        "same": count(Verdict::Unchanged),
        "only_in_base": only(base, new),
        "only_in_new": only(new, base),
        "rows": rows.iter().map(|(((key, base, new), (comparison, _)), (verdict, adjusted))| {
            let (benchmark, parameters, measure) = key;
            let parameters = Some(parameters).filter(|parameters| !parameters.is_empty());
            json!({
                "verdict": word(*verdict),
                "benchmark": benchmark,
                "parameters": parameters,
                "measure": measure,
                "units": new.units,
                "base": comparison.base,
                "new": comparison.new,
                "change_percent": percent(comparison.change),
                "interval_percent": comparison.interval.map(|(low, high)| [percent(Some(low)), percent(Some(high))]),
                "p": adjusted,
                "base_values": base.values.len(),
                "new_values": new.values.len(),
            })
        }).collect::<Vec<_>>(),
    });
    match shown {
        Value::Object(shown) => shown,
        _ => JsonObject::new(),
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "regression",
        Verdict::Difference => "difference",
        Verdict::Improvement => "improvement",
        Verdict::Inconclusive => "unclear",
        Verdict::Unchanged => "same",
    }
}
