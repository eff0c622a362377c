//! `/v0/projects/{project}/benchmarks`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Benchmark, BenchmarkFilter, BenchmarkPatch, NewBenchmark, Page, ResourceId};
use tidemark_store::{Dimension, Tx, quota::QuotaScope};
use utoipa::IntoParams;

use super::{
    access::{Create, Delete, Edit, Project, ProjectByUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{app::App, quota::Quota};

/// Path parameters: project and benchmark.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct BenchmarkPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The slug or UUID of a benchmark.
    benchmark: ResourceId,
}

/// List the benchmarks of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/benchmarks", operation_id = "proj_benchmarks_get",
    tag = "benchmarks", params(ProjectPath, BenchmarkFilter, Page), responses((status = 200, body = Vec<Benchmark>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<BenchmarkFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Benchmark>> {
    Ok(Paged(app.db.read(move |tx| Benchmark::list(tx, project.id, &filter, &page)).await?))
}

/// Create a benchmark.
#[utoipa::path(post, path = "/v0/projects/{project}/benchmarks", operation_id = "proj_benchmark_post",
    tag = "benchmarks", params(ProjectPath), request_body = NewBenchmark, responses((status = 201, body = Benchmark)),
    extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Create>,
    Body(new): Body<NewBenchmark>,
) -> Result<Created<Benchmark>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        quota.check(tx, QuotaScope::Benchmarks(project.id), project.project.claimed.is_some(), fresh.now)?;
        let id = Benchmark::create(tx, &fresh, project.id, &new.name, new.slug.as_ref(), ())?;
        Ok::<_, Error>(Benchmark::view(tx, id)?)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View a benchmark.
#[utoipa::path(get, path = "/v0/projects/{project}/benchmarks/{benchmark}", operation_id = "proj_benchmark_get",
    tag = "benchmarks", params(BenchmarkPath), responses((status = 200, body = Benchmark)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<BenchmarkPath>,
) -> Result<Json<Benchmark>> {
    let read = move |tx: &mut Tx<'_>| {
        let id = Benchmark::find(tx, project.id, &path.benchmark)?;
        Benchmark::view(tx, id)
    };
    Ok(Json(app.db.read(read).await?))
}

/// Change a benchmark.
#[utoipa::path(patch, path = "/v0/projects/{project}/benchmarks/{benchmark}", operation_id = "proj_benchmark_patch",
    tag = "benchmarks", params(BenchmarkPath), request_body = BenchmarkPatch, responses((status = 200, body = Benchmark)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn update(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<BenchmarkPath>,
    Body(patch): Body<BenchmarkPatch>,
) -> Result<Json<Benchmark>> {
    project.may_rename(patch.name.is_some() || patch.slug.is_some())?;
    let now = app.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        let id = Benchmark::find(tx, project.id, &path.benchmark)?;
        Benchmark::update(tx, project.id, id, &patch, now)?;
        Ok::<_, Error>(Benchmark::view(tx, id)?)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Delete a benchmark that is not in use.
#[utoipa::path(delete, path = "/v0/projects/{project}/benchmarks/{benchmark}", operation_id = "proj_benchmark_delete",
    tag = "benchmarks", params(BenchmarkPath), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Delete>,
    Path(path): Path<BenchmarkPath>,
) -> Result<Deleted> {
    let write = move |tx: &mut Tx<'_>| {
        let id = Benchmark::find(tx, project.id, &path.benchmark)?;
        Benchmark::delete(tx, project.id, id)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
