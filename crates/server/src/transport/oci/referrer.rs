//! `/v2/{name}/referrers/{digest}`: manifests that refer to another manifest, for example signatures.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};
use tidemark_store::{manifest, repository};
use url::form_urlencoded;

use super::{
    access,
    digest::Digest,
    error::{Result, insert},
    manifest::INDEX,
    query,
    route::{Name, parse_digest},
};
use crate::domain::app::App;

const OCI_FILTERS_APPLIED: HeaderName = HeaderName::from_static("oci-filters-applied");

/// Number of manifests per page.
const PAGE: usize = 1_000;

/// Lists the manifests that refer to a manifest, which does not have to exist.
pub(super) async fn list(app: &App, parts: &Parts, name: Name, digest: Digest) -> Result<Response> {
    let kind = query(parts, "artifactType").filter(|kind| !kind.is_empty());
    let last = query(parts, "last").unwrap_or_default();
    if !last.is_empty() {
        parse_digest(&last)?;
    }
    let (subject, wanted) = (digest.clone(), kind.clone());
    let (opened, mut found) = access::pull(app, parts, name, move |tx, opened| {
        let repository = repository::find(tx, opened.project, opened.name.path())?;
        let Some(repository) = repository else { return Ok(Vec::new()) };
        // One extra row shows whether there is another page.
        let limit = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
        Ok(manifest::referrers(tx, repository, subject.as_str(), wanted.as_deref(), &last, limit)?)
    })
    .await?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let manifests: Vec<Value> = found.iter().map(descriptor).collect();
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    let mut response = (StatusCode::OK, Body::from(index.to_string())).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(INDEX));
    let mut filter = String::new();
    if let Some(kind) = &kind {
        headers.insert(OCI_FILTERS_APPLIED, HeaderValue::from_static("artifactType"));
        filter =
            format!("artifactType={}&", form_urlencoded::byte_serialize(kind.as_bytes()).collect::<String>());
    }
    if let (true, Some(last)) = (more, found.last()) {
        let (name, last) = (opened.name.as_str(), &last.digest);
        let link = format!("</v2/{name}/referrers/{digest}?{filter}last={last}>; rel=\"next\"");
        insert(headers, header::LINK, &link);
    }
    Ok(response)
}

fn descriptor(referrer: &manifest::Referrer) -> Value {
    let mut members = Map::new();
    members.insert("mediaType".into(), json!(referrer.media_type));
    members.insert("digest".into(), json!(referrer.digest));
    members.insert("size".into(), json!(referrer.size));
    if let Some(kind) = &referrer.artifact_type {
        members.insert("artifactType".into(), json!(kind));
    }
    let annotations = referrer.annotations.as_deref().and_then(|text| serde_json::from_str(text).ok());
    if let Some(annotations @ Value::Object(_)) = annotations {
        members.insert("annotations".into(), annotations);
    }
    Value::Object(members)
}
