//! Requests as values: method, path, body and type of the response. The client sends them.

use std::{fmt::Display, marker::PhantomData};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::Error;

/// Characters that are not percent-encoded in a path or a query.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request with a response of type `T`.
#[derive(Debug)]
pub struct Request<T> {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: Option<Vec<u8>>,
    /// Whether the request is idempotent, so that a retry is safe.
    pub(crate) idempotent: bool,
    response: PhantomData<fn() -> T>,
}

// Not derived: a derive would require `T: Clone`.
impl<T> Clone for Request<T> {
    fn clone(&self) -> Self {
        let Self { method, path, body, idempotent, response } = self;
        Self { method, path: path.clone(), body: body.clone(), idempotent: *idempotent, response: *response }
    }
}

impl<T> Request<T> {
    fn new(method: &'static str, segments: &[&dyn Display]) -> Self {
        let mut path = "/v0".to_owned();
        for segment in segments {
            path.push('/');
            path.extend(utf8_percent_encode(&segment.to_string(), UNRESERVED));
        }
        Self { method, path, body: None, idempotent: method != "POST", response: PhantomData }
    }

    pub(crate) fn get(segments: &[&dyn Display]) -> Self {
        Self::new("GET", segments)
    }

    pub(crate) fn post(segments: &[&dyn Display], body: &impl Serialize) -> Self {
        Self::new("POST", segments).with_body(body)
    }

    pub(crate) fn put(segments: &[&dyn Display], body: &impl Serialize) -> Self {
        Self::new("PUT", segments).with_body(body)
    }

    pub(crate) fn patch(segments: &[&dyn Display], body: &impl Serialize) -> Self {
        Self::new("PATCH", segments).with_body(body)
    }

    pub(crate) fn delete(segments: &[&dyn Display]) -> Self {
        Self::new("DELETE", segments)
    }

    /// Adds the fields of a flat structure to the query, without the fields that are `None`.
    #[must_use]
    pub fn query(mut self, query: &impl Serialize) -> Self {
        let text =
            serde_urlencoded::to_string(query).expect("a query is a flat structure of strings and numbers");
        if !text.is_empty() {
            self.path.push(if self.path.contains('?') { '&' } else { '?' });
            self.path.push_str(&text);
        }
        self
    }

    /// Marks the request as idempotent: the server recognizes a repetition.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    fn with_body(mut self, body: &impl Serialize) -> Self {
        self.body = Some(serde_json::to_vec(body).expect("the types of the API serialize as JSON"));
        self
    }
}

/// A response.
#[derive(Clone, Debug)]
pub struct ApiResponse<T> {
    /// Host of the server.
    pub(crate) host: String,
    pub(crate) bytes: Vec<u8>,
    /// Total number of items, if the response is a page of a list.
    pub total: Option<u64>,
    /// Number of requested permutations, if the response does not contain all of them.
    pub truncated: Option<u64>,
    /// Tidemark version of the server, if the response has it.
    pub server_version: Option<String>,
    /// Token that claims the organization that the run created.
    pub(crate) claim_token: Option<String>,
    pub(crate) kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> ApiResponse<T> {
    /// Parses the response.
    pub fn read(&self) -> Result<T, Error> {
        let text = if self.bytes.is_empty() { b"null" } else { self.bytes.as_slice() };
        serde_json::from_slice(text).map_err(|error| self.invalid(&error))
    }
}

impl<T> ApiResponse<T> {
    /// Returns the body of the response.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the JSON of the response; `null` if the body is empty.
    pub fn json(&self) -> Result<&str, Error> {
        if self.bytes.is_empty() {
            return Ok("null");
        }
        serde_json::from_slice::<&RawValue>(&self.bytes)
            .map(RawValue::get)
            .map_err(|error| self.invalid(&error))
    }

    fn invalid(&self, error: &serde_json::Error) -> Error {
        let is_html = self.bytes.trim_ascii_start().starts_with(b"<");
        let reason = if is_html {
            "it responded with HTML instead of JSON".to_owned()
        } else {
            format!("its response has an unexpected format ({error})")
        };
        Error::InvalidResponse { host: self.host.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{BranchFilter, Page, ProjBranchesSort};

    use super::*;

    #[test]
    fn a_segment_is_percent_encoded() {
        let request = Request::<()>::get(&[&"projects", &"../a b/c?d#e%", &"é"]);
        assert_eq!(request.path, "/v0/projects/..%2Fa%20b%2Fc%3Fd%23e%25/%C3%A9");
    }

    #[test]
    fn a_query_omits_absent_fields() {
        let filter = BranchFilter {
            name: Some("a&b=c".parse().unwrap()),
            sort: Some(ProjBranchesSort::Name),
            archived: Some(true),
            search: None,
        };
        let request = Request::<()>::get(&[&"x"]).query(&filter).query(&Page::default());
        assert_eq!(request.path, "/v0/x?name=a%26b%3Dc&archived=true&sort=name&page=1&per_page=8");
    }
}
