//! Earlier results of the server for the commits of a search. They are optional: a failure to read them is a warning.

use std::collections::HashMap;

use tidemark_api::{Benchmark, Branch, Measure, NameId, PerfQuery, Project, ReportUuid, ResourceId, Testbed};
use tidemark_client::perf;
use uuid::Uuid;

use super::{commits::CommitRange, series::Series};
use crate::{
    dimension::Dimension,
    failure::{Failure, Result},
    resource::{ProjectArgument, Session},
};

/// Where the results of commits are.
pub(super) struct EarlierResults<'a> {
    pub(super) session: &'a Session,
    pub(super) project: &'a Project,
    pub(super) branch: Option<NameId>,
    pub(super) testbed: Option<NameId>,
}

impl EarlierResults<'_> {
    /// Returns one value per report of the commits, in the order of the history.
    pub(super) fn read(&self, series: &Series, range: &CommitRange) -> Vec<(usize, f64)> {
        match self.fetch(series, range) {
            Ok(values) => values,
            Err(failure) => {
                message!("warning: Earlier results are not used: {failure}");
                Vec::new()
            }
        }
    }

    fn fetch(&self, series: &Series, range: &CommitRange) -> Result<Vec<(usize, f64)>> {
        let (Some(branch), Some(testbed)) = (&self.branch, &self.testbed) else { return Ok(Vec::new()) };
        let benchmark = name(&series.label)?;
        let measure = name(series.measure.as_str())?;
        let query = PerfQuery {
            branches: self.find::<Branch>(branch)?,
            testbeds: self.find::<Testbed>(testbed)?,
            benchmarks: self.find::<Benchmark>(&benchmark)?,
            measures: self.find::<Measure>(&measure)?,
            ..PerfQuery::default()
        };
        let project = ResourceId::Slug(self.project.slug.clone());
        let perf = self.session.client.send(&perf(&project, &query))?;
        let numbers: HashMap<&str, usize> =
            range.commits.iter().enumerate().map(|(number, commit)| (commit.hash.as_str(), number)).collect();
        // The iterations of a report count as one value.
        let mut values: Vec<(ReportUuid, usize, Vec<f64>)> = Vec::new();
        for found in perf.results.iter().filter(|found| {
            found.variant.as_ref().map(|variant| &variant.parameters) == series.parameters.as_ref()
        }) {
            for metric in &found.metrics {
                let hash = metric.version.hash.as_ref();
                let Some(commit) = hash.and_then(|hash| numbers.get(hash.as_str())) else { continue };
                match values.last_mut().filter(|(report, _, _)| *report == metric.report) {
                    Some((_, _, list)) => list.push(metric.metric.value),
                    None => values.push((metric.report, *commit, vec![metric.metric.value])),
                }
            }
        }
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
        Ok(values.iter().map(|(_, commit, list)| (*commit, mean(list))).collect())
    }

    fn find<D: Dimension>(&self, id: &NameId) -> Result<String> {
        let project = ProjectArgument::from(ResourceId::Slug(self.project.slug.clone()));
        let (_, uuid): (_, Uuid) = self.session.find::<D>(&project, id)?;
        Ok(uuid.to_string())
    }
}

fn name(text: &str) -> Result<NameId> {
    text.parse().map_err(|error| Failure::new(format!("`{text}` is not a name: {error}.")))
}
