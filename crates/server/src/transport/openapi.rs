//! The operations of the API and their OpenAPI document. This file adds what the operations do not define: general information,
//! authentication, errors, the schemas that only the contract names (`openapi/contract.json`) and the registry
//! (`openapi/registry.json`), whose routes have no separate handlers.

use std::{collections::BTreeMap, sync::LazyLock};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderValue, header},
    response::{IntoResponse, Response as HttpResponse},
};
use serde_json::json;
use tidemark_api as api;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Components, ContentBuilder, Deprecated, Header, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi,
        Paths, Ref, RefOr, Response, ResponseBuilder,
        link::LinkBuilder,
        path::Operation,
        schema::{Schema, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    channel,
    http::{
        self,
        error::{Error, Result},
    },
    oci,
};
use crate::domain::app::App;

/// Headers of every response.
const CORS: [&str; 4] = [
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
];

/// Path of the deprecated API tokens.
const TOKENS: &str = "/v0/users/{user}/tokens";

/// Adds the schemas of types that only parameters use. Unlike bodies, parameters do not add their schemas.
macro_rules! name_schemas {
    ($components:ident: $($name:ident),+ $(,)?) => {$(
        $components.schemas.insert(api::$name::name().into_owned(), api::$name::schema());
    )+};
}

/// Returns all operations of the API: of the contract and of Tidemark.
fn operations() -> OpenApiRouter<App> {
    http::operations()
        .routes(routes!(spec))
        .routes(routes!(oci::token::get, oci::token::post))
        .routes(routes!(channel::open))
        .routes(routes!(channel::upload))
}

/// Returns the routes of all operations of the API.
pub(super) fn routes() -> Router<App> {
    /// Collecting the routes generates their descriptions, too, so a process with several servers does it once.
    static ROUTES: LazyLock<Router<App>> = LazyLock::new(|| operations().split_for_parts().0);
    ROUTES.clone()
}

/// Returns the OpenAPI document of the whole API.
pub fn document() -> OpenApi {
    complete(operations().into_openapi())
}

/// View the OpenAPI document of the server.
#[utoipa::path(get, path = "/v0/server/spec", operation_id = "server_spec_get", tag = "server",
    responses((status = 200, body = ref("#/components/schemas/JsonOpenApiSpec"))), extensions(("x-right" = json!("public"))))]
async fn spec() -> Result<HttpResponse> {
    /// The document does not change while the server runs.
    static DOCUMENT: LazyLock<serde_json::Result<Bytes>> =
        LazyLock::new(|| serde_json::to_vec(&document()).map(Bytes::from));
    let document = DOCUMENT.as_ref().map_err(|error| Error::Internal(error.into()))?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], document.clone()).into_response())
}

