//! Benchmarks: named pieces of code whose performance is measured.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{BenchmarkUuid, Invalid, ProjBenchmarksSort, ProjectUuid, Search, Slug, Timestamp, scalar::text};

/// Maximum length of a benchmark name in bytes.
const NAME_MAX: usize = 1024;

text! {
    /// Name of a benchmark: 1 to 1024 bytes of text without the character NUL.
    BenchmarkName, shown, |text| {
        if (1..=NAME_MAX).contains(&text.len()) && !text.contains('\0') {
            return Ok(text);
        }
        Err(Invalid::new("a benchmark name is 1 to 1024 bytes without the character NUL"))
    }, |object| object.min_length(Some(1)).max_length(Some(NAME_MAX)).pattern(Some(r"^[^\u0000]+$"))
}

/// A named piece of code whose performance is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBenchmark)]
pub struct Benchmark {
    /// UUID of the benchmark.
    pub uuid: BenchmarkUuid,
    /// UUID of the project that the benchmark belongs to.
    pub project: ProjectUuid,
    /// Name of the benchmark.
    pub name: BenchmarkName,
    /// Slug of the benchmark.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Time when the benchmark was created.
    pub created: Timestamp,
    /// Time when the benchmark was last modified.
    pub modified: Timestamp,
    /// Time when the benchmark was archived; null if it is not archived.
    pub archived: Option<Timestamp>,
}

/// A benchmark to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewBenchmark)]
pub struct NewBenchmark {
    /// Name of the benchmark; unique within the project.
    pub name: BenchmarkName,
    /// Slug of the benchmark; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

/// Changes to a benchmark. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateBenchmark)]
pub struct BenchmarkPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BenchmarkName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether to archive the benchmark (`true`) or to restore it (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Filter of a list of benchmarks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BenchmarkFilter {
    /// Only benchmarks with exactly this name.
    #[param(inline)]
    pub name: Option<BenchmarkName>,
    /// Only benchmarks whose name or slug contains this text, or whose UUID starts with it (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list archived benchmarks instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `name` by default.
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
