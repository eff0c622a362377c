//! `tidemark benchmark`

use tidemark_api::{
    Benchmark, BenchmarkFilter, BenchmarkName, BenchmarkPatch, NewBenchmark, ProjBenchmarksSort, ResourceId,
    Search, Slug,
};
use tidemark_client::{Collection, benchmarks};
use uuid::Uuid;

use crate::{
    dimension::Dimension,
    output,
    resource::{Fields, Printable, optional},
};

impl Dimension for Benchmark {
    const NOUN: &'static str = "benchmark";
    const PLURAL: &'static str = "benchmarks";
    const VALUE_NAME: &'static str = "BENCHMARK";

    type Name = BenchmarkName;
    type Sort = ProjBenchmarksSort;
    type CreateFlags = ();
    type ViewFlags = ();
    type UpdateFlags = ();

    fn of(project: &ResourceId) -> Collection<Self> {
        benchmarks(project)
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn name(&self) -> BenchmarkName {
        self.name.clone()
    }

    fn filter(
        name: Option<BenchmarkName>,
        search: Option<Search>,
        archived: Option<bool>,
        sort: Option<ProjBenchmarksSort>,
    ) -> BenchmarkFilter {
        BenchmarkFilter { name, search, archived, sort }
    }

    fn new(name: BenchmarkName, slug: Option<Slug>, (): &()) -> NewBenchmark {
        NewBenchmark { name, slug }
    }

    fn patch(
        name: Option<BenchmarkName>,
        slug: Option<Slug>,
        archived: Option<bool>,
        (): &(),
    ) -> BenchmarkPatch {
        BenchmarkPatch { name, slug, archived }
    }
}

impl Printable for Benchmark {
    const DROPPABLE: &'static [&'static str] = &["Created", "Archived", "Slug"];

    fn fields(&self) -> Fields {
        Fields::default()
            .benchmark("Name", &self.name)
            .column("Slug", &self.slug)
            .detail("UUID", self.uuid)
            .detail("Project", self.project)
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
