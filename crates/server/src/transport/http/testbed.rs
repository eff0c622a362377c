//! `/v0/projects/{project}/testbeds`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    ListedTestbed, NewTestbed, Page, ResourceId, SpecQuery, Testbed, TestbedFilter, TestbedPatch,
};
use tidemark_store::{Dimension, Tx, quota::QuotaScope, spec, testbed};
use utoipa::IntoParams;

use super::{
    access::{Create, Delete, Edit, Project, ProjectByUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{app::App, quota::Quota};

/// Path parameters: project and testbed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct TestbedPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The slug or UUID of a testbed.
    testbed: ResourceId,
}

/// List the testbeds of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/testbeds", operation_id = "proj_testbeds_get",
    tag = "testbeds", params(ProjectPath, TestbedFilter, Page), responses((status = 200, body = Vec<ListedTestbed>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<TestbedFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<ListedTestbed>> {
    Ok(Paged(app.db.read(move |tx| Testbed::list_with_runs(tx, project.id, &filter, &page)).await?))
}

/// Create a testbed.
#[utoipa::path(post, path = "/v0/projects/{project}/testbeds", operation_id = "proj_testbed_post",
    tag = "testbeds", params(ProjectPath), request_body = NewTestbed, responses((status = 201, body = Testbed)),
    extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Create>,
    Body(new): Body<NewTestbed>,
) -> Result<Created<Testbed>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        quota.check(tx, QuotaScope::Testbeds(project.id), project.project.claimed.is_some(), fresh.now)?;
        let spec = new.spec.as_ref().map(|wanted| spec::find(tx, wanted)).transpose()?;
        let id = Testbed::create(tx, &fresh, project.id, &new.name, new.slug.as_ref(), spec)?;
        Ok::<_, Error>(Testbed::view(tx, id)?)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View a testbed, with its current spec or another spec.
#[utoipa::path(get, path = "/v0/projects/{project}/testbeds/{testbed}", operation_id = "proj_testbed_get",
    tag = "testbeds", params(TestbedPath, SpecQuery), responses((status = 200, body = Testbed)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<TestbedPath>,
    Query(query): Query<SpecQuery>,
) -> Result<Json<Testbed>> {
    let read = move |tx: &mut Tx<'_>| {
        let id = Testbed::find(tx, project.id, &path.testbed)?;
        let mut found = Testbed::view(tx, id)?;
        if let Some(wanted) = query.spec {
            found.spec = spec::view(tx, wanted)?;
        }
        Ok::<_, Error>(found)
    };
    Ok(Json(app.db.read(read).await?))
}

/// Change a testbed.
#[utoipa::path(patch, path = "/v0/projects/{project}/testbeds/{testbed}", operation_id = "proj_testbed_patch",
    tag = "testbeds", params(TestbedPath), request_body = TestbedPatch, responses((status = 200, body = Testbed)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn update(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<TestbedPath>,
    Body(patch): Body<TestbedPatch>,
) -> Result<Json<Testbed>> {
    project.may_rename(patch.name.is_some() || patch.slug.is_some())?;
    let now = app.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        let id = Testbed::find(tx, project.id, &path.testbed)?;
        if let Some(wanted) = &patch.spec {
            let spec = wanted.as_ref().map(|wanted| spec::find(tx, wanted)).transpose()?;
            testbed::set_spec(tx, id, spec, now)?;
        }
        Testbed::update(tx, project.id, id, &patch, now)?;
        Ok::<_, Error>(Testbed::view(tx, id)?)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Delete a testbed that is not in use.
#[utoipa::path(delete, path = "/v0/projects/{project}/testbeds/{testbed}", operation_id = "proj_testbed_delete",
    tag = "testbeds", params(TestbedPath), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Delete>,
    Path(path): Path<TestbedPath>,
) -> Result<Deleted> {
    let write = move |tx: &mut Tx<'_>| {
        let id = Testbed::find(tx, project.id, &path.testbed)?;
        Testbed::delete(tx, project.id, id)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
