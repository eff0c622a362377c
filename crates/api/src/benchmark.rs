//! Benchmarks: what is run and measured.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{BenchmarkUuid, Invalid, ProjBenchmarksSort, ProjectUuid, Search, Slug, Timestamp, scalar::text};

/// The longest name of a benchmark, in bytes.
const NAME_MAX: usize = 1024;

text! {
    /// The name of a benchmark: 1 to 1024 bytes of any text without the character NUL.
    BenchmarkName, shown, |text| {
        if (1..=NAME_MAX).contains(&text.len()) && !text.contains('\0') {
            return Ok(text);
        }
        Err(Invalid::new("a benchmark name is 1 to 1024 bytes without the character NUL"))
    }, |object| object.min_length(Some(1)).max_length(Some(NAME_MAX)).pattern(Some(r"^[^\u0000]+$"))
}

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBenchmark)]
pub struct Benchmark {
    /// Its identifier.
    pub uuid: BenchmarkUuid,
    /// The project it belongs to.
    pub project: ProjectUuid,
    /// Its name.
    pub name: BenchmarkName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it was archived; null while it is in use.
    pub archived: Option<Timestamp>,
}

/// A benchmark to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewBenchmark)]
pub struct NewBenchmark {
    /// Its name, which no other benchmark of the project can have.
    pub name: BenchmarkName,
    /// Its slug; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

/// What to change of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateBenchmark)]
pub struct BenchmarkPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BenchmarkName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether the benchmark is to be archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Which benchmarks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BenchmarkFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<BenchmarkName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// The archived ones instead of the others.
    pub archived: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjBenchmarksSort>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::tests::check;

    #[test]
    fn benchmark_names() {
        check::<BenchmarkName>(
            &["a", " a ", "\n", "tests::bench_a", &"x".repeat(1024), &"é".repeat(512)],
            &["", "\0", "a\0b", &"x".repeat(1025), &"é".repeat(513)],
        );
    }
}
