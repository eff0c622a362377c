//! Converts the response of an operation to a tool result: short enough for an agent, and with instructions where data was
//! omitted or the operation failed.

use axum::http::{HeaderMap, StatusCode, header};
use base64::{Engine, prelude::BASE64_STANDARD};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    call::{InvalidArguments, Reply},
    tools::Tool,
};

/// Maximum size of the text of a result, in bytes: about 15,000 tokens.
pub(super) const MAX_RESULT_BYTES: usize = 60_000;
/// Maximum number of listed places where data was omitted.
const MAX_LISTED_CUTS: usize = 20;

/// Content of a successful response.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// A JSON object, with notes about it.
    Object(Value, Vec<String>),
    /// An image and its media type.
    Image(Vec<u8>, String),
}

/// An error for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolError {
    pub(super) status: StatusCode,
    /// What failed and what to do.
    pub(super) message: String,
}

impl ToolError {
    /// Returns the error for invalid arguments.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    /// Returns the error for a call without an available permit.
    pub(super) fn busy() -> Self {
        let message = "The server is busy; try again in a moment.".into();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, message }
    }

    /// Returns the error for a request that ended first: the client disconnected, or the request timed out.
    pub(super) fn canceled() -> Self {
        let message = "The call timed out; request less data per call.".into();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, message }
    }

    /// Returns the error for an incomplete response.
    pub(super) fn incomplete() -> Self {
        let message =
            "The response is incomplete; try again, and request less data if the error repeats.".into();
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, message }
    }

    /// Returns the error for a response above a size limit.
    pub(super) fn too_long(what: &str, bytes: usize) -> Self {
        let message = format!(
            "The limit for {what} is {} MiB; request fewer reports, fewer series or a shorter time range.",
            bytes >> 20
        );
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, message }
    }

    /// Returns the error for an internal failure.
    pub(super) fn internal() -> Self {
        let message =
            "The response cannot be read; try again, and report the error to the operator of the server."
                .into();
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, message }
    }
}

impl From<InvalidArguments> for ToolError {
    fn from(InvalidArguments(message): InvalidArguments) -> Self {
        Self::invalid(message)
    }
}

/// Converts the response of an operation for a tool.
pub(super) fn read(tool: &Tool, reply: &Reply) -> Result<Content, ToolError> {
    let kind = header_text(&reply.headers, "content-type");
    if reply.status.is_success() && kind.starts_with("image/") {
        return Ok(Content::Image(reply.body.to_vec(), kind.to_owned()));
    }
    let (value, notes) = read_json(tool, reply)?;
    match value {
        Value::Array(rows) => {
            let total = header_text(&reply.headers, "x-total-count").parse().unwrap_or(rows.len());
            Ok(Content::Object(json!({ "data": rows, "total_count": total }), notes))
        }
        value => Ok(Content::Object(value, notes)),
    }
}

/// Parses the JSON of a successful response, and adds notes about missing data.
pub(super) fn read_json<'a, T: Deserialize<'a>>(
    tool: &Tool,
    reply: &'a Reply,
) -> Result<(T, Vec<String>), ToolError> {
    if !reply.status.is_success() {
        return Err(failure(tool, reply));
    }
    let mut notes = Vec::new();
    let asked = header_text(&reply.headers, "x-perf-truncated");
    if !asked.is_empty() {
        notes.push(format!(
            "{asked} series were requested and only the first ones are returned; request fewer branches, \
             testbeds, benchmarks or measures per call."
        ));
    }
    let value = serde_json::from_slice(&reply.body).map_err(|_| ToolError::internal())?;
    Ok((value, notes))
}

/// Returns the result of the tool.
pub(super) fn into_result(outcome: Result<Content, ToolError>, whole: Option<&str>) -> CallToolResult {
    match outcome {
        Ok(Content::Image(bytes, kind)) => {
            CallToolResult::success(vec![ContentBlock::image(BASE64_STANDARD.encode(bytes), kind)])
        }
        Ok(Content::Object(value, mut notes)) => {
            let value = shorten_to_fit(value, whole, &mut notes);
            let mut blocks: Vec<_> = notes.iter().map(ContentBlock::text).collect();
            blocks.push(ContentBlock::text(value.to_string()));
            let mut result = CallToolResult::success(blocks);
            result.structured_content = Some(value);
            result
        }
        Err(ToolError { status, message }) => {
            CallToolResult::error(vec![ContentBlock::text(format!("{}: {message}", status.as_u16()))])
        }
    }
}

/// Shortens a value that is too long, and adds a note. `whole` is the path of an operation that returns the whole value, if
/// there is one.
pub(super) fn shorten_to_fit(value: Value, whole: Option<&str>, notes: &mut Vec<String>) -> Value {
    if value.to_string().len() <= MAX_RESULT_BYTES {
        return value;
    }
    if let Some((shown, kept)) = first_rows_that_fit(&value) {
        let rows = value["data"].as_array().map_or(0, Vec::len);
        notes.push(format!(
            "Only the first {kept} of the {rows} entries of this page are shown, because the page is too \
             long; set `per_page` to at most {kept} and request all pages."
        ));
        return shown;
    }
    let mut most = 256;
    loop {
        let mut cuts = Vec::new();
        let shown = shorten(&value, most, "", &mut cuts);
        if shown.to_string().len() <= MAX_RESULT_BYTES || most == 1 {
            let more = cuts.len().saturating_sub(MAX_LISTED_CUTS);
            cuts.truncate(MAX_LISTED_CUTS);
            if more > 0 {
                cuts.push(format!("{more} more places"));
            }
            let whole = whole.map_or_else(
                || "Request less data per call to get the rest.".to_owned(),
                |path| {
                    format!(
                        "GET {path} returns the complete result, and `perf_summary` returns statistics of \
                         series."
                    )
                },
            );
            notes.push(format!("The result is too long and was shortened: {}. {whole}", cuts.join("; ")));
            return shown;
        }
        most /= 2;
    }
}

