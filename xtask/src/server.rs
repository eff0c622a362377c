//! A Tidemark server from the current build, for tests that connect from outside.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::Duration,
};

use crate::{Result, service::Service, tools};

/// A running server.
pub(crate) struct Server {
    /// Address of its socket.
    pub(crate) address: String,
    _service: Service,
}

/// Starts a server on a free port and waits until it is ready.
pub(crate) fn start(config: &Path, data: &Path, log: &Path) -> Result<Server> {
    let output =
        File::create(log).map_err(|error| format!("{} could not be made: {error}", log.display()))?;
    let errors = output.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(tools::binary()?);
    command
        .arg("serve")
        .arg("--config")
        .arg(config)
        .args(["--bind", "127.0.0.1:0"])
        .arg("--data-dir")
        .arg(data);
    command.stdout(output).stderr(errors);
    let mut service = Service::start(&mut command, data.to_path_buf())?;
    let mut address = None;
    service
        .wait(|| {
            address = fs::read_to_string(log).ok().and_then(|log| listening(&log));
            address.as_deref().is_some_and(is_ready)
        })
        .map_err(|reason| format!("the server did not start: {reason}; its log is {}", log.display()))?;
    Ok(Server { address: address.unwrap_or_default(), _service: service })
}

/// Returns the address in the log line of a listening server.
fn listening(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("\"message\":\"listening\""))?;
    Some(line.split_once("\"address\":\"")?.1.split_once('"')?.0.to_owned())
}

/// Whether the server reports that it is ready.
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
