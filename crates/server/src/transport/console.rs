//! The web console in the binary: maps paths to files, and sets the security headers for browsers. `manual.rs` sends the files
//! of the manual in the same way.
//!
//! `build.rs` embeds the compressed files of `console/dist`; the source is in `console/`.

use std::io::Read;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::domain::{
    app::App,
    error::{Error, Result},
};

/// One embedded file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) media_type: &'static str,
    pub(super) brotli: &'static [u8],
}

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/console.rs"));

const INDEX: &str = "/index.html";
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
/// Content security policy: no external resources, and scripts and styles only from files of the console.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors ";

/// Page of a server that was built without the console.
const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Tidemark</title>\n\
     <h1>Tidemark</h1>\n<p>The server runs, but this build has no web console. <code>cargo xtask run</code> builds both.\n\
     <p>The API is described at <a href=\"/v0/server/spec\">/v0/server/spec</a>.\n";

/// Handles all paths that are not paths of the API.
pub(crate) async fn serve(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    if !matches!(method, Method::GET | Method::HEAD) {
        return Err(not_found());
    }
    let mut response = answer(FILES, uri.path(), &headers)?;
    if let Some(captcha) = &app.config.plus.captcha {
        allow(&mut response, &captcha.sources())?;
    }
    Ok(response)
}

/// Allows the page to load scripts and frames from these origins.
fn allow(response: &mut Response, sources: &str) -> Result<()> {
    let Some(policy) = response.headers().get(header::CONTENT_SECURITY_POLICY) else { return Ok(()) };
    let wider = String::from_utf8_lossy(policy.as_bytes())
        .replace("script-src 'self';", &format!("script-src 'self' {sources}; frame-src {sources};"))
        .replace("connect-src 'self';", &format!("connect-src 'self' {sources};"));
    let wider = HeaderValue::try_from(wider).map_err(|error| Error::Internal(error.into()))?;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, wider);
    Ok(())
}

/// Whether the request comes from a browser and not from an API client.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim_start().starts_with("text/html"))
}

fn not_found() -> Error {
    Error::NotFound("No endpoint matches this path; GET /v0/server/spec lists all endpoints.".into())
}

fn answer(files: &'static [File], path: &str, headers: &HeaderMap) -> Result<Response> {
    if let Some(file) = find(files, path) {
        return send(file, path, headers);
    }
    let mut segments = path.split('/').skip(1);
    // Below these paths, an unknown path is an error of an API client.
    if matches!(segments.next(), Some("v0" | "v1" | "v2" | "assets")) || !is_browser(headers) {
        return Err(not_found());
    }
    match find(files, INDEX) {
        Some(index) => send(index, path, headers),
        None => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            Ok(([(header::CONTENT_TYPE, kind)], NOT_BUILT).into_response())
        }
    }
}

/// Returns the file with this path.
pub(super) fn find(files: &'static [File], path: &str) -> Option<&'static File> {
    files.binary_search_by(|file| file.path.cmp(path)).ok().map(|place| &files[place])
}

/// Returns a file with the headers for browsers, or 304 if the client has it.
pub(super) fn send(file: &'static File, path: &str, headers: &HeaderMap) -> Result<Response> {
    // File names below /assets contain a hash of the content.
    let forever = file.path.starts_with("/assets/");
    let tag = format!("\"{}\"", file.etag());
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|tags| {
        tags.split(',').any(|known| known.trim().trim_start_matches("W/") == tag.as_str())
    });
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if accepts_brotli(headers) {
        let mut response = Body::from(file.brotli).into_response();
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
        response
    } else {
        let mut plain = Vec::new();
        brotli::Decompressor::new(file.brotli, 4096).read_to_end(&mut plain)?;
        Body::from(plain).into_response()
    };
    let cache = if forever { "public, max-age=31536000, immutable" } else { "no-cache" };
    // Other sites may embed plots in a frame, where no cookie is sent. All other pages could be targets of clickjacking.
    let policy = POLICY.to_owned() + if is_embedded(path) { "*" } else { "'none'" };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    for (name, value) in [(header::ETAG, tag), (header::CONTENT_SECURITY_POLICY, policy)] {
        headers.insert(name, HeaderValue::try_from(value).map_err(|error| Error::Internal(error.into()))?);
    }
    headers.insert(
        PERMISSIONS_POLICY,
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    );
    Ok(response)
}

