//! `cargo xtask bench`: the measurements behind what the project claims about its speed.

use std::env;

use crate::{
    Result, postgres,
    test::POSTGRES,
    tools::{self, say},
};

/// Build the optimized server and measure it, on both engines.
pub(crate) fn all() -> Result {
    say("Building the optimized server; the first time takes a few minutes.");
    tools::run(&mut tools::cargo(&["build", "--release", "--package", "tidemark", "--package", "benches"])?)?;
    let mut measure = tools::cargo(&["run", "--release", "--quiet", "--package", "benches"])?;
    if env::var_os(POSTGRES).is_some() {
        return tools::run(&mut measure);
    }
    say("Starting a private PostgreSQL server.");
    let postgres =
        postgres::start().map_err(|reason| format!("{reason} (or name a server in {POSTGRES})"))?;
    tools::run(measure.env(POSTGRES, &postgres.url))
}
