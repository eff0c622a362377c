//! `tidemark run --ab`: comparison of the work tree with a commit, both measured on this machine. It sends nothing.

use super::Run;
use crate::{
    comparison::CriteriaFlags,
    failure::{Failure, Result, print_before},
    interleave::{Interleave, Limits, Revision},
};

/// Flags of a comparison with another commit.
#[derive(clap::Args)]
pub(crate) struct AbFlags {
    /// Compare the work tree with this commit and send nothing: run the command in pairs for both until every benchmark has a
    /// verdict, at most --iter times each
    #[arg(long, value_name = "BASE", conflicts_with_all = ["dry_run", "image"])]
    pub(crate) ab: Option<String>,
    /// Shell command that prepares each side once, for example a build
    #[arg(long, alias = "ab-setup", value_name = "COMMAND", requires = "ab")]
    setup: Option<String>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    criteria: CriteriaFlags,
}

impl Run {
    /// Measures both sides and prints the comparison.
    pub(super) fn compare_with(&self, base: &str) -> Result {
        if !self.benchmark.is_given() && self.synthetic.file_size.is_empty() {
            return Err(Failure::usage("--ab requires a command; give the command to run."));
        }
        self.synthetic.check(self.benchmark.is_given())?;
        let interleave = Interleave {
            base: Revision::Commit(base.to_owned()),
            new: Revision::WorkTree,
            setup: self.ab.setup.as_deref(),
            benchmark: &self.benchmark,
            files: &self.file,
            synthetic: Some(&self.synthetic).filter(|synthetic| synthetic.is_given()),
            parsing: &self.parsing,
            criteria: &self.ab.criteria,
            limits: self.ab.limits,
            max_rounds: self.iter,
            allow_failure: self.allow_failure,
            quiet: self.quiet,
        };
        let report = interleave.run()?;
        print_before(report.gate(self.error_on_alert), &report.show(self.format, self.all))
    }
}
