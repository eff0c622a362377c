//! `tidemark report`: reports of a server. `tidemark run` runs benchmarks and sends their results.

use std::path::PathBuf;

use tidemark_api::{
    GitHash, GitHashPrefix, Millis, NameId, NewReport, ProjReportsSort, Report, ReportFilter,
    ReportIdempotencyKey, ReportSettings, ReportUuid, StartPointPatch, Timestamp, Verdict,
};
use tidemark_client::reports;
use uuid::Uuid;

use super::run::threshold::ThresholdFlags;
use crate::{
    failure::{Failure, Result, print},
    history::History,
    input::{ParseFlags, ToolOutput},
    output,
    resource::{
        Fields, PageFlags, Printable, ProjectArgument, Session, SortFlag, Verb, optional, record_with,
    },
    verdict::{self, View},
};

/// Verbs of `tidemark report`.
#[derive(clap::Subcommand)]
pub(crate) enum ReportVerb {
    /// List the reports of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only reports of this branch: UUID, slug or name
        #[arg(long)]
        branch: Option<NameId>,
        /// List only reports of this testbed: UUID, slug or name
        #[arg(long)]
        testbed: Option<NameId>,
        /// List only reports of commits whose hash starts with these hexadecimal digits, at least 4
        #[arg(long, value_name = "PREFIX")]
        hash: Option<GitHashPrefix>,
        #[command(flatten)]
        time: TimeRangeFlags,
        /// List only reports of archived branches and testbeds
        #[arg(long)]
        archived: bool,
        /// With --json: include results and alerts
        #[arg(long)]
        expand: bool,
        #[command(flatten)]
        sort: SortFlag<ProjReportsSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Send existing results as a report
    #[command(visible_alias = "add")]
    Create(Box<New>),
    /// Show a report with its results
    #[command(visible_alias = "get")]
    View {
        #[command(flatten)]
        target: ReportTarget,
        /// On a terminal: show all rows, even if they do not fit on the screen
        #[arg(long)]
        all: bool,
    },
    /// Show the verdict on a report: its comparison with the baseline
    Verdict {
        #[command(flatten)]
        target: ReportTarget,
        /// UUID of a report: compare with its branch and testbed up to its version, instead of the default baseline
        #[arg(long, value_name = "REPORT")]
        base: Option<ReportUuid>,
    },
    /// Delete a report
    #[command(visible_alias = "rm")]
    Delete(ReportTarget),
}

/// A report of a project.
#[derive(clap::Args)]
pub(crate) struct ReportTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Report UUID
    report: ReportUuid,
}

/// A time range.
#[derive(clap::Args)]
pub(crate) struct TimeRangeFlags {
    /// Only runs that started at this time or later, in seconds since 1970 or as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    start_time: Option<Timestamp>,
    /// Only runs that ended at this time or earlier, in seconds since 1970 or as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    end_time: Option<Timestamp>,
}

impl TimeRangeFlags {
    pub(crate) fn start(&self) -> Option<Millis> {
        self.start_time.map(Millis::from)
    }

    pub(crate) fn end(&self) -> Option<Millis> {
        self.end_time.map(Millis::from)
    }
}

/// A new report.
#[derive(clap::Args)]
pub(crate) struct New {
    #[command(flatten)]
    project: ProjectArgument,
    /// Branch UUID, slug or name
    #[arg(long)]
    branch: NameId,
    /// Measured commit
    #[arg(long)]
    hash: Option<GitHash>,
    /// Branch to start from: UUID, slug or name
    #[arg(long, value_name = "BRANCH", alias = "start-point-branch")]
    start_point: Option<NameId>,
    /// Commit to start from
    #[arg(long, value_name = "HASH", requires = "start_point")]
    start_point_hash: Option<GitHash>,
    /// Number of versions to inherit from the start point [default: 255]
    #[arg(long, value_name = "COUNT", requires = "start_point")]
    start_point_max_versions: Option<u32>,
    /// Copy the thresholds of the start point, too
    #[arg(long, requires = "start_point")]
    start_point_clone_thresholds: bool,
    /// Start a new head of the branch; earlier results no longer count
    #[arg(long)]
    start_point_reset: bool,
    /// Testbed UUID, slug or name
    #[arg(long)]
    testbed: NameId,
    /// Start of the run, as 2026-01-31T12:00:00Z or in seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    start_time: Timestamp,
    /// End of the run, as 2026-01-31T12:00:00Z or in seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    end_time: Timestamp,
    /// Output of a benchmark tool; repeat the flag for several
    #[arg(long, value_name = "TEXT")]
    results: Vec<String>,
    /// File with the output of a benchmark tool; repeat the flag for several
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    parsing: ParseFlags,
    #[command(flatten)]
    thresholds: ThresholdFlags,
}

/// Parses a time in either form.
fn parse_time(text: &str) -> std::result::Result<Timestamp, String> {
    match text.parse::<i64>() {
        Ok(seconds) => Ok(Timestamp::from_micros(0).plus_seconds(seconds)),
        Err(_) => text.parse().map_err(|error: tidemark_api::Invalid| error.to_string()),
    }
}

