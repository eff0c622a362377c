//! `tidemark run --ab`: the work tree against a commit, both measured here and now. Nothing is sent.

use super::{Format, Run};
use crate::{
    comparison::{Judging, show},
    failure::{Exit, Failure, Result, print},
    interleave::{Interleave, Place, ROUNDS},
};

/// The arguments of a comparison with another commit.
#[derive(clap::Args)]
pub(crate) struct Against {
    /// Compare the work tree with this commit instead of sending anything: run the command for both in turn, --iter
    /// times each (6 unless given)
    #[arg(long, value_name = "BASE", conflicts_with = "dry_run")]
    pub(crate) ab: Option<String>,
    /// A command for the shell that prepares each side once, such as a build
    #[arg(long, value_name = "COMMAND", requires = "ab")]
    ab_setup: Option<String>,
    #[command(flatten)]
    judging: Judging,
}

impl Run {
    /// Runs both sides and says how they compare.
    pub(super) fn compare_with(&self, base: &str) -> Result {
        if !self.benchmark.is_given() {
            return Err(Failure::with(
                Exit::Usage,
                "--ab runs a command, and there is none; give the command to run.",
            ));
        }
        let interleave = Interleave {
            base: Place::Commit(base.to_owned()),
            new: Place::WorkTree,
            setup: self.ab.ab_setup.as_deref(),
            benchmark: &self.benchmark,
            files: &self.file,
            reading: &self.reading,
            rounds: if self.iter > 1 { self.iter } else { ROUNDS },
            allow_failure: self.allow_failure,
            quiet: self.quiet,
        };
        let outcome = interleave.run()?.compare(&self.ab.judging)?;
        let format = match self.format {
            Format::Human => show::Format::Human,
            Format::Json => show::Format::Json,
        };
        print(&outcome.show(format))?;
        match outcome.regressions() {
            1.. if self.error_on_alert => Err(Failure::with(Exit::Regression, outcome.complaint())),
            _ => Ok(()),
        }
    }
}
