//! Pinned plots, in the order that users set.

use std::collections::HashMap;

use tidemark_api::{
    id::{BenchmarkUuid, BranchUuid, MeasureUuid, PlotUuid, ProjectUuid, TestbedUuid},
    name::ResourceName,
    page::{Direction, Page, ProjPlotsSort},
    plot::{Plot, PlotFilter, XAxis, YAxis},
    threshold::Window,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Cells, Error, FromRow, List, PlotId, ProjectId, Result, Tx, WriteContext,
    columns::{columns, insert_columns},
    sql::{contains, direction},
};

/// Maximum number of plots of a project.
pub const MAX_PLOTS: i64 = 64;

/// A plot with its primary key.
#[derive(Clone, Debug)]
pub struct PlotRow {
    /// Primary key.
    pub id: PlotId,
    /// Representation in the API.
    pub plot: Plot,
}

/// All fields of a plot except its position and its dimensions.
#[derive(Clone, Debug)]
pub struct PlotSettings {
    /// Title.
    pub title: Option<ResourceName>,
    /// Whether to draw lower values.
    pub lower_value: bool,
    /// Whether to draw upper values.
    pub upper_value: bool,
    /// Whether to draw lower boundaries.
    pub lower_boundary: bool,
    /// Whether to draw upper boundaries.
    pub upper_boundary: bool,
    /// Unit of the x axis.
    pub x_axis: XAxis,
    /// Scale of the y axis.
    pub y_axis: YAxis,
    /// Time window in seconds.
    pub window: Window,
}

/// Dimensions of a plot, in order.
#[derive(Clone, Debug)]
pub struct PlotDimensions {
    /// Branches.
    pub branches: Vec<BranchUuid>,
    /// Testbeds.
    pub testbeds: Vec<TestbedUuid>,
    /// Benchmarks.
    pub benchmarks: Vec<BenchmarkUuid>,
    /// Measures.
    pub measures: Vec<MeasureUuid>,
}

columns!(PlotSettings {
    title: "plot.title",
    lower_value: "plot.lower_value",
    upper_value: "plot.upper_value",
    lower_boundary: "plot.lower_boundary",
    upper_boundary: "plot.upper_boundary",
    x_axis: "plot.x_axis",
    y_axis: "plot.y_axis",
    window: "plot.span",
});

columns! {
    struct PlotColumns {
        id: PlotId = "plot.id",
        uuid: PlotUuid = "plot.uuid",
        project: ProjectUuid = "project.uuid",
        settings: PlotSettings,
        created: Timestamp = "plot.created",
        modified: Timestamp = "plot.modified",
    }
}

const TABLES: &str = "plot join project on project.id = plot.project_id";

/// Reads a plot without its dimensions.
impl FromRow for PlotRow {
    const WIDTH: usize = PlotColumns::WIDTH;
    const COLUMNS: &'static str = PlotColumns::COLUMNS;

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let PlotColumns { id, uuid, project, settings, created, modified } = cells.read()?;
        let plot = Plot {
            uuid,
            project,
            title: settings.title,
            lower_value: settings.lower_value,
            upper_value: settings.upper_value,
            lower_boundary: settings.lower_boundary,
            upper_boundary: settings.upper_boundary,
            x_axis: settings.x_axis,
            y_axis: settings.y_axis,
            window: settings.window,
            branches: Vec::new(),
            testbeds: Vec::new(),
            benchmarks: Vec::new(),
            measures: Vec::new(),
            created,
            modified,
        };
        Ok(Self { id, plot })
    }
}

insert_columns! {
    struct NewDimension {
        plot_id: PlotId,
        position: i64,
        dimension_id: i64,
    }
}

/// Returns the number of plots of a project.
pub fn count(tx: &mut Tx<'_>, project: ProjectId) -> Result<i64> {
    tx.value("select count(*) from plot where project_id = $1", &[&project])
}

