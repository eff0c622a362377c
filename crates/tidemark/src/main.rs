//! The one binary. This file is the table of commands and the end of every failure; what a command does is in the
//! file of its name below `cmd`.
//!
//! It ends with 0 when all went well and 2 when it was called wrongly; `failure.rs` has the other numbers.

mod cmd;
mod comparison;
mod connection;
mod context;
mod failure;
mod input;
mod interleave;
mod local;
mod logging;
mod manifest;
mod output;
mod settings;
mod steps;
mod transfer;

use std::{env, ffi::OsStr, process::ExitCode};

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use self::{
    cmd::{compare, import, init, mock, noise, openapi, parse, push, restore, run, serve},
    failure::Result,
    manifest::Manifest,
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
    Run(Box<run::Run>),
    /// Write the tidemark.toml of a repository
    Init(init::Init),
    /// Bring results that were kept on this machine to a server
    Push(push::Push),
    /// Show what a benchmark tool printed, without sending it anywhere
    Parse(parse::Parse),
    /// Compare two result files, or two commits, and say what became better or worse
    Compare(Box<compare::Compare>),
    /// Bring results of the past from files or from another server
    Import(Box<import::Import>),
    /// Make up results to try things out with
    Mock(mock::Mock),
    /// Measure how much this machine varies, and say what to do about it
    Noise(noise::Noise),
    /// Show what is known of where we are: branch, commit, pull request, machine
    Context(context::Show),
    /// Run the server
    Serve(serve::Serve),
    /// Bring back a backup of the SQLite database
    Restore(restore::Restore),
    /// Print the description of the HTTP API
    #[command(hide = true)]
    Openapi,
}

fn main() -> ExitCode {
    let manifest = Manifest::find();
    let mut command = forget_empty(Arguments::command());
    if let Ok(manifest) = &manifest {
        command = manifest.apply(command);
    }
    let arguments = Arguments::from_arg_matches(&command.get_matches_mut());
    let arguments = arguments.unwrap_or_else(|error| error.format(&mut command).exit());
    match arguments.command.run(manifest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}

impl Cmd {
    /// Does what was asked for. What is wrong with the file of the repository matters to those who go by it.
    fn run(self, manifest: Result<Manifest>) -> Result {
        match self {
            Self::Context(show) => show.run(),
            Self::Init(init) => init.run(),
            Self::Compare(compare) => compare.run(),
            Self::Mock(mock) => mock.run(),
            Self::Noise(noise) => noise.run(),
            Self::Serve(serve) => serve.run(),
            Self::Restore(restore) => restore.run(),
            Self::Openapi => openapi::print(),
            Self::Run(run) => run.run(&manifest?),
            Self::Push(push) => manifest.and_then(|_| push.run()),
            Self::Import(import) => manifest.and_then(|_| import.run()),
            Self::Parse(parse) => parse.run(),
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
