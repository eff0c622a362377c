//! Two reports, branches or versions held against each other, by the same rules as `tidemark compare`: the mathematics is
//! in `tidemark-stats`, and the reports come through the operations that everybody asks for them.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tidemark_api::{Measure, Report, Variant};
use tidemark_stats::{Comparison, Criteria, Samples, Verdict, Worse, compare, verdicts};

use super::{
    answer::{self, Content, Failed},
    call::Line,
    summary::percent,
    tools,
};

/// The reports that a branch stands for, unless said otherwise, and the most there can be.
const REPORTS: usize = 10;
const MOST_REPORTS: usize = 20;
/// How far back a version is looked for.
const LOOKED_AT: usize = 255;
/// The same as `tidemark compare` takes by itself.
const CONFIDENCE: f64 = 0.95;
const CRITERIA: Criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };

/// What the tool takes.
pub(super) fn input() -> Value {
    let side = "`report:UUID`, `branch:NAME` for its newest reports, or `version:BRANCH@VERSION` for all reports of one \
                version, which is a number or the beginning of a commit hash.";
    json!({
        "type": "object",
        "properties": {
            "project": { "type": "string", "description": "The slug or UUID of the project." },
            "base": { "type": "string", "description": format!("What to compare with: {side}") },
            "new": { "type": "string", "description": "What is new, said in the same way." },
            "testbed": {
                "type": ["string", "null"],
                "description": "Only reports of this testbed, by UUID, slug or name; machines are not compared with each other.",
            },
            "reports": {
                "type": ["integer", "null"], "minimum": 1, "maximum": MOST_REPORTS,
                "description": format!("How many reports a branch stands for; {REPORTS} when not given."),
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

/// What was measured of one benchmark by one measure.
struct Cell {
    measure: Measure,
    values: Vec<f64>,
}

/// The values of one side by what they are of: the benchmark's name, its parameters and the measure's name.
type Cells = BTreeMap<(String, String, String), Cell>;

/// Compares what both sides have.
pub(super) async fn answer(line: &Line, arguments: JsonObject) -> Result<Content, Failed> {
    let arguments: Arguments = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Failed::invalid(format!("The arguments are wrong: {error}.")))?;
    let base = fetch(line, &arguments, &arguments.base).await?;
    let new = fetch(line, &arguments, &arguments.new).await?;
    let mut notes = Vec::new();
    let testbeds = |reports: &[Report]| {
        let mut names: Vec<_> = reports.iter().map(|report| report.testbed.name.to_string()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if testbeds(&base) != testbeds(&new) || testbeds(&base).len() > 1 {
        notes.push(
            "The reports are of different testbeds, so that differences may be those of the machines; give a `testbed`."
                .to_owned(),
        );
    }
    let shown = json!({ "base": show(&arguments.base, &base), "new": show(&arguments.new, &new) });
    let Value::Object(mut shown) = shown else { return Err(Failed::internal()) };
    shown.extend(hold_against(&cells(&base), &cells(&new)));
    Ok(Content::Object(Value::Object(shown), notes))
}

/// The reports that a side stands for, with their results.
async fn fetch(line: &Line, arguments: &Arguments, side: &str) -> Result<Vec<Report>, Failed> {
    let view = tools::named("view_report");
    let one = async |report: String| -> Result<Report, Failed> {
        let sent = JsonObject::from_iter([
            ("project".to_owned(), json!(arguments.project)),
            ("report".to_owned(), json!(report)),
        ]);
        parse(answer::read(view, &line.call(view, sent).await?)?)
    };
    let (kind, name) = side.split_once(':').unwrap_or(("", side));
    let (branch, version) = match kind {
        "report" => return Ok(vec![one(name.to_owned()).await?]),
        "branch" => (name, None),
        "version" => {
            name.rsplit_once('@').map(|(branch, version)| (branch, Some(version))).ok_or_else(|| {
                Failed::invalid(format!("`{side}` names no version; write `version:BRANCH@NUMBER`."))
            })?
        }
        _ => {
            return Err(Failed::invalid(format!(
                "`{side}` is no side; write `report:UUID`, `branch:NAME` or `version:BRANCH@VERSION`."
            )));
        }
    };
    let most = arguments.reports.unwrap_or(REPORTS).clamp(1, MOST_REPORTS);
    let mut sent = JsonObject::from_iter([
        ("project".to_owned(), json!(arguments.project)),
        ("branch".to_owned(), json!(branch)),
        ("per_page".to_owned(), json!(if version.is_some() { LOOKED_AT } else { most })),
    ]);
    if let Some(testbed) = &arguments.testbed {
        sent.insert("testbed".into(), json!(testbed));
    }
    let list = tools::named("list_reports");
    let Content::Object(mut listed, _) = answer::read(list, &line.call(list, sent).await?)? else {
        return Err(Failed::internal());
    };
    let listed: Vec<Report> =
        serde_json::from_value(listed["data"].take()).map_err(|_| Failed::internal())?;
    let is_meant = |report: &&Report| match (version, &report.branch.head.version) {
        (None, _) => true,
        (Some(wanted), Some(found)) => {
            let is_hash = wanted.len() >= 7
                && found.hash.as_ref().is_some_and(|hash| hash.to_string().starts_with(wanted));
            is_hash || found.number.to_string() == wanted
        }
        (Some(_), None) => false,
    };
    let mut reports = Vec::new();
    for report in listed.iter().filter(is_meant).take(MOST_REPORTS) {
        reports.push(one(report.uuid.to_string()).await?);
    }
    if reports.is_empty() {
        return Err(Failed::invalid(format!(
            "There is no report for `{side}` among the newest {LOOKED_AT}; `list_reports` shows what there is."
        )));
    }
    Ok(reports)
}

fn parse(content: Content) -> Result<Report, Failed> {
    match content {
        Content::Object(value, _) => serde_json::from_value(value).map_err(|_| Failed::internal()),
        Content::Picture(..) => Err(Failed::internal()),
    }
}

/// The values of a side, the oldest first; each iteration of a report is one.
fn cells(reports: &[Report]) -> Cells {
    let mut cells = Cells::new();
    for report in reports.iter().rev() {
        for result in report.results.iter().flatten().flatten() {
            for measured in &result.measures {
                let key = (
                    result.benchmark.name.to_string(),
                    result.variant.as_deref().map_or_else(String::new, parameters),
                    measured.measure.name.to_string(),
                );
                let cell = cells
                    .entry(key)
                    .or_insert_with(|| Cell { measure: (*measured.measure).clone(), values: Vec::new() });
                cell.values.push(measured.metric.value);
            }
        }
    }
    cells
}

fn parameters(variant: &Variant) -> String {
    json!(variant.parameters).to_string()
}

/// What both sides have, the worst first, and what only one has.
fn hold_against(base: &Cells, new: &Cells) -> JsonObject {
    let both: Vec<_> = base.iter().filter_map(|(key, cell)| Some((key, cell, new.get(key)?))).collect();
    let comparisons: Vec<(Comparison, Worse)> = both
        .iter()
        .map(|(_, base, new)| {
            (compare(Samples::Apart(&base.values, &new.values), CONFIDENCE), new.measure.worse())
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
        "unclear": count(Verdict::Unclear),
        "same": count(Verdict::Same),
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
                "units": new.measure.units,
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
        Verdict::Unclear => "unclear",
        Verdict::Same => "same",
    }
}

/// A side as it was meant.
fn show(side: &str, reports: &[Report]) -> Value {
    let reports = reports.iter().map(|report| {
        let version = report.branch.head.version.as_ref();
        json!({
            "uuid": report.uuid,
            "branch": report.branch.name,
            "version": version.map(|version| version.number),
            "hash": version.and_then(|version| version.hash.as_ref()),
            "testbed": report.testbed.name,
            "start_time": report.start_time,
        })
    });
    json!({ "side": side, "reports": reports.collect::<Vec<_>>() })
}
