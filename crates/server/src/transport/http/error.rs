//! Maps errors to responses: status, code and headers.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

pub(crate) use crate::domain::error::{Error, Result};

/// The error of a response, until the middleware writes it into the body.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, code) = status(&self);
        // The request ID comes from the span of the request.
        match (&self, self.cause()) {
            (Self::Internal(_), cause) => tracing::error!(cause, "request failed"),
            (_, Some(cause)) => tracing::warn!(cause, "request rejected; the client can retry"),
            (_, None) => {}
        }
        let mut response = status.into_response();
        let headers = response.headers_mut();
        match &self {
            Self::Unauthorized(_) => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::Limited(_, seconds) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(*seconds));
            }
            Self::Busy(_) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Self::Upstream(_) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
            }
            // A user has to free space, which takes longer than a retry after other errors.
            Self::StorageFull(_) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
            }
            _ => {}
        }
        response.extensions_mut().insert(Problem { code, message: self.message() });
        response
    }
}

/// Returns the status of an error, and its code in the body.
fn status(error: &Error) -> (StatusCode, &'static str) {
    match error {
        Error::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
        Error::Unauthorized(_) => (StatusCode::UNAUTHORIZED, "unauthorized"),
        Error::PaymentRequired(_) => (StatusCode::PAYMENT_REQUIRED, "unpaid"),
        Error::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
        Error::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
        Error::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
        Error::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
        Error::TooLarge | Error::OverLimit(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        Error::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
        Error::Limited(..) => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
        Error::Busy(_) => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        Error::Upstream(_) => (StatusCode::BAD_GATEWAY, "elsewhere"),
        Error::StorageFull(_) => (StatusCode::SERVICE_UNAVAILABLE, "disk_full"),
        Error::Unavailable(_) => (StatusCode::NOT_IMPLEMENTED, "unavailable"),
        Error::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}
