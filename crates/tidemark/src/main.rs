//! Entry point: the table of commands, and the exit code of failures. Each command is in the file of its name below `cmd`.
//!
//! The exit code is 0 on success and 2 for invalid arguments; `failure.rs` has the other codes.

#![deny(clippy::print_stdout, clippy::print_stderr)]

// First, because the other modules use its macro.
#[macro_use]
mod failure;

mod checkout;
mod child;
mod ci;
mod cmd;
mod comparison;
mod connection;
mod context;
mod cores;
mod dimension;
mod file;
mod filter;
mod help;
mod history;
mod input;
mod interleave;
mod interrupt;
mod last_run;
mod local;
mod logging;
mod logins;
mod manifest;
mod measurement;
mod output;
mod progress;
mod project;
mod resource;
mod settings;
mod table;
mod transfer;
mod verdict;
mod version;

use std::{
    env,
    ffi::OsStr,
    io::{self, Write},
    process::ExitCode,
};

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use tidemark_api::{Benchmark, Branch, Measure, Testbed, Token};

use self::{
    cmd::{
        admin::AdminVerb,
        alert::AlertVerb,
        archive::Archive,
        audit::AuditVerb,
        auth::AuthVerb,
        backtest,
        backup::BackUp,
        bisect,
        change::ChangeVerb,
        changes,
        code_host::CodeHostVerb,
        compare,
        completions::{Completions, Man},
        demo,
        detection::DetectionVerb,
        event::EventVerb,
        export, import, init,
        invitation::InvitationVerb,
        job::JobVerb,
        key::KeyVerb,
        login::{LogIn, LogOut, WhoAmI},
        mcp,
        member::MemberVerb,
        metric::MetricVerb,
        mock,
        mute::MuteVerb,
        noise,
        notice::NoticeVerb,
        open, openapi,
        organization::OrganizationVerb,
        parse, perf,
        plan::PlanVerb,
        plot::PlotVerb,
        project::ProjectVerb,
        push,
        report::ReportVerb,
        restore, run,
        runner::RunnerVerb,
        serve,
        server::ServerVerb,
        spec::SpecVerb,
        sso::SsoVerb,
        threshold::ThresholdVerb,
        user::UserVerb,
    },
    dimension::DimensionVerb,
    failure::{Exit, Result, check_written},
    help::{Example, Group},
    resource::{LazyCommand, Noun},
};

/// Continuous benchmarking: store benchmark results and detect regressions
#[derive(Parser)]
#[command(name = "tidemark", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Cmd,
}

