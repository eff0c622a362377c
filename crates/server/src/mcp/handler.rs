//! Speaks the protocol with one client for one message, by way of the official SDK: which tools there are, and what
//! they answer. Nothing is kept between messages.

use std::borrow::Cow;

use axum::{Router, http::request::Parts};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
        GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        Tool as Described, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tidemark_api::{Alert, Perf};

use super::{
    answer::{self, Content, Failed},
    call::Line,
    compare, explain, prompt, resource,
    schema::Operation,
    summary,
    tools::{self, Answer, TOOLS, Tool},
};

/// The versions of the protocol that are spoken; a client that asks for another is offered the newest it can know.
const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

const INSTRUCTIONS: &str = "Tidemark keeps benchmark results over time and raises an alert when one crosses the limit of \
    its threshold. To look into an alert, begin with explain_alert; to look at a history, with perf_summary. Nearly every tool takes a `project`: its slug or UUID, which list_projects tells. Lists take `page` \
    and `per_page` and tell `total_count`. Times in arguments are milliseconds since 1970. What you may do is what your \
    credential may do.";

/// The other end of one conversation.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) operations: Router,
    /// The address of the console.
    pub(super) console: String,
}

impl Handler {
    /// A way to the operations for whoever sent this message.
    fn line(&self, context: &RequestContext<RoleServer>) -> Result<Line, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let parts = parts.ok_or_else(|| ErrorData::internal_error("The request has no head.", None))?;
        Ok(Line::of(&self.operations, parts))
    }

    /// Uses a tool.
    async fn run(&self, line: &Line, tool: &Tool, arguments: JsonObject) -> CallToolResult {
        if tool.answer == Answer::Comparison {
            return answer::tell(compare::answer(line, arguments).await, None);
        }
        let project = arguments.get("project").cloned().unwrap_or_default();
        let reply = match line.call(tool, arguments).await {
            Ok(reply) => reply,
            Err(unusable) => return answer::tell(Err(unusable.into()), None),
        };
        let content = answer::read(tool, &reply);
        let is_long = reply.body.len() > answer::LONGEST;
        match (tool.answer, content) {
            (Answer::Summary, Ok(Content::Object(perf, notes))) => {
                answer::tell(summarize(perf, notes).await, None)
            }
            (Answer::Series, Ok(Content::Object(perf, mut notes))) if is_long => {
                notes.push(
                    "There are too many values to show: these are the statistics of the series. Ask for fewer series, or \
                     for a part of the time with `start_time` and `end_time`, to see every value."
                        .into(),
                );
                answer::tell(summarize(perf, notes).await, None)
            }
            (Answer::Explanation, Ok(Content::Object(alert, _))) => {
                answer::tell(self.explain(line, &project, alert).await, None)
            }
            (_, content) => answer::tell(content, Some(&reply.path)),
        }
    }

    /// Looks at the history of an alert.
    async fn explain(&self, line: &Line, project: &Value, alert: Value) -> Result<Content, Failed> {
        let alert: Alert = serde_json::from_value(alert).map_err(|_| Failed::internal())?;
        let (branch, testbed) = (&alert.threshold.branch, &alert.threshold.testbed);
        let sent = json!({
            "project": project, "branches": branch.uuid, "heads": branch.head.uuid, "testbeds": testbed.uuid,
            "benchmarks": alert.benchmark.uuid, "measures": alert.threshold.measure.uuid,
        });
        let Value::Object(sent) = sent else { return Err(Failed::internal()) };
        let tool = tools::named("query_perf");
        let reply = line.call(tool, sent).await?;
        let Content::Object(perf, notes) = answer::read(tool, &reply)? else {
            return Err(Failed::internal());
        };
        let console = self.console.clone();
        let explain = move || {
            let perf: Perf = serde_json::from_value(perf).map_err(|_| Failed::internal())?;
            let explained = explain::of(&alert, &perf, &console);
            explained.ok_or_else(|| {
                Failed::invalid(
                    "The metric of this alert is no longer there; `view_alert` shows the alert itself.",
                )
            })
        };
        let explained = tokio::task::spawn_blocking(explain).await.map_err(|_| Failed::internal())??;
        Ok(Content::Object(explained, notes))
    }
}

/// The statistics of series. There may be many, so that others are not kept waiting.
async fn summarize(perf: Value, notes: Vec<String>) -> Result<Content, Failed> {
    let summarize = move || {
        let perf: Perf = serde_json::from_value(perf).map_err(|_| Failed::internal())?;
        Ok(Content::Object(summary::of(&perf), notes))
    };
    tokio::task::spawn_blocking(summarize).await.map_err(|_| Failed::internal())?
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
                format!("There is no tool `{}`; tools/list names them.", request.name),
                None,
            )
        })?;
        let line = self.line(&context)?;
        Ok(self.run(&line, tool, request.arguments.unwrap_or_default()).await.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        resource::list(&self.line(&context)?, cursor.as_deref()).await
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
        Ok(resource::read(&self.line(&context)?, &request.uri).await?.into())
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

    /// What the SDK could not read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        match method.as_str() {
            "tools/call" if params.is_some_and(|params| params["name"].is_string()) => {
                let failed = Failed::invalid("The arguments of a tool are a JSON object.");
                Ok(CustomResult::new(json!(answer::tell(Err(failed), None))))
            }
            "tools/call" => Err(ErrorData::invalid_params("The parameters have no `name` of a tool.", None)),
            _ => {
                let message = format!("There is no method `{method}`.");
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
            }
        }
    }
}

fn describe(tool: &Tool) -> Described {
    let operation = Operation::of(tool);
    let method = &operation.method;
    let hints = ToolAnnotations::new()
        .read_only(operation.is_read)
        .destructive(false)
        .idempotent(operation.is_read || method.is_idempotent() || method == axum::http::Method::PATCH)
        .open_world(false);
    Described::new(tool.name, tool.description, operation.input.clone()).with_annotations(hints)
}
