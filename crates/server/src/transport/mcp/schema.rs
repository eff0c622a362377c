//! The input of a tool: the parameters and the body fields of its operation in one object, from the OpenAPI document. The place
//! of each argument is stored for `call.rs`.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use axum::http::Method;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{
    compare,
    tools::{Answer, TOOLS, Tool},
};
use crate::transport::openapi;

/// The operation of a tool.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    /// Whether the operation only reads, so that callers with view access can call it.
    pub(super) is_read: bool,
    /// Path template of the operation.
    pub(super) path: String,
    pub(super) in_path: Vec<String>,
    pub(super) in_query: Vec<String>,
    /// Fields of the body; `None` if the operation has no body.
    pub(super) in_body: Option<Vec<String>>,
    /// Input schema of the tool.
    pub(super) input: Arc<JsonObject>,
}

/// The operations by tool name, parsed once.
static OPERATIONS: LazyLock<HashMap<&'static str, Operation>> = LazyLock::new(|| {
    let document = serde_json::to_value(openapi::document()).expect("the description serializes");
    let read =
        |tool: &Tool| Operation::read(&document, tool).expect("a test reads the operation of every tool");
    TOOLS.iter().map(|tool| (tool.name, read(tool))).collect()
});

impl Operation {
    /// Returns the operation of a tool.
    pub(super) fn of(tool: &Tool) -> &'static Self {
        &OPERATIONS[tool.name]
    }

    fn read(document: &Value, tool: &Tool) -> Option<Self> {
        let (path, method, operation) = document["paths"].as_object()?.iter().find_map(|(path, item)| {
            let (method, operation) =
                item.as_object()?.iter().find(|(_, operation)| operation["operationId"] == tool.operation)?;
            Some((path.clone(), Method::from_bytes(method.to_uppercase().as_bytes()).ok()?, operation))
        })?;
        let (mut properties, mut required) = (JsonObject::new(), Vec::new());
        let (mut in_path, mut in_query) = (Vec::new(), Vec::new());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str()?.to_owned();
            let mut schema = inline(document, &parameter["schema"]);
            if let (Some(schema), Some(text)) = (schema.as_object_mut(), parameter.get("description")) {
                schema.insert("description".into(), text.clone());
            }
            if parameter["required"] == json!(true) {
                required.push(json!(name));
            }
            properties.insert(name.clone(), schema);
            if parameter["in"] == "path" { in_path.push(name) } else { in_query.push(name) }
        }
        let body = operation.pointer("/requestBody/content/application~1json/schema");
        let in_body = body.map(|body| {
            let body = inline(document, body);
            let members = body["properties"].as_object().cloned().unwrap_or_default();
            required.extend(body["required"].as_array().into_iter().flatten().cloned());
            let names = members.keys().cloned().collect();
            properties.extend(members);
            names
        });
        for name in tool.own_arguments() {
            properties.remove(name);
            required.retain(|required| required != name);
        }
        let input = match tool.answer {
            Answer::Comparison => compare::input(),
            _ => json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            }),
        };
        let is_read = method.is_safe() || operation["x-right"] == "project:view";
        let input = Arc::new(input.as_object()?.clone());
        Some(Self { method, is_read, path, in_path, in_query, in_body, input })
    }
}

/// Returns a schema without references, and with `null` as an additional type instead of an alternative.
fn inline(document: &Value, schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut whole = JsonObject::new();
            if let Some(target) = members.get("$ref").and_then(Value::as_str)
                && let Some(target) = document.pointer(target.trim_start_matches('#'))
                && let Value::Object(target) = inline(document, target)
            {
                whole = target;
            }
            let own = members.iter().filter(|(name, _)| name.as_str() != "$ref");
            whole.extend(own.map(|(name, member)| (name.clone(), inline(document, member))));
            nullable(&whole).unwrap_or(Value::Object(whole))
        }
        Value::Array(items) => items.iter().map(|item| inline(document, item)).collect(),
        plain => plain.clone(),
    }
}

/// Returns one schema for an alternative between a schema and `null`.
fn nullable(schema: &JsonObject) -> Option<Value> {
    let [Value::Object(something), null] = schema.get("oneOf")?.as_array()?.as_slice() else { return None };
    let kind = something.get("type")?.as_str()?;
    if *null != json!({ "type": "null" }) {
        return None;
    }
    let mut either = something.clone();
    either.insert("type".into(), json!([kind, "null"]));
    if let Some(Value::Array(words)) = either.get_mut("enum") {
        words.push(Value::Null);
    }
    either.extend(
        schema.iter().filter(|(name, _)| *name != "oneOf").map(|(name, value)| (name.clone(), value.clone())),
    );
    Some(Value::Object(either))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_tool_has_an_operation_whose_arguments_do_not_collide() {
        let document = serde_json::to_value(openapi::document()).unwrap();
        let mut names = HashSet::new();
        for tool in TOOLS {
            assert!(names.insert(tool.name), "{} is there twice", tool.name);
            let operation = Operation::read(&document, tool)
                .unwrap_or_else(|| panic!("{} has no operation {}", tool.name, tool.operation));
            let arguments: Vec<_> = [&operation.in_path, &operation.in_query]
                .into_iter()
                .chain(&operation.in_body)
                .flatten()
                .collect();
            let different: HashSet<_> = arguments.iter().collect();
            assert_eq!(arguments.len(), different.len(), "{}: {arguments:?}", tool.name);
            for name in tool.own_arguments() {
                assert!(arguments.iter().any(|argument| *argument == name), "{} has no {name}", tool.name);
            }
        }
    }

    #[test]
    fn what_a_tool_takes_stands_for_itself() {
        for tool in TOOLS {
            let input = Value::Object((*Operation::of(tool).input).clone());
            assert!(!input.to_string().contains("$ref"), "{}", tool.name);
            jsonschema::draft7::new(&input).unwrap();
        }
    }

    #[test]
    fn the_manual_lists_every_tool() {
        let manual = include_str!("../../../../../docs/mcp.md");
        let listed: Vec<_> = manual.lines().filter(|line| line.starts_with("| `")).collect();
        let tools: Vec<_> = TOOLS
            .iter()
            .map(|tool| {
                let Operation { method, is_read, path, .. } = Operation::of(tool);
                let changes = if *is_read { "" } else { " yes" };
                format!("| `{}` | `{method} {path}` |{changes} |", tool.name)
            })
            .collect();
        assert_eq!(listed, tools);
    }

    #[test]
    fn null_is_one_more_type() {
        let input = &Operation::of(super::super::tools::find("update_threshold").unwrap()).input;
        let test = &input["properties"]["test"];
        assert_eq!(test["type"], json!(["string", "null"]));
        assert!(test["enum"].as_array().unwrap().contains(&Value::Null));
        assert_eq!(input["required"], json!(["project", "threshold", "test"]));
    }
}
