//! Validates every response against openapi.json.

use std::{
    collections::HashMap,
    fs,
    sync::{LazyLock, Mutex},
};

use serde_json::{Map, Value, json};
use tidemark_server::infra::config::{Config, Flags};

/// Reads the file instead of generating it from the routes, which takes longer.
/// `the_document_on_disk_is_current` proves that both are equal.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");
    fs::read_to_string(file).unwrap().parse().unwrap()
});

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(read_operations);

static VALIDATORS: LazyLock<Mutex<HashMap<String, jsonschema::Validator>>> = LazyLock::new(Mutex::default);

/// One operation of the API.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) right: String,
    pub(crate) description: &'static Value,
}

/// Returns all operations.
pub(crate) fn operations() -> &'static [Operation] {
    &OPERATIONS
}

fn read_operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let text = |key: &str| operation[key].as_str().unwrap_or_default().to_owned();
            operations.push(Operation {
                id: text("operationId"),
                method: method.to_uppercase(),
                path: path.clone(),
                right: text("x-right"),
                description: operation,
            });
        }
    }
    operations
}

/// Returns the smallest body that the description of an operation allows, or `None` if it has no body.
pub(crate) fn body(operation: &Operation) -> Option<Value> {
    operation.description.pointer("/requestBody/content/application~1json/schema").map(sample)
}

/// Returns the smallest value that a schema allows.
fn sample(schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return sample(resolve(reference));
    }
    if let Some(first) = schema.pointer("/enum/0").or_else(|| schema.get("const")) {
        return first.clone();
    }
    if let Some(first) = ["/oneOf/0", "/anyOf/0", "/allOf/0"].iter().find_map(|place| schema.pointer(place)) {
        return sample(first);
    }
    match schema["type"].as_str().or_else(|| schema["type"][0].as_str()) {
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required.map(|name| (name.to_owned(), sample(&schema["properties"][name]))).collect()
        }
        Some("array") => json!([]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(0)),
        Some("string") => TEXTS
            .iter()
            .map(|text| json!(text))
            .find(|text| problems(schema, text).is_empty())
            .unwrap_or_else(|| panic!("add to `TEXTS` one that fits {schema}")),
        _ => panic!("say in `sample` what fits {schema}"),
    }
}

/// Texts to try for a schema of a string.
const TEXTS: &[&str] = &[
    "name",
    "name@example.org",
    "00000000-0000-4000-8000-000000000000",
    "2026-01-01T00:00:00Z",
    "AAAA.AAAA.AAAA",
    "https://example.org/",
];

fn resolve(reference: &str) -> &'static Value {
    DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap()
}

/// Collects the schemas that a schema refers to, directly or indirectly: a validator of all schemas would be slow to
/// build.
fn gather(schema: &Value, schemas: &mut Map<String, Value>) {
    match schema {
        Value::Object(fields) => {
            let name = schema["$ref"].as_str().and_then(|place| place.strip_prefix("#/components/schemas/"));
            if let Some(name) = name
                && !schemas.contains_key(name)
            {
                let named = &DOCUMENT["components"]["schemas"][name];
                schemas.insert(name.to_owned(), named.clone());
                gather(named, schemas);
            }
            fields.values().for_each(|field| gather(field, schemas));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, schemas)),
        _ => {}
    }
}

/// Returns where a value does not match a schema.
fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut validators = VALIDATORS.lock().unwrap();
    let validator = validators.entry(schema.to_string()).or_insert_with(|| {
        let mut schemas = Map::new();
        gather(schema, &mut schemas);
        let whole = json!({ "allOf": [schema], "components": { "schemas": schemas } });
        jsonschema::draft202012::options().should_validate_formats(true).build(&whole).unwrap()
    });
    validator.iter_errors(value).map(|error| format!("{} at {}", error, error.instance_path())).collect()
}

/// Returns the properties of a value that a schema does not declare, because schemas allow additional properties.
pub(crate) fn undeclared(name: &str, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(&[resolve(&format!("#/components/schemas/{name}"))], value, name, &mut found);
    found
}

fn walk(schemas: &[&Value], value: &Value, place: &str, found: &mut Vec<String>) {
    let mut all = schemas.to_vec();
    let mut next = 0;
    while let Some(schema) = all.get(next).copied() {
        all.extend(schema["$ref"].as_str().map(resolve));
        all.extend(["oneOf", "anyOf", "allOf"].iter().filter_map(|word| schema[word].as_array()).flatten());
        next += 1;
    }
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let place = format!("{place}.{key}");
                let declared: Vec<_> = all
                    .iter()
                    .filter_map(|schema| {
                        schema["properties"].get(key).or_else(|| schema.get("additionalProperties"))
                    })
                    .collect();
                if declared.is_empty() {
                    found.push(place);
                } else {
                    walk(&declared, field, &place, found);
                }
            }
        }
        Value::Array(items) => {
            let declared: Vec<_> = all.iter().filter_map(|schema| schema.get("items")).collect();
            items.iter().for_each(|item| walk(&declared, item, place, found));
        }
        _ => {}
    }
}