#[derive(Subcommand)]
enum Cmd {
    /// Run benchmarks, record their results and show the verdict
    Run(Box<LazyCommand<run::Run>>),
    /// Create the tidemark.toml of a repository
    Init(init::Init),
    /// Compare two sets of result files or two commits, without a server
    Compare(Box<LazyCommand<compare::Compare>>),
    /// Find the commit that changed a benchmark, despite noise
    Bisect(Box<LazyCommand<bisect::Bisect>>),
    /// Detect changes in a file of series, without a server
    Changes(changes::Changes),
    /// Parse the output of a benchmark tool and show the results, without a server
    Parse(parse::Parse),
    /// Show the detected context: branch, commit, pull request, machine
    Context(context::Show),
    /// Measure how much the speed of this machine varies, and print advice
    Noise(noise::Noise),
    /// Generate random results for tests
    Mock(mock::Mock),
    /// Copy the results on this machine to a server
    Push(LazyCommand<push::Push>),
    /// Import historical results from files or from another server
    Import(Box<LazyCommand<import::Import>>),
    /// Export all metrics of a project to a file
    Export(Box<LazyCommand<export::Export>>),
    /// Open the page of the last run of this folder in a browser
    Open(open::Open),
    /// Store a key for a server
    Login(LazyCommand<LogIn>),
    /// Delete the stored key of a server
    Logout(LazyCommand<LogOut>),
    /// Show the logged-in user and server
    Whoami(LazyCommand<WhoAmI>),
    /// Manage organizations, which own projects
    #[command(visible_alias = "org")]
    Organization(LazyCommand<Noun<OrganizationVerb>>),
    /// Manage members of organizations
    Member(LazyCommand<Noun<MemberVerb>>),
    /// Manage invitations to organizations
    Invitation(LazyCommand<Noun<InvitationVerb>>),
    /// Manage domains whose users join an organization automatically
    Sso(LazyCommand<Noun<SsoVerb>>),
    /// Manage the plan of an organization, on servers with billing
    Plan(LazyCommand<Noun<PlanVerb>>),
    /// Manage projects, their keys and members
    Project(LazyCommand<Noun<ProjectVerb>>),
    /// Manage reports, the recorded results of runs
    Report(LazyCommand<Noun<ReportVerb>>),
    /// Show metrics over time
    Perf(LazyCommand<perf::PerfArguments>),
    /// Manage the pinned plots of a project
    Plot(LazyCommand<Noun<PlotVerb>>),
    /// Manage notices, the destinations of notifications
    Notice(LazyCommand<Noun<NoticeVerb>>),
    /// Manage the code host connection of a project
    CodeHost(LazyCommand<Noun<CodeHostVerb>>),
    /// Manage branches
    Branch(LazyCommand<Noun<DimensionVerb<Branch>>>),
    /// Manage testbeds, the environments of benchmarks
    Testbed(LazyCommand<Noun<DimensionVerb<Testbed>>>),
    /// Manage benchmarks
    Benchmark(LazyCommand<Noun<DimensionVerb<Benchmark>>>),
    /// Manage measures, for example latency
    Measure(LazyCommand<Noun<DimensionVerb<Measure>>>),
    /// Show single metrics
    Metric(LazyCommand<Noun<MetricVerb>>),
    /// Manage thresholds, which define limits of a measure
    Threshold(LazyCommand<Noun<ThresholdVerb>>),
    /// Manage alerts, the metrics outside their limits
    Alert(LazyCommand<Noun<AlertVerb>>),
    /// Manage events, the changes with a common start, and their status
    Event(LazyCommand<Noun<EventVerb>>),
    /// Mute benchmarks, branches or testbeds for a period
    Mute(LazyCommand<Noun<MuteVerb>>),
    /// Show changes, the lasting shifts of the level of a series
    Change(LazyCommand<Noun<ChangeVerb>>),
    /// Manage the notification settings of a project and show its false alarms
    Detection(LazyCommand<Noun<DetectionVerb>>),
    /// Apply other detection settings to the history of a project and show the alarms
    Backtest(Box<LazyCommand<backtest::Backtest>>),
    /// Manage jobs, the runs on a runner
    Job(LazyCommand<Noun<JobVerb>>),
    /// Manage runners, or run jobs on this machine; managing requires an administrator
    Runner(LazyCommand<Noun<RunnerVerb>>),
    /// Manage specs, the types of machines for jobs; requires an administrator
    Spec(LazyCommand<Noun<SpecVerb>>),
    /// Archive a branch, testbed, benchmark or measure
    Archive(LazyCommand<Archive>),
    /// Unarchive a branch, testbed, benchmark or measure
    Unarchive(LazyCommand<Archive>),
    /// Manage users, their keys and sessions
    User(LazyCommand<Noun<UserVerb>>),
    /// Manage legacy tokens of users; use keys instead
    Token(LazyCommand<Noun<KeyVerb<Token>>>),
    /// Run the server
    Serve(serve::Serve),
    /// Create the first administrator of a server and a key
    #[command(subcommand)]
    Admin(AdminVerb),
    /// Create a demo project with one year of history
    Demo(demo::Demo),
    /// Write all data of the database to a file or to S3
    Backup(BackUp),
    /// Restore a backup to SQLite or PostgreSQL
    Restore(restore::Restore),
    /// Show the version, configuration and statistics of the server; create backups
    Server(LazyCommand<Noun<ServerVerb>>),
    /// Show the audit log: which user did what, when and from which address
    Audit(LazyCommand<Noun<AuditVerb>>),
    /// Sign up and sign in by mail
    #[command(hide = true)]
    Auth(LazyCommand<Noun<AuthVerb>>),
    /// Serve MCP on standard input and output, for agents
    Mcp(LazyCommand<mcp::Mcp>),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
    /// Print the OpenAPI description of the HTTP API
    #[command(hide = true)]
    Openapi,
}

/// Groups of `--help`: each visible command is in one group.
const GROUPS: [Group; 7] = [
    Group {
        title: "Measure",
        commands: &["run", "init", "compare", "bisect", "parse", "context", "noise", "mock"],
    },
    Group {
        title: "Results",
        commands: &[
            "report",
            "open",
            "perf",
            "plot",
            "metric",
            "event",
            "mute",
            "change",
            "alert",
            "threshold",
            "detection",
            "backtest",
            "changes",
            "push",
            "import",
            "export",
        ],
    },
    Group {
        title: "Dimensions",
        commands: &["branch", "testbed", "benchmark", "measure", "archive", "unarchive"],
    },
    Group { title: "Project", commands: &["project", "notice", "code-host", "job"] },
    Group {
        title: "Account",
        commands: &[
            "login",
            "logout",
            "whoami",
            "user",
            "token",
            "organization",
            "member",
            "invitation",
            "sso",
            "plan",
        ],
    },
    Group {
        title: "Server",
        commands: &["serve", "admin", "server", "backup", "restore", "demo", "audit", "runner", "spec"],
    },
    Group { title: "Other", commands: &["mcp", "completions", "man"] },
];

