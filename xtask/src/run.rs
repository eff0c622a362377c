//! `cargo xtask run`: build the console and the binary, and start the service.

use std::{os::unix::process::CommandExt, process::Command};

use crate::{
    Result, console,
    tools::{self, say},
};

/// Compiles in a third of the time of `release`. Cargo.toml says how.
const PROFILE: &str = "try";

/// Builds the console and the binary, then becomes `tidemark serve`.
pub(crate) fn serve(arguments: &[String]) -> Result {
    console::build()?;
    say(&format!("Building tidemark with the profile `{PROFILE}`; the first build takes a few minutes."));
    tools::run(&mut tools::cargo(&["build", "--profile", PROFILE, "--package", "tidemark"])?)?;
    let program = tools::target()?.join(PROFILE).join("tidemark");
    say(&format!("Starting {} serve.", program.display()));
    // Becoming the server, instead of watching it, leaves signals and the exit code to it.
    let error = Command::new(&program).arg("serve").args(arguments).exec();
    Err(format!("{} could not be started: {error}", program.display()))
}
