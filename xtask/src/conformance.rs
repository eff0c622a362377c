//! `cargo xtask conformance`: schemathesis sends a live server whatever its own API description allows and forbids, and
//! checks every answer against that description. Its settings stand in `xtask/conformance/`.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    Result,
    service::{self, Service},
    tools::{self, say},
};

/// The version that the settings were written for.
const SCHEMATHESIS: &str = "4.32.5";

/// The version of its generator: another one would send other requests, and our hooks reach into it.
const HYPOTHESIS: &str = "6.170.15";

/// How long the run may take on a busy machine; it needs about 80 seconds of one core, as `max-examples` has it.
const LIMIT: Duration = Duration::from_secs(10 * 60);

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
    let _server = start(&work.join("tidemark.toml"), &data, &address, &log)?;

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

/// Start a server and wait until it is ready.
fn start(config: &Path, data: &Path, address: &str, log: &Path) -> Result<Service> {
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

/// Install schemathesis into a folder of its own and return where its programs are.
fn schemathesis() -> Result<PathBuf> {
    let folder = tools::target()?.join(format!("schemathesis-{SCHEMATHESIS}-{HYPOTHESIS}"));
    let programs = folder.join("bin");
    if tools::succeeds(Command::new(programs.join("schemathesis")).arg("--version")) {
        return Ok(programs);
    }
    if !tools::succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"])) {
        tools::install(&["python3", "python3-venv"])?;
    }
    say(&format!("Installing schemathesis {SCHEMATHESIS} into {}.", folder.display()));
    tools::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    tools::run(
        Command::new(programs.join("pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args([format!("schemathesis=={SCHEMATHESIS}"), format!("hypothesis=={HYPOTHESIS}")]),
    )?;
    Ok(programs)
}