/// `/perf/{project}/embed`
fn is_embedded(path: &str) -> bool {
    path.strip_prefix("/perf/")
        .and_then(|rest| rest.strip_suffix("/embed"))
        .is_some_and(|project| !project.contains('/'))
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let taken = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    taken.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("br")
            && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

impl File {
    /// Returns the ETag, which changes with the content.
    fn etag(&self) -> String {
        hex::encode(&Sha256::digest(self.brotli)[..12])
    }
}

/// Compresses a text like the embedded files.
#[cfg(test)]
pub(super) fn compress(text: &str) -> &'static [u8] {
    let mut packed = brotli::CompressorWriter::new(Vec::new(), 4096, 11, 22);
    std::io::Write::write_all(&mut packed, text.as_bytes()).expect("memory can be written to");
    packed.into_inner().leak()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

    /// Returns a console with two files, compressed like the real console.
    fn files() -> &'static [File] {
        let script = "text/javascript; charset=utf-8";
        let page = "text/html; charset=utf-8";
        vec![
            File { path: "/assets/main-abc.js", media_type: script, brotli: compress("let x;") },
            File { path: INDEX, media_type: page, brotli: compress("<p>the console</p>") },
        ]
        .leak()
    }

    async fn get(path: &str, sent: &[(HeaderName, &str)]) -> (Response, String) {
        let headers = sent.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        let response = answer(files(), path, &headers).unwrap_or_else(IntoResponse::into_response);
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (Response::from_parts(parts, Body::empty()), String::from_utf8_lossy(&body).into_owned())
    }

    #[tokio::test]
    async fn a_browser_gets_the_page_at_every_path_that_is_not_of_the_api() {
        for path in ["/", "/console/projects/lab/benchmarks", "/perf", "/perf/lab", "/nonsense"] {
            let (response, body) = get(path, &[(header::ACCEPT, HTML)]).await;
            assert_eq!((response.status(), body.as_str()), (StatusCode::OK, "<p>the console</p>"), "{path}");
            let headers = response.headers();
            assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
            let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
                "{policy}"
            );
            assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        }
        for path in ["/v0/nonsense", "/v2/lab/blobs", "/assets/gone.js"] {
            assert_eq!(
                get(path, &[(header::ACCEPT, HTML)]).await.0.status(),
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        for accept in ["application/json", "*/*"] {
            let (response, _) = get("/nonsense", &[(header::ACCEPT, accept)]).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
        }
    }

    #[tokio::test]
    async fn only_the_embedded_plot_may_be_framed() {
        for (path, framed) in [
            ("/perf/lab/embed", true),
            ("/perf/lab/plots/embed", false),
            ("/perf/lab", false),
            ("/embed", false),
        ] {
            let (response, _) = get(path, &[(header::ACCEPT, HTML)]).await;
            let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert_eq!(policy.ends_with("frame-ancestors *"), framed, "{path}");
        }
    }

    #[tokio::test]
    async fn a_file_is_sent_as_it_was_compressed_to_whoever_takes_that() {
        let path = "/assets/main-abc.js";
        let (response, _) = get(path, &[(header::ACCEPT_ENCODING, "gzip, deflate, br")]).await;
        assert_eq!(response.headers()[header::CONTENT_ENCODING], "br");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
        for taken in ["", "gzip", "br;q=0, gzip"] {
            let (response, body) = get(path, &[(header::ACCEPT_ENCODING, taken)]).await;
            assert_eq!(body, "let x;");
            assert!(!response.headers().contains_key(header::CONTENT_ENCODING));
        }
    }

    #[tokio::test]
    async fn what_a_browser_has_is_not_sent_again() {
        let (response, _) = get("/", &[(header::ACCEPT, HTML)]).await;
        let tag = response.headers()[header::ETAG].to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}")] {
            let (response, body) = get("/", &[(header::ACCEPT, HTML), (header::IF_NONE_MATCH, &known)]).await;
            assert_eq!((response.status(), body.as_str()), (StatusCode::NOT_MODIFIED, ""));
        }
        let (response, _) = get("/", &[(header::ACCEPT, HTML), (header::IF_NONE_MATCH, "\"x\"")]).await;
        assert_eq!(response.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_server_without_the_console_says_how_to_build_it() {
        let headers = [(header::ACCEPT, HTML.parse().unwrap())].into_iter().collect();
        let response = answer(&[], "/", &headers).unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("cargo xtask run"));
    }
}
