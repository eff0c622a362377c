//! Compares two reports, branches or versions: finds the report of each side, and requests the verdict on the new report with
//! the other report as its baseline.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tidemark_api::Report;

use super::{
    answer::{self, ToolError},
    call::{OperationClient, Reply},
    tools,
};

/// Number of reports per page in the search for a version number.
const PAGE_REPORTS: usize = 64;
/// Maximum number of pages in the search for a version number.
const MAX_PAGES: usize = 4;
/// Minimum length of the start of a commit hash. A shorter version is a number.
const MIN_HASH_DIGITS: usize = 7;

/// Returns the input schema of the tool.
pub(super) fn input() -> Value {
    let side = "`report:UUID`, `branch:NAME` for its newest report, or `version:BRANCH@VERSION` for the newest \
                report of one version. VERSION is a number or at least 7 digits of a commit hash.";
    json!({
        "type": "object",
        "properties": {
            "project": { "type": "string", "description": "The slug or UUID of the project." },
            "base": {
                "type": ["string", "null"],
                "description": format!(
                    "The baseline: the reports of a branch and testbed up to this report. {side} Without it, the \
                     baseline is the start point of the branch of `new`, or the earlier runs of that branch."
                ),
            },
            "new": { "type": "string", "description": format!("The report to compare: {side}") },
            "testbed": {
                "type": ["string", "null"],
                "description": "UUID, slug or name of a testbed; selects only its reports. Set it to compare \
                                results of one machine.",
            },
            "benchmark": {
                "type": ["string", "null"],
                "description": "UUID, slug or name of a benchmark; returns only its comparisons. The counts \
                                include all benchmarks.",
            },
            "limit": {
                "type": ["integer", "null"], "minimum": 0,
                "description": "Maximum number of comparisons to return. The counts include all comparisons.",
            },
        },
        "required": ["project", "new"],
        "additionalProperties": false,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    project: String,
    base: Option<String>,
    new: String,
    testbed: Option<String>,
    benchmark: Option<String>,
    limit: Option<u32>,
}

/// Requests the verdict on the report of the new side.
pub(super) async fn verdict(client: &OperationClient, arguments: JsonObject) -> Result<Reply, ToolError> {
    let arguments: Arguments = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolError::invalid(format!("The arguments are invalid: {error}.")))?;
    let new = find_report(client, &arguments, &arguments.new).await?;
    let base = match &arguments.base {
        Some(base) => Some(find_report(client, &arguments, base).await?),
        None => None,
    };
    let sent = JsonObject::from_iter([
        ("project".to_owned(), json!(arguments.project)),
        ("report".to_owned(), json!(new)),
        ("base".to_owned(), json!(base)),
        ("benchmark".to_owned(), json!(arguments.benchmark)),
        ("limit".to_owned(), json!(arguments.limit)),
    ]);
    client.call(tools::named("view_verdict"), sent).await
}

/// Returns the UUID of the newest report of a side.
async fn find_report(
    client: &OperationClient,
    arguments: &Arguments,
    side: &str,
) -> Result<String, ToolError> {
    let (kind, name) = side.split_once(':').unwrap_or(("", side));
    let (branch, version) = match kind {
        "report" => return Ok(name.to_owned()),
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
    let (hash, number) = match version {
        Some(version) if version.len() >= MIN_HASH_DIGITS => (Some(version), None),
        number => (None, number),
    };
    let (pages, per_page) = if number.is_some() { (MAX_PAGES, PAGE_REPORTS) } else { (1, 1) };
    let list = tools::named("list_reports");
    for page in 1..=pages {
        let sent = JsonObject::from_iter([
            ("project".to_owned(), json!(arguments.project)),
            ("branch".to_owned(), json!(branch)),
            ("testbed".to_owned(), json!(arguments.testbed)),
            ("hash".to_owned(), json!(hash)),
            ("page".to_owned(), json!(page)),
            ("per_page".to_owned(), json!(per_page)),
        ]);
        let reply = client.call(list, sent).await?;
        let (listed, _) = answer::read_json::<Vec<Report>>(list, &reply)?;
        let is_meant = |report: &&Report| {
            let found = report.branch.head.version.as_ref().map(|version| version.number.to_string());
            number.is_none_or(|wanted| found.as_deref() == Some(wanted))
        };
        if let Some(report) = listed.iter().find(is_meant) {
            return Ok(report.uuid.to_string());
        }
        if listed.len() < per_page {
            break;
        }
    }
    let searched = match number {
        Some(_) => format!(" among the newest {} reports", MAX_PAGES * PAGE_REPORTS),
        None => String::new(),
    };
    Err(ToolError::invalid(format!(
        "No report matches `{side}`{searched}; `list_reports` lists the reports."
    )))
}
