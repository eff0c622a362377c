//! A private S3 server for the tests of the registry: moto, installed into its own folder.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{
    Result,
    service::{self, Service},
    tools,
};

/// Version that the tests were written with.
const MOTO: &str = "5.2.5";

/// A running server.
pub(crate) struct S3 {
    _service: Service,
    /// URL of the server.
    pub(crate) url: String,
}

/// Installs the server and returns the folder of its programs.
pub(crate) fn install() -> Result<PathBuf> {
    tools::python(&format!("moto-{MOTO}"), &[format!("moto[server]=={MOTO}")], "import moto.server")
}

/// Starts a server on a port of the loopback address that the server chooses.
pub(crate) fn start() -> Result<S3> {
    let programs = install()?;
    let folder = service::folder("s3")?;
    let log = folder.join("log");
    let output =
        File::create(&log).map_err(|error| format!("{} could not be made: {error}", log.display()))?;
    let mut service = Service::start(
        Command::new(programs.join("moto_server"))
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env("PYTHONUNBUFFERED", "1")
            .stdout(Stdio::null())
            .stderr(output),
        folder,
    )?;
    // The first line that the server prints once it listens: ` * Running on http://127.0.0.1:41931`.
    let mut url = None;
    service
        .wait(|| {
            let text = fs::read_to_string(&log).unwrap_or_default();
            url = text
                .split_once("Running on ")
                .and_then(|(_, rest)| rest.split_once('\n'))
                .map(|(url, _)| url.trim().to_owned());
            url.is_some()
        })
        .map_err(|reason| format!("the S3 server for the tests did not start: {reason}"))?;
    Ok(S3 { _service: service, url: url.unwrap_or_default() })
}
