//! The one binary. This file is the table of commands and the end of every failure; what a command does is in the
//! file of its name below `cmd`.
//!
//! It ends with 0 when all went well and 2 when it was called wrongly; `failure.rs` has the other numbers.

mod ci;
mod cmd;
mod comparison;
mod connection;
mod context;
mod failure;
mod history;
mod input;
mod interleave;
mod local;
mod logging;
mod logins;
mod manifest;
mod output;
mod progress;
mod resource;
mod settings;
mod steps;
mod transfer;
mod verdict;

use std::{env, ffi::OsStr, process::ExitCode};

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use tidemark_api::Token;

use self::{
    cmd::{
        alert::AlertVerb,
        archive::Archive,
        audit::AuditVerb,
        auth::AuthVerb,
        benchmark::BenchmarkVerb,
        branch::BranchVerb,
        compare,
        completions::{Completions, Man},
        demo, import, init,
        invitation::InvitationVerb,
        key::KeyVerb,
        login::{LogIn, LogOut, WhoAmI},
        measure::MeasureVerb,
        member::MemberVerb,
        metric::MetricVerb,
        mock, noise, openapi,
        organization::OrganizationVerb,
        parse, perf,
        plot::PlotVerb,
        project::ProjectVerb,
        push,
        report::ReportVerb,
        restore, run, serve,
        server::ServerVerb,
        testbed::TestbedVerb,
        threshold::ThresholdVerb,
        user::UserVerb,
    },
    failure::Result,
    resource::{Later, Noun},
};

/// Continuous benchmarking: keeps the results of benchmarks and tells when they get worse.
#[derive(Parser)]
#[command(name = "tidemark", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Cmd,
}

#[derive(Subcommand)]
enum Cmd {
    /// Run benchmarks, send their results and say what became better or worse
    Run(Box<Later<run::Run>>),
    /// Write the tidemark.toml of a repository
    Init(init::Init),
    /// Bring results that were kept on this machine to a server
    Push(Later<push::Push>),
    /// Show what a benchmark tool printed, without sending it anywhere
    Parse(parse::Parse),
    /// Compare two result files, or two commits, and say what became better or worse
    Compare(Box<Later<compare::Compare>>),
    /// Bring results of the past from files or from another server
    Import(Box<Later<import::Import>>),
    /// Make up results to try things out with
    Mock(mock::Mock),
    /// Measure how much this machine varies, and say what to do about it
    Noise(noise::Noise),
    /// Show what is known of where we are: branch, commit, pull request, machine
    Context(context::Show),
    /// Run the server
    Serve(serve::Serve),
    /// Fill a data folder with a project that has a year behind it, to look around in
    Demo(demo::Demo),
    /// Bring back a backup of the SQLite database
    Restore(restore::Restore),
    /// Keep a key for a server, so that it need not be given each time
    Login(Later<LogIn>),
    /// Forget the key of a server
    Logout(Later<LogOut>),
    /// Say who you are to which server
    Whoami(Later<WhoAmI>),
    /// Organizations: who owns projects
    #[command(visible_alias = "org")]
    Organization(Later<Noun<OrganizationVerb>>),
    /// Members of organizations
    Member(Later<Noun<MemberVerb>>),
    /// Invitations into organizations
    Invitation(Later<Noun<InvitationVerb>>),
    /// Projects, their keys and members
    Project(Later<Noun<ProjectVerb>>),
    /// Reports: the results of runs
    Report(Later<Noun<ReportVerb>>),
    /// Metrics over time
    Perf(Later<perf::Query>),
    /// Plots that are pinned to a project
    Plot(Later<Noun<PlotVerb>>),
    /// Branches: what is measured over time
    Branch(Later<Noun<BranchVerb>>),
    /// Testbeds: where benchmarks run
    Testbed(Later<Noun<TestbedVerb>>),
    /// Benchmarks: what is run
    Benchmark(Later<Noun<BenchmarkVerb>>),
    /// Measures: what is measured of benchmarks
    Measure(Later<Noun<MeasureVerb>>),
    /// Single metrics
    Metric(Later<Noun<MetricVerb>>),
    /// Thresholds: what is to be expected of a measure
    Threshold(Later<Noun<ThresholdVerb>>),
    /// Alerts: metrics that crossed a limit
    Alert(Later<Noun<AlertVerb>>),
    /// Put a branch, testbed, benchmark or measure out of sight
    Archive(Later<Archive>),
    /// Bring a branch, testbed, benchmark or measure back
    Unarchive(Later<Archive>),
    /// Users and their keys
    User(Later<Noun<UserVerb>>),
    /// Legacy tokens of users; keys have taken their place
    Token(Later<Noun<KeyVerb<Token>>>),
    /// The server: version, configuration, backup, statistics
    Server(Later<Noun<ServerVerb>>),
    /// Who did what, when and from where
    Audit(Later<Noun<AuditVerb>>),
    /// Sign up and in by mail
    #[command(hide = true)]
    Auth(Later<Noun<AuthVerb>>),
    /// Print a script that completes commands in a shell
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
    /// Print the description of the HTTP API
    #[command(hide = true)]
    Openapi,
}

