//! Models of thresholds. A model is never updated: a new model replaces it.

use tidemark_api::{
    id::ModelUuid,
    page::{Direction, Page},
    threshold::Model,
};
use tidemark_stats as stats;

use crate::{Cells, Fresh, Kind, List, Param, Result, ThresholdId, Tx, Value, sql::direction};

/// Columns of a model, for [`read`].
pub(crate) const COLUMNS: &str = "model.uuid, model.test, model.min_sample_size, model.max_sample_size, \
     model.span, model.lower_boundary, model.upper_boundary, model.created, model.replaced";

/// Reads a model that may be absent (left join).
pub(crate) fn read(cells: &mut Cells<'_>) -> Result<Option<Model>> {
    let Some(uuid) = cells.take()? else {
        cells.skip(8);
        return Ok(None);
    };
    Ok(Some(Model {
        uuid,
        test: cells.take()?,
        min_sample_size: cells.take()?,
        max_sample_size: cells.take()?,
        window: cells.take()?,
        lower_boundary: cells.take()?,
        upper_boundary: cells.take()?,
        created: cells.take()?,
        replaced: cells.take()?,
    }))
}

/// Returns a model of a threshold, current or replaced.
pub fn find(tx: &mut Tx<'_>, threshold: ThresholdId, model: ModelUuid) -> Result<Option<Model>> {
    tx.one(
        "model",
        &format!("select {COLUMNS} from model where threshold_id = $1 and uuid = $2"),
        &[&threshold, &model],
        |row| read(&mut row.cells()),
    )
}

/// Lists the models of a threshold, newest first.
pub fn list(tx: &mut Tx<'_>, threshold: ThresholdId, page: &Page) -> Result<(Vec<Model>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let (rows, total) = tx.page(
        &List {
            columns: COLUMNS,
            from: "model where threshold_id = $1",
            order: &format!("model.id {direction}"),
        },
        &[&threshold],
        page,
        |row| read(&mut row.cells()),
    )?;
    Ok((rows.into_iter().flatten().collect(), total))
}

/// Inserts models for thresholds that have no current model.
pub(crate) fn insert_many(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    models: &[(ThresholdId, stats::Model)],
) -> Result<()> {
    let uuids: Vec<_> = models.iter().map(|_| fresh.uuid()).collect();
    let rows: Vec<Vec<Value<'_>>> = models
        .iter()
        .zip(&uuids)
        .map(|((threshold, model), uuid)| {
            let columns: [&dyn Param; 9] = [
                uuid,
                threshold,
                &model.test,
                &model.min_sample_size,
                &model.max_sample_size,
                &model.window,
                &model.lower_boundary,
                &model.upper_boundary,
                &fresh.now,
            ];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    tx.insert_many(
        "model",
        &[
            ("uuid", Kind::Uuid),
            ("threshold_id", Kind::Int),
            ("test", Kind::Text),
            ("min_sample_size", Kind::Int),
            ("max_sample_size", Kind::Int),
            ("span", Kind::Int),
            ("lower_boundary", Kind::Real),
            ("upper_boundary", Kind::Real),
            ("created", Kind::Int),
        ],
        &rows,
        "",
    )?;
    Ok(())
}
