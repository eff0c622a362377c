//! Records the run as the last run of its series on this machine, for `tidemark open`.

use tidemark_api::Report;
use tidemark_render::links::Links;

use super::Run;
use crate::{
    context::Context,
    failure::Result,
    last_run::{self, LastRun, RunKey},
};

impl Run {
    /// Stores the run as the last run of its series.
    pub(super) fn remember(&self, report: &Report, links: &Links, context: &Context) {
        let Ok(key) = self.key(context) else { return };
        last_run::store(LastRun {
            key,
            project: report.project.slug.to_string(),
            report: report.uuid.to_string(),
            url: links.report(),
        });
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
