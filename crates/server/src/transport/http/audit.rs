//! The audit log of an organization and of the server.

use axum::extract::State;
use tidemark_api::{AuditEntry, Page};
use tidemark_store::audit;

use super::{
    access::{Admin, Manage, Organization},
    answer::Paged,
    body::Query,
    error::Result,
    organization::OrganizationPath,
};
use crate::domain::app::App;

/// List the audit log of an organization, newest entries first.
#[utoipa::path(get, path = "/v0/organizations/{organization}/audit", operation_id = "org_audit_get",
    tag = "organizations", params(OrganizationPath, Page), responses((status = 200, body = Vec<AuditEntry>)),
    extensions(("x-right" = json!("organization:manage"))))]
pub(super) async fn of_organization(
    State(app): State<App>,
    organization: Organization<Manage>,
    Query(page): Query<Page>,
) -> Result<Paged<AuditEntry>> {
    Ok(Paged(app.db.read(move |tx| audit::list(tx, Some(organization.id), &page)).await?))
}

/// List the audit log of the server, newest entries first.
#[utoipa::path(get, path = "/v0/server/audit", operation_id = "server_audit_get", tag = "server", params(Page),
    responses((status = 200, body = Vec<AuditEntry>)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn of_server(
    State(app): State<App>,
    _: Admin,
    Query(page): Query<Page>,
) -> Result<Paged<AuditEntry>> {
    Ok(Paged(app.db.read(move |tx| audit::list(tx, None, &page)).await?))
}
