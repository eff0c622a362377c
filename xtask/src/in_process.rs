//! Runs the HTTP tests of the server in one process, as `cargo test` does. Most of them are shorter than the start of a process,
//! which generates the API description and connects to PostgreSQL. nextest, which starts a process per test, runs all others.

use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    Result,
    tools::{self, say},
};

/// Name that nextest gives the tests.
pub(crate) const BINARY: &str = "tidemark-server::it";

/// Parts of the names of tests that nextest runs nevertheless: `.config/nextest.toml` has the reasons.
pub(crate) const EXCEPT: [&str; 9] = [
    "a_backup_under_load",
    "concurrency::",
    "early_answer::",
    "garbage::",
    "registry::fuzz::",
    "registry::upload::",
    "servers_on_one_database",
    "servers_signal_each_other_at_once",
    "stream::",
];

/// Returns the filter with which nextest runs the other tests.
pub(crate) fn rest() -> String {
    let names = EXCEPT.map(|name| format!("test({name})")).join(" | ");
    format!("not binary_id({BINARY}) | {names}")
}

/// A run with the output in a file.
pub(crate) struct Run {
    command: Command,
    log: PathBuf,
}

impl Run {
    /// Prepares a run of the tests whose names contain one of the filters; without filters, of all tests.
    pub(crate) fn new(threads: usize, filters: &[String], variables: &[(&str, OsString)]) -> Result<Self> {
        let log = tools::target()?.join("server-tests.log");
        let (program, folder) = find()?;
        let mut command = Command::new(program);
        command
            .args(["--test-threads", &threads.to_string(), "--report-time", "-Zunstable-options"])
            // Allows the two flags for the times of the tests, which are not stable.
            .env("RUSTC_BOOTSTRAP", "1")
            .args(EXCEPT.iter().flat_map(|name| ["--skip", name]))
            .args(filters)
            .current_dir(folder)
            .envs(variables.iter().map(|(name, value)| (name, value)));
        Ok(Self { command, log })
    }

    /// Runs the tests, prints the output when they end, and returns the names and seconds of the tests.
    pub(crate) fn execute(mut self) -> (Vec<(String, f64)>, Result) {
        let outcome = self.execute_to_log();
        let output = fs::read_to_string(&self.log).unwrap_or_default();
        say("The tests of the server ended:");
        eprintln!("{}", output.trim_end());
        (output.lines().filter_map(read_line).collect(), outcome)
    }

    fn execute_to_log(&mut self) -> Result {
        let failed = |error| format!("{} could not be written: {error}", self.log.display());
        let output = File::create(&self.log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        tools::run_within(tools::HANG, self.command.stdout(output).stderr(errors))
            .map_err(|_| "tests of the server failed; their output is above".to_owned())
    }
}

/// Returns the program of the tests, and the folder in which it runs.
fn find() -> Result<(PathBuf, PathBuf)> {
    let arguments =
        ["nextest", "list", "--workspace", "--list-type", "binaries-only", "--message-format", "json"];
    let list = tools::read_quietly(&mut tools::cargo(&arguments)?)?;
    let list: Value =
        serde_json::from_str(&list).map_err(|error| format!("`cargo nextest list`: {error}"))?;
    let program = list["rust-binaries"][BINARY]["binary-path"].as_str();
    let program = program.ok_or_else(|| format!("`cargo nextest list` lists no binary {BINARY}"))?;
    Ok((Path::new(program).to_owned(), tools::root()?.join("crates/server")))
}

/// Reads a line such as `test branch::sqlite ... ok <0.250s>`.
fn read_line(line: &str) -> Option<(String, f64)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let seconds = outcome.split_once('<')?.1.strip_suffix("s>")?.parse().ok()?;
    Some((name.to_owned(), seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_name_and_the_seconds_of_a_test() {
        assert_eq!(
            read_line("test branch::sqlite ... ok <0.250s>"),
            Some(("branch::sqlite".to_owned(), 0.25))
        );
        assert_eq!(
            read_line("test branch::sqlite ... FAILED <1.000s>"),
            Some(("branch::sqlite".to_owned(), 1.0))
        );
        assert_eq!(read_line("test branch::sqlite ... ok"), None);
        assert_eq!(read_line("test branch::sqlite has been running for over 60 seconds"), None);
    }
}
