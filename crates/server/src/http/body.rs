//! What comes in with a request: path, query and JSON body, each with an error that says where it is wrong, and the
//! media types that are accepted.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
    http::{HeaderMap, header, request::Parts},
};
use serde::de::DeserializeOwned;

use super::error::{Error, Result};

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        // A missing content type counts as JSON, as existing clients expect.
        if let Some(kind) = request.headers().get(header::CONTENT_TYPE) {
            let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
            if !kind.eq_ignore_ascii_case("application/json") {
                return Err(Error::MediaType);
            }
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| {
            if rejection.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE {
                Error::TooLarge
            } else {
                Error::Invalid("The body did not arrive whole; send it again.".into())
            }
        })?;
        parse(&bytes).map(Self)
    }
}

/// Reads one JSON object and nothing after it.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    // Serde would take an array for the fields in the order of their declaration.
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
        Error::Invalid(format!("There is something after the JSON value, at line {line}, column {column}."))
    })?;
    Ok(value)
}

/// Says where a body is wrong and why, without the names of our types.
fn explain(path: &str, error: &serde_json::Error) -> String {
    let what = if error.is_data() { "is wrong" } else { "is not valid JSON" };
    let place = match path.trim_end_matches('?').trim_end_matches('.') {
        "" => String::new(),
        path => format!(" at `{path}`"),
    };
    let (line, column) = (error.line(), error.column());
    let reason = error.to_string();
    let reason = reason.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&reason);
    let reason = match reason.split_once("expected struct ") {
        Some((found, _)) => format!("{found}expected an object"),
        None => reason.to_owned(),
    };
    format!("The body {what}{place}: {reason} (line {line}, column {column}).")
}

/// The query string; unknown keys are ignored.
#[derive(Debug)]
pub(crate) struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let axum::extract::Query(value) =
            axum::extract::Query::try_from_uri(&parts.uri).map_err(|rejection| {
                let reason =
                    std::error::Error::source(&rejection).map_or_else(String::new, ToString::to_string);
                Error::Invalid(format!("The query string is wrong: {reason}."))
            })?;
        Ok(Self(value))
    }
}

/// The first media type in the header `Accept` that is offered here, with what it stands for.
pub(crate) fn accepted<T: Copy>(headers: &HeaderMap, offered: &[(&str, T)]) -> Option<T> {
    let named = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).filter_map(|kind| kind.split(';').next()).find_map(|kind| {
        let (_, found) = offered.iter().find(|(offer, _)| offer.eq_ignore_ascii_case(kind.trim()))?;
        Some(*found)
    })
}

/// One segment of the path, by its name in the route.
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
    text.parse().map_err(|error| Error::Invalid(format!("`{name}` in the path is wrong: {error}.")))
}

/// The segments of the path, by their names in the route.
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
                Err(Error::Invalid(format!("The path is wrong: {reason}.")))
            }
        }
    }
}