/// Returns the first rows of a page that fit, if any fit.
fn first_rows_that_fit(value: &Value) -> Option<(Value, usize)> {
    let rows = value["data"].as_array()?;
    let mut length = 100;
    let kept = rows
        .iter()
        .take_while(|row| {
            length += row.to_string().len() + 1;
            length <= MAX_RESULT_BYTES
        })
        .count();
    (kept > 0).then(|| (json!({ "data": rows[..kept], "total_count": value["total_count"] }), kept))
}

/// Returns a value with only the start of long lists and texts, and records the shortened places.
fn shorten(value: &Value, most: usize, place: &str, cuts: &mut Vec<String>) -> Value {
    match value {
        Value::Array(items) => {
            if items.len() > most {
                cuts.push(format!("{most} of {} entries of `{place}` are shown", items.len()));
            }
            let shown = items.iter().take(most).enumerate();
            shown.map(|(number, item)| shorten(item, most, &format!("{place}[{number}]"), cuts)).collect()
        }
        Value::Object(members) => {
            let dot = if place.is_empty() { "" } else { "." };
            let shown = members.iter().map(|(name, member)| {
                (name.clone(), shorten(member, most, &format!("{place}{dot}{name}"), cuts))
            });
            shown.collect()
        }
        Value::String(text) if text.chars().count() > most * 128 => {
            let letters = text.chars().count();
            cuts.push(format!("{} of {letters} characters of `{place}` are shown", most * 128));
            Value::String(text.chars().take(most * 128).collect())
        }
        plain => plain.clone(),
    }
}

fn failure(tool: &Tool, reply: &Reply) -> ToolError {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let message = body["message"].as_str().unwrap_or("The operation failed.");
    let next = next_step(tool, reply);
    ToolError { status: reply.status, message: format!("{message} {next}") }
}

/// Returns what to do after a failure.
fn next_step(tool: &Tool, reply: &Reply) -> String {
    match reply.status {
        StatusCode::BAD_REQUEST => {
            "Compare the arguments with the input schema of the tool, and call it again.".into()
        }
        StatusCode::UNAUTHORIZED => {
            "Connect again with the header Authorization: Bearer and a user key or a project key.".into()
        }
        StatusCode::FORBIDDEN => {
            "Do not retry with this credential; use a credential with the required permission, or ask for a \
             role in the project."
                .into()
        }
        StatusCode::NOT_FOUND => {
            let nouns = tool.name.split_once('_').map_or("", |(_, noun)| noun);
            match nouns {
                "metric" => {
                    "`list_projects` lists the projects you can view, and `query_perf` the metrics of a \
                     project."
                        .into()
                }
                "branch" | "testbed" | "benchmark" | "measure" | "threshold" | "alert" | "report"
                | "plot" | "job" => {
                    let plural = if nouns == "branch" { "branches".to_owned() } else { format!("{nouns}s") };
                    format!(
                        "`list_projects` lists the projects you can view, and `list_{plural}` the {plural} \
                         of a project."
                    )
                }
                _ => "`list_projects` lists the projects you can view.".into(),
            }
        }
        StatusCode::CONFLICT => "View the existing resource, or choose another name.".into(),
        StatusCode::PAYLOAD_TOO_LARGE => "Send less data per call.".into(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            match header_text(&reply.headers, header::RETRY_AFTER.as_str()) {
                "" => "Try again in a moment.".into(),
                seconds => format!("Try again in {seconds} s."),
            }
        }
        StatusCode::NOT_IMPLEMENTED => {
            "This server does not support the operation; continue without it.".into()
        }
        _ => {
            "Try again in a moment, and report the error to the operator of the server if it repeats.".into()
        }
    }
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(value: Value) -> (Value, Vec<String>) {
        let mut notes = Vec::new();
        let shown = shorten_to_fit(value, Some("/v0/projects"), &mut notes);
        assert!(shown.to_string().len() <= MAX_RESULT_BYTES);
        (shown, notes)
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let value = json!({ "name": "x" });
        assert_eq!(fitted(value.clone()), (value, vec![]));
    }

    #[test]
    fn a_long_page_loses_whole_entries_and_says_so() {
        let row = json!({ "text": "x".repeat(1000) });
        let (shown, notes) = fitted(json!({ "data": vec![row.clone(); 100], "total_count": 700 }));
        let kept = shown["data"].as_array().unwrap().len();
        assert!((50..60).contains(&kept), "{kept}");
        assert_eq!((&shown["data"][0], &shown["total_count"]), (&row, &json!(700)));
        assert!(notes[0].contains(&format!("first {kept} of the 100 entries")), "{notes:?}");
        assert!(notes[0].contains(&format!("`per_page` to at most {kept}")), "{notes:?}");
    }

    #[test]
    fn a_long_thing_loses_the_ends_of_its_lists_and_texts_and_says_where() {
        let value = json!({ "results": [vec![json!({ "a": 1.5 }); 10_000]], "output": "é".repeat(50_000) });
        let (shown, notes) = fitted(value);
        assert!(!shown["results"][0].as_array().unwrap().is_empty());
        assert!(notes[0].contains("of 10000 entries of `results[0]`"), "{notes:?}");
        assert!(notes[0].contains("of 50000 characters of `output`"), "{notes:?}");
        assert!(notes[0].contains("GET /v0/projects returns the complete result"), "{notes:?}");
    }
}