/// The most used commands, for `-h`.
const COMMON: Group = Group {
    title: "Most used commands",
    commands: &["run", "init", "compare", "report", "event", "perf", "push", "login", "serve"],
};

const EXAMPLES: [Example; 3] = [
    Example { line: "tidemark run \"cargo bench\"", purpose: "Measure, store and compare" },
    Example { line: "tidemark event list", purpose: "List the regressions of this repository" },
    Example { line: "tidemark compare main HEAD -- cargo bench", purpose: "Compare two commits" },
];

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = tidemark_runner::probe::run() {
        return code;
    }
    let command = help::add(Arguments::command(), &GROUPS, &COMMON, &EXAMPLES);
    let mut command = ignore_empty_variables(command);
    let matches = command.try_get_matches_from_mut(env::args_os());
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let done = match arguments {
        Ok(arguments) => arguments.command.run(),
        Err(error) if error.use_stderr() => {
            let _ = error.format(&mut command).print();
            return ExitCode::from(Exit::Usage as u8);
        }
        // The help and the version are output.
        Err(output) => check_written(output.print().and_then(|()| io::stdout().flush())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            message!("error: {failure}");
            failure.exit_code()
        }
    }
}

impl Cmd {
    fn run(self) -> Result {
        match self {
            Self::Run(run) => run.0.run(),
            Self::Init(init) => init.run(),
            Self::Compare(compare) => compare.0.run(),
            Self::Bisect(bisect) => bisect.0.run(),
            Self::Changes(changes) => changes.run(),
            Self::Parse(parse) => parse.run(),
            Self::Context(show) => show.run(),
            Self::Noise(noise) => noise.run(),
            Self::Mock(mock) => mock.run(),
            Self::Push(push) => push.0.run(),
            Self::Import(import) => import.0.run(),
            Self::Export(export) => export.0.run(),
            Self::Open(open) => open.run(),
            Self::Login(login) => login.0.run(),
            Self::Logout(logout) => logout.0.run(),
            Self::Whoami(whoami) => whoami.0.run(),
            Self::Organization(noun) => noun.0.run(),
            Self::Member(noun) => noun.0.run(),
            Self::Invitation(noun) => noun.0.run(),
            Self::Sso(noun) => noun.0.run(),
            Self::Plan(noun) => noun.0.run(),
            Self::Project(noun) => noun.0.run(),
            Self::Report(noun) => noun.0.run(),
            Self::Perf(perf) => perf.0.run(),
            Self::Plot(noun) => noun.0.run(),
            Self::Notice(noun) => noun.0.run(),
            Self::Branch(noun) => noun.0.run(),
            Self::Testbed(noun) => noun.0.run(),
            Self::Job(noun) => noun.0.run(),
            Self::CodeHost(noun) => noun.0.run(),
            Self::Detection(noun) => noun.0.run(),
            Self::Backtest(backtest) => backtest.0.run(),
            Self::Runner(noun) => noun.0.run(),
            Self::Spec(noun) => noun.0.run(),
            Self::Benchmark(noun) => noun.0.run(),
            Self::Measure(noun) => noun.0.run(),
            Self::Metric(noun) => noun.0.run(),
            Self::Threshold(noun) => noun.0.run(),
            Self::Alert(noun) => noun.0.run(),
            Self::Event(noun) => noun.0.run(),
            Self::Mute(noun) => noun.0.run(),
            Self::Change(noun) => noun.0.run(),
            Self::Archive(archive) => archive.0.run(true),
            Self::Unarchive(archive) => archive.0.run(false),
            Self::User(noun) => noun.0.run(),
            Self::Token(noun) => noun.0.run(),
            Self::Serve(serve) => serve.run(),
            Self::Admin(verb) => verb.run(),
            Self::Demo(demo) => demo.run(),
            Self::Backup(backup) => backup.run(),
            Self::Restore(restore) => restore.run(),
            Self::Server(noun) => noun.0.run(),
            Self::Audit(noun) => noun.0.run(),
            Self::Auth(noun) => noun.0.run(),
            Self::Mcp(mcp) => mcp.0.run(),
            Self::Completions(completions) => completions.run(Arguments::command()),
            Self::Man(man) => man.run(Arguments::command()),
            Self::Openapi => openapi::print(),
        }
    }
}

/// Treats empty variables as not set, because CI sets a missing secret to an empty variable.
fn ignore_empty_variables(command: Command) -> Command {
    let is_empty = |name: &OsStr| env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(
            |argument| if argument.get_env().is_some_and(is_empty) { argument.env(None) } else { argument },
        )
        .mut_subcommands(ignore_empty_variables)
}

#[cfg(test)]
mod tests;
