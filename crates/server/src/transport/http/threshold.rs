//! `/v0/projects/{project}/thresholds`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    Branch, Measure, Model, ModelQuery, NameId, NewThreshold, Page, ResourceId, Testbed, Threshold,
    ThresholdFilter, ThresholdPut, ThresholdUuid,
};
use tidemark_store::{Dimension, Lock, ProjectId, Tx, model, quota::QuotaScope, threshold};
use utoipa::IntoParams;

use super::{
    access::{Create, Delete, Edit, Project, ProjectByUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{app::App, quota::Quota};

/// Path parameters: project and threshold.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ThresholdPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a threshold.
    #[param(inline)]
    threshold: ThresholdUuid,
}

/// List the thresholds of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/thresholds", operation_id = "proj_thresholds_get",
    tag = "thresholds", params(ProjectPath, ThresholdFilter, Page),
    responses((status = 200, body = Vec<Threshold>)), extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(wanted): Query<ThresholdFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Threshold>> {
    let read = move |tx: &mut Tx<'_>| {
        let mut filter = threshold::ThresholdFilter {
            archived: wanted.archived.unwrap_or(false),
            ..threshold::ThresholdFilter::default()
        };
        // A branch, testbed or measure that does not exist has no thresholds.
        if let Some(wanted) = &wanted.branch {
            let Some(id) = Branch::resolve(tx, project.id, wanted)? else { return Ok((Vec::new(), 0)) };
            filter.branch = Some(id);
        }
        if let Some(wanted) = &wanted.testbed {
            let Some(id) = Testbed::resolve(tx, project.id, wanted)? else { return Ok((Vec::new(), 0)) };
            filter.testbed = Some(id);
        }
        if let Some(wanted) = &wanted.measure {
            let Some(id) = Measure::resolve(tx, project.id, wanted)? else { return Ok((Vec::new(), 0)) };
            filter.measure = Some(id);
        }
        threshold::list(tx, project.id, &filter, wanted.sort.unwrap_or_default(), &page)
    };
    Ok(Paged(app.db.read(read).await?))
}

/// Create a threshold for a branch, a testbed and a measure.
#[utoipa::path(post, path = "/v0/projects/{project}/thresholds", operation_id = "proj_threshold_post",
    tag = "thresholds", params(ProjectPath), request_body = NewThreshold,
    responses((status = 201, body = Threshold)), extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Create>,
    Body(new): Body<NewThreshold>,
) -> Result<Created<Threshold>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        quota.check(tx, QuotaScope::Thresholds(project.id), project.project.claimed.is_some(), fresh.now)?;
        let branch = Branch::resolve(tx, project.id, &new.branch)?
            .ok_or_else(|| unknown::<Branch>(tx, project.id, &new.branch))?;
        let testbed = Testbed::resolve(tx, project.id, &new.testbed)?
            .ok_or_else(|| unknown::<Testbed>(tx, project.id, &new.testbed))?;
        let measure = Measure::resolve(tx, project.id, &new.measure)?
            .ok_or_else(|| unknown::<Measure>(tx, project.id, &new.measure))?;
        let worse = Measure::view(tx, measure)?.worse();
        let model = new.model().complete(worse).map_err(|error| Error::Invalid(error.to_string()))?;
        let found = threshold::create(tx, &fresh, project.id, branch, testbed, measure, &model)?;
        Ok::<_, Error>(found.threshold)
    };
    Ok(Created(app.db.write(write).await?))
}

/// Returns the error for an unknown name, with the existing names.
fn unknown<D: Dimension>(tx: &mut Tx<'_>, project: ProjectId, wanted: &NameId) -> Error {
    const SHOWN: usize = 8;
    let noun = D::TABLE;
    let names = match D::names(tx, project, SHOWN + 1) {
        Ok(names) => names,
        Err(error) => return error.into(),
    };
    let list = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Error::NotFound(match names.len() {
        0 => format!("There is no {noun} `{wanted}`: the project has none yet."),
        1..=SHOWN => format!("There is no {noun} `{wanted}` in this project; it has {list}."),
        _ => format!("There is no {noun} `{wanted}` in this project; it has, among others, {list}."),
    })
}

/// View a threshold with its current model or an earlier model.
#[utoipa::path(get, path = "/v0/projects/{project}/thresholds/{threshold}", operation_id = "proj_threshold_get",
    tag = "thresholds", params(ThresholdPath, ModelQuery), responses((status = 200, body = Threshold)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<ThresholdPath>,
    Query(query): Query<ModelQuery>,
) -> Result<Json<Threshold>> {
    let read = move |tx: &mut Tx<'_>| {
        let mut found = threshold::find(tx, project.id, path.threshold)?;
        if let Some(wanted) = query.model {
            found.threshold.model = Some(model::find(tx, found.id, wanted)?);
        }
        Ok::<_, Error>(found.threshold)
    };
    Ok(Json(app.db.read(read).await?))
}

/// List the models of a threshold, newest first.
#[utoipa::path(get, path = "/v0/projects/{project}/thresholds/{threshold}/models",
    operation_id = "proj_threshold_models_get", tag = "thresholds", params(ThresholdPath, Page),
    responses((status = 200, body = Vec<Model>)), extensions(("x-right" = json!("project:view"))))]
pub(super) async fn models(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<ThresholdPath>,
    Query(page): Query<Page>,
) -> Result<Paged<Model>> {
    let read = move |tx: &mut Tx<'_>| {
        let found = threshold::find(tx, project.id, path.threshold)?;
        model::list(tx, found.id, &page)
    };
    Ok(Paged(app.db.read(read).await?))
}

/// Replace the model of a threshold, or remove it with `{"test": null}`.
///
/// An identical model changes nothing.
#[utoipa::path(put, path = "/v0/projects/{project}/thresholds/{threshold}", operation_id = "proj_threshold_put",
    tag = "thresholds", params(ThresholdPath), request_body = ThresholdPut,
    responses((status = 200, body = Threshold)), extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn put(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<ThresholdPath>,
    Body(put): Body<ThresholdPut>,
) -> Result<Json<Threshold>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let found = threshold::find(tx, project.id, path.threshold)?;
        let worse = found.threshold.measure.worse();
        let model = put
            .model()
            .map(|model| model.complete(worse))
            .transpose()
            .map_err(|error| Error::Invalid(error.to_string()))?;
        let before = found.threshold.model.as_ref().map(Model::settings);
        if before != model {
            if model.is_some() {
                quota.check(
                    tx,
                    QuotaScope::Models(found.id),
                    project.project.claimed.is_some(),
                    fresh.now,
                )?;
            }
            threshold::replace_model(tx, &fresh, found.id, model.as_ref())?;
        }
        Ok::<_, Error>(threshold::find(tx, project.id, path.threshold)?.threshold)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Delete a threshold that has not checked a metric.
#[utoipa::path(delete, path = "/v0/projects/{project}/thresholds/{threshold}",
    operation_id = "proj_threshold_delete", tag = "thresholds", params(ThresholdPath), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Delete>,
    Path(path): Path<ThresholdPath>,
) -> Result<Deleted> {
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let found = threshold::find(tx, project.id, path.threshold)?;
        threshold::delete(tx, found.id)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
