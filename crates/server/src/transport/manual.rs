//! The manual in the binary: the files below `/docs`, which therefore match the version of the server.
//!
//! `build.rs` embeds the compressed files of `docs/book`; `cargo xtask docs` builds them from `docs/`.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

use super::console::{self, File};
use crate::domain::error::{Error, Result};

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/manual.rs"));

const INDEX: &str = "/docs/index.html";
const MISSING: &str = "/docs/404.html";

/// Page of a server that was built without the manual.
const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Tidemark manual</title>\n\
     <h1>Tidemark manual</h1>\n<p>This build has no manual. <code>cargo xtask docs</code> builds it; the pages are also in the \
     folder <code>docs</code> of the source code.\n";

/// Handles `/docs` and all paths below it.
pub(crate) async fn serve(uri: Uri, headers: HeaderMap) -> Result<Response> {
    answer(FILES, uri.path(), &headers)
}

fn answer(files: &'static [File], path: &str, headers: &HeaderMap) -> Result<Response> {
    if files.is_empty() && console::is_browser(headers) {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        return Ok((StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, kind)], NOT_BUILT).into_response());
    }
    if matches!(path, "/docs" | "/docs/") && !files.is_empty() {
        // The links of the pages are relative to their folder, and the server accepts this path without its slash.
        let target = HeaderValue::from_static(INDEX);
        return Ok((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, target)]).into_response());
    }
    if let Some(file) = console::find(files, path) {
        return console::send(file, path, headers);
    }
    match console::find(files, MISSING) {
        Some(missing) if console::is_browser(headers) => {
            let mut response = console::send(missing, path, headers)?;
            if response.status() == StatusCode::OK {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            Ok(response)
        }
        _ => Err(Error::NotFound("The manual has no page at this path; GET /docs has the contents.".into())),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http_body_util::BodyExt;

    use super::*;

    const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

    fn files() -> &'static [File] {
        let page = "text/html; charset=utf-8";
        vec![
            File { path: MISSING, media_type: page, brotli: console::compress("<h1>Page not found</h1>") },
            File { path: INDEX, media_type: page, brotli: console::compress("<h1>Introduction</h1>") },
        ]
        .leak()
    }

    async fn get(path: &str, accept: &'static str) -> (Response, String) {
        let headers = [(header::ACCEPT, HeaderValue::from_static(accept))].into_iter().collect();
        let response = answer(files(), path, &headers).unwrap_or_else(IntoResponse::into_response);
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (Response::from_parts(parts, Body::empty()), String::from_utf8_lossy(&body).into_owned())
    }

    #[tokio::test]
    async fn the_manual_has_a_start_page_and_a_page_for_unknown_paths() {
        for path in ["/docs", "/docs/"] {
            let (response, _) = get(path, HTML).await;
            assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT);
            assert_eq!(response.headers()[header::LOCATION], INDEX);
        }
        let (response, body) = get(INDEX, "*/*").await;
        assert_eq!((response.status(), body.as_str()), (StatusCode::OK, "<h1>Introduction</h1>"));
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-cache");
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'self'; style-src 'self'"), "{policy}");
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        let (response, body) = get("/docs/guide/none.html", HTML).await;
        assert_eq!((response.status(), body.as_str()), (StatusCode::NOT_FOUND, "<h1>Page not found</h1>"));
        let (response, body) = get("/docs/none.html", "application/json").await;
        // The middleware writes the body.
        assert_eq!((response.status(), body.as_str()), (StatusCode::NOT_FOUND, ""));
    }

    #[tokio::test]
    async fn a_server_without_the_manual_says_how_to_build_it() {
        let headers = [(header::ACCEPT, HeaderValue::from_static(HTML))].into_iter().collect();
        let response = answer(&[], "/docs", &headers).unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("cargo xtask docs"));
    }
}
