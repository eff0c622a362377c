//! Filter for the series of a project that a request names.

use tidemark_api::{Benchmark, Branch, Measure, NameId, Testbed};
use tidemark_store::{Dimension, ProjectId, Tx, series_filter::SeriesFilter};

use super::error::{Error, Result};

/// Optional names of a branch, testbed, benchmark and measure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeriesNames<'a> {
    pub(super) branch: Option<&'a NameId>,
    pub(super) testbed: Option<&'a NameId>,
    pub(super) benchmark: Option<&'a NameId>,
    pub(super) measure: Option<&'a NameId>,
}

impl SeriesNames<'_> {
    /// Looks the names up and returns the filter.
    pub(super) fn find(self, tx: &mut Tx<'_>, project: ProjectId) -> Result<SeriesFilter> {
        Ok(SeriesFilter {
            branch: resolve_optional::<Branch>(tx, project, self.branch)?,
            testbed: resolve_optional::<Testbed>(tx, project, self.testbed)?,
            benchmark: resolve_optional::<Benchmark>(tx, project, self.benchmark)?,
            measure: resolve_optional::<Measure>(tx, project, self.measure)?,
        })
    }
}

fn resolve_optional<D: Dimension>(
    tx: &mut Tx<'_>,
    project: ProjectId,
    reference: Option<&NameId>,
) -> Result<Option<D::Id>> {
    let Some(reference) = reference else { return Ok(None) };
    let missing = || Error::NotFound(format!("The project has no {} `{reference}`.", D::TABLE));
    D::resolve(tx, project, reference)?.ok_or_else(missing).map(Some)
}
