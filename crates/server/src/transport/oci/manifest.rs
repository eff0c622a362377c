//! `/v2/{name}/manifests/{reference}`

use std::collections::BTreeMap;

use axum::{
    body::{self, Body},
    http::{HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tidemark_store::{BlobId, Lock, RepositoryId, Tx, manifest, repository, tag};

use super::{
    access::{self, Repository},
    blob,
    digest::{Algorithm, Digest},
    error::{Error, Result, insert},
    quota,
    route::{Name, Reference},
};
use crate::{domain::app::App, transport::http::body::parse};

const OCI_SUBJECT: HeaderName = HeaderName::from_static("oci-subject");
const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_IMAGE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// Maximum length of a media type.
const MEDIA_TYPE_MAX: usize = 255;

/// Returns a manifest, or only its headers.
pub(super) async fn read(
    app: &App,
    parts: &Parts,
    name: Name,
    reference: String,
    head: bool,
) -> Result<Response> {
    let load = move |tx: &mut Tx<'_>, opened: &Repository| {
        // An invalid reference cannot exist.
        let reference = Reference::parse(&reference).map_err(|_| Error::ManifestUnknown)?;
        let repository =
            repository::find(tx, opened.project, opened.name.path())?.ok_or(Error::ManifestUnknown)?;
        let found = find(tx, repository, &reference)?;
        let body = if head { Vec::new() } else { manifest::body(tx, found.id)? };
        Ok((found, body))
    };
    let (opened, (found, bytes)) = access::pull(app, parts, name, load).await?;
    let digest: Digest = found.digest.parse().map_err(|_| Error::ManifestUnknown)?;
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_TYPE, &found.media_type);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(found.size));
    blob::set_digest_headers(headers, &digest);
    if blob::is_cached(&parts.headers, &digest) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else if !head {
        quota::check_traffic(app, &opened).await?;
        quota::count_traffic(app, &opened, found.size).await?;
        *response.body_mut() = Body::from(bytes);
    }
    Ok(response)
}

fn find(tx: &mut Tx<'_>, repository: RepositoryId, reference: &Reference) -> Result<manifest::ManifestRow> {
    match reference {
        Reference::Digest(digest) => manifest::by_digest(tx, repository, digest.as_str())?,
        Reference::Tag(tag) => manifest::by_tag(tx, repository, tag)?,
    }
    .ok_or(Error::ManifestUnknown)
}

/// Stores a manifest, and sets a tag if the reference is a tag.
pub(super) async fn put(
    app: &App,
    parts: &Parts,
    name: Name,
    reference: &str,
    body: Body,
) -> Result<Response> {
    let reference = Reference::parse(reference)?;
    let push = access::authorize_push(app, parts, name).await?;
    let existing = push.existing();
    if let Some(opened) = &existing {
        quota::check_traffic(app, opened).await?;
    }
    let bytes = receive(app, parts, body).await?;
    let algorithm = match &reference {
        Reference::Digest(digest) => digest.algorithm(),
        Reference::Tag(_) => Algorithm::Sha256,
    };
    let digest = Digest::of(algorithm, &bytes);
    if matches!(&reference, Reference::Digest(wanted) if *wanted != digest) {
        return Err(Error::DigestInvalid(format!(
            "The digest of this manifest is {digest}; use this digest in the path."
        )));
    }
    let document = Document::read(parts, &bytes)?;
    // A rejected manifest must not create a project, and a project that does not exist has no blobs.
    if existing.is_none()
        && let Some(digest) = document.blobs().into_iter().chain(document.children()).next()
    {
        return Err(missing_content(digest));
    }
    let opened = push.open(app, parts).await?;
    quota::count_traffic(app, &opened, bytes.len() as u64).await?;

    let mut response = StatusCode::CREATED.into_response();
    let headers = response.headers_mut();
    insert(headers, header::LOCATION, &format!("/v2/{}/manifests/{digest}", opened.name.as_str()));
    blob::set_digest_headers(headers, &digest);
    if let Some(subject) = &document.subject {
        insert(headers, OCI_SUBJECT, subject.digest.as_str());
    }
    if !opened.claimed {
        headers.insert(
            header::WARNING,
            HeaderValue::from_static(
                "299 - \"This project is unclaimed, and everyone can change its images; push as a user to claim it.\"",
            ),
        );
    }
    let new = manifest::NewManifestRow {
        digest: digest.to_string(),
        artifact_type: document.artifact_type().map(str::to_owned),
        subject: document.subject.as_ref().map(|subject| subject.digest.to_string()),
        annotations: document
            .annotations
            .as_ref()
            .map(|annotations| serde_json::json!(annotations).to_string()),
        media_type: document.media_type.clone().unwrap_or_default(),
        body: bytes,
    };
    let (now, storage) = (app.clock.now(), quota::storage_limits(app, &opened));
    app.db
        .write(move |tx| {
            let repository = repository::ensure(tx, opened.project, opened.name.path(), now)?;
            tx.lock(Lock::Repository(repository.get()))?;
            let blobs = find_referenced_blobs(tx, repository, &document)?;
            let id = manifest::store(tx, repository, &new, &blobs, now)?;
            if let Reference::Tag(tag) = &reference {
                tag::upsert(tx, repository, tag, id, now)?;
            }
            quota::check_storage(tx, opened.organization, storage)
        })
        .await?;
    Ok(response)
}

