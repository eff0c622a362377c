//! A Tidemark server for the tests that speak to it from outside, as it was just built.

use std::{
    fs::File,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::Duration,
};

use crate::{Result, service::Service, tools};

/// Start a server and wait until it is ready.
pub(crate) fn start(config: &Path, data: &Path, address: &str, log: &Path) -> Result<Service> {
    let output =
        File::create(log).map_err(|error| format!("{} could not be made: {error}", log.display()))?;
    let errors = output.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(tools::target()?.join("debug/tidemark"));
    command.arg("serve").arg("--config").arg(config).args(["--bind", address]).arg("--data-dir").arg(data);
    command.stdout(output).stderr(errors);
    let mut service = Service::start(&mut command, data.to_path_buf())?;
    service
        .wait(|| is_ready(address))
        .map_err(|reason| format!("the server did not start: {reason}; its log is {}", log.display()))?;
    Ok(service)
}

/// Whether the server says that it can do its work.
fn is_ready(address: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
}
