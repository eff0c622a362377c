//! Stores the pairs of a job that compares its image with a base.

use tidemark_adapters::Results;
use tidemark_store::{
    ProjectId, ReportId, Tx, WriteContext,
    pair::{self, SeriesPairs},
};

use super::resolve::{self, ResolvedMetric, ResolvedResults};
use crate::domain::error::Result;

/// Stores the pairs of each series. `sides` are the results of the base, then those of the image, of each round.
pub(super) fn store(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: ProjectId,
    report: ReportId,
    sides: &[Results],
) -> Result<()> {
    if sides.is_empty() {
        return Ok(());
    }
    let ResolvedResults { items, .. } = resolve::resolve(tx, fresh, project, sides, None)?;
    let series = items.chunk_by(|left, right| left.series_key == right.series_key);
    let series: Vec<SeriesPairs> = series
        .map(|items| SeriesPairs { series_key: items[0].series_key, pairs: pairs(items) })
        .filter(|series| !series.pairs.is_empty())
        .collect();
    Ok(pair::insert(tx, report, &series)?)
}

/// Returns the pairs of the values of a series, which are sorted by iteration. A round in which only one side has a value is left
/// out.
fn pairs(items: &[ResolvedMetric<'_>]) -> Vec<(f64, f64)> {
    let is_pair = |items: &&[ResolvedMetric<'_>]| {
        items[0].iteration.is_multiple_of(2) && items[0].iteration + 1 == items[1].iteration
    };
    let both = items.windows(2).filter(is_pair);
    both.map(|items| (items[0].measured.value, items[1].measured.value)).collect()
}
