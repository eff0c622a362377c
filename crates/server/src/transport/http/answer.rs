//! The shapes of success: one thing, a new thing, something queued, a page of a list, nothing.

use axum::{
    Json,
    http::{HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type},
};

/// How many there are in all, for the header `x-total-count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total(pub(super) i64);

/// One page of a list: 200.
#[derive(Debug)]
pub struct Paged<T>(pub (Vec<T>, i64));

impl<T: Serialize> IntoResponse for Paged<T> {
    fn into_response(self) -> Response {
        let (rows, total) = self.0;
        let mut response = Json(rows).into_response();
        response.extensions_mut().insert(Total(total));
        response
    }
}

/// Bytes that are no text, for the description of the API.
pub(super) enum Binary {}

impl PartialSchema for Binary {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
    }
}

impl ToSchema for Binary {}

/// Something made: 201.
#[derive(Debug)]
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

/// Something promised: 202.
#[derive(Debug)]
pub struct Accepted<T>(pub T);

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}

/// Something gone: 204.
#[derive(Debug)]
pub struct Deleted;

impl IntoResponse for Deleted {
    fn into_response(self) -> Response {
        let mut response = StatusCode::NO_CONTENT.into_response();
        response.extensions_mut().insert(Total(0));
        response
    }
}

/// The value of `x-total-count` for a response that does not say.
pub(super) fn total(response: &Response) -> HeaderValue {
    HeaderValue::from(response.extensions().get::<Total>().map_or(1, |total| total.0))
}
