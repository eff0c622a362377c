//! Runs the container image with podman until the server is ready.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{RESULTS, Scratch, check_verdict, find};
use crate::{
    Result, dist,
    tools::{self, say},
};

/// Time limit for the start of the server; it only stops a check that hangs.
const START: Duration = Duration::from_secs(600);

/// Checks the image in a folder of artifacts.
pub(super) fn check(folder: &Path) -> Result {
    let scratch = Scratch::new("image")?;
    let podman = Podman { scratch };
    tools::run(podman.command(&["load", "--quiet", "--input"]).arg(find(folder, ".tar")?))?;
    let image = format!("{}:{}", dist::IMAGE, dist::version()?);
    let outcome = podman.serve(&image).and_then(|()| podman.benchmark(&image));
    // Also removes the anonymous volume.
    let _ = tools::read_quietly(&mut podman.command(&["rm", "--all", "--force", "--volumes", "--time", "1"]));
    let _ = tools::read_quietly(&mut podman.command(&["system", "reset", "--force"]));
    outcome
}

/// podman with its own storage.
struct Podman {
    scratch: Scratch,
}

impl Podman {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("podman");
        command.arg("--root").arg(self.scratch.folder.join("storage"));
        command.arg("--runroot").arg(self.scratch.folder.join("run"));
        command.args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]);
        if is_hybrid() {
            command.args(["--runtime", "runc"]);
        }
        command.args(arguments);
        command
    }

    /// Returns `podman run` with options that also work where a container cannot create its own network or raise limits.
    fn run(&self, options: &[&str]) -> Command {
        let mut command = self.command(&["run", "--network=host", "--read-only", "--cap-drop=all"]);
        command.args(["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]).args(options);
        command
    }

    /// Starts a server and waits until it is ready.
    fn serve(&self, image: &str) -> Result {
        let port = tools::free_port()?;
        let address = format!("127.0.0.1:{port}");
        let start = Instant::now();
        let bind = format!("TIDEMARK_SERVER__BIND_ADDRESS={address}");
        let container = tools::read(&mut self.run(&["--detach", "--env", &bind, image]))?;
        let container = container.trim();
        let log = || tools::read(&mut self.command(&["logs", container])).unwrap_or_default();
        while !is_ready(&address) {
            if start.elapsed() > START {
                return Err(format!("the server in the container did not become ready:\n{}", log()));
            }
            let state =
                tools::read(&mut self.command(&["inspect", "--format={{.State.Status}}", container]))?;
            if state.trim() == "exited" {
                return Err(format!("the server in the container stopped:\n{}", log()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        say(&format!("From `podman run` to ready: {:.1} s.", start.elapsed().as_secs_f64()));
        // The command of the health check.
        let host = format!("http://{address}");
        let health =
            ["exec", container, "/usr/bin/tidemark", "server", "version", "--host", &host, "--attempts", "1"];
        tools::run(&mut self.command(&health))?;
        let user = tools::read(&mut self.command(&["inspect", "--format={{.Config.User}}", container]))?;
        let check = tools::read(&mut self.command(&["image", "inspect", image]))?;
        if user.trim().starts_with('0') || !check.contains("/data") {
            return Err(format!("the image runs as user {} or has no volume", user.trim()));
        }
        tools::run(&mut self.command(&["stop", "--time=60", container]))
    }

    /// Runs `tidemark run` in a container, which has no shell.
    fn benchmark(&self, image: &str) -> Result {
        let file = self.scratch.folder.join("results.json");
        fs::write(&file, RESULTS).map_err(|error| dist::failed("written", &file, &error))?;
        let mount = format!("{}:/results.json:ro", file.display());
        let arguments = ["--rm", "--volume", &mount, image, "run", "--file", "/results.json"];
        check_verdict(&tools::read(&mut self.run(&arguments))?)
    }
}

/// Whether this machine has version 1 and version 2 of control groups, which crun does not support.
pub(super) fn is_hybrid() -> bool {
    Path::new("/sys/fs/cgroup/unified").exists()
}

/// Whether the server at an address responds to `/readyz` with 200.
fn is_ready(address: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}
