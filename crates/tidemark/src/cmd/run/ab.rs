//! `tidemark run --ab`: comparison of the work tree with a commit, both measured on this machine. It sends nothing.

use super::Run;
use crate::{
    comparison::CriteriaFlags,
    failure::{Failure, Result, print_before},
    interleave::{Interleave, ROUNDS, Revision},
};

/// Flags of a comparison with another commit.
#[derive(clap::Args)]
pub(crate) struct AbFlags {
    /// Compare the work tree with this commit and send nothing: run the command alternately for both, --iter times each [default:
    /// 6]
    #[arg(long, value_name = "BASE", conflicts_with_all = ["dry_run", "build_time", "file_size", "image"])]
    pub(crate) ab: Option<String>,
    /// Shell command that prepares each side once, for example a build
    #[arg(long, value_name = "COMMAND", requires = "ab")]
    ab_setup: Option<String>,
    #[command(flatten)]
    criteria: CriteriaFlags,
}

impl Run {
    /// Measures both sides and prints the comparison.
    pub(super) fn compare_with(&self, base: &str) -> Result {
        if !self.benchmark.is_given() {
            return Err(Failure::usage("--ab requires a command; give the command to run."));
        }
        let interleave = Interleave {
            base: Revision::Commit(base.to_owned()),
            new: Revision::WorkTree,
            setup: self.ab.ab_setup.as_deref(),
            benchmark: &self.benchmark,
            files: &self.file,
            parsing: &self.parsing,
            rounds: self.iter.unwrap_or(ROUNDS),
            allow_failure: self.allow_failure,
            quiet: self.quiet,
        };
        let report = interleave.run()?.compare(&self.ab.criteria)?;
        print_before(report.gate(self.error_on_alert), &report.show(self.format, self.all))
    }
}