/// Deletes a manifest with its tags, or only a tag.
pub(super) async fn delete(app: &App, parts: &Parts, name: Name, reference: &str) -> Result<Response> {
    let reference = Reference::parse(reference)?;
    let opened = access::delete(app, parts, name).await?;
    let now = app.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        let repository =
            repository::find(tx, opened.project, opened.name.path())?.ok_or(Error::ManifestUnknown)?;
        tx.lock(Lock::Repository(repository.get()))?;
        let found = find(tx, repository, &reference)?;
        match &reference {
            Reference::Tag(tag) => tag::delete(tx, repository, tag)?,
            Reference::Digest(_) => manifest::delete(tx, repository, found.id, now)?,
        }
        Ok::<_, Error>(found.digest)
    };
    let digest = app.db.write(write).await?;
    let mut response = StatusCode::ACCEPTED.into_response();
    insert(response.headers_mut(), super::DOCKER_CONTENT_DIGEST, &digest);
    Ok(response)
}

async fn receive(app: &App, parts: &Parts, body: Body) -> Result<Vec<u8>> {
    let _permit = quota::permit_upload(app, parts, &body)?;
    let limit = app.config.server.request_body_max_bytes;
    let reading = tokio::time::timeout(app.config.server.request_timeout(), body::to_bytes(body, limit));
    match reading.await {
        Ok(Ok(bytes)) => Ok(bytes.to_vec()),
        Ok(Err(error)) if is_too_long(&error) => Err(Error::TooLarge(format!(
            "A manifest has at most {limit} bytes on this server; the operator can raise server.request_body_max_bytes."
        ))),
        Ok(Err(_)) | Err(_) => {
            Err(Error::ManifestInvalid("The manifest is incomplete; send it again.".into()))
        }
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    let source = std::error::Error::source(error);
    source.and_then(|source| source.downcast_ref::<http_body_util::LengthLimitError>()).is_some()
}

/// Checks that the repository has all blobs and manifests that a manifest refers to, and returns the blobs.
fn find_referenced_blobs(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    document: &Document,
) -> Result<Vec<BlobId>> {
    let blobs = document.blobs();
    let found = manifest::need_blobs(tx, repository, &blobs)?;
    let children: Vec<&str> = document.children().collect();
    let manifests = manifest::existing_digests(tx, repository, &children)?;
    let has_blob = |digest: &&&str| found.iter().any(|(_, known)| known == **digest);
    let has_manifest = |digest: &&&str| manifests.iter().any(|known| known == **digest);
    let unknown = blobs.iter().find(|digest| !has_blob(digest));
    let unknown = unknown.or_else(|| children.iter().find(|digest| !has_manifest(digest)));
    match unknown {
        None => Ok(found.into_iter().map(|(id, _)| id).collect()),
        Some(digest) => Err(missing_content(digest)),
    }
}

fn missing_content(digest: &str) -> Error {
    Error::ManifestBlobUnknown(format!(
        "The manifest references {digest}, which the repository does not have; push it first."
    ))
}

/// The fields of a manifest that the registry uses.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    subject: Option<Descriptor>,
    annotations: Option<BTreeMap<String, String>>,
}

