//! The development tasks of this repository, started as `cargo xtask <command>`.
//!
//! Requires Rust, a C compiler and a Unix; each command installs or names anything else that it requires.
//! Nothing here is part of the product.

mod agents;
#[cfg(test)]
mod architecture;
mod bench;
mod check;
mod conformance;
mod console;
mod openapi;
mod postgres;
mod run;
mod s3;
mod server;
mod service;
mod test;
mod timing;
mod tools;

use std::process::ExitCode;

use clap::Parser;

/// Result of a task; the error is one sentence: what went wrong and what to do.
type Result<T = ()> = std::result::Result<T, String>;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Development tasks of this repository.")]
enum Chore {
    /// Build the console and the binary, then start the server.
    Run {
        /// Flags for `tidemark serve`, after `--`.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Run every test on both database engines, against a live server and in a browser.
    Test {
        /// Run only the Rust tests whose name contains one of these words, or all tests of the crates `adapters`, `api`, `render`
        /// and `stats`.
        filters: Vec<String>,
    },
    /// Check the format, the lints, the unit tests of changed crates, and the lints and types of the console.
    Check {
        /// Test the crates that changed since this commit [default: the upstream branch, or else the last commit].
        #[arg(long)]
        since: Option<String>,
    },
    /// Build or test the console, update its screenshots, or measure its speed.
    Console {
        /// Task.
        #[arg(default_value = "build")]
        part: console::Part,
    },
    /// Run schemathesis against a live server, to verify that it conforms to its API description.
    Conformance,
    /// Call every MCP tool of a live server with third-party clients.
    Agents,
    /// Generate `openapi.json` from the routes of the server.
    Openapi {
        /// Only check whether the file is up to date.
        #[arg(long)]
        check: bool,
    },
    /// Run the performance benchmarks of the project.
    Bench {
        /// Measure only this part.
        part: Option<bench::Part>,
    },
}

fn main() -> ExitCode {
    let outcome = match Chore::parse() {
        Chore::Run { arguments } => run::serve(&arguments),
        Chore::Test { filters } => test::all(&filters),
        Chore::Check { since } => check::all(since.as_deref()),
        Chore::Console { part } => console::run(part),
        Chore::Conformance => conformance::check(),
        Chore::Agents => agents::check(),
        Chore::Openapi { check: false } => openapi::write(),
        Chore::Openapi { check: true } => openapi::check(),
        Chore::Bench { part } => bench::run(part),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("cargo xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
