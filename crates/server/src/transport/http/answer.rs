//! Successful responses: resource, created resource, accepted resource, page of a list, no content.

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

/// Total number of items, for the header `x-total-count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total(pub(super) i64);

/// One page of a list, with status 200.
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

/// Binary data, for the OpenAPI document.
pub(super) enum Binary {}

impl PartialSchema for Binary {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
    }
}

impl ToSchema for Binary {}

/// A created resource, with status 201.
#[derive(Debug)]
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

/// An accepted resource that is processed later, with status 202.
#[derive(Debug)]
pub struct Accepted<T>(pub T);

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}

/// Response of a deletion, with status 204.
#[derive(Debug)]
pub struct Deleted;

impl IntoResponse for Deleted {
    fn into_response(self) -> Response {
        let mut response = StatusCode::NO_CONTENT.into_response();
        response.extensions_mut().insert(Total(0));
        response
    }
}

/// Returns the value of `x-total-count`; 1 for a response without a total.
pub(crate) fn total(response: &Response) -> HeaderValue {
    HeaderValue::from(response.extensions().get::<Total>().map_or(1, |total| total.0))
}
