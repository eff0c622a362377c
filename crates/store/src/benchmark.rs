//! Benchmarks: what is measured.

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

/// The columns of a benchmark, for [`read`].
pub(crate) const COLUMNS: &str = "benchmark.uuid, project.uuid, benchmark.name, benchmark.slug, benchmark.created, \
     benchmark.modified, benchmark.archived";
/// The joins that [`COLUMNS`] needs.
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

/// Adds a benchmark.
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

/// The key of the benchmark with this slug or UUID.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, benchmark: &ResourceId) -> Result<BenchmarkId> {
    BENCHMARK.find(tx, project, benchmark).map(BenchmarkId::from)
}

/// The key of the benchmark that a reference means, if there is one.
pub fn resolve(tx: &mut Tx<'_>, project: ProjectId, benchmark: &NameId) -> Result<Option<BenchmarkId>> {
    Ok(BENCHMARK.resolve(tx, project, benchmark)?.map(BenchmarkId::from))
}

/// The benchmarks that are named, in the same order; missing ones are made, archived ones revived. One without a
/// reference goes by its name alone.
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

/// The benchmarks with these keys.
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

/// The benchmarks of a project with these UUIDs, with their keys.
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

/// One benchmark.
pub fn view(tx: &mut Tx<'_>, benchmark: BenchmarkId) -> Result<Benchmark> {
    let sql = format!("select {COLUMNS} from benchmark {JOINS} where benchmark.id = $1");
    tx.one("benchmark", &sql, &[&benchmark], |row| read(&mut row.cells()))
}

/// The benchmarks of a project, by name.
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

/// Changes a benchmark.
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

/// Removes a benchmark that no report contains.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId, benchmark: BenchmarkId) -> Result<()> {
    BENCHMARK.delete(tx, project, benchmark.get())
}
