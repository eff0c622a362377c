//! `tidemark benchmark`

use tidemark_api::{
    Benchmark, BenchmarkFilter, BenchmarkName, BenchmarkPatch, NameId, NewBenchmark, ProjBenchmarksSort,
    ResourceId, Slug,
};
use tidemark_client::{Collection, benchmarks};
use uuid::Uuid;

use crate::{
    failure::Result,
    output,
    resource::{
        Archiving, Dimension, Fields, Find, InProject, Order, Paging, Session, Shown, Verb, optional,
    },
};

/// Verbs of `tidemark benchmark`.
#[derive(clap::Subcommand)]
pub(crate) enum BenchmarkVerb {
    /// List the benchmarks of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: InProject,
        #[command(flatten)]
        find: Find<BenchmarkName>,
        /// List only archived benchmarks
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        order: Order<ProjBenchmarksSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Create a benchmark
    #[command(visible_alias = "add")]
    Create {
        #[command(flatten)]
        project: InProject,
        /// Name
        #[arg(long)]
        name: BenchmarkName,
        /// Slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
    },
    /// Show a benchmark
    #[command(visible_alias = "get")]
    View(BenchmarkTarget),
    /// Update a benchmark
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: BenchmarkTarget,
        /// New name
        #[arg(long)]
        name: Option<BenchmarkName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        #[command(flatten)]
        archiving: Archiving,
    },
    /// Delete a benchmark without reports
    #[command(visible_alias = "rm")]
    Delete(BenchmarkTarget),
}

/// A benchmark of a project.
#[derive(clap::Args)]
pub(crate) struct BenchmarkTarget {
    #[command(flatten)]
    project: InProject,
    /// Benchmark UUID, slug or name
    benchmark: NameId,
}

impl Verb for BenchmarkVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, find, archived, order, paging } => {
                let filter = BenchmarkFilter {
                    name: find.name.clone(),
                    search: find.search.clone(),
                    archived: archived.then_some(true),
                    sort: order.sort,
                };
                session.list(benchmarks(project.id()?).list(&filter), paging)
            }
            Self::Create { project, name, slug } => {
                let new = NewBenchmark { name: name.clone(), slug: slug.clone() };
                session.show(&benchmarks(project.id()?).create(&new))
            }
            Self::View(one) => {
                let (benchmarks, benchmark) = session.find::<Benchmark>(&one.project, &one.benchmark)?;
                session.show(&benchmarks.view(&benchmark))
            }
            Self::Update { one, name, slug, archiving } => {
                let patch =
                    BenchmarkPatch { name: name.clone(), slug: slug.clone(), archived: archiving.wanted() };
                let (benchmarks, benchmark) = session.find::<Benchmark>(&one.project, &one.benchmark)?;
                session.update(&benchmarks, &benchmark, &patch)
            }
            Self::Delete(one) => {
                let (benchmarks, benchmark) = session.find::<Benchmark>(&one.project, &one.benchmark)?;
                session.done(&benchmarks.delete(&benchmark), "The benchmark is deleted.")
            }
        }
    }
}

impl Dimension for Benchmark {
    const NOUN: &'static str = "benchmark";

    type Name = BenchmarkName;

    fn of(project: &ResourceId) -> Collection<Self> {
        benchmarks(project)
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn name(&self) -> Self::Name {
        self.name.clone()
    }

    fn filter(name: Option<Self::Name>, archived: bool) -> BenchmarkFilter {
        BenchmarkFilter { name, archived: Some(archived), ..BenchmarkFilter::default() }
    }

    fn archive(archived: bool) -> BenchmarkPatch {
        BenchmarkPatch { archived: Some(archived), ..BenchmarkPatch::default() }
    }
}

impl Shown for Benchmark {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
            .column("Slug", &self.slug)
            .detail("UUID", self.uuid)
            .detail("Project", self.project)
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