/// Panics if a response does not match the description. Ignores paths that are not in the description.
pub(crate) fn check(method: &str, path: &str, status: u16, media_type: &str, body: Option<&Value>) {
    let path = path.split('?').next().unwrap_or_default();
    let Some(operation) =
        operations().iter().find(|operation| operation.method == method && matches(&operation.path, path))
    else {
        return;
    };
    let responses = &operation.description["responses"];
    let key = status.to_string();
    let range = format!("{}XX", status / 100);
    let response = [key, range]
        .iter()
        .find_map(|key| responses.get(key))
        .unwrap_or_else(|| panic!("{method} {path} answered {status}, which is not described"));
    let response = match response["$ref"].as_str() {
        Some(reference) => resolve(reference),
        None => response,
    };
    let schema = match response["content"].as_object() {
        None => None,
        // Arbitrary bytes: for a JSON document, the test server has only the values, not the text.
        Some(content) if content.contains_key("*/*") => {
            assert!(!media_type.is_empty() || body.is_none(), "{method} {path} {status}: no media type");
            return;
        }
        Some(content) if body.is_none() => content.values().next().map(|content| &content["schema"]),
        Some(content) => content.get(media_type).map(|content| &content["schema"]),
    };
    let (Some(schema), Some(body)) = (schema, body) else {
        assert!(
            schema.is_none() && body.is_none(),
            "{method} {path} {status}: body {body:?}, schema {schema:?}"
        );
        return;
    };
    // The test server parses only `application/json`.
    let document = match body {
        Value::String(text) if media_type.ends_with("+json") => serde_json::from_str(text).ok(),
        _ => None,
    };
    let body = document.as_ref().unwrap_or(body);
    let errors = problems(schema, body);
    assert!(errors.is_empty(), "{method} {path} {status} is not as described: {errors:?}\n{body:#}");
}

fn matches(template: &str, path: &str) -> bool {
    let (template, mut path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    // The name of a repository is the only parameter that contains `/`.
    if template.get(2) == Some(&"{name}") && path.get(1) == Some(&"v2") && path.len() > template.len() {
        path.drain(3..3 + path.len() - template.len());
    }
    template.len() == path.len()
        && template
            .iter()
            .zip(path)
            .all(|(template, segment)| template.starts_with('{') || *template == segment)
}

#[test]
fn every_operation_is_described_in_full() {
    let operations = operations();
    assert!(operations.len() > 30);
    for id in [
        "org_allowed_get",
        "org_claim_post",
        "proj_allowed_get",
        "runner_channel",
        "runner_specs_post",
        "runners_post",
        "specs_post",
    ] {
        assert!(operations.iter().any(|operation| operation.id == id), "the contract names {id}");
    }
    for operation in operations {
        assert!(!operation.id.is_empty() && !operation.right.is_empty(), "{operation:?}");
        assert!(operation.description["summary"].is_string(), "{} has no summary", operation.id);
        assert!(operation.description["responses"]["4XX"].is_object(), "{} has no errors", operation.id);
    }
}

#[test]
fn the_document_on_disk_is_current() {
    let generated = serde_json::to_value(tidemark_server::transport::openapi::document()).unwrap();
    assert!(generated == *DOCUMENT, "openapi.json is stale: run `cargo xtask openapi`");
}

/// Every optional section, so that `masked` shows its settings.
const OPTIONAL_SECTIONS: &str = r#"
[server.tls]
cert_file = "cert.pem"
key_file = "key.pem"
[smtp]
hostname = "mail.example.org"
from_email = "sender@example.org"
[plus.rate_limiting]
window = 60
[plus.github]
client_id = "id"
client_secret = "secret"
[plus.google]
client_id = "id"
client_secret = "secret"
[plus.oidc.example]
name = "Example"
issuer = "https://id.example.org"
client_id = "id"
client_secret = "secret"
[plus.captcha]
url = "https://captcha.example.org/check"
script = "https://captcha.example.org/script"
site_key = "site"
secret = "secret"
[plus.billing]
secret_key = "secret"
webhook_secret = "secret"
levels.team.prices = ["price"]
"#;

#[test]
fn every_setting_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidemark.toml");
    fs::write(&file, [OPTIONAL_SECTIONS, crate::license::TRUSTED].concat()).unwrap();
    let config = Config::load(Some(&file), [], &Flags::default()).unwrap().masked();
    let sections =
        ["server/tls", "smtp", "plus/rate_limiting", "plus/github", "plus/google", "plus/oidc/example"];
    for section in sections.iter().chain(&["plus/captcha", "plus/billing", "plus/license"]) {
        assert!(config.pointer(&format!("/{section}")).is_some_and(Value::is_object), "{section} is not set");
    }
    assert_eq!(undeclared("JsonConfig", &config), [""; 0], "describe it in openapi/contract.json");
    let errors = problems(&json!({ "$ref": "#/components/schemas/JsonConfig" }), &config);
    assert!(errors.is_empty(), "{errors:?}");
}
