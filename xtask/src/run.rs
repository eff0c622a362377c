//! `cargo xtask run`: build the console and the binary, and start the service.

use std::{os::unix::process::CommandExt, process::Command};

use crate::{
    Result, console,
    tools::{self, say},
};

/// Build the console and the binary, then become `tidemark serve`.
pub(crate) fn serve(arguments: &[String]) -> Result {
    console::build()?;
    say("Building tidemark; the first time takes a few minutes.");
    tools::run(&mut tools::cargo(&["build", "--release", "--package", "tidemark"])?)?;
    let program = tools::target()?.join("release/tidemark");
    say(&format!("Starting {} serve.", program.display()));
    // Becoming the server, instead of watching it, leaves signals and the exit code to it.
    let error = Command::new(&program).arg("serve").args(arguments).exec();
    Err(format!("{} could not be started: {error}", program.display()))
}
