//! Resources that a client can attach to a conversation without a tool: `tidemark://project/…`. Each resource is also an
//! operation.

use axum::http::StatusCode;
use percent_encoding::percent_decode_str;
use rmcp::{
    ErrorData,
    model::{
        JsonObject, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    },
};
use serde_json::{Value, json};

use super::{
    answer::{self, Content, ToolError},
    call::OperationClient,
    tools::{self, Tool},
};

const SCHEME: &str = "tidemark://project/";
const JSON: &str = "application/json";
/// Number of projects per page of the list.
const PER_PAGE: usize = 100;

/// Returns the URI templates of resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    [
        ("{project}", "project", "A project."),
        ("{project}/alerts", "alerts", "The active alerts of a project, the newest first."),
        ("{project}/alerts/{alert}", "alert", "An alert with its metric and the crossed limit."),
        ("{project}/reports", "reports", "The newest reports of a project."),
        ("{project}/reports/{report}", "report", "A report with its results and alerts."),
    ]
    .map(|(path, name, description)| {
        let template = ResourceTemplate::new(format!("{SCHEME}{path}"), name);
        template.with_description(description).with_mime_type(JSON)
    })
    .to_vec()
}

/// Returns one page of the projects that the caller can view. The cursor is the page number.
pub(super) async fn list(
    client: &OperationClient,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let wrong = || ErrorData::invalid_params("The cursor is invalid; use a cursor from this server.", None);
    let page: usize = cursor.map_or(Ok(1), str::parse).map_err(|_| wrong())?;
    let tool = tools::named("list_projects");
    let sent = object(&[("page", json!(page)), ("per_page", json!(PER_PAGE))]);
    let listed = client.read(tool, sent).await.map_err(|failed| refusal(&failed))?;
    let Content::Object(listed, _) = listed else { return Err(refusal(&ToolError::internal())) };
    let rows = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let resources = rows.iter().map(|row| {
        let resource = Resource::new(format!("{SCHEME}{}", text(row, "slug")), text(row, "slug"));
        resource.with_title(text(row, "name")).with_mime_type(JSON)
    });
    let mut result = ListResourcesResult::with_all_items(resources.collect());
    let total = listed["total_count"].as_u64().and_then(|total| usize::try_from(total).ok());
    if total.is_some_and(|total| total > page.saturating_mul(PER_PAGE)) {
        result.next_cursor = Some((page + 1).to_string());
    }
    Ok(result)
}

/// Returns one resource.
pub(super) async fn read(client: &OperationClient, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (tool, sent) = locate(uri).ok_or_else(|| {
        let message =
            format!("Unknown resource `{uri}`; resources/templates/list lists the available templates.");
        ErrorData::resource_not_found(message, None)
    })?;
    let reply = client.call(tool, sent).await.map_err(|failed| refusal(&failed))?;
    let fit = move || {
        let Content::Object(value, mut notes) = answer::read(tool, &reply)? else {
            return Err(ToolError::internal());
        };
        let value = answer::shorten_to_fit(value, Some(&reply.path), &mut notes);
        Ok((value.to_string(), notes))
    };
    let (value, notes) = client.run_blocking(fit).await.flatten().map_err(|failed| refusal(&failed))?;
    let mut contents = vec![ResourceContents::text(value, uri).with_mime_type(JSON)];
    contents.extend(notes.into_iter().map(|note| ResourceContents::text(note, uri)));
    Ok(ReadResourceResult::new(contents))
}

/// Returns the tool for a resource, and its arguments.
fn locate(uri: &str) -> Option<(&'static Tool, JsonObject)> {
    let decode = |segment: &str| percent_decode_str(segment).decode_utf8().ok().map(|text| json!(text));
    let segments: Vec<_> = uri.strip_prefix(SCHEME)?.split('/').collect();
    let (name, sent) = match segments.as_slice() {
        [project] => ("view_project", object(&[("project", decode(project)?)])),
        [project, "alerts"] => {
            ("list_alerts", object(&[("project", decode(project)?), ("status", json!("active"))]))
        }
        [project, "reports"] => ("list_reports", object(&[("project", decode(project)?)])),
        [project, "alerts", alert] => {
            ("view_alert", object(&[("project", decode(project)?), ("alert", decode(alert)?)]))
        }
        [project, "reports", report] => {
            ("view_report", object(&[("project", decode(project)?), ("report", decode(report)?)]))
        }
        _ => return None,
    };
    Some((tools::named(name), sent))
}

fn object(members: &[(&str, Value)]) -> JsonObject {
    members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// Converts an error to the protocol error for resources.
fn refusal(failed: &ToolError) -> ErrorData {
    let message = format!("{}: {}", failed.status.as_u16(), failed.message);
    match failed.status {
        StatusCode::NOT_FOUND => ErrorData::resource_not_found(message, None),
        status if status.is_client_error() => ErrorData::invalid_request(message, None),
        _ => ErrorData::internal_error(message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_shown_by_a_tool() {
        let named = |uri| locate(uri).map(|(tool, sent)| (tool.name, Value::Object(sent)));
        assert_eq!(
            named("tidemark://project/a%20b/alerts/1"),
            Some(("view_alert", json!({ "project": "a b", "alert": "1" })))
        );
        assert_eq!(named("tidemark://project/lab"), Some(("view_project", json!({ "project": "lab" }))));
        for uri in ["tidemark://project/lab/keys", "tidemark://user/ann", "https://example.org/"] {
            assert_eq!(named(uri), None);
        }
    }
}
