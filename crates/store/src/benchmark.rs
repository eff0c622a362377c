//! Benchmarks.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{
    benchmark::{Benchmark, BenchmarkFilter, BenchmarkName, BenchmarkPatch},
    id::{NameId, ResourceId},
    page::Page,
    slug::Slug,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    BenchmarkId, Cells, Fresh, ProjectId, Result, Tx,
    dimension::{self, BENCHMARK, Wanted},
};

/// Columns of a benchmark, for [`read`].
pub(crate) const COLUMNS: &str = "benchmark.uuid, project.uuid, benchmark.name, benchmark.slug, benchmark.created, \
     benchmark.modified, benchmark.archived";
/// Joins that [`COLUMNS`] requires.
pub(crate) const JOINS: &str = "join project on project.id = benchmark.project_id";

pub(crate) fn read(cells: &mut Cells<'_>) -> Result<Benchmark> {
    Ok(Benchmark {
        uuid: cells.take()?,
        project: cells.take()?,
        name: cells.take()?,
        slug: cells.take()?,
        created: cells.take()?,
        modified: cells.take()?,
        archived: cells.take()?,
    })
}

/// Inserts a benchmark.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    name: &BenchmarkName,
    slug: Option<&Slug>,
) -> Result<BenchmarkId> {
    let uuid = fresh.uuid();
    let slug = BENCHMARK.slug(tx, fresh, project, uuid, slug, name.as_ref())?;
    let id = tx.one(
        "benchmark",
        "insert into benchmark (uuid, project_id, name, slug, created, modified)
         values ($1, $2, $3, $4, $5, $5) returning id",
        &[&uuid, &project, name, &slug, &fresh.now],
        |row| row.get(0),
    )?;
    BENCHMARK.count(tx, project, 1, 0)?;
    Ok(id)
}

/// Returns the primary key of the benchmark with this slug or UUID.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, benchmark: &ResourceId) -> Result<BenchmarkId> {
    BENCHMARK.find(tx, project, benchmark).map(BenchmarkId::from)
}

/// Returns the primary key of the benchmark with this UUID, slug or name, if it exists.
pub fn resolve(tx: &mut Tx<'_>, project: ProjectId, benchmark: &NameId) -> Result<Option<BenchmarkId>> {
    Ok(BENCHMARK.resolve(tx, project, benchmark)?.map(BenchmarkId::from))
}

/// Returns the primary keys of the benchmarks, in the same order. Creates missing benchmarks and restores archived
/// ones. An item without a reference is matched by its name only.
pub fn ensure(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    benchmarks: &[(Option<&NameId>, &BenchmarkName)],
) -> Result<Vec<BenchmarkId>> {
    let wanted: Vec<_> = benchmarks
        .iter()
        .map(|(reference, name)| Wanted {
            reference: *reference,
            name: name.as_str(),
            slug: None,
            units: None,
        })
        .collect();
    Ok(BENCHMARK.ensure(tx, fresh, project, &wanted)?.into_iter().map(BenchmarkId::from).collect())
}

/// Returns the benchmarks with these primary keys.
pub fn by_ids(tx: &mut Tx<'_>, ids: &[i64]) -> Result<HashMap<BenchmarkId, Arc<Benchmark>>> {
    let mut found = HashMap::with_capacity(ids.len());
    tx.each(
        &format!("select {COLUMNS}, benchmark.id from benchmark {JOINS} where benchmark.id in {{ints $1}}"),
        &[&ids],
        |row| {
            let cells = &mut row.cells();
            let benchmark = read(cells)?;
            found.insert(cells.take()?, Arc::new(benchmark));
            Ok(())
        },
    )?;
    Ok(found)
}

/// Returns the benchmarks of a project with these UUIDs, with their primary keys.
pub fn by_uuids(
    tx: &mut Tx<'_>,
    project: ProjectId,
    uuids: &[Uuid],
) -> Result<HashMap<Uuid, (BenchmarkId, Arc<Benchmark>)>> {
    let sql = format!(
        "select {COLUMNS}, benchmark.id from benchmark {JOINS}
         where benchmark.project_id = $1 and benchmark.uuid in {{uuids $2}}"
    );
    let rows = tx.all(&sql, &[&project, &uuids], |row| {
        let cells = &mut row.cells();
        let found = read(cells)?;
        Ok((found.uuid.uuid(), (cells.take()?, Arc::new(found))))
    })?;
    Ok(rows.into_iter().collect())
}

/// Returns a benchmark.
pub fn view(tx: &mut Tx<'_>, benchmark: BenchmarkId) -> Result<Benchmark> {
    let sql = format!("select {COLUMNS} from benchmark {JOINS} where benchmark.id = $1");
    tx.one("benchmark", &sql, &[&benchmark], |row| read(&mut row.cells()))
}

/// Lists the benchmarks of a project, by name.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &BenchmarkFilter,
    page: &Page,
) -> Result<(Vec<Benchmark>, i64)> {
    let filter = dimension::Filter {
        name: filter.name.as_ref().map(BenchmarkName::as_str),
        search: filter.search.as_ref().map(AsRef::as_ref),
        archived: filter.archived.unwrap_or(false),
    };
    BENCHMARK.list(tx, project, filter, page, (COLUMNS, JOINS), |row| read(&mut row.cells()))
}

/// Updates a benchmark.
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    benchmark: BenchmarkId,
    patch: &BenchmarkPatch,
    now: Timestamp,
) -> Result<()> {
    let change = dimension::Change {
        name: patch.name.as_ref().map(BenchmarkName::as_str),
        slug: patch.slug.as_ref(),
        archived: patch.archived,
    };
    BENCHMARK.update(tx, project, benchmark.get(), change, now)
}

/// Deletes a benchmark that no report contains.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId, benchmark: BenchmarkId) -> Result<()> {
    BENCHMARK.delete(tx, project, benchmark.get())
}
