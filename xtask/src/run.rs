//! `cargo xtask run`: builds the console and the binary, and starts the service.

use std::{os::unix::process::CommandExt, process::Command};

use crate::{
    Result, console,
    tools::{self, say},
};

/// Build profile that compiles in a third of the time of `release`; defined in Cargo.toml.
const PROFILE: &str = "try";

/// Builds the console and the binary, then replaces this process with `tidemark serve`.
pub(crate) fn serve(arguments: &[String]) -> Result {
    console::build()?;
    say(&format!("Building tidemark with the profile `{PROFILE}`; the first build takes a few minutes."));
    tools::run(&mut tools::cargo(&["build", "--profile", PROFILE, "--package", "tidemark"])?)?;
    let program = tools::target()?.join(PROFILE).join("tidemark");
    say(&format!("Starting {} serve.", program.display()));
    // The server replaces this process, so that it receives the signals and sets the exit status itself.
    let error = Command::new(&program).arg("serve").args(arguments).exec();
    Err(format!("{} could not be started: {error}", program.display()))
}
