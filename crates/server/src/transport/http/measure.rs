//! `/v0/projects/{project}/measures`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{ListedMeasure, Measure, MeasureFilter, MeasurePatch, NewMeasure, Page, ResourceId};
use tidemark_store::{Dimension, Lock, Tx, measure, quota::QuotaScope};
use utoipa::IntoParams;

use super::{
    access::{Create, Delete, Edit, Project, ProjectByUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{app::App, quota::Quota};

/// Path parameters: project and measure.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct MeasurePath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The slug or UUID of a measure.
    measure: ResourceId,
}

/// List the measures of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/measures", operation_id = "proj_measures_get",
    tag = "measures", params(ProjectPath, MeasureFilter, Page), responses((status = 200, body = Vec<ListedMeasure>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<MeasureFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<ListedMeasure>> {
    Ok(Paged(app.db.read(move |tx| Measure::list_with_runs(tx, project.id, &filter, &page)).await?))
}

/// Create a measure.
#[utoipa::path(post, path = "/v0/projects/{project}/measures", operation_id = "proj_measure_post",
    tag = "measures", params(ProjectPath), request_body = NewMeasure, responses((status = 201, body = Measure)),
    extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Create>,
    Body(new): Body<NewMeasure>,
) -> Result<Created<Measure>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        quota.check(tx, QuotaScope::Measures(project.id), project.project.claimed.is_some(), fresh.now)?;
        let id = Measure::create(tx, &fresh, project.id, &new.name, new.slug.as_ref(), new.units.as_str())?;
        if new.direction.is_some() {
            measure::set_direction(tx, &[id.get()], new.direction, fresh.now)?;
        }
        Ok::<_, Error>(Measure::view(tx, id)?)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View a measure.
#[utoipa::path(get, path = "/v0/projects/{project}/measures/{measure}", operation_id = "proj_measure_get",
    tag = "measures", params(MeasurePath), responses((status = 200, body = Measure)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<MeasurePath>,
) -> Result<Json<Measure>> {
    let read = move |tx: &mut Tx<'_>| {
        let id = Measure::find(tx, project.id, &path.measure)?;
        Measure::view(tx, id)
    };
    Ok(Json(app.db.read(read).await?))
}

/// Change a measure.
#[utoipa::path(patch, path = "/v0/projects/{project}/measures/{measure}", operation_id = "proj_measure_patch",
    tag = "measures", params(MeasurePath), request_body = MeasurePatch, responses((status = 200, body = Measure)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn update(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<MeasurePath>,
    Body(patch): Body<MeasurePatch>,
) -> Result<Json<Measure>> {
    project.may_rename(patch.name.is_some() || patch.slug.is_some())?;
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        // Detection of changes acquires the lock before it writes directions.
        tx.lock(Lock::Project(project.id.get()))?;
        let id = Measure::find(tx, project.id, &path.measure)?;
        let earlier = Measure::view(tx, id)?.direction;
        if let Some(units) = &patch.units {
            measure::set_units(tx, id, units)?;
        }
        if let Some(direction) = patch.direction {
            measure::set_direction(tx, &[id.get()], direction, fresh.now)?;
        }
        Measure::update(tx, project.id, id, &patch, fresh.now)?;
        let updated = Measure::view(tx, id)?;
        // A new slug can also change the direction.
        if updated.direction != earlier {
            measure::reclassify(tx, &fresh, &[id.get()], updated.direction)?;
        }
        Ok::<_, Error>(updated)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Delete a measure that is not in use.
#[utoipa::path(delete, path = "/v0/projects/{project}/measures/{measure}", operation_id = "proj_measure_delete",
    tag = "measures", params(MeasurePath), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Delete>,
    Path(path): Path<MeasurePath>,
) -> Result<Deleted> {
    let write = move |tx: &mut Tx<'_>| {
        let id = Measure::find(tx, project.id, &path.measure)?;
        Measure::delete(tx, project.id, id)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
