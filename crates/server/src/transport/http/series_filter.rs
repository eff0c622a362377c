//! Filter for the series of a project that a request names.

use tidemark_api::NameId;
use tidemark_store::{ProjectId, Tx, benchmark, branch, measure, series_filter::SeriesFilter, testbed};

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
            branch: resolve_optional("branch", self.branch, |name| branch::resolve(tx, project, name))?,
            testbed: resolve_optional("testbed", self.testbed, |name| testbed::resolve(tx, project, name))?,
            benchmark: resolve_optional("benchmark", self.benchmark, |name| {
                benchmark::resolve(tx, project, name)
            })?,
            measure: resolve_optional("measure", self.measure, |name| measure::resolve(tx, project, name))?,
        })
    }
}

fn resolve_optional<T>(
    noun: &str,
    reference: Option<&NameId>,
    resolve: impl FnOnce(&NameId) -> tidemark_store::Result<Option<T>>,
) -> Result<Option<T>> {
    let Some(reference) = reference else { return Ok(None) };
    let missing = || Error::NotFound(format!("The project has no {noun} `{reference}`."));
    resolve(reference)?.ok_or_else(missing).map(Some)
}
