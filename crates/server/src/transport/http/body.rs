//! Request input: path, query and JSON body, each with an error that names the invalid part, and the accepted media types.

use axum::{
    body::{Bytes, HttpBody},
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
    http::{HeaderMap, header, request::Parts},
};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tidemark_api::excerpt;

use super::{
    error::{Error, Result},
    origin::ClientAddress,
};
use crate::{domain::app::App, infra::limits::Permit};

/// Maximum number of bytes of a body that requires no permit.
const FREE_BYTES: usize = 64 << 10;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        // A missing content type counts as JSON, because existing clients omit it.
        if let Some(kind) = request.headers().get(header::CONTENT_TYPE) {
            let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
            if !kind.eq_ignore_ascii_case("application/json") {
                return Err(Error::UnsupportedMediaType);
            }
        }
        let (bytes, _permits) = collect(app, request).await?;
        parse(&bytes).map(Self)
    }
}

/// Collects a body, and acquires the permits for its bytes. The caller holds the permits.
pub(crate) async fn collect(app: &App, request: Request) -> Result<(Bytes, Vec<Permit>)> {
    let address = request.extensions().get::<ClientAddress>().and_then(|address| address.0);
    let most = app.config.server.request_body_max_bytes;
    let mut body = request.into_body();
    if body.size_hint().lower() > most as u64 {
        return Err(Error::TooLarge);
    }
    let (mut bytes, mut permits, mut permitted) = (Vec::new(), Vec::new(), FREE_BYTES);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Error::Invalid("The body is incomplete; send the request again.".into()))?;
        let Ok(data) = frame.into_data() else { continue };
        let size = bytes.len() + data.len();
        if size > most {
            return Err(Error::TooLarge);
        }
        if size > permitted {
            permits.push(app.bodies.acquire_bytes(address, size - permitted).await?);
            permitted = size;
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes.into(), permits))
}

/// Parses exactly one JSON object. Data after the object is an error.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    // Serde would read an array as the fields in the order of their declaration.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Error::Invalid("The body must be a JSON object.".into()));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        Error::Invalid(explain(&path, &error.into_inner()))
    })?;
    json.end().map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Error::Invalid(format!(
            "The body contains data after the JSON value, at line {line}, column {column}."
        ))
    })?;
    Ok(value)
}

/// Returns the position and the reason of an invalid body, without the names of Rust types.
fn explain(path: &str, error: &serde_json::Error) -> String {
    let what = if error.is_data() { "is invalid" } else { "is not valid JSON" };
    let place = match path.trim_end_matches('?').trim_end_matches('.') {
        "" => String::new(),
        path => format!(" at `{}`", excerpt::of_path(path)),
    };
    let (line, column) = (error.line(), error.column());
    let reason = error.to_string();
    let reason = reason.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&reason);
    let reason = match reason.rsplit_once("expected struct ") {
        Some((found, _)) => format!("{found}expected an object"),
        None => reason.to_owned(),
    };
    let reason = excerpt::of_reason(&reason);
    format!("The body {what}{place}: {reason} (line {line}, column {column}).")
}

/// The query string. Unknown keys are ignored.
#[derive(Debug)]
pub(crate) struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let axum::extract::Query(value) =
            axum::extract::Query::try_from_uri(&parts.uri).map_err(|rejection| {
                let reason =
                    std::error::Error::source(&rejection).map_or_else(String::new, ToString::to_string);
                Error::Invalid(format!("The query string is invalid: {}.", excerpt::of_reason(&reason)))
            })?;
        Ok(Self(value))
    }
}

/// Returns the value of the offered media type with the highest weight in the header `Accept`; of equal weights, the first
/// offered.
///
/// Only full type names count: for `*/*` and ranges, the caller chooses the default.
pub(crate) fn accepted<T: Copy>(headers: &HeaderMap, offered: &[(&str, T)]) -> Option<T> {
    let ranges = || {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).map(range)
    };
    let mut best = None;
    for (offer, found) in offered {
        let named = ranges().find(|(kind, _)| offer.eq_ignore_ascii_case(kind));
        let quality = named.map_or(0.0, |(_, quality)| quality);
        if quality > best.map_or(0.0, |(quality, _)| quality) {
            best = Some((quality, *found));
        }
    }
    best.map(|(_, found)| found)
}

/// Splits an entry of the header `Accept` into its media type and its weight, from 0 to 1.
fn range(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    (kind, quality.map_or(1.0, |quality| quality.parse().unwrap_or(0.0)))
}

/// Returns one path segment, by its name in the route.
pub(crate) async fn segment<T>(parts: &mut Parts, name: &str) -> Result<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let params = RawPathParams::from_request_parts(parts, &())
        .await
        .map_err(|_| Error::Invalid("The path is not valid percent-encoded UTF-8.".into()))?;
    let Some((_, text)) = params.iter().find(|(key, _)| *key == name) else {
        return Err(Error::Internal(format!("the route has no segment {name}").into()));
    };
    text.parse().map_err(|error| Error::Invalid(format!("`{name}` in the path is invalid: {error}.")))
}

/// The path segments, by their names in the route.
#[derive(Debug)]
pub(crate) struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => {
                let text = rejection.body_text();
                let reason = text.strip_prefix("Invalid URL: ").unwrap_or(&text);
                Err(Error::Invalid(format!("The path is invalid: {}.", excerpt::of_reason(reason))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_repeats_little_of_what_was_sent() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Sent {
            #[expect(dead_code, reason = "only its type matters")]
            results: Vec<String>,
        }
        let long = "x".repeat(3_000_000);
        let message = |body: &str| match parse::<Sent>(body.as_bytes()).unwrap_err() {
            Error::Invalid(message) => message,
            other => panic!("{other:?}"),
        };
        insta::assert_snapshot!(message(&format!(r#"{{"results": "{long}"}}"#)), @r#"The body is invalid at `results`: invalid type: string "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…", expected a sequence (line 1, column 3000014)."#);
        let unknown = message(&format!(r#"{{"{long}": 1}}"#));
        assert!(unknown.len() < 400 && unknown.contains("xx…`, expected `results`"), "{unknown}");
    }

    #[tokio::test]
    async fn so_does_one_about_the_query() {
        #[derive(Debug, serde::Deserialize)]
        struct Asked {
            #[expect(dead_code, reason = "only its type matters")]
            status: tidemark_api::AlertStatus,
        }
        let uri = format!("/?status={}", "x".repeat(10_000));
        let (mut parts, ()) = axum::http::Request::get(uri).body(()).unwrap().into_parts();
        let error = Query::<Asked>::from_request_parts(&mut parts, &()).await.unwrap_err();
        let Error::Invalid(message) = error else { panic!("{error:?}") };
        assert!(message.len() < 200 && message.contains("xx…`, expected one of"), "{message}");
    }

    #[test]
    fn the_media_type_that_is_liked_best() {
        let offered = [("image/jpeg", 1), ("image/png", 2), ("image/svg+xml", 3)];
        for (accept, expected) in [
            ("", None),
            ("*/*", None),
            ("image/webp, Image/PNG", Some(2)),
            ("image/svg+xml, image/png", Some(2)),
            ("image/png;q=0.5, image/svg+xml;q=0.9", Some(3)),
            ("image/png; q=0, image/svg+xml;v=1;q=0.1", Some(3)),
            ("image/png;q=0", None),
            ("image/png;q=much", None),
        ] {
            let headers = [(header::ACCEPT, accept.parse().unwrap())].into_iter().collect();
            assert_eq!(accepted(&headers, &offered), expected, "{accept}");
        }
    }
}
