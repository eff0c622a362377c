//! Entry point: the table of commands, and the exit code of failures. Each command is in the file of its name below `cmd`.
//!
//! The exit code is 0 on success and 2 for invalid arguments; `failure.rs` has the other codes.

mod child;
mod ci;
mod cmd;
mod comparison;
mod connection;
mod context;
mod failure;
mod history;
mod input;
mod interleave;
mod interrupt;
mod local;
mod logging;
mod logins;
mod manifest;
mod output;
mod progress;
mod resource;
mod settings;
mod transfer;
mod verdict;
mod version;

use std::{env, ffi::OsStr, process::ExitCode};

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use tidemark_api::Token;

use self::{
    cmd::{
        alert::AlertVerb,
        archive::Archive,
        audit::AuditVerb,
        auth::AuthVerb,
        backtest,
        benchmark::BenchmarkVerb,
        branch::BranchVerb,
        change::ChangeVerb,
        changes, compare,
        completions::{Completions, Man},
        demo,
        detection::DetectionVerb,
        import, init,
        invitation::InvitationVerb,
        job::JobVerb,
        key::KeyVerb,
        login::{LogIn, LogOut, WhoAmI},
        mcp,
        measure::MeasureVerb,
        member::MemberVerb,
        metric::MetricVerb,
        mock, noise,
        notice::NoticeVerb,
        openapi,
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
    /// Compare two result files, or two commits, and say what became better or worse
    Compare(Box<Later<compare::Compare>>),
    /// Find where the levels of series changed, without sending them anywhere
    Changes(changes::Changes),
    /// Show what a benchmark tool printed, without sending it anywhere
    Parse(parse::Parse),
    /// Show what is known of where we are: branch, commit, pull request, machine
    Context(context::Show),
    /// Measure how much this machine varies, and say what to do about it
    Noise(noise::Noise),
    /// Make up results to try things out with
    Mock(mock::Mock),
    /// Bring results that were kept on this machine to a server
    Push(Later<push::Push>),
    /// Bring results of the past from files or from another server
    Import(Box<Later<import::Import>>),
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
    /// Domains whose people join an organization by themselves
    Sso(Later<Noun<SsoVerb>>),
    /// What organizations pay for, where the server bills
    Plan(Later<Noun<PlanVerb>>),
    /// Projects, their keys and members
    Project(Later<Noun<ProjectVerb>>),
    /// Reports: the results of runs
    Report(Later<Noun<ReportVerb>>),
    /// Metrics over time
    Perf(Later<perf::Query>),
    /// Plots that are pinned to a project
    Plot(Later<Noun<PlotVerb>>),
    /// Notices: who is told of alerts
    Notice(Later<Noun<NoticeVerb>>),
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
    /// Changes: where the level of a series became another one
    Change(Later<Noun<ChangeVerb>>),
    /// What a project is told of, and how many false alarms there are
    Detection(Later<Noun<DetectionVerb>>),
    /// Find out which alarms there would have been, had a project been watched in another way
    Backtest(Box<Later<backtest::Backtest>>),
    /// Jobs: runs that a runner makes
    Job(Later<Noun<JobVerb>>),
    /// Runners: machines that do jobs, for administrators; and this machine as one
    Runner(Later<Noun<RunnerVerb>>),
    /// Specs: the kinds of machines that jobs run on, for administrators
    Spec(Later<Noun<SpecVerb>>),
    /// Put a branch, testbed, benchmark or measure out of sight
    Archive(Later<Archive>),
    /// Bring a branch, testbed, benchmark or measure back
    Unarchive(Later<Archive>),
    /// Users and their keys
    User(Later<Noun<UserVerb>>),
    /// Legacy tokens of users; keys have taken their place
    Token(Later<Noun<KeyVerb<Token>>>),
    /// Run the server
    Serve(serve::Serve),
    /// Make a project that has a year behind it, to look around in
    Demo(demo::Demo),
    /// Bring back a backup of the SQLite database
    Restore(restore::Restore),
    /// The server: version, configuration, backup, statistics
    Server(Later<Noun<ServerVerb>>),
    /// Who did what, when and from where
    Audit(Later<Noun<AuditVerb>>),
    /// Sign up and in by mail
    #[command(hide = true)]
    Auth(Later<Noun<AuthVerb>>),
    /// Let an agent use Tidemark: the MCP server on standard input and output
    Mcp(Later<mcp::Mcp>),
    /// Print a script that completes commands in a shell
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
    /// Print the description of the HTTP API
    #[command(hide = true)]
    Openapi,
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = tidemark_runner::probe::run() {
        return code;
    }
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
            Self::Compare(compare) => compare.0.run(),
            Self::Changes(changes) => changes.run(),
            Self::Parse(parse) => parse.run(),
            Self::Context(show) => show.run(),
            Self::Noise(noise) => noise.run(),
            Self::Mock(mock) => mock.run(),
            Self::Push(push) => push.0.run(),
            Self::Import(import) => import.0.run(),
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
            Self::Perf(query) => query.0.run(),
            Self::Plot(noun) => noun.0.run(),
            Self::Notice(noun) => noun.0.run(),
            Self::Branch(noun) => noun.0.run(),
            Self::Testbed(noun) => noun.0.run(),
            Self::Job(noun) => noun.0.run(),
            Self::Detection(noun) => noun.0.run(),
            Self::Backtest(backtest) => backtest.0.run(),
            Self::Runner(noun) => noun.0.run(),
            Self::Spec(noun) => noun.0.run(),
            Self::Benchmark(noun) => noun.0.run(),
            Self::Measure(noun) => noun.0.run(),
            Self::Metric(noun) => noun.0.run(),
            Self::Threshold(noun) => noun.0.run(),
            Self::Alert(noun) => noun.0.run(),
            Self::Change(noun) => noun.0.run(),
            Self::Archive(archive) => archive.0.run(true),
            Self::Unarchive(archive) => archive.0.run(false),
            Self::User(noun) => noun.0.run(),
            Self::Token(noun) => noun.0.run(),
            Self::Serve(serve) => serve.run(),
            Self::Demo(demo) => demo.run(),
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
    use clap::{Arg, Command, CommandFactory};

    #[test]
    fn the_table_of_commands_is_sound() {
        let mut table = super::Arguments::command();
        table.build();
        check(&table, &[]);
        table.debug_assert();
    }

    /// A flag of a noun would hide a flag of a verb with the same name.
    fn check(command: &Command, above: &[String]) {
        let flags = || command.get_arguments().filter(|flag| !flag.is_positional() && flag.is_global_set());
        for argument in command.get_arguments().filter(|argument| !argument.is_global_set()) {
            assert!(!above.contains(&argument.get_id().to_string()), "{}: {argument}", command.get_name());
        }
        let shared: Vec<_> =
            above.iter().cloned().chain(flags().map(|flag| flag.get_id().to_string())).collect();
        command.get_subcommands().for_each(|verb| check(verb, &shared));
    }

    /// The manual documents every visible command, variable and verb.
    #[test]
    fn the_manual_is_complete() {
        let manual = concat!(
            include_str!("../../../docs/cli.md"),
            include_str!("../../../docs/ci.md"),
            include_str!("../../../docs/runner.md"),
        );
        let mut table = super::Arguments::command();
        table.build();
        let mut missing = Vec::new();
        for command in visible(&table) {
            let name = command.get_name();
            let row = manual.lines().find(|line| {
                let first = line.strip_prefix('|').and_then(|line| line.split('|').next());
                first.is_some_and(|cell| cell.contains(&format!("`{name}`")))
            });
            let has_section = manual.contains(&format!("`tidemark {name}"))
                || manual.contains(&format!("\ntidemark {name} "));
            match row {
                Some(row) => {
                    let verbs = visible(command).map(Command::get_name);
                    let is_missing = |verb: &&str| {
                        !row.contains(&format!("`{verb}")) && !row.contains(&format!(" {verb}`"))
                    };
                    missing.extend(verbs.filter(is_missing).map(|verb| format!("{name} {verb}")));
                }
                None if has_section => {}
                None => missing.push(name.to_owned()),
            }
            let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
            missing.extend(variables.filter(|name| !manual.contains(name)).map(str::to_owned));
            missing.extend(unnamed_flags(command, manual));
        }
        assert_eq!(missing, Vec::<String>::new());
    }

    /// Returns the flags of a command and of its verbs that the manual does not name.
    fn unnamed_flags(command: &Command, manual: &str) -> Vec<String> {
        let is_named = |flag: &str| {
            let mut ends =
                manual.match_indices(flag).map(|(start, _)| manual[start + flag.len()..].chars().next());
            ends.any(|next| !next.is_some_and(|next| next == '-' || next.is_alphanumeric()))
        };
        let flags = command.get_arguments().filter(|argument| !argument.is_hide_set());
        let flags = flags.filter_map(Arg::get_long).filter(|flag| !["help", "version"].contains(flag));
        let unnamed = flags.map(|flag| format!("--{flag}")).filter(|flag| !is_named(flag));
        let unnamed = unnamed.map(|flag| format!("{} {flag}", command.get_bin_name().unwrap_or_default()));
        unnamed.chain(visible(command).flat_map(|verb| unnamed_flags(verb, manual))).collect()
    }

    fn visible(command: &Command) -> impl Iterator<Item = &Command> {
        command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    }
}