impl Verb for ReportVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, branch, testbed, hash, time, archived, expand, sort, page } => {
                let filter = ReportFilter {
                    branch: branch.clone(),
                    testbed: testbed.clone(),
                    start_time: time.start(),
                    end_time: time.end(),
                    hash: hash.clone(),
                    archived: archived.then_some(true),
                    expand: expand.then_some(true),
                    sort: sort.sort,
                };
                session.list(reports(project.id()?).list(&filter), page)
            }
            Self::Create(new) => {
                let report = new.report()?;
                session.show(&reports(new.project.id()?).create(&report).idempotent())
            }
            Self::View { target, all } => target.view(session, *all),
            Self::Verdict { target, base } => {
                session.show(&tidemark_client::verdict(target.project.id()?, target.report, *base))
            }
            Self::Delete(target) => session
                .confirm(&reports(target.project.id()?).delete(&target.report), "The report is deleted."),
        }
    }
}

impl ReportTarget {
    /// Prints the report, with its verdict if the server gives one.
    fn view(&self, session: &Session, all: bool) -> Result {
        let request = reports(self.project.id()?).view(&self.report);
        if session.json {
            return session.show(&request);
        }
        let report = session.client.send(&request)?;
        let verdict = verdict::wait_for_verdict(&session.client, &report);
        let view = View { colors: output::has_colors(), all };
        print(&record_with(report.fields(), &results(&report, verdict.as_ref(), view)))
    }
}

/// Returns the results of a report with the verdict in the last line.
fn results(report: &Report, verdict: Option<&Verdict>, view: View) -> String {
    if report.results.as_ref().is_none_or(Vec::is_empty) {
        return String::new();
    }
    let rows = verdict::rows(report);
    let table = verdict::show(report, &rows, verdict, &History::default(), view);
    format!("{table}\n{}", verdict::line(&rows, verdict))
}

impl New {
    /// Returns the report to send. Parses the results first, so that an error names their position.
    fn report(&self) -> Result<NewReport> {
        let given = (1..).zip(&self.results);
        let mut outputs: Vec<_> = given
            .map(|(number, text)| ToolOutput::new(format!("--results {number}"), text.clone().into_bytes()))
            .collect();
        for file in &self.file {
            outputs.push(ToolOutput::from_file(file)?);
        }
        if outputs.is_empty() {
            return Err(Failure::usage("There are no results: give --results or --file."));
        }
        self.parsing.parse(&mut outputs)?;
        let start_point = StartPointPatch {
            branch: self.start_point.clone(),
            hash: self.start_point_hash.clone(),
            max_versions: self.start_point_max_versions,
            clone_thresholds: self.start_point_clone_thresholds.then_some(true),
            reset: self.start_point_reset.then_some(true),
        };
        let ParseFlags { adapter, average, fold, .. } = self.parsing;
        Ok(NewReport {
            branch: self.branch.clone(),
            hash: self.hash.clone(),
            start_point: (start_point != StartPointPatch::default()).then_some(start_point),
            testbed: self.testbed.clone(),
            thresholds: self.thresholds.thresholds()?,
            start_time: self.start_time,
            end_time: self.end_time,
            results: outputs.into_iter().map(|output| output.text).collect(),
            settings: Some(ReportSettings { adapter: Some(adapter.on_server()), average, fold }),
            idempotency_key: Some(ReportIdempotencyKey(Uuid::new_v4())),
        })
    }
}

impl Printable for Verdict {
    fn fields(&self) -> Fields {
        let counts = &self.counts;
        Fields::default()
            .column("Answer", self.answer)
            .column("Cause", self.cause)
            .number("Regressions", counts.regressions)
            .number("Improvements", counts.improvements)
            .number("Other changes", counts.differences)
            .number("Muted", optional(Some(counts.muted).filter(|count| *count > 0)))
            .number("Unchanged", counts.unchanged)
            .number("Inconclusive", counts.inconclusive)
            .column("Branch", &self.branch.name)
            .column("Testbed", &self.testbed.name)
    }

    fn footer(&self) -> String {
        verdict::show_comparisons(self)
    }
}

impl Printable for Report {
    const DROPPABLE: &'static [&'static str] =
        &["Adapter", "Iterations", "Version", "Testbed", "Benchmarks", "Commit", "Alerts", "Began"];

    fn fields(&self) -> Fields {
        let version = self.branch.head.version.as_ref();
        let hash = version.and_then(|version| version.hash.as_ref()).map(GitHash::as_str);
        let sum = |of: fn(&tidemark_api::IterationCounts) -> u32| -> u32 {
            self.counts.results.iter().map(of).sum()
        };
        Fields::default()
            .column("Began", output::time(self.start_time))
            .detail("Ended", output::time(self.end_time))
            .text("Branch", &self.branch.name)
            .number("Version", optional(version.map(|version| version.number)))
            .table_only("Commit", hash.map_or("", |hash| &hash[..hash.len().min(10)]))
            .detail("Commit", optional(hash))
            .text("Testbed", &self.testbed.name)
            .column("Adapter", self.adapter)
            .number("Iterations", self.counts.results.len())
            .number("Benchmarks", sum(|counts| counts.benchmarks))
            .number("Alerts", self.counts.alerts.total)
            .detail("Active alerts", self.counts.alerts.active)
            .detail("Muted alerts", optional(Some(self.counts.alerts.muted).filter(|count| *count > 0)))
            .detail("By", optional(self.user.as_ref().map(|user| &user.name)))
            .column("UUID", self.uuid)
            .detail("Project", &self.project.name)
            .detail("Received", output::time(self.created))
    }

    fn footer(&self) -> String {
        results(self, None, View::default())
    }
}