fn main() -> ExitCode {
    let mut command = forget_empty(Arguments::command());
    let arguments = Arguments::from_arg_matches(&command.get_matches_mut());
    let arguments = arguments.unwrap_or_else(|error| error.format(&mut command).exit());
    match arguments.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}

impl Cmd {
    fn run(self) -> Result {
        match self {
            Self::Run(run) => run.0.run(),
            Self::Init(init) => init.run(),
            Self::Push(push) => push.0.run(),
            Self::Parse(parse) => parse.run(),
            Self::Compare(compare) => compare.0.run(),
            Self::Import(import) => import.0.run(),
            Self::Mock(mock) => mock.run(),
            Self::Noise(noise) => noise.run(),
            Self::Context(show) => show.run(),
            Self::Serve(serve) => serve.run(),
            Self::Demo(demo) => demo.run(),
            Self::Restore(restore) => restore.run(),
            Self::Login(login) => login.0.run(),
            Self::Logout(logout) => logout.0.run(),
            Self::Whoami(whoami) => whoami.0.run(),
            Self::Organization(noun) => noun.0.run(),
            Self::Member(noun) => noun.0.run(),
            Self::Invitation(noun) => noun.0.run(),
            Self::Project(noun) => noun.0.run(),
            Self::Report(noun) => noun.0.run(),
            Self::Perf(query) => query.0.run(),
            Self::Plot(noun) => noun.0.run(),
            Self::Branch(noun) => noun.0.run(),
            Self::Testbed(noun) => noun.0.run(),
            Self::Benchmark(noun) => noun.0.run(),
            Self::Measure(noun) => noun.0.run(),
            Self::Metric(noun) => noun.0.run(),
            Self::Threshold(noun) => noun.0.run(),
            Self::Alert(noun) => noun.0.run(),
            Self::Archive(archive) => archive.0.run(true),
            Self::Unarchive(archive) => archive.0.run(false),
            Self::User(noun) => noun.0.run(),
            Self::Token(noun) => noun.0.run(),
            Self::Server(noun) => noun.0.run(),
            Self::Audit(noun) => noun.0.run(),
            Self::Auth(noun) => noun.0.run(),
            Self::Completions(completions) => completions.run(Arguments::command()),
            Self::Man(man) => man.run(Arguments::command()),
            Self::Openapi => openapi::print(),
        }
    }
}

/// Takes a variable that is set to nothing for one that is not set, which is what CI makes of a missing secret.
fn forget_empty(command: Command) -> Command {
    let is_empty = |name: &OsStr| env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(
            |argument| if argument.get_env().is_some_and(is_empty) { argument.env(None) } else { argument },
        )
        .mut_subcommands(forget_empty)
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    #[test]
    fn the_table_of_commands_is_sound() {
        let mut table = super::Arguments::command();
        table.build();
        check(&table, &[]);
        table.debug_assert();
    }

    /// A flag of a noun would be taken for one of its verbs that has the same name.
    fn check(command: &Command, above: &[String]) {
        let flags = || command.get_arguments().filter(|flag| !flag.is_positional() && flag.is_global_set());
        for argument in command.get_arguments().filter(|argument| !argument.is_global_set()) {
            assert!(!above.contains(&argument.get_id().to_string()), "{}: {argument}", command.get_name());
        }
        let shared: Vec<_> =
            above.iter().cloned().chain(flags().map(|flag| flag.get_id().to_string())).collect();
        command.get_subcommands().for_each(|verb| check(verb, &shared));
    }
}
