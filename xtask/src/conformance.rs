//! `cargo xtask conformance`: schemathesis sends a live server requests that its API description allows and forbids,
//! and checks every response against the description. Its settings are in `xtask/conformance/`.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    Result, server, service,
    tools::{self, say},
};

/// Version of schemathesis that the settings were written for.
const SCHEMATHESIS: &str = "4.32.5";

/// Version of the request generator: another version would send other requests, and our hooks use its internals.
const HYPOTHESIS: &str = "6.170.15";

/// Runs schemathesis against a fresh server, as its administrator.
pub(crate) fn check() -> Result {
    let python = schemathesis()?;
    tools::build()?;

    let work = settings()?;
    let log = work.join("server.log");
    let data = service::folder("conformance")?;
    let server = server::start(&work.join("tidemark.toml"), &data, &log)?;
    let url = format!("http://{}", server.address);

    let session = tools::read(
        Command::new(python.join("python")).arg(work.join("prepare.py")).arg(&url).arg(&data).arg(&work),
    )?;
    say("Running schemathesis against the live server.");
    tools::run_within(
        tools::HANG,
        Command::new(python.join("schemathesis"))
            .args(["run", &format!("{url}/v0/server/spec"), "--url", &url])
            .env("TIDEMARK_SESSION", session.trim())
            .current_dir(&work),
    )
    .map_err(|reason| format!("{reason}; the server's log is {}", log.display()))
}

/// Copies the settings to a folder in which the run may create files.
fn settings() -> Result<PathBuf> {
    let source = tools::root()?.join("xtask/conformance");
    let work = tools::target()?.join("conformance");
    let copy = || -> std::io::Result<()> {
        fs::create_dir_all(&work)?;
        for entry in fs::read_dir(&source)? {
            let entry = entry?;
            fs::copy(entry.path(), work.join(entry.file_name()))?;
        }
        Ok(())
    };
    copy().map_err(|error| format!("{} could not be copied: {error}", source.display()))?;
    Ok(work)
}

/// Installs schemathesis.
pub(crate) fn install() -> Result {
    schemathesis().map(drop)
}

/// Installs schemathesis and returns the folder of its programs.
fn schemathesis() -> Result<PathBuf> {
    tools::python(
        &format!("schemathesis-{SCHEMATHESIS}-{HYPOTHESIS}"),
        &[format!("schemathesis=={SCHEMATHESIS}"), format!("hypothesis=={HYPOTHESIS}")],
        "import schemathesis",
    )
}
