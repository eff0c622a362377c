//! What the description of the API says beyond its operations: who we are, how to sign in, how failures look.

use tidemark_api as api;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Components, ContentBuilder, Header, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, Paths, Ref,
        RefOr, ResponseBuilder,
        link::LinkBuilder,
        path::Operation,
        schema::Type,
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};

/// Completes the document that the operations make by themselves.
pub(super) fn describe(mut document: OpenApi) -> OpenApi {
    document.info = InfoBuilder::new()
        .title("Tidemark")
        .version(api::CONTRACT_VERSION)
        .description(Some(
            "Continuous benchmarking: results over time, and a verdict when they change. The version of this document is \
             the version of the contract; the header `x-server-version` of every answer holds the version of Tidemark. Lists take `page` and \
             `per_page` and tell the total in `x-total-count`. Every failure has the body `Error`. The `x-right` of an \
             operation says who may call it: everybody (`public`), any user (`user`), the user in the path and \
             administrators (`self`), administrators (`admin`), nobody (`never`), or those with a permission in the \
             organization (`organization:view`) or in the project (`project:view`, which everybody has in a public \
             project). A project's own key counts like a user with its rights, except where `:by_user` follows; a \
             user's key counts like its user, except where `:by_session` follows.",
        ))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").build()))
        .build();
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A session token, a user's key or, where the operation says so, a project's key."))
        .build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    // Named by failures and by parameters, which do not bring their schemas along as bodies do.
    components.schemas.insert(api::Error::name().into_owned(), api::Error::schema());
    components.schemas.insert(api::ResourceId::name().into_owned(), api::ResourceId::schema());
    let failure = ResponseBuilder::new()
        .description("Why it did not happen.")
        .content(
            "application/json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name("Error"))).build(),
        )
        .build();
    components.responses.insert("Failure".into(), failure.into());
    for item in document.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
            .into_iter()
            .flatten()
        {
            complete(operation);
        }
    }
    link(&mut document.paths);
    document
}

fn complete(operation: &mut Operation) {
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            let text = ObjectBuilder::new().schema_type(Type::String).build();
            response.headers.insert("x-total-count".into(), Header::new(text).into());
        }
    }
    for range in ["4XX", "5XX"] {
        operation.responses.responses.insert(range.into(), Ref::from_response_name("Failure").into());
    }
    let right = operation.extensions.as_ref().and_then(|extensions| extensions.get("x-right"));
    let bearer = SecurityRequirement::new("bearer", Vec::<String>::new());
    operation.security = match right.and_then(|right| right.as_str()) {
        Some("public" | "provider") => None,
        // Without a credential one sees what is public.
        Some("project:view") => Some(vec![SecurityRequirement::default(), bearer]),
        _ => Some(vec![bearer]),
    };
}

/// Links what a POST creates to the operations on it: they take its UUID where the path goes on.
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

/// The name of the parameter that a segment of a path stands for.
fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    /// Collects every `$ref` within a value.
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
        let document = serde_json::to_value(crate::http::openapi()).unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.contains(&"#/components/schemas/ResourceId"));
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }

    #[test]
    fn what_is_created_is_linked_to_what_can_be_done_with_it() {
        let document = serde_json::to_value(crate::http::openapi()).unwrap();
        let links = &document["paths"]["/v0/users/{user}/keys"]["post"]["responses"]["201"]["links"];
        let parameters = &links["user_key_delete"]["parameters"];
        assert_eq!(parameters["user"], "$request.path.user");
        assert_eq!(parameters["key"], "$response.body#/uuid");
    }
}
