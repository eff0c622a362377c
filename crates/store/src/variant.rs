//! Variants: the parameter sets of benchmarks.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{Parameters, Timestamp, Variant};
use uuid::Uuid;

use crate::{
    BenchmarkId, Cells, Error, FromRow, Result, Tx, VariantId, WriteContext,
    columns::{columns, insert_columns},
};

columns!(Variant { uuid: "variant.uuid", parameters: "variant.parameters" });

columns! {
    struct ExistingVariant {
        id: VariantId = "id",
        benchmark: BenchmarkId = "benchmark_id",
        parameters: String = "parameters",
    }
}

insert_columns! {
    struct NewVariant<'a> {
        uuid: Uuid,
        benchmark_id: BenchmarkId,
        parameters: &'a str,
        created: Timestamp,
    }
}

/// Returns the primary keys of the variants, in the same order. Creates missing variants. Concurrent callers hold the
/// lock of the project.
pub fn ensure(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    wanted: &[(BenchmarkId, &Parameters)],
) -> Result<Vec<VariantId>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let texts = wanted.iter().map(|(_, parameters)| text(parameters)).collect::<Result<Vec<_>>>()?;
    let mut existing = existing(tx, wanted)?;
    let mut missing: Vec<(BenchmarkId, &str)> = wanted
        .iter()
        .zip(&texts)
        .map(|((benchmark, _), text)| (*benchmark, text.as_str()))
        .filter(|(benchmark, text)| !existing.contains_key(&(*benchmark, (*text).to_owned())))
        .collect();
    if !missing.is_empty() {
        missing.sort_unstable();
        missing.dedup();
        let rows: Vec<NewVariant<'_>> = missing
            .iter()
            .map(|(benchmark, text)| NewVariant {
                uuid: context.uuid(),
                benchmark_id: *benchmark,
                parameters: text,
                created: context.now,
            })
            .collect();
        let keys = tx.insert_keyed("variant", &rows, "")?;
        let new = missing.into_iter().map(|(benchmark, text)| (benchmark, text.to_owned()));
        existing.extend(new.zip(keys.into_iter().map(VariantId::from)));
    }
    wanted
        .iter()
        .zip(texts)
        .map(|((benchmark, _), text)| {
            existing
                .get(&(*benchmark, text))
                .copied()
                .ok_or_else(|| Error::engine("a new variant is not there"))
        })
        .collect()
}

fn existing(
    tx: &mut Tx<'_>,
    wanted: &[(BenchmarkId, &Parameters)],
) -> Result<HashMap<(BenchmarkId, String), VariantId>> {
    let benchmarks: Vec<i64> = wanted.iter().map(|(benchmark, _)| benchmark.get()).collect();
    let rows: Vec<ExistingVariant> =
        tx.fetch_all("select {columns} from variant where benchmark_id in {ints $1}", &[&benchmarks])?;
    Ok(rows.into_iter().map(|row| ((row.benchmark, row.parameters), row.id)).collect())
}

/// Returns the variants with these primary keys.
pub fn by_ids(tx: &mut Tx<'_>, ids: &[i64]) -> Result<HashMap<VariantId, Arc<Variant>>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<(VariantId, Arc<Variant>)> =
        tx.fetch_all("select id, {columns} from variant where id in {ints $1}", &[&ids])?;
    Ok(rows.into_iter().collect())
}

fn text(parameters: &Parameters) -> Result<String> {
    serde_json::to_string(parameters).map_err(|error| Error::Engine(error.into()))
}

impl FromRow for Parameters {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let text = String::from_row(cells)?;
        serde_json::from_str(&text).map_err(|error| Error::Engine(error.into()))
    }
}
