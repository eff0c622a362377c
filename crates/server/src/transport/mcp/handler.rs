//! Implements the protocol for one message with the official SDK: lists the tools and calls them. Keeps no state between
//! messages.

use std::{borrow::Cow, sync::Arc};

use axum::{Router, http::request::Parts};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
        GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        Tool as ToolDescription, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tidemark_api::{Alert, Perf};

use super::{
    answer::{self, Content, ToolError},
    call::{Cancellation, OperationClient, Reply},
    compare, explain, prompt, resource,
    schema::Operation,
    summary,
    tools::{self, Answer, TOOLS, Tool},
};
use crate::infra::limits::ConcurrencyLimit;

/// Supported versions of the protocol. A client that requests another version gets the newest version that it can know.
const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

const INSTRUCTIONS: &str = "Tidemark stores benchmark results over time and creates an alert when a metric \
                            crosses the limit of its threshold. To investigate an alert, start with \
                            explain_alert; to view a history, start with perf_summary. Most tools require \
                            `project`, the slug or UUID of a project; list_projects lists them. Lists accept \
                            `page` and `per_page` and return `total_count`. Times in arguments are \
                            milliseconds since 1970. The permissions of your credential apply to every tool.";

/// Handler of one message.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) operations: Router,
    pub(super) analyses: Arc<ConcurrencyLimit>,
    /// URL of the console.
    pub(super) console: String,
}

impl Handler {
    /// Handles one message, until it is done or the request ends.
    async fn serve<T>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl AsyncFnOnce(&OperationClient) -> Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        let missing = |what: &str| ErrorData::internal_error(format!("The request has no {what}."), None);
        let parts = context.extensions.get::<Parts>().ok_or_else(|| missing("head"))?;
        let cancellation = parts.extensions.get::<Cancellation>().ok_or_else(|| missing("end"))?;
        let client = OperationClient::of(&self.operations, &self.analyses, parts);
        let done = cancellation.clone().run(work(&client)).await;
        done.unwrap_or_else(|| Err(ErrorData::internal_error(ToolError::canceled().message, None)))
    }

    /// Calls a tool.
    async fn run(
        &self,
        client: &OperationClient,
        tool: &'static Tool,
        arguments: JsonObject,
    ) -> CallToolResult {
        let run = async {
            if tool.answer == Answer::Comparison {
                let reply = compare::verdict(client, arguments).await?;
                return client.run_blocking(move || present(tool, &reply)).await;
            }
            if tool.is_large {
                client.acquire_permit().await?;
            }
            let project = arguments.get("project").cloned().unwrap_or_default();
            let reply = client.call(tool, arguments).await?;
            if tool.answer == Answer::Explanation {
                let explained = self.explain(client, &project, tool, reply).await;
                return client.run_blocking(move || answer::into_result(explained, None)).await;
            }
            client.run_blocking(move || present(tool, &reply)).await
        };
        run.await.unwrap_or_else(|failed| answer::into_result(Err(failed), None))
    }

    /// Explains an alert by its history.
    async fn explain(
        &self,
        client: &OperationClient,
        project: &Value,
        tool: &'static Tool,
        reply: Reply,
    ) -> Result<Content, ToolError> {
        let (alert, _) = answer::read_json::<Alert>(tool, &reply)?;
        let (branch, testbed) = (&alert.threshold.branch, &alert.threshold.testbed);
        let sent = json!({
            "project": project, "branches": branch.uuid, "heads": branch.head.uuid, "testbeds": testbed.uuid,
            "benchmarks": alert.benchmark.uuid, "measures": alert.threshold.measure.uuid,
        });
        let Value::Object(sent) = sent else { return Err(ToolError::internal()) };
        let tool = tools::named("query_perf");
        let reply = client.call(tool, sent).await?;
        let console = self.console.clone();
        let explain = move || {
            let (perf, notes) = answer::read_json::<Perf>(tool, &reply)?;
            let explained = explain::of(&alert, &perf, &console);
            let explained = explained.ok_or_else(|| {
                ToolError::invalid("The metric of this alert was deleted; `view_alert` shows the alert.")
            });
            Ok(Content::Object(explained?, notes))
        };
        client.run_blocking(explain).await?
    }
}

/// Converts the response of an operation.
fn present(tool: &Tool, reply: &Reply) -> CallToolResult {
    let is_long = reply.body.len() > answer::MAX_RESULT_BYTES;
    match tool.answer {
        Answer::Summary => answer::into_result(summarize(tool, reply, None), None),
        Answer::Series if is_long && reply.status.is_success() => {
            let note = "There are too many values; these are the statistics of the series. Request fewer \
                        series, or a time range with `start_time` and `end_time`, to get every value.";
            answer::into_result(summarize(tool, reply, Some(note)), None)
        }
        _ => answer::into_result(answer::read(tool, reply), Some(&reply.path)),
    }
}

/// Returns the statistics of series.
fn summarize(tool: &Tool, reply: &Reply, note: Option<&str>) -> Result<Content, ToolError> {
    let (perf, mut notes) = answer::read_json::<Perf>(tool, reply)?;
    notes.extend(note.map(str::to_owned));
    Ok(Content::Object(summary::of(&perf), notes))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_prompts().enable_resources().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("tidemark", env!("CARGO_PKG_VERSION")).with_title("Tidemark"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(describe).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = tools::find(&request.name).ok_or_else(|| {
            ErrorData::invalid_params(
                format!("Unknown tool `{}`; tools/list lists the tools.", request.name),
                None,
            )
        })?;
        let arguments = request.arguments.unwrap_or_default();
        self.serve(&context, async |client| Ok(self.run(client, tool, arguments).await.into())).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.serve(&context, async |client| resource::list(client, cursor.as_deref()).await).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resource::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.serve(&context, async |client| Ok(resource::read(client, &request.uri).await?.into())).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompt::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompt::get(&request.name, &request.arguments.unwrap_or_default())?.into())
    }

    /// Handles requests that the SDK could not parse.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        match method.as_str() {
            "tools/call" if params.is_some_and(|params| params["name"].is_string()) => {
                let failed = ToolError::invalid("The arguments of a tool must be a JSON object.");
                Ok(CustomResult::new(json!(answer::into_result(Err(failed), None))))
            }
            "tools/call" => {
                Err(ErrorData::invalid_params("The parameter `name` of the tool is missing.", None))
            }
            _ => {
                let message = format!("Unknown method `{method}`.");
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
            }
        }
    }
}

fn describe(tool: &Tool) -> ToolDescription {
    let operation = Operation::of(tool);
    let method = &operation.method;
    let hints = ToolAnnotations::new()
        .read_only(operation.is_read)
        .destructive(false)
        .idempotent(operation.is_read || method.is_idempotent() || method == axum::http::Method::PATCH)
        .open_world(false);
    ToolDescription::new(tool.name, tool.description, operation.input.clone()).with_annotations(hints)
}
