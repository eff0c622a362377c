//! Models of thresholds. A model is never updated: a new model replaces it.

use tidemark_api::{
    id::ModelUuid,
    page::{Direction, Page},
    threshold::Model,
    time::Timestamp,
};
use tidemark_stats::{self as stats, Test};
use uuid::Uuid;

use crate::{
    List, Result, ThresholdId, Tx, WriteContext,
    columns::{columns, insert_columns},
    sql::direction,
};

columns!(Model {
    uuid: "model.uuid",
    test: "model.test",
    min_sample_size: "model.min_sample_size",
    max_sample_size: "model.max_sample_size",
    window: "model.span",
    lower_boundary: "model.lower_boundary",
    upper_boundary: "model.upper_boundary",
    created: "model.created",
    replaced: "model.replaced",
});

insert_columns! {
    struct NewModel {
        uuid: Uuid,
        threshold_id: ThresholdId,
        test: Test,
        min_sample_size: Option<u32>,
        max_sample_size: Option<u32>,
        span: Option<u32>,
        lower_boundary: Option<f64>,
        upper_boundary: Option<f64>,
        created: Timestamp,
    }
}

/// Returns a model of a threshold, current or replaced.
pub fn find(tx: &mut Tx<'_>, threshold: ThresholdId, model: ModelUuid) -> Result<Model> {
    let sql = "select {columns} from model where threshold_id = $1 and uuid = $2";
    tx.fetch_one("model", sql, &[&threshold, &model])
}

/// Lists the models of a threshold, newest first.
pub fn list(tx: &mut Tx<'_>, threshold: ThresholdId, page: &Page) -> Result<(Vec<Model>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let order = format!("model.id {direction}");
    tx.page(&List { from: "model where threshold_id = $1", order: &order }, &[&threshold], page)
}

/// Inserts models for thresholds that have no current model.
pub(crate) fn insert_many(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    models: &[(ThresholdId, stats::Model)],
) -> Result<()> {
    let rows: Vec<NewModel> = models
        .iter()
        .map(|(threshold, model)| NewModel {
            uuid: context.uuid(),
            threshold_id: *threshold,
            test: model.test,
            min_sample_size: model.min_sample_size,
            max_sample_size: model.max_sample_size,
            span: model.window,
            lower_boundary: model.lower_boundary,
            upper_boundary: model.upper_boundary,
            created: context.now,
        })
        .collect();
    tx.insert_many("model", &rows, "")
}
