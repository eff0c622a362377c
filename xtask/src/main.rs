//! The development tasks of this repository, started as `cargo xtask <command>`.
//!
//! Requires Rust, a C compiler and a Unix; each command installs or names anything else that it requires.
//! Nothing here is part of the product.

mod agents;
#[cfg(test)]
mod architecture;
mod artifacts;
mod bench;
mod changelog;
mod check;
mod conformance;
mod console;
mod dist;
mod docs;
mod in_process;
#[cfg(test)]
mod install;
mod openapi;
mod postgres;
mod release;
mod run;
mod s3;
mod server;
mod service;
mod test;
mod timing;
mod tools;
mod workflow;

use std::{path::PathBuf, process::ExitCode};

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
        /// Also build every artifact of `cargo xtask dist`, install it as a user does, and check the workflows.
        #[arg(long, conflicts_with = "filters")]
        full: bool,
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
    /// Build the manual, which the binary embeds, and check its links.
    Docs {
        /// Only check the links.
        #[arg(long, conflicts_with = "run")]
        check: bool,
        /// Run the tutorials with these names, or all of them, against a live server.
        #[arg(long, value_name = "TUTORIAL", num_args = 0..)]
        run: Option<Vec<String>>,
    },
    /// Run schemathesis against a live server, to verify that it conforms to its API description.
    Conformance,
    /// Call every MCP tool of a live server with third-party clients.
    Agents,
    /// Build the optimized binary and every package for this platform.
    Dist {
        /// Only write the checksums of the files in this folder.
        #[arg(long, value_name = "FOLDER")]
        checksums: Option<PathBuf>,
        /// Also install every artifact as a user does, and run a benchmark with it.
        #[arg(long)]
        check: bool,
        /// Package the binary of the last build.
        #[arg(long)]
        no_build: bool,
    },
    /// Check version, changelog, tag and artifacts, then push the tag of a release.
    Release {
        /// Only run the checks.
        #[arg(long)]
        dry_run: bool,
        /// Folder of the artifacts [default: the artifacts of `cargo xtask dist`].
        #[arg(long, value_name = "FOLDER")]
        artifacts: Option<PathBuf>,
    },
    /// Check the workflows of GitHub Actions with actionlint.
    Workflows,
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
        Chore::Test { filters, full } => test::all(&filters, full),
        Chore::Check { since } => check::all(since.as_deref()),
        Chore::Console { part } => console::run(part),
        Chore::Docs { run: Some(names), .. } => docs::run_tutorials(&names),
        Chore::Docs { check: true, .. } => docs::check(),
        Chore::Docs { check: false, .. } => docs::build(),
        Chore::Conformance => conformance::check(),
        Chore::Agents => agents::check(),
        Chore::Dist { checksums: Some(folder), .. } => dist::write_checksums(&folder),
        Chore::Dist { check: false, no_build, .. } => dist::all(!no_build).map(drop),
        Chore::Dist { check: true, no_build, .. } => artifacts::all(!no_build),
        Chore::Release { dry_run, artifacts } => release::run(dry_run, artifacts.as_deref()),
        Chore::Workflows => workflow::check(),
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
