//! A private server that speaks S3, for the tests of the registry: moto, installed into a folder of its own.

use std::{
    net::TcpStream,
    process::{Command, Stdio},
};

use crate::{
    Result,
    service::{self, Service},
    tools,
};

/// The version that the tests were written with.
const MOTO: &str = "5.2.5";

/// A running server.
pub(crate) struct S3 {
    _service: Service,
    /// Where it listens.
    pub(crate) url: String,
}

/// Start a server on a free port of the loopback address.
pub(crate) fn start() -> Result<S3> {
    let programs =
        tools::python(&format!("moto-{MOTO}"), &[format!("moto[server]=={MOTO}")], "import moto.server")?;
    let port = tools::free_port()?;
    let folder = service::folder("s3")?;
    let mut service = Service::start(
        Command::new(programs.join("moto_server"))
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
        folder,
    )?;
    service
        .wait(|| TcpStream::connect(("127.0.0.1", port)).is_ok())
        .map_err(|reason| format!("the S3 server for the tests did not start: {reason}"))?;
    Ok(S3 { _service: service, url: format!("http://127.0.0.1:{port}") })
}
