//! The one binary. This file is the table of commands and the end of every failure; what a command does is in the
//! file of its name below `cmd`.
//!
//! It ends with 0 when all went well and 2 when it was called wrongly; `failure.rs` has the other numbers.

mod cmd;
mod connection;
mod context;
mod failure;
mod input;
mod logging;
mod output;
mod settings;

use std::{env, ffi::OsStr, process::ExitCode};

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use self::cmd::{demo, openapi, parse, restore, run, serve};

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
    Run(Box<run::Run>),
    /// Show what a benchmark tool printed, without sending it anywhere
    Parse(parse::Parse),
    /// Show what is known of where we are: branch, commit, pull request, machine
    Context(context::Show),
    /// Run the server
    Serve(serve::Serve),
    /// Fill a data folder with a project that has a year behind it, to look around in
    Demo(demo::Demo),
    /// Bring back a backup of the SQLite database
    Restore(restore::Restore),
    /// Print the description of the HTTP API
    #[command(hide = true)]
    Openapi,
}

fn main() -> ExitCode {
    let mut command = forget_empty(Arguments::command());
    let arguments = Arguments::from_arg_matches(&command.get_matches_mut());
    let done = match arguments.unwrap_or_else(|error| error.format(&mut command).exit()).command {
        Cmd::Run(run) => run.run(),
        Cmd::Parse(parse) => parse.run(),
        Cmd::Context(show) => show.run(),
        Cmd::Serve(serve) => serve.run(),
        Cmd::Demo(demo) => demo.run(),
        Cmd::Restore(restore) => restore.run(),
        Cmd::Openapi => openapi::print(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
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
    use clap::CommandFactory;

    #[test]
    fn the_table_of_commands_is_sound() {
        super::Arguments::command().debug_assert();
    }
}
