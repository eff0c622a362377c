//! `/v2/{name}/blobs/{digest}`

use std::ops::Range;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use tidemark_store::{Tx, blob, repository};

use super::{
    DOCKER_CONTENT_DIGEST, access,
    digest::Digest,
    error::{Error, Result, insert},
    quota,
    range::{Unsatisfiable, parse_range},
    route::Name,
};
use crate::domain::app::App;

/// Returns a blob or a part of it, or only its headers.
pub(super) async fn read(
    app: &App,
    parts: &Parts,
    name: Name,
    digest: Digest,
    head: bool,
) -> Result<Response> {
    let wanted = digest.clone();
    let (opened, (repository, found)) = access::pull(app, parts, name, move |tx, opened| {
        let repository =
            repository::find(tx, opened.project, opened.name.path())?.ok_or(Error::BlobUnknown)?;
        let found = blob::find(tx, repository, wanted.as_str())?.ok_or(Error::BlobUnknown)?;
        Ok((repository, found))
    })
    .await?;
    let now = app.clock.now();
    let timeout = app.config.plus.registry.timeout_seconds();
    // A client that checks for a blob may be about to push a manifest that refers to it.
    if found.idle.is_some_and(|idle| idle < now.plus_seconds(-timeout / 2)) {
        let kept = app.db.write(move |tx| blob::touch_link(tx, repository, found.id, now)).await?;
        if !kept {
            return Err(Error::BlobUnknown);
        }
    }

    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(found.size));
    set_digest_headers(headers, &digest);
    if is_cached(&parts.headers, &digest) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let (status, range) = match requested_range(&parts.headers, found.size)? {
        Some(range) => {
            let (first, last, size) = (range.start, range.end - 1, found.size);
            insert(headers, header::CONTENT_RANGE, &format!("bytes {first}-{last}/{size}"));
            (StatusCode::PARTIAL_CONTENT, range)
        }
        None => (StatusCode::OK, 0..found.size),
    };
    let length = range.end - range.start;
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    *response.status_mut() = status;
    if !head {
        quota::check_traffic(app, &opened).await?;
        let bytes = match app.blobs.read(found.object, range).await {
            Ok(bytes) => bytes,
            Err(failure) => {
                // The blob may have been deleted in the meantime.
                let again = move |tx: &mut Tx<'_>| blob::find(tx, repository, digest.as_str());
                return Err(app.db.read(again).await?.map_or(Error::BlobUnknown, |_| failure.into()));
            }
        };
        quota::count_traffic(app, &opened, length).await?;
        *response.body_mut() = Body::from_stream(bytes);
    }
    Ok(response)
}

/// Removes a blob from a repository. Other repositories keep it.
pub(super) async fn delete(app: &App, parts: &Parts, name: Name, digest: Digest) -> Result<Response> {
    let opened = access::delete(app, parts, name).await?;
    let write = move |tx: &mut Tx<'_>| {
        let repository =
            repository::find(tx, opened.project, opened.name.path())?.ok_or(Error::BlobUnknown)?;
        let found = blob::find(tx, repository, digest.as_str())?.ok_or(Error::BlobUnknown)?;
        if blob::unlink(tx, repository, found.id)? { Ok(()) } else { Err(Error::BlobInUse) }
    };
    app.db.write(write).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Sets the headers with the digest.
pub(super) fn set_digest_headers(headers: &mut HeaderMap, digest: &Digest) {
    insert(headers, DOCKER_CONTENT_DIGEST, digest.as_str());
    insert(headers, header::ETAG, &format!("\"{digest}\""));
}

/// Whether the client already has this content.
pub(super) fn is_cached(headers: &HeaderMap, digest: &Digest) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let wanted = format!("\"{digest}\"");
    tags.flat_map(|value| value.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == wanted || tag == "*")
}

/// Returns the requested range, or `None` for the whole blob.
fn requested_range(headers: &HeaderMap, size: u64) -> Result<Option<Range<u64>>> {
    let asked = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    asked
        .map_or(Ok(None), |asked| parse_range(asked, size).map_err(|Unsatisfiable| Error::RangeInvalid(size)))
}