/// Inserts a plot at a position.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    index: u8,
    settings: &PlotSettings,
    dimensions: &PlotDimensions,
) -> Result<PlotRow> {
    let place = free_position(tx, project, index)?;
    let uuid = PlotUuid::from(context.uuid());
    let id: PlotId = tx.fetch_one(
        "plot",
        "insert into plot (uuid, project_id, place, title, lower_value, upper_value, lower_boundary,
                           upper_boundary, x_axis, y_axis, span, created, modified)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) returning id",
        &[
            &uuid,
            &project,
            &place,
            &settings.title,
            &settings.lower_value,
            &settings.upper_value,
            &settings.lower_boundary,
            &settings.upper_boundary,
            &settings.x_axis,
            &settings.y_axis,
            &settings.window,
            &context.now,
        ],
    )?;
    set_dimensions(tx, project, id, dimensions)?;
    find(tx, project, uuid)
}

/// Returns the plot with this UUID.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, plot: PlotUuid) -> Result<PlotRow> {
    let mut found: PlotRow = tx.fetch_one(
        "plot",
        &format!("select {{columns}} from {TABLES} where plot.project_id = $1 and plot.uuid = $2"),
        &[&project, &plot],
    )?;
    add_dimensions(tx, std::slice::from_mut(&mut found))?;
    Ok(found)
}

/// Lists the plots of a project, by position or by title; plots without a title come first.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &PlotFilter,
    page: &Page,
) -> Result<(Vec<Plot>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    let order = match filter.sort.unwrap_or_default() {
        ProjPlotsSort::Index => format!("plot.place {direction}, plot.id {direction}"),
        ProjPlotsSort::Title => {
            format!(
                "coalesce(lower(plot.title), '') {direction}, plot.place {direction}, plot.id {direction}"
            )
        }
    };
    let (mut rows, total): (Vec<PlotRow>, _) = tx.page(
        &List {
            from: &format!(
                "{TABLES} where plot.project_id = $1 and (cast($2 as text) is null or plot.title = $2)
                 and (cast($3 as text) is null or lower(plot.title) like $3 escape '\\'
                      or cast(plot.uuid as text) like $3 escape '\\')"
            ),
            order: &order,
        },
        &[&project, &filter.title, &filter.search.as_ref().map(|search| contains(search.as_ref()))],
        page,
    )?;
    add_dimensions(tx, &mut rows)?;
    Ok((rows.into_iter().map(|found| found.plot).collect(), total))
}

/// Updates a plot, without its position.
pub fn update(tx: &mut Tx<'_>, plot: PlotId, settings: &PlotSettings, now: Timestamp) -> Result<()> {
    tx.execute(
        "update plot set title = $2, lower_value = $3, upper_value = $4, lower_boundary = $5, upper_boundary = $6,
                x_axis = $7, y_axis = $8, span = $9, modified = $10
         where id = $1",
        &[
            &plot,
            &settings.title,
            &settings.lower_value,
            &settings.upper_value,
            &settings.lower_boundary,
            &settings.upper_boundary,
            &settings.x_axis,
            &settings.y_axis,
            &settings.window,
            &now,
        ],
    )?;
    Ok(())
}

/// Moves a plot to a position.
pub fn move_to(tx: &mut Tx<'_>, project: ProjectId, plot: PlotId, index: u8) -> Result<()> {
    // Move the plot to the end first, so that it does not count among the plots before the new position.
    tx.execute("update plot set place = $2 where id = $1", &[&plot, &i64::MAX])?;
    let place = free_position(tx, project, index)?;
    tx.execute("update plot set place = $2 where id = $1", &[&plot, &place])?;
    Ok(())
}

/// Increments the positions of the plots from the index on. Returns the free position; an index beyond the end gives
/// the end.
fn free_position(tx: &mut Tx<'_>, project: ProjectId, index: u8) -> Result<i64> {
    let taken: Option<i64> = tx.fetch_optional(
        "select place from plot where project_id = $1 and place < $2 order by place, id limit 1 offset $3",
        &[&project, &i64::MAX, &index],
    )?;
    let Some(place) = taken else {
        return tx.value(
            "select coalesce(max(place) + 1, 0) from plot where project_id = $1 and place < $2",
            &[&project, &i64::MAX],
        );
    };
    tx.execute(
        "update plot set place = place + 1 where project_id = $1 and place >= $2 and place < $3",
        &[&project, &place, &i64::MAX],
    )?;
    Ok(place)
}

