//! Comparison of the settings of a run with the last run of the same series on this machine, and the record for the next run.

use tidemark_adapters::effective_average;
use tidemark_api::{Adapter, Average, Report};
use tidemark_render::links::Links;

use super::Run;
use crate::{
    context::Context,
    failure::Result,
    last_run::{self, LastRun, RunKey},
};

impl Run {
    /// Prints a warning if the last run of the same branch and testbed used another average: both are values of the same series,
    /// so the difference between the averages would look like a change.
    pub(super) fn warn_about_average(&self, adapter: Option<Adapter>, context: &Context) -> Result {
        let current = self.average_of(adapter);
        let key = self.key(context)?;
        let earlier = last_run::of_folder().into_iter().find(|run| run.key == key);
        if let (Some(current), Some(earlier)) = (current, earlier.and_then(|run| run.average))
            && current != earlier
        {
            message!(
                "warning: The values of this run are the {current}; those of the last run of this branch and testbed on this \
                 machine were the {earlier}. Both are in the same series, and the difference between them looks like a change. Use \
                 `--average {earlier}`, or another --testbed."
            );
        }
        Ok(())
    }

    /// Stores the run as the last run of its series.
    pub(super) fn remember(
        &self,
        adapter: Option<Adapter>,
        report: &Report,
        links: &Links,
        context: &Context,
    ) {
        let Ok(key) = self.key(context) else { return };
        last_run::store(LastRun {
            key,
            project: report.project.slug.to_string(),
            report: report.uuid.to_string(),
            url: links.report(),
            average: self.average_of(adapter),
        });
    }

    fn average_of(&self, adapter: Option<Adapter>) -> Option<Average> {
        effective_average(adapter?, self.parsing.average)
    }

    fn key(&self, context: &Context) -> Result<RunKey> {
        let branch = self.branch.as_ref().map(|branch| branch.as_str().to_owned());
        let testbed = self.testbed.as_ref().map(|testbed| testbed.as_str().to_owned());
        Ok(RunKey {
            host: self.connection.target()?.host.map(|(host, _)| host.to_string()),
            project: self.project.project.as_ref().map(ToString::to_string),
            branch: branch.or_else(|| context.branch.as_ref().map(ToString::to_string)),
            testbed: testbed.or_else(|| self.job.image.is_none().then(|| context.testbed())),
        })
    }
}
