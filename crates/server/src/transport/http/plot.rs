//! `/v0/projects/{project}/plots`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Index, NewPlot, Page, Plot, PlotFilter, PlotPatch, PlotUuid, ResourceId};
use tidemark_store::{
    Lock, Tx,
    plot::{self, PlotDimensions, PlotSettings},
    quota::QuotaScope,
};
use utoipa::IntoParams;

use super::{
    access::{Create, Delete, Edit, Project, ProjectByUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{app::App, quota::Quota};

/// Path parameters: project and plot.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct PlotPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a plot.
    #[param(inline)]
    pub(super) plot: PlotUuid,
}

/// List the pinned plots of a project, in their order.
#[utoipa::path(get, path = "/v0/projects/{project}/plots", operation_id = "proj_plots_get", tag = "plots",
    params(ProjectPath, PlotFilter, Page), responses((status = 200, body = Vec<Plot>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<PlotFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Plot>> {
    Ok(Paged(app.db.read(move |tx| plot::list(tx, project.id, &filter, &page)).await?))
}

/// Pin a plot, at the first position or at the given index.
#[utoipa::path(post, path = "/v0/projects/{project}/plots", operation_id = "proj_plot_post", tag = "plots",
    params(ProjectPath), request_body = NewPlot, responses((status = 201, body = Plot)),
    extensions(("x-right" = json!("project:create:by_user"))))]
pub(super) async fn create(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Create>,
    Body(new): Body<NewPlot>,
) -> Result<Created<Plot>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        quota.check(tx, QuotaScope::Plots(project.id), project.project.claimed.is_some(), fresh.now)?;
        if plot::count(tx, project.id)? >= plot::MAX_PLOTS {
            return Err(Error::Conflict(format!(
                "A project has at most {} plots; delete one before you pin another.",
                plot::MAX_PLOTS
            )));
        }
        let settings = PlotSettings {
            title: new.title,
            lower_value: new.lower_value,
            upper_value: new.upper_value,
            lower_boundary: new.lower_boundary,
            upper_boundary: new.upper_boundary,
            x_axis: new.x_axis,
            y_axis: new.y_axis,
            window: new.window,
        };
        let dimensions = PlotDimensions {
            branches: new.branches,
            testbeds: new.testbeds,
            benchmarks: new.benchmarks,
            measures: new.measures,
        };
        let index = new.index.map_or(0, Index::get);
        Ok::<_, Error>(plot::create(tx, &fresh, project.id, index, &settings, &dimensions)?.plot)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View a pinned plot.
#[utoipa::path(get, path = "/v0/projects/{project}/plots/{plot}", operation_id = "proj_plot_get", tag = "plots",
    params(PlotPath), responses((status = 200, body = Plot)), extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<PlotPath>,
) -> Result<Json<Plot>> {
    Ok(Json(app.db.read(move |tx| plot::find(tx, project.id, path.plot)).await?.plot))
}

/// Change a pinned plot. Its position stays the same.
#[utoipa::path(patch, path = "/v0/projects/{project}/plots/{plot}", operation_id = "proj_plot_patch",
    tag = "plots", params(PlotPath), request_body = PlotPatch, responses((status = 200, body = Plot)),
    extensions(("x-right" = json!("project:edit:by_user"))))]
pub(super) async fn update(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Edit>,
    Path(path): Path<PlotPath>,
    Body(patch): Body<PlotPatch>,
) -> Result<Json<Plot>> {
    let now = app.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let plot::PlotRow { id, plot: before } = plot::find(tx, project.id, path.plot)?;
        if let Some(index) = patch.index {
            plot::move_to(tx, project.id, id, index.get())?;
        }
        let settings = PlotSettings {
            title: patch.title.unwrap_or(before.title),
            lower_value: patch.lower_value.unwrap_or(before.lower_value),
            upper_value: patch.upper_value.unwrap_or(before.upper_value),
            lower_boundary: patch.lower_boundary.unwrap_or(before.lower_boundary),
            upper_boundary: patch.upper_boundary.unwrap_or(before.upper_boundary),
            x_axis: patch.x_axis.unwrap_or(before.x_axis),
            y_axis: patch.y_axis.unwrap_or(before.y_axis),
            window: patch.window.unwrap_or(before.window),
        };
        plot::update(tx, id, &settings, now)?;
        let dimensions = PlotDimensions {
            branches: patch.branches.unwrap_or(before.branches),
            testbeds: patch.testbeds.unwrap_or(before.testbeds),
            benchmarks: patch.benchmarks.unwrap_or(before.benchmarks),
            measures: patch.measures.unwrap_or(before.measures),
        };
        plot::set_dimensions(tx, project.id, id, &dimensions)?;
        Ok::<_, Error>(plot::find(tx, project.id, path.plot)?.plot)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Unpin a plot.
#[utoipa::path(delete, path = "/v0/projects/{project}/plots/{plot}", operation_id = "proj_plot_delete",
    tag = "plots", params(PlotPath), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Delete>,
    Path(path): Path<PlotPath>,
) -> Result<Deleted> {
    let write = move |tx: &mut Tx<'_>| {
        let found = plot::find(tx, project.id, path.plot)?;
        plot::delete(tx, found.id)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
