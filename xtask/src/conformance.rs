//! `cargo xtask conformance`: schemathesis sends a live server whatever its own API description allows and forbids, and
//! checks every answer against that description. Its settings stand in `xtask/conformance/`.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use crate::{
    Result, server, service,
    tools::{self, say},
};

/// The version that the settings were written for.
const SCHEMATHESIS: &str = "4.32.5";

/// The version of its generator: another one would send other requests, and our hooks reach into it.
const HYPOTHESIS: &str = "6.170.15";

/// How long the run may take on a busy machine; it needs about 80 seconds of one core, as `max-examples` has it.
const LIMIT: Duration = Duration::from_secs(25 * 60);

/// Run schemathesis against a fresh server, as its administrator.
pub(crate) fn check() -> Result {
    let python = schemathesis()?;
    say("Building the server for the conformance run.");
    // Along with the tests, which are built already: the server alone would have its dependencies built again, with
    // fewer features.
    tools::run(&mut tools::cargo(&["build", "--workspace", "--bins", "--tests"])?)?;

    let work = settings()?;
    let log = work.join("server.log");
    let data = service::folder("conformance")?;
    let address = format!("127.0.0.1:{}", tools::free_port()?);
    let _server = server::start(&work.join("tidemark.toml"), &data, &address, &log)?;

    let session = tools::read(
        Command::new(python.join("python"))
            .arg(work.join("prepare.py"))
            .arg(format!("http://{address}"))
            .arg(&data)
            .arg(&work),
    )?;
    say("Running schemathesis against the live server.");
    tools::run_within(
        LIMIT,
        Command::new(python.join("schemathesis"))
            .args(["run", &format!("http://{address}/v0/server/spec"), "--url", &format!("http://{address}")])
            .env("TIDEMARK_SESSION", session.trim())
            .current_dir(&work),
    )
    .map_err(|reason| format!("{reason}; the server's log is {}", log.display()))
}

/// Copy the settings to where the run may leave files beside them.
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

/// Install schemathesis and return where its programs are.
fn schemathesis() -> Result<PathBuf> {
    tools::python(
        &format!("schemathesis-{SCHEMATHESIS}-{HYPOTHESIS}"),
        &[format!("schemathesis=={SCHEMATHESIS}"), format!("hypothesis=={HYPOTHESIS}")],
        "import schemathesis",
    )
}
