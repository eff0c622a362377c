//! `cargo xtask test`: every test of the repository, with the servers it needs.

use std::{env, ffi::OsString};

use crate::{
    Result, agents, conformance, console, postgres, s3,
    tools::{self, say},
};

/// Where the Rust tests look for a PostgreSQL server; set beforehand, it is used instead of a private one.
pub(crate) const POSTGRES: &str = "TIDEMARK_TEST_POSTGRES";

/// The same for a server that speaks S3.
const S3: &str = "TIDEMARK_TEST_S3";
/// Names a Python that has a payment provider for tests.
pub(crate) const LOCALSTRIPE: &str = "TIDEMARK_TEST_LOCALSTRIPE";
/// The payment provider that the tests were written with.
const LOCALSTRIPE_VERSION: &str = "1.15.10";

/// Set on machines where no file system may be mounted, to go without the tests of a full disk.
const SKIP_FULL_DISK: &str = "TIDEMARK_TEST_SKIP_FULL_DISK";

/// Run all tests, or with filters only the Rust tests whose name contains one of them.
pub(crate) fn all(filters: &[String]) -> Result {
    if filters.is_empty() {
        // First, so that the server under test has it.
        console::check()?;
    }
    rust(filters)?;
    if filters.is_empty() {
        conformance::check()?;
        agents::check()?;
        console::browse()?;
        say("Every test passed.");
    }
    Ok(())
}

/// Run the Rust tests on both engines.
fn rust(filters: &[String]) -> Result {
    if filters.is_empty() {
        say("Running the examples in the documentation.");
        tools::run(&mut tools::cargo(&["test", "--workspace", "--doc", "--quiet"])?)?;
    }

    // What stands in for a mail server is written in it.
    if tools::find("python3").is_none() {
        tools::install(&["python3"])?;
    }
    // A client of the registry that people use.
    if tools::find("skopeo").is_none() {
        tools::install(&["skopeo"])?;
    }
    // What runs jobs, and what is in their images.
    if tools::find("crun").is_none() || tools::find("busybox").is_none() {
        tools::install(&["crun", "busybox-static"])?;
    }
    let mut tests = if tools::succeeds(&mut tools::cargo(&["nextest", "--version"])?) {
        tools::cargo(&["nextest", "run", "--workspace"])?
    } else {
        tools::cargo(&["test", "--workspace", "--all-targets", "--"])?
    };
    tests.args(filters);
    if env::var_os(SKIP_FULL_DISK).is_some() {
        say(&format!(
            "The tests in full_disk.rs are skipped if they cannot be run, since {SKIP_FULL_DISK} is set."
        ));
    }

    let _s3 = match env::var_os(S3) {
        Some(_) => None,
        None => {
            say("Starting a private S3 server.");
            let s3 = s3::start().map_err(|reason| format!("{reason} (or name a server in {S3})"))?;
            tests.env(S3, &s3.url);
            Some(s3)
        }
    };
    tests.env(LOCALSTRIPE, localstripe()?);
    if env::var_os(POSTGRES).is_some() {
        say(&format!("Running the tests with the PostgreSQL server that {POSTGRES} names."));
        return tools::run(&mut tests);
    }
    say("Starting a private PostgreSQL server.");
    let postgres =
        postgres::start().map_err(|reason| format!("{reason} (or name a server in {POSTGRES})"))?;
    tests.env(POSTGRES, &postgres.url).env("PATH", search_path(&postgres)?);
    say("Running the Rust tests.");
    tools::run(&mut tests)
}

/// A Python that has a payment provider: the one that is named, or one of our own.
pub(crate) fn localstripe() -> Result<OsString> {
    if let Some(python) = env::var_os(LOCALSTRIPE) {
        return Ok(python);
    }
    let package = format!("localstripe=={LOCALSTRIPE_VERSION}");
    let name = format!("localstripe-{LOCALSTRIPE_VERSION}");
    Ok(tools::python(&name, &[package], "import localstripe.server")?.join("python").into())
}

/// The search path with the private server's programs first, so that `pg_dump` is of its version.
fn search_path(postgres: &postgres::Postgres) -> Result<OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    env::join_paths([postgres.programs.clone()].into_iter().chain(env::split_paths(&rest)))
        .map_err(|error| format!("{} cannot stand on the search path: {error}", postgres.programs.display()))
}