/// A reference to content in a manifest.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: Digest,
    /// Required, but not used.
    #[serde(rename = "size")]
    _size: u64,
}

impl Descriptor {
    /// Whether the content is non-distributable, so that the registry does not need it.
    fn is_foreign(&self) -> bool {
        self.media_type.contains(".nondistributable.") || self.media_type.contains(".foreign.")
    }
}

impl Document {
    /// Parses and validates a manifest, and sets its media type.
    fn read(parts: &Parts, bytes: &[u8]) -> Result<Self> {
        let invalid = |message: &str| Error::ManifestInvalid(message.into());
        let mut document: Self = parse(bytes).map_err(|error| match error {
            crate::domain::error::Error::Invalid(message) => Error::ManifestInvalid(message),
            error => error.into(),
        })?;
        if document.schema_version != 2 {
            return Err(invalid("The only supported `schemaVersion` is 2; push with a newer client."));
        }
        let header = parts.headers.get(header::CONTENT_TYPE).map(|value| {
            value.to_str().ok().and_then(|value| value.split(';').next()).unwrap_or_default().trim()
        });
        let media_type = match (header, document.media_type.as_deref()) {
            (Some(header), Some(own)) if header != own => {
                return Err(invalid(
                    "The Content-Type header differs from the `mediaType` of the manifest; send the same \
                     value in both.",
                ));
            }
            (Some(header), _) => header,
            (None, Some(own)) => own,
            (None, None) if document.manifests.is_some() => INDEX,
            (None, None) => IMAGE,
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+/".contains(&byte);
        // The media type is the content type of responses, and a browser would render `text/html` from this origin.
        let is_json = media_type
            .strip_prefix("application/")
            .is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"));
        if media_type.len() > MEDIA_TYPE_MAX || !is_json || !media_type.bytes().all(plain) {
            return Err(invalid(
                "The media type of a manifest is `application/json` or `application/` and a subtype that \
                 ends with `+json`; send it in the Content-Type header.",
            ));
        }
        // If clients could parse it as both types, one digest would stand for two images.
        match media_type {
            IMAGE | DOCKER_IMAGE if document.manifests.is_some() => {
                return Err(invalid(
                    "An image manifest must not contain `manifests`; send an index, or remove `manifests`.",
                ));
            }
            IMAGE | DOCKER_IMAGE if document.config.is_none() || document.layers.is_none() => {
                return Err(invalid("An image manifest requires `config` and `layers`."));
            }
            INDEX | DOCKER_LIST if document.config.is_some() || document.layers.is_some() => {
                return Err(invalid(
                    "An index must not contain `config` or `layers`; send an image manifest, or remove both.",
                ));
            }
            INDEX | DOCKER_LIST if document.manifests.is_none() => {
                return Err(invalid("An index requires `manifests`."));
            }
            _ => {}
        }
        document.media_type = Some(media_type.to_owned());
        Ok(document)
    }

    /// Returns the digests of the blobs that the manifest refers to, without duplicates.
    fn blobs(&self) -> Vec<&str> {
        let all = self.config.iter().chain(self.layers.iter().flatten());
        let mut digests: Vec<_> =
            all.filter(|blob| !blob.is_foreign()).map(|blob| blob.digest.as_str()).collect();
        digests.sort_unstable();
        digests.dedup();
        digests
    }

    /// Returns the digests of the manifests of an index.
    fn children(&self) -> impl Iterator<Item = &str> {
        self.manifests.iter().flatten().map(|child| child.digest.as_str())
    }

    /// Returns the artifact type: the field, or else the media type of the config.
    fn artifact_type(&self) -> Option<&str> {
        let own = self.artifact_type.as_deref().filter(|own| !own.is_empty());
        own.or_else(|| self.config.as_ref().map(|config| config.media_type.as_str()))
    }
}