/// Completes the document that is generated from the operations.
fn complete(mut document: OpenApi) -> OpenApi {
    document.info = InfoBuilder::new()
        .title("Tidemark")
        .version(api::CONTRACT_VERSION)
        .description(Some(
            "Continuous benchmarking: results over time, and a verdict when they change. The version of this \
             document is the version of the contract; the header `x-server-version` of every response \
             contains the version of Tidemark. Lists accept `page` and `per_page` and return the total in \
             `x-total-count`. Every error has the body `Error`. The `x-right` of an operation defines who \
             may call it: everyone (`public`), any user (`user`), the user in the path and administrators \
             (`self`), administrators (`admin`), no one (`never`), or callers with a permission in the \
             organization (`organization:view`) or in the project (`project:view`, which everyone has in a \
             public project). The rights of the registry (`registry:pull`) are the rights in the project, \
             with a token of the registry. A project key has the same rights as a user with its permissions, \
             except where `:by_user` follows; a user key has the rights of its user, except where \
             `:by_session` follows.",
        ))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").build()))
        .build();
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A session token, a user key or, if the operation accepts it, a project key."))
        .build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    let registry = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token of the registry, from `/v0/auth/oci/token`."))
        .build();
    components.add_security_scheme("registry", SecurityScheme::Http(registry));
    name_schemas!(components: Error, ResourceId, Search, JobConfig, JobBase, OrganizationPermission, ProjectPermission, Direction,
        KeysSort, OrgMembersSort, OrgSsoSort, OrganizationsSort, ProjAlertsSort, ProjBenchmarksSort, ProjBranchesSort, ProjJobsSort,
        ProjMeasuresSort, ProjPlotsSort, ProjReportsSort, ProjTestbedsSort, ProjThresholdsSort, ProjectsSort, RunnersSort,
        SpecsSort, UserTokensSort, UsersSort);
    let named: BTreeMap<String, RefOr<Schema>> =
        serde_json::from_str(include_str!("openapi/contract.json")).expect("a test reads the file");
    components.schemas.extend(named.clone());
    components.responses.insert("Failure".into(), failure(Ref::from_schema_name("Error").into()).into());
    components.responses.insert("RegistryFailure".into(), failure(registry_failure()).into());
    for (path, item) in &mut document.paths.paths {
        for operation in [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
            .into_iter()
            .flatten()
        {
            complete_operation(operation);
            name_lists(operation, &named);
            if path.starts_with(TOKENS) {
                operation.deprecated = Some(Deprecated::True);
            }
        }
    }
    link(&mut document.paths);
    let registry: Paths =
        serde_json::from_str(include_str!("openapi/registry.json")).expect("a test reads the file");
    document.paths.merge(registry);
    document
}

/// Returns the response of a failed operation.
fn failure(schema: RefOr<Schema>) -> Response {
    let mut response = ResponseBuilder::new()
        .description("The error.")
        .content("application/json", ContentBuilder::new().schema(Some(schema)).build())
        .build();
    declare_headers(&mut response, [api::SERVER_VERSION_HEADER].into_iter().chain(CORS));
    response
}

fn declare_headers<'a>(response: &mut Response, names: impl Iterator<Item = &'a str>) {
    for name in names {
        let text = ObjectBuilder::new().schema_type(Type::String).build();
        response.headers.insert(name.into(), Header::new(text).into());
    }
}

/// Returns the schema of an error body of the registry, as in the OCI distribution specification.
fn registry_failure() -> RefOr<Schema> {
    let text = json!({ "type": "string" });
    let failure = json!({ "type": "object", "required": ["code", "message"], "properties": { "code": text, "message": text } });
    let document = json!({
        "type": "object", "required": ["errors"], "properties": { "errors": { "type": "array", "items": failure } },
    });
    serde_json::from_value(document).expect("a test reads the schema")
}

/// Replaces inline lists with references to the list schemas of the contract.
fn name_lists(operation: &mut Operation, named: &BTreeMap<String, RefOr<Schema>>) {
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else { continue };
        for content in response.content.values_mut() {
            let RefOr::T(content) = content else { continue };
            // Compare as JSON, because the two schemas are built in different ways.
            let Ok(schema) = serde_json::to_value(&content.schema) else { continue };
            let is_same =
                |named: &RefOr<Schema>| serde_json::to_value(named).is_ok_and(|named| named == schema);
            if let Some((name, _)) = named.iter().find(|(_, named)| is_same(named)) {
                content.schema = Some(Ref::from_schema_name(name).into());
            }
        }
    }
}

fn complete_operation(operation: &mut Operation) {
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            declare_headers(response, ["x-total-count", api::SERVER_VERSION_HEADER].into_iter().chain(CORS));
        }
    }
    for range in ["4XX", "5XX"] {
        operation.responses.responses.insert(range.into(), Ref::from_response_name("Failure").into());
    }
    let right = operation.extensions.as_ref().and_then(|extensions| extensions.get("x-right"));
    let bearer = SecurityRequirement::new("bearer", Vec::<String>::new());
    operation.security = match right.and_then(|right| right.as_str()) {
        Some("public" | "provider" | "session") => None,
        // Callers without a credential can view public projects.
        Some("project:view") => Some(vec![SecurityRequirement::default(), bearer]),
        _ => Some(vec![bearer]),
    };
}

