//! Rights of tools: exactly the callers that may call an operation may use its tool. Every caller calls both, and the
//! responses are compared.

use axum::http::StatusCode;
use serde_json::{Map, Value};
use tidemark_api::Visibility;
use tidemark_server::transport::mcp::{TOOLS, Tool};

use super::{
    Caller, Verdict, call, changes, expected, is_cast,
    stage::{Cast, Stage},
};
use crate::{
    TestServer, both,
    contract::{self, Operation},
    mcp::call_tool,
};

const CALLERS: [Caller; 9] = [
    Caller::Anonymous,
    Caller::Locked,
    Caller::Stranger,
    Caller::StrangerKey,
    Caller::OtherKey,
    Caller::Viewer,
    Caller::Developer,
    Caller::ProjectKey,
    Caller::Leader,
];

/// Returns the arguments of a tool for the same call of an operation.
fn arguments(stage: &Stage, cast: &Cast, operation: &Operation, tool: &Tool) -> Value {
    let path = stage.path(operation, cast);
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let mut arguments = Map::new();
    for (name, value) in operation.path.split('/').zip(path.split('/')) {
        if let Some(name) = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            arguments.insert(name.to_owned(), value.into());
        }
    }
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        arguments.insert(name.to_owned(), value.into());
    }
    if let Some(Value::Object(body)) = stage.body(operation, cast) {
        arguments.extend(body);
    }
    if tool.name == "compare" {
        let report = arguments.remove("report").unwrap();
        let side = Value::from(format!("report:{}", report.as_str().unwrap()));
        arguments.extend([("base".to_owned(), side.clone()), ("new".to_owned(), side)]);
    }
    tool.own_arguments().for_each(|name| drop(arguments.remove(name)));
    Value::Object(arguments)
}

/// Calls a tool and its operation, and returns how they differ, if they do.
async fn try_out(
    server: &TestServer,
    cast: &Cast,
    shared: &Stage,
    (tool, operation, visibility): (&Tool, &Operation, Visibility),
    caller: Caller,
) -> Result<(), String> {
    let changes_something =
        operation.method != "GET" && expected(&operation.right, visibility, caller) == Verdict::Done;
    let mut stages = [shared.clone(), shared.clone()];
    if changes_something {
        for stage in &mut stages {
            *stage = Stage::set(server, cast, caller, visibility).await;
        }
    }
    let [of_operation, of_tool] = &stages;
    let path = of_operation.path(operation, cast);
    let body = of_operation.body(operation, cast);
    let wanted = call(server, operation, &path, &of_operation.credential(cast, caller), body).await;
    let before = if wanted.status.is_success() { 0 } else { changes(server).await };
    let arguments = arguments(of_tool, cast, operation, tool);
    let came = call_tool(server, &of_tool.credential(cast, caller), tool.name, arguments).await;
    let is_fine = match came.status {
        Some(status) => wanted.status == status && changes(server).await == before,
        None => wanted.status.is_success(),
    };
    if is_fine { Ok(()) } else { Err(format!("{} was wanted, {} came", wanted.status, came.text)) }
}

/// Calls one part of the tools as every caller.
async fn walk(server: &TestServer, part: usize) {
    let cast = Cast::enter(server).await;
    let mut broken = Vec::new();
    for visibility in [Visibility::Private, Visibility::Public] {
        let shared = Stage::set(server, &cast, Caller::Stranger, visibility).await;
        for (index, tool) in TOOLS.iter().enumerate().skip(part).step_by(2) {
            let operation = contract::operations().iter().find(|operation| operation.id == tool.operation);
            let operation = operation.unwrap();
            server.pass(60);
            for (number, caller) in (1..).zip(CALLERS) {
                if !is_cast(server.engine, index, number) {
                    continue;
                }
                server.call_from([198, 51, 100, number]);
                let what = (tool, operation, visibility);
                if let Err(problem) = try_out(server, &cast, &shared, what, caller).await {
                    broken.push(format!("{} ({visibility}) as {caller:?}: {problem}", tool.name));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

both! {
    async fn a_tool_is_for_those_who_may_call_its_operation_1(server: TestServer) {
        walk(&server, 0).await;
    }

    async fn a_tool_is_for_those_who_may_call_its_operation_2(server: TestServer) {
        walk(&server, 1).await;
    }

    async fn a_bad_credential_uses_no_tool(server: TestServer) {
        let cast = Cast::enter(&server).await;
        let stage = Stage::set(&server, &cast, Caller::Invalid, Visibility::Public).await;
        let credential = stage.credential(&cast, Caller::Invalid);
        for tool in TOOLS {
            server.pass(60);
            let answer = crate::mcp::rpc(
                &server,
                &credential,
                "tools/call",
                serde_json::json!({ "name": tool.name, "arguments": {} }),
            )
            .await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", tool.name);
        }
    }
}
