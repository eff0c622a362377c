//! `cargo xtask bench`: measures the performance that the documentation states.

use std::env;

use clap::ValueEnum;

use crate::{
    Result, postgres,
    test::POSTGRES,
    tools::{self, say},
};

/// What can be measured alone.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Part {
    /// How long a start takes, and the simplest requests.
    Start,
    /// Long lists of names.
    List,
    /// Reports, and what is asked about them.
    Report,
    /// Changes: in a series, with each value, and in millions of values of a database.
    Change,
    /// Reports of a project that is watched for changes, until the server is idle again.
    Watch,
    /// Pictures.
    Picture,
    /// The command line.
    Cli,
    /// A large blob through the container registry; `TIDEMARK_BENCH_BLOB` tells its size in MiB.
    Registry,
}

/// Builds the optimized server and measures it, or one part of it, on both engines.
pub(crate) fn run(part: Option<Part>) -> Result {
    say("Building the optimized server; the first time takes a few minutes.");
    tools::run(&mut tools::cargo(&["build", "--release", "--package", "tidemark", "--package", "benches"])?)?;
    let mut measure = tools::cargo(&["run", "--release", "--quiet", "--package", "benches"])?;
    if let Some(name) = part.and_then(|part| part.to_possible_value()) {
        measure.args(["--", name.get_name()]);
    }
    if env::var_os(POSTGRES).is_some() {
        return tools::run(&mut measure);
    }
    say("Starting a private PostgreSQL server.");
    let postgres =
        postgres::start().map_err(|reason| format!("{reason} (or name a server in {POSTGRES})"))?;
    tools::run(measure.env(POSTGRES, &postgres.url))
}
