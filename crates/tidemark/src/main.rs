//! The one binary. This file is the table of commands and the end of every failure; what a command does is in the
//! file of its name.
//!
//! It ends with 0 when all went well, 1 when something failed, and 2 when it was called wrongly.

mod failure;
mod logging;
mod openapi;
mod restore;
mod serve;
mod settings;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Continuous benchmarking: a server that keeps the results of benchmarks and tells when they get worse.
#[derive(Parser)]
#[command(name = "tidemark", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Cmd,
}

#[derive(Subcommand)]
enum Cmd {
    /// Run the server
    Serve(serve::Serve),
    /// Bring back a backup of the SQLite database
    Restore(restore::Restore),
    /// Print the description of the HTTP API
    #[command(hide = true)]
    Openapi,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Cmd::Serve(serve) => serve.run(),
        Cmd::Restore(restore) => restore.run(),
        Cmd::Openapi => openapi::print(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_table_of_commands_is_sound() {
        super::Arguments::command().debug_assert();
    }
}