/// Deletes a plot. The gap in the positions is harmless: only their order matters.
pub fn delete(tx: &mut Tx<'_>, plot: PlotId) -> Result<()> {
    tx.execute("delete from plot where id = $1", &[&plot])?;
    Ok(())
}

/// Replaces all dimensions of a plot; a dimension of another project is not found.
pub fn set_dimensions(
    tx: &mut Tx<'_>,
    project: ProjectId,
    plot: PlotId,
    dimensions: &PlotDimensions,
) -> Result<()> {
    let branches: Vec<_> = dimensions.branches.iter().map(|id| id.uuid()).collect();
    let testbeds: Vec<_> = dimensions.testbeds.iter().map(|id| id.uuid()).collect();
    let benchmarks: Vec<_> = dimensions.benchmarks.iter().map(|id| id.uuid()).collect();
    let measures: Vec<_> = dimensions.measures.iter().map(|id| id.uuid()).collect();
    set_dimension(tx, project, plot, "branch", &branches)?;
    set_dimension(tx, project, plot, "testbed", &testbeds)?;
    set_dimension(tx, project, plot, "benchmark", &benchmarks)?;
    set_dimension(tx, project, plot, "measure", &measures)
}

fn set_dimension(
    tx: &mut Tx<'_>,
    project: ProjectId,
    plot: PlotId,
    table: &'static str,
    wanted: &[Uuid],
) -> Result<()> {
    let sql = format!("select uuid, id from {table} where project_id = $1 and uuid in {{uuids $2}}");
    let known: HashMap<Uuid, i64> = tx.fetch_all(&sql, &[&project, &wanted])?.into_iter().collect();
    let mut keys: Vec<i64> = Vec::with_capacity(wanted.len());
    for uuid in wanted {
        let key = *known.get(uuid).ok_or(Error::NotFound(table))?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    tx.execute(&format!("delete from plot_{table} where plot_id = $1"), &[&plot])?;
    let rows: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(position, key)| NewDimension {
            plot_id: plot,
            position: i64::try_from(position).unwrap_or(i64::MAX),
            dimension_id: *key,
        })
        .collect();
    tx.insert_many(&format!("plot_{table}"), &rows, "")
}

/// Adds the dimensions to plots, with one statement per kind.
fn add_dimensions(tx: &mut Tx<'_>, plots: &mut [PlotRow]) -> Result<()> {
    if plots.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = plots.iter().map(|found| found.id.get()).collect();
    let mut of = |table: &str| -> Result<HashMap<i64, Vec<Uuid>>> {
        let rows: Vec<(i64, Uuid)> = tx.fetch_all(
            &format!(
                "select plot_{table}.plot_id, {table}.uuid from plot_{table}
                 join {table} on {table}.id = plot_{table}.dimension_id
                 where plot_{table}.plot_id in {{ints $1}} order by plot_{table}.plot_id, plot_{table}.position"
            ),
            &[&ids],
        )?;
        let mut lists: HashMap<i64, Vec<Uuid>> = HashMap::new();
        for (plot, uuid) in rows {
            lists.entry(plot).or_default().push(uuid);
        }
        Ok(lists)
    };
    let (mut branches, mut testbeds) = (of("branch")?, of("testbed")?);
    let (mut benchmarks, mut measures) = (of("benchmark")?, of("measure")?);
    for PlotRow { id, plot } in plots {
        let id = id.get();
        plot.branches = branches.remove(&id).unwrap_or_default().into_iter().map(Into::into).collect();
        plot.testbeds = testbeds.remove(&id).unwrap_or_default().into_iter().map(Into::into).collect();
        plot.benchmarks = benchmarks.remove(&id).unwrap_or_default().into_iter().map(Into::into).collect();
        plot.measures = measures.remove(&id).unwrap_or_default().into_iter().map(Into::into).collect();
    }
    Ok(())
}
