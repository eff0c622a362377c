//! Answers that a client may have already: each has a tag by its content, and who sends the tag back is told that nothing
//! has changed.

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use tidemark_api::Visibility;

/// A digest of some content, for its tag.
pub(super) fn digest(content: impl AsRef<[u8]>) -> String {
    hex::encode(&Sha256::digest(content)[..16])
}

/// Whether the client has what this tag stands for.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known.flat_map(|value| value.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.trim_start_matches("W/") == tag
    })
}

/// Who may keep what shows something of a project, if they ask each time whether it still holds.
pub(super) const fn cache(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "public, no-cache",
        Visibility::Private => "private, no-cache",
    }
}

/// A document of this media type, unless the client has it already.
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
