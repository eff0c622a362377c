//! `tidemark mute`: mutes of a project.

use std::{num::NonZeroU32, str::FromStr};

use tidemark_api::{Mute, MuteFilter, MuteUuid, NamePattern, NewMute, NonEmpty};
use tidemark_client::mutes;

use crate::{
    failure::Result,
    output,
    resource::{Fields, PageFlags, Printable, ProjectArgument, Session, Verb, optional},
};

/// Verbs of `tidemark mute`.
#[derive(clap::Subcommand)]
pub(crate) enum MuteVerb {
    /// List the mutes of a project, the newest first
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only expired mutes (true), or only mutes that have effect (false)
        #[arg(long)]
        expired: Option<bool>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Mute benchmarks, branches or testbeds: no notifications, no failing gates
    #[command(visible_alias = "add")]
    Create(New),
    /// Show a mute
    #[command(visible_alias = "get")]
    View(MuteTarget),
    /// Delete a mute
    #[command(visible_alias = "rm")]
    Delete(MuteTarget),
}

/// A mute of a project.
#[derive(clap::Args)]
pub(crate) struct MuteTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Mute UUID
    mute: MuteUuid,
}

/// A new mute.
#[derive(clap::Args)]
pub(crate) struct New {
    #[command(flatten)]
    project: ProjectArgument,
    /// Benchmark name or pattern, for example 'parser::*' [default: all benchmarks]
    #[arg(long, value_name = "PATTERN", required_unless_present_any = ["branch", "testbed"])]
    benchmark: Option<NamePattern>,
    /// Branch name or pattern [default: all branches]
    #[arg(long, value_name = "PATTERN")]
    branch: Option<NamePattern>,
    /// Testbed name or pattern [default: all testbeds]
    #[arg(long, value_name = "PATTERN")]
    testbed: Option<NamePattern>,
    /// Period, for example 90m, 12h, 14d or 2w; `_` mutes until the mute is deleted
    #[arg(long = "for", value_name = "PERIOD", default_value = "14d")]
    period: Period,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: NonEmpty,
}

/// Period of a mute in seconds; `None` without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period(Option<NonZeroU32>);

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "_" {
            return Ok(Self(None));
        }
        let wrong = || "a period is a number with a unit: s, m, h, d or w, for example 14d".to_owned();
        let unit = text.chars().next_back().ok_or_else(wrong)?;
        let seconds: u32 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return Err(wrong()),
        };
        let number: u32 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
        let period = number.checked_mul(seconds).and_then(NonZeroU32::new);
        period.map(|period| Self(Some(period))).ok_or_else(|| "a period is 1 s to 7101w".to_owned())
    }
}

impl Verb for MuteVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, expired, page } => {
                session.list(mutes(project.id()?).list(&MuteFilter { expired: *expired }), page)
            }
            Self::Create(New { project, benchmark, branch, testbed, period, reason }) => {
                let new = NewMute {
                    benchmark: benchmark.clone(),
                    branch: branch.clone(),
                    testbed: testbed.clone(),
                    reason: reason.clone(),
                    ttl: period.0,
                };
                session.show(&mutes(project.id()?).create(&new))
            }
            Self::View(MuteTarget { project, mute }) => session.show(&mutes(project.id()?).view(mute)),
            Self::Delete(MuteTarget { project, mute }) => {
                session.confirm(&mutes(project.id()?).delete(mute), "The mute is deleted.")
            }
        }
    }
}

impl Printable for Mute {
    const DROPPABLE: &'static [&'static str] = &["By", "Testbed", "Branch"];

    fn fields(&self) -> Fields {
        let pattern = |pattern: &Option<NamePattern>| {
            pattern.as_ref().map_or_else(|| "*".to_owned(), NamePattern::to_string)
        };
        let until =
            self.expires.map_or_else(|| "deleted".to_owned(), |expires| output::time(expires).to_string());
        Fields::default()
            .benchmark("Benchmark", pattern(&self.benchmark))
            .text("Branch", pattern(&self.branch))
            .text("Testbed", pattern(&self.testbed))
            .text("Reason", &self.reason)
            .text("By", optional(self.actor.name.as_ref()))
            .column("Until", until)
            .column("UUID", self.uuid)
            .detail("Created", output::time(self.created))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods() {
        let seconds = |text: &str| text.parse::<Period>().unwrap().0.map(NonZeroU32::get);
        assert_eq!(seconds("14d"), Some(14 * 86_400));
        assert_eq!(seconds("90m"), Some(5_400));
        assert_eq!(seconds("12h"), Some(43_200));
        assert_eq!(seconds("2w"), Some(14 * 86_400));
        assert_eq!(seconds("45s"), Some(45));
        assert_eq!(seconds("_"), None);
        for wrong in ["", "14", "d", "-1d", "0d", "1y", "9999w", "1ä"] {
            assert!(wrong.parse::<Period>().is_err(), "{wrong}");
        }
    }
}