/// Adds links from each POST response to the operations on the created resource, with its UUID as the next path parameter.
fn link(paths: &mut Paths) {
    let items: Vec<_> = paths
        .paths
        .iter()
        .filter_map(|(path, item)| {
            let (parent, last) = path.rsplit_once('/')?;
            let ids: Vec<_> = [&item.get, &item.patch, &item.delete]
                .into_iter()
                .flatten()
                .filter_map(|operation| operation.operation_id.clone())
                .collect();
            Some((parent.to_owned(), parameter(last)?.to_owned(), ids))
        })
        .collect();
    for (parent, own, ids) in items {
        let created = paths
            .paths
            .get_mut(&parent)
            .and_then(|item| item.post.as_mut())
            .and_then(|operation| operation.responses.responses.get_mut("201"));
        let Some(RefOr::T(created)) = created else { continue };
        for id in ids {
            let outer = parent.split('/').filter_map(parameter);
            let link = outer.fold(
                LinkBuilder::new().operation_id(&id).parameter(&own, "$response.body#/uuid"),
                |link, name| link.parameter(name, format!("$request.path.{name}")),
            );
            created.links.insert(id, link.build().into());
        }
    }
}

/// Returns the parameter name of a path segment.
fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    /// Collects every `$ref` in a value.
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = serde_json::to_value(super::document()).unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.contains(&"#/components/schemas/ResourceId"));
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }

    #[test]
    fn the_names_of_the_contract_exist() {
        let document = serde_json::to_value(super::document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for name in [
            "BenchmarkSlug",
            "DateTimeMillis",
            "JsonAlerts",
            "JsonBenchmarks",
            "JsonBranches",
            "JsonConfig",
            "JsonDatabase",
            "JsonDirection",
            "JsonJobConfig",
            "JsonJobs",
            "JsonMeasures",
            "JsonMembers",
            "JsonOrganizations",
            "JsonPlots",
            "JsonPlus",
            "JsonProjectKeys",
            "JsonProjects",
            "JsonRateLimiting",
            "JsonRegistry",
            "JsonReports",
            "JsonRunners",
            "JsonSpecs",
            "JsonSsos",
            "JsonTestbeds",
            "JsonThresholds",
            "JsonTokens",
            "JsonUserKeys",
            "JsonUsers",
            "OrgMembersSort",
            "OrganizationPermission",
            "OrganizationsSort",
            "ProjJobsSort",
            "ProjKeysSort",
            "ProjectPermission",
            "Search",
            "UserKeysSort",
            "VersionNumber",
        ] {
            assert!(schemas.contains_key(name), "{name}");
        }
        let answer = |path: &str, method: &str| {
            document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].clone()
        };
        assert_eq!(answer("/v0/organizations", "get"), "#/components/schemas/JsonOrganizations");
        assert_eq!(answer("/v0/server/config", "get"), "#/components/schemas/JsonConfig");
    }

    #[test]
    fn every_answer_declares_its_headers_and_deprecated_operations_say_so() {
        let document = serde_json::to_value(super::document()).unwrap();
        let mut deprecated = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                deprecated += usize::from(operation["deprecated"] == true);
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let response = match response["$ref"].as_str() {
                        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
                        None => response,
                    };
                    let declared = |name: &&str| response["headers"][name].is_object();
                    assert!(super::CORS.iter().all(declared), "{path} {status}");
                }
            }
        }
        assert_eq!(deprecated, 5);
    }

    #[test]
    fn the_registry_is_described() {
        let document = serde_json::to_value(super::document()).unwrap();
        let paths = document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/v2"));
        let operations: Vec<_> = paths.flat_map(|(_, item)| item.as_object().unwrap().values()).collect();
        assert_eq!(operations.len(), 16);
        assert!(
            operations.iter().all(|operation| operation["x-right"].as_str().unwrap().starts_with("registry"))
        );
    }

    #[test]
    fn what_is_created_is_linked_to_what_can_be_done_with_it() {
        let document = serde_json::to_value(super::document()).unwrap();
        let links = &document["paths"]["/v0/users/{user}/keys"]["post"]["responses"]["201"]["links"];
        let parameters = &links["user_key_delete"]["parameters"];
        assert_eq!(parameters["user"], "$request.path.user");
        assert_eq!(parameters["key"], "$response.body#/uuid");
    }
}
