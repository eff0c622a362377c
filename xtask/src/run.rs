//! `cargo xtask run`: build everything and start the service.

use std::{os::unix::process::CommandExt, process::Command};

use crate::{
    Result,
    tools::{self, say},
};

/// Build the console and the binary, then become `tidemark serve`.
pub(crate) fn serve(arguments: &[String]) -> Result {
    console()?;
    say("Building tidemark; the first time takes a few minutes.");
    tools::run(&mut tools::cargo(&["build", "--release", "--package", "tidemark"])?)?;
    let program = tools::target()?.join("release/tidemark");
    say(&format!("Starting {} serve.", program.display()));
    // Becoming the server, instead of watching it, leaves signals and the exit code to it.
    let error = Command::new(&program).arg("serve").args(arguments).exec();
    Err(format!("{} could not be started: {error}", program.display()))
}

/// Build the console, which the binary embeds.
fn console() -> Result {
    let console = tools::root()?.join("console");
    if !console.join("package.json").is_file() {
        return Ok(());
    }
    if tools::find("npm").is_none() {
        return Err("npm is missing; install Node with npm to build the console".to_owned());
    }
    say("Building the console.");
    tools::run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&console))?;
    tools::run(Command::new("npm").args(["run", "build"]).current_dir(&console))
}
