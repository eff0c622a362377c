//! Conditional requests: responses have an ETag that is derived from the content, and a request with a matching `If-None-Match`
//! gets 304.

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use tidemark_api::Visibility;

/// Returns a digest of the content, for the ETag.
pub(super) fn digest(content: impl AsRef<[u8]>) -> String {
    hex::encode(&Sha256::digest(content)[..16])
}

/// Whether the client already has the content with this ETag.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known.flat_map(|value| value.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.trim_start_matches("W/") == tag
    })
}

/// Returns the value of `Cache-Control` for content of a project: caches revalidate it on each request, and only content of
/// public projects may be shared.
pub(super) const fn cache(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "public, no-cache",
        Visibility::Private => "private, no-cache",
    }
}

/// Returns a document of this media type, or 304 if the client already has it.
pub(super) fn answer(
    headers: &HeaderMap,
    media_type: &'static str,
    cache: &'static str,
    document: String,
) -> Response {
    let tag = format!("\"{}\"", digest(&document));
    let is_known = is_known(headers, &tag);
    let shared = [(header::CACHE_CONTROL, cache.to_owned()), (header::ETAG, tag)];
    if is_known {
        (StatusCode::NOT_MODIFIED, shared).into_response()
    } else {
        (shared, [(header::CONTENT_TYPE, media_type)], document).into_response()
    }
}
