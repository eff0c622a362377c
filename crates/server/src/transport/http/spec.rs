//! `/v0/specs`: types of machines for jobs, managed by administrators.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{NewSpec, Page, ResourceId, Spec, SpecFilter, SpecPatch};
use tidemark_store::{self as store, Tx, spec};
use utoipa::IntoParams;

use super::{
    access::Admin,
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
};
use crate::domain::app::App;

/// Path parameter: spec.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SpecPath {
    /// The slug or UUID of a spec.
    spec: ResourceId,
}

/// List the specs of this server.
#[utoipa::path(get, path = "/v0/specs", operation_id = "specs_get", tag = "specs", params(SpecFilter, Page),
    responses((status = 200, body = Vec<Spec>)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn list(
    State(app): State<App>,
    _: Admin,
    Query(filter): Query<SpecFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Spec>> {
    Ok(Paged(app.db.read(move |tx| spec::list(tx, &filter, &page)).await?))
}

/// Create a spec.
#[utoipa::path(post, path = "/v0/specs", operation_id = "specs_post", tag = "specs", request_body = NewSpec,
    responses((status = 201, body = Spec)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn create(
    State(app): State<App>,
    admin: Admin,
    Body(new): Body<NewSpec>,
) -> Result<Created<Spec>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let made = spec::create(tx, &fresh, &new)?.spec;
        admin.origin.audit(tx, &fresh, "spec.create", made.slug.as_str(), None, &[])?;
        Ok::<_, Error>(Created(made))
    };
    app.db.write(write).await
}

/// View a spec.
#[utoipa::path(get, path = "/v0/specs/{spec}", operation_id = "spec_get", tag = "specs", params(SpecPath),
    responses((status = 200, body = Spec)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn view(State(app): State<App>, _: Admin, Path(path): Path<SpecPath>) -> Result<Json<Spec>> {
    Ok(Json(app.db.read(move |tx| spec::get(tx, &path.spec)).await?.spec))
}

/// Rename or archive a spec, or make it the default for jobs without a spec.
#[utoipa::path(patch, path = "/v0/specs/{spec}", operation_id = "spec_patch", tag = "specs", params(SpecPath),
    request_body = SpecPatch, responses((status = 200, body = Spec)),
    extensions(("x-right" = json!("admin"))))]
pub(super) async fn update(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<SpecPath>,
    Body(patch): Body<SpecPatch>,
) -> Result<Json<Spec>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = spec::get(tx, &path.spec)?;
        let stays_archived = patch.archived.is_none() && found.spec.archived.is_some();
        if patch.fallback == Some(true) && stays_archived {
            return Err(Error::Conflict(
                "The spec is archived; unarchive it before you make it the fallback.".into(),
            ));
        }
        spec::update(tx, found.id, &patch, fresh.now)?;
        let changed = spec::by_id(tx, found.id)?.spec;
        let flag = |flag: Option<bool>| flag.map(|flag| if flag { "true" } else { "false" });
        let detail: Vec<_> = [("archived", flag(patch.archived)), ("fallback", flag(patch.fallback))]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        admin.origin.audit(tx, &fresh, "spec.update", changed.slug.as_str(), None, &detail)?;
        Ok(Json(changed))
    };
    app.db.write(write).await
}

/// Delete a spec that no runner and no job uses.
#[utoipa::path(delete, path = "/v0/specs/{spec}", operation_id = "spec_delete", tag = "specs", params(SpecPath),
    responses((status = 204)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn delete(
    State(app): State<App>,
    admin: Admin,
    Path(path): Path<SpecPath>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = spec::get(tx, &path.spec)?;
        spec::delete(tx, found.id).map_err(|error| match error {
            store::Error::Conflict(index) if index == store::IN_USE => Error::Conflict(
                "Runners or jobs still use the spec; remove it from the runners first, or archive it \
                 instead."
                    .into(),
            ),
            error => error.into(),
        })?;
        admin.origin.audit(tx, &fresh, "spec.delete", found.spec.slug.as_str(), None, &[])?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
