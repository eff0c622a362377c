//! `tidemark run --ab`: comparison of the work tree with a commit, both measured on this machine. It sends nothing.

use tidemark_api::Adapter;

use super::Run;
use crate::{
    checkout::Revision,
    comparison::{CriteriaFlags, Series},
    failure::{Failure, Result, print_before},
    interleave::{Interleave, Limits},
    measurement::Measurement,
};

/// Flags of a comparison with another commit.
#[derive(clap::Args)]
pub(crate) struct AbFlags {
    /// Compare the work tree with this commit and send nothing: run the command in pairs for both until every benchmark has a
    /// verdict, at most --iter times each
    #[arg(long, value_name = "BASE", conflicts_with_all = ["dry_run", "image", "confirm"])]
    pub(crate) ab: Option<String>,
    /// Send the results, then compare the benchmarks that look regressed or are inconclusive with this commit, as --ab does,
    /// before the exit status is decided [default: the commit of the newest run of the baseline]
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true, default_missing_value = "",
        conflicts_with_all = ["dry_run", "image", "resend"])]
    pub(crate) confirm: Option<String>,
    /// Shell command that prepares each side of --ab or --confirm once, for example a build
    #[arg(long, alias = "ab-setup", value_name = "COMMAND")]
    setup: Option<String>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    criteria: CriteriaFlags,
}

impl AbFlags {
    /// Rejects flags without the flag that they belong to. A job with a base can be a duet, too.
    pub(super) fn check(&self, has_base_image: bool) -> Result {
        if self.ab.is_some() || self.confirm.is_some() {
            return Ok(());
        }
        if self.setup.is_some() {
            return Err(Failure::usage("--setup requires --ab or --confirm; give one of them."));
        }
        if self.limits.duet && !has_base_image {
            return Err(Failure::usage("--duet requires --ab, --confirm or --base-image; give one of them."));
        }
        Ok(())
    }

    /// Whether both sides run at the same time.
    pub(super) fn is_duet(&self) -> bool {
        self.limits.duet
    }
}

impl Run {
    /// Measures both sides and prints the comparison.
    pub(super) fn compare_with(&self, base: &str) -> Result {
        if !self.benchmark.is_given() && self.synthetic.file_size.is_empty() {
            return Err(Failure::usage("--ab requires a command; give the command to run."));
        }
        self.synthetic.check(self.benchmark.is_given())?;
        let report = Interleave { max_rounds: self.iter, ..self.interleave(base, None, None) }.run()?;
        print_before(report.gate(self.error_on_alert), &report.show(self.format, self.all))
    }

    /// Returns the measurement of the work tree and a commit.
    pub(super) fn interleave<'a>(
        &'a self,
        base: &str,
        only: Option<&'a [Series]>,
        adapter: Option<Adapter>,
    ) -> Interleave<'a> {
        Interleave {
            base: Revision::Commit(base.to_owned()),
            new: Revision::WorkTree,
            measurement: Measurement {
                setup: self.ab.setup.as_deref(),
                benchmark: &self.benchmark,
                files: &self.file,
                synthetic: Some(&self.synthetic).filter(|synthetic| synthetic.is_given()),
                parsing: &self.parsing,
                allow_failure: self.allow_failure,
                deadline: None,
                quiet: self.quiet,
            },
            binaries: &self.binary.binary,
            only,
            adapter,
            criteria: &self.ab.criteria,
            limits: self.ab.limits,
            max_rounds: None,
        }
    }
}
