//! Output of a run: the report with its verdict, or the job that was sent.

use tidemark_api::{JobUuid, Report};
use tidemark_render::{comment::Comment, links::Links, markup::Dialect};

use super::{Run, RunTarget, confirm::Confirmation};
use crate::{
    failure::{Failure, Result, print},
    history::History,
    local,
    output::{self, Format},
    verdict::{self, MetricRow, View},
};

impl Run {
    /// Prints the report in the selected format.
    pub(super) fn show(
        &self,
        target: &RunTarget<'_>,
        report: &Report,
        rows: &[MetricRow<'_>],
        verdict: Option<&tidemark_api::Verdict>,
        links: &Links,
        confirmation: Option<&Confirmation>,
    ) -> Result {
        let comment = Comment { report, rows, verdict, links };
        match self.format {
            Format::Human => {}
            Format::Html => return print(&comment.render(Dialect::Html)),
            Format::Markdown => return print(&comment.render(Dialect::Markdown)),
            Format::Json => return print(&json(report, confirmation)?),
        }
        let history = if self.quiet { History::default() } else { History::of(&target.client, report, rows) };
        let claim = links
            .claim(report)
            .map_or_else(String::new, |link| format!("\nThis project is unclaimed; claim it at {link}\n"));
        let readers = target.readers.borrow();
        let header = verdict::header(report.adapter, &readers, rows);
        let view = View { colors: output::has_colors(), all: self.all };
        let table = verdict::show(report, rows, verdict, &history, view);
        let end = match links.report() {
            Some(link) => link,
            None => format!(
                "Stored on this machine as {}, in {}.\n{}`tidemark serve` shows it, `tidemark push` copies \
                 it to a server.",
                report.project.slug,
                local::database_path()?,
                if verdict.is_some_and(|verdict| verdict.comparisons.iter().all(|one| one.base_runs == 0)) {
                    "The next run is compared with it. "
                } else {
                    ""
                }
            ),
        };
        let missing = match verdict {
            Some(_) => "",
            None => "\nThe server gives no verdict against earlier runs; only thresholds were checked.\n",
        };
        let line = verdict::line(rows, verdict);
        let again =
            confirmation.map_or_else(String::new, |confirmation| format!("\n{}", confirmation.human()));
        print(&format!("{header}\n{table}{missing}{again}{claim}\n{end}\n\n{line}"))
    }

    /// Prints a detached job.
    pub(super) fn show_job(&self, report: &Report, job: JobUuid) -> Result {
        if self.format == Format::Json {
            return print(&output::json("The report", report)?);
        }
        print(&format!("The job {job} is sent; its results will be in the report {}.\n", report.uuid))
    }
}

/// Returns the report as JSON; with `--confirm`, it has the field `confirmation`.
fn json(report: &Report, confirmation: Option<&Confirmation>) -> Result<String> {
    let Some(confirmation) = confirmation else { return output::json("The report", report) };
    let mut document = serde_json::to_value(report)
        .map_err(|error| Failure::new(format!("The report cannot be written as JSON ({error}).")))?;
    document["confirmation"] = confirmation.json();
    output::json("The report", &document)
}
