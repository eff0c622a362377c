//! Variants: the parameter sets of benchmarks.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{Parameters, Variant};

use crate::{BenchmarkId, Column, Error, Fresh, Kind, Param, Result, Tx, Value, VariantId};

/// Returns the primary keys of the variants, in the same order. Creates missing variants. Concurrent callers hold the
/// lock of the project.
pub fn ensure(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    wanted: &[(BenchmarkId, &Parameters)],
) -> Result<Vec<VariantId>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let texts = wanted.iter().map(|(_, parameters)| text(parameters)).collect::<Result<Vec<_>>>()?;
    let mut known = known(tx, wanted)?;
    let mut missing: Vec<(BenchmarkId, &str)> = wanted
        .iter()
        .zip(&texts)
        .map(|((benchmark, _), text)| (*benchmark, text.as_str()))
        .filter(|(benchmark, text)| !known.contains_key(&(*benchmark, (*text).to_owned())))
        .collect();
    if !missing.is_empty() {
        missing.sort_unstable();
        missing.dedup();
        let uuids: Vec<_> = missing.iter().map(|_| fresh.uuid()).collect();
        let rows: Vec<Vec<Value<'_>>> = missing
            .iter()
            .zip(&uuids)
            .map(|((benchmark, text), uuid)| {
                let columns: [&dyn Param; 4] = [uuid, benchmark, text, &fresh.now];
                columns.into_iter().map(Param::value).collect()
            })
            .collect();
        let columns = [
            ("uuid", Kind::Uuid),
            ("benchmark_id", Kind::Int),
            ("parameters", Kind::Text),
            ("created", Kind::Int),
        ];
        let keys = tx.insert_keyed("variant", &columns, &rows, "")?;
        let new = missing.into_iter().map(|(benchmark, text)| (benchmark, text.to_owned()));
        known.extend(new.zip(keys.into_iter().map(VariantId::from)));
    }
    wanted
        .iter()
        .zip(texts)
        .map(|((benchmark, _), text)| {
            known.get(&(*benchmark, text)).copied().ok_or_else(|| Error::engine("a new variant is not there"))
        })
        .collect()
}

fn known(
    tx: &mut Tx<'_>,
    wanted: &[(BenchmarkId, &Parameters)],
) -> Result<HashMap<(BenchmarkId, String), VariantId>> {
    let benchmarks: Vec<i64> = wanted.iter().map(|(benchmark, _)| benchmark.get()).collect();
    let rows = tx.all(
        "select benchmark_id, parameters, id from variant where benchmark_id in {ints $1}",
        &[&benchmarks],
        |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)),
    )?;
    Ok(rows.into_iter().collect())
}

/// Returns the variants with these primary keys.
pub fn by_ids(tx: &mut Tx<'_>, ids: &[i64]) -> Result<HashMap<VariantId, Arc<Variant>>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = tx.all("select id, uuid, parameters from variant where id in {ints $1}", &[&ids], |row| {
        let variant = Variant { uuid: row.get(1)?, parameters: row.get(2)? };
        Ok((row.get(0)?, Arc::new(variant)))
    })?;
    Ok(rows.into_iter().collect())
}

fn text(parameters: &Parameters) -> Result<String> {
    serde_json::to_string(parameters).map_err(|error| Error::Engine(error.into()))
}

impl Column for Parameters {
    fn read(value: Value<'_>) -> Result<Self> {
        let text = String::read(value)?;
        serde_json::from_str(&text).map_err(|error| Error::Engine(error.into()))
    }
}
