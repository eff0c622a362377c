//! `/v0/checkout`: payment pages for plans.

use axum::extract::State;
use tidemark_api::{Checkout, NewCheckout, OrganizationPermission};
use tidemark_store::Tx;

use super::{
    access::{self, SignedInUser},
    answer::Created,
    body::Body,
    error::Result,
    plan::require_billing,
};
use crate::domain::app::App;

/// Create a checkout page at the payment provider for the plan of an organization.
#[utoipa::path(post, path = "/v0/checkout", operation_id = "checkouts_post", tag = "plans", request_body = NewCheckout,
    responses((status = 201, body = Checkout)), extensions(("x-right" = json!("organization:manage:billed:by_user"))))]
pub(super) async fn create(
    State(app): State<App>,
    signed: SignedInUser,
    Body(new): Body<NewCheckout>,
) -> Result<Created<Checkout>> {
    let (by, wanted) = (signed.by.clone(), new.organization.clone());
    let found = app
        .db
        .read(move |tx: &mut Tx<'_>| {
            access::organization_for(tx, &by, &wanted, OrganizationPermission::Manage)
        })
        .await?;
    Ok(Created(require_billing(&app)?.checkout(signed.by.found, found.id, &found.organization, &new).await?))
}
