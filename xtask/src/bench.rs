//! `cargo xtask bench`: measures the performance that the documentation states.

use std::env;

use clap::ValueEnum;

use crate::{
    Result, postgres,
    test::POSTGRES,
    tools::{self, say},
};

/// Parts that can be measured separately.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Startup time and the simplest requests.
    Start,
    /// Long lists of names.
    List,
    /// Reports, and queries about them.
    Report,
    /// Change detection: in a series, value by value, and in a database with millions of values.
    Change,
    /// Reports of a project with change detection, until the server is idle again.
    Watch,
    /// Images.
    Picture,
    /// Command line.
    Cli,
    /// Transfer of a large blob through the container registry; `TIDEMARK_BENCH_BLOB` is its size in MiB.
    Registry,
    /// Speed and peak memory of the adapters, with every fixture.
    Adapters,
    /// Simulated searches for a commit: rate of success and number of runs, compared with plain `git bisect`.
    Bisect,
}

/// Builds the optimized server and measures it, or one part of it, on both engines.
pub(crate) fn run(part: Option<Part>) -> Result {
    if !matches!(part, Some(Part::Adapters | Part::Bisect)) {
        server(part)?;
    }
    if part.is_none_or(|part| part == Part::Bisect) {
        say("Simulating searches for a commit; this takes some minutes.");
        let example = ["run", "--release", "--quiet", "--package", "tidemark-stats", "--example", "bisect"];
        tools::run(&mut tools::cargo(&example)?)?;
    }
    if part.is_none_or(|part| part == Part::Adapters) {
        say("Measuring the adapters.");
        tools::run(&mut tools::cargo(&[
            "bench",
            "--package",
            "tidemark-adapters",
            "--bench",
            "throughput",
        ])?)?;
    }
    Ok(())
}

fn server(part: Option<Part>) -> Result {
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
