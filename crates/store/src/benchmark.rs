//! Benchmarks.

use tidemark_api::{
    benchmark::{Benchmark, BenchmarkFilter, BenchmarkName, BenchmarkPatch},
    id::NameId,
};
use uuid::Uuid;

use crate::{
    BenchmarkId, ProjectId, Result, Tx, WriteContext,
    columns::columns,
    dimension::{self, Dimension, DimensionFilter, DimensionUpdate, ItemReference},
};

columns!(Benchmark {
    uuid: "benchmark.uuid",
    project: "project.uuid",
    name: "benchmark.name",
    slug: "benchmark.slug",
    created: "benchmark.created",
    modified: "benchmark.modified",
    archived: "benchmark.archived",
});

impl Dimension for Benchmark {
    type Id = BenchmarkId;
    type Fields<'a> = ();
    const TABLE: &'static str = "benchmark";

    fn joins() -> String {
        "join project on project.id = benchmark.project_id".to_owned()
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }
}

impl<'a> From<&'a BenchmarkFilter> for DimensionFilter<'a> {
    fn from(filter: &'a BenchmarkFilter) -> Self {
        Self {
            name: filter.name.as_ref().map(BenchmarkName::as_str),
            search: filter.search.as_ref().map(AsRef::as_ref),
            archived: filter.archived.unwrap_or(false),
            by_newest_run: false,
        }
    }
}

impl<'a> From<&'a BenchmarkPatch> for DimensionUpdate<'a> {
    fn from(patch: &'a BenchmarkPatch) -> Self {
        Self {
            name: patch.name.as_ref().map(BenchmarkName::as_str),
            slug: patch.slug.as_ref(),
            archived: patch.archived,
        }
    }
}

/// Returns the primary keys of the benchmarks, in the same order. Creates missing benchmarks and restores archived
/// ones. An item without a reference is matched by its name only.
pub fn ensure(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    benchmarks: &[(Option<&NameId>, &BenchmarkName)],
) -> Result<Vec<BenchmarkId>> {
    let wanted: Vec<_> = benchmarks
        .iter()
        .map(|(reference, name)| ItemReference {
            reference: *reference,
            name: name.as_str(),
            slug: None,
            fields: (),
        })
        .collect();
    let keys = dimension::ensure::<Benchmark>(tx, context, project, &wanted)?;
    Ok(keys.into_iter().map(BenchmarkId::from).collect())
}
