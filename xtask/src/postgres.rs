//! A private PostgreSQL server for one test run: on the loopback address, deleted afterwards.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Result,
    service::{self, Service},
    tools,
};

/// Folder in which Debian installs its PostgreSQL versions, outside the search path.
const DEBIAN: &str = "/usr/lib/postgresql";

/// No durability, because no data must survive a crash; many connections, because every test has its own pool.
const SETTINGS: [&str; 11] = [
    // Autovacuum would visit hundreds of databases that exist for one second each.
    "autovacuum=off",
    // Without statistics, the planner overestimates costs and compiles queries that run once.
    "jit=off",
    "wal_level=minimal",
    "max_wal_size=256MB",
    "max_wal_senders=0",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=400",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
];

/// A running PostgreSQL server. Dropping it stops the server and deletes its data.
pub(crate) struct Postgres {
    /// URL with which tests connect as a superuser.
    pub(crate) url: String,
    _service: Service,
}

/// Number of ports that a server tries: another process may take a port between our choice and the start.
const PORTS: usize = 5;

/// Installs PostgreSQL if it is missing, and returns the folder of its programs.
pub(crate) fn install() -> Result<PathBuf> {
    if let Some(programs) = programs() {
        return Ok(programs);
    }
    tools::install(&["postgresql"])?;
    programs().ok_or_else(|| {
        "the package postgresql brought no server; install a PostgreSQL server by hand".to_owned()
    })
}

/// Starts a new, empty PostgreSQL server. Installs PostgreSQL if it is missing.
pub(crate) fn start() -> Result<Postgres> {
    let programs = install()?;
    let mut outcome = listen(&programs);
    for _ in 1..PORTS {
        if outcome.is_ok() {
            break;
        }
        outcome = listen(&programs);
    }
    outcome
}

fn listen(programs: &Path) -> Result<Postgres> {
    let port = tools::free_port()?;
    let folder = service::folder("postgres")?;
    let data = folder.join("data");
    let log = folder.join("log");
    let output =
        File::create(&log).map_err(|error| format!("{} could not be made: {error}", log.display()))?;

    let as_root = tools::is_root();
    if as_root {
        tools::run(Command::new("chown").arg("postgres").arg(&folder))?;
    }
    // PostgreSQL refuses to run as root; its package creates a user for it.
    let command = |program: &str| {
        let program = programs.join(program);
        if as_root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        }
    };
    // Both programs must start in a folder that their user can read.
    tools::run(
        command("initdb")
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .arg(&data)
            .current_dir(&folder)
            .stdout(Stdio::null()),
    )
    .inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;

    let mut server = command("postgres");
    server.arg("-D").arg(&data).arg("-p").arg(port.to_string()).current_dir(&folder);
    for setting in SETTINGS {
        server.args(["-c", setting]);
    }
    server.stdout(Stdio::null()).stderr(output);
    let mut service = Service::start(&mut server, folder)?;
    service
        .wait(|| {
            tools::succeeds(
                Command::new(programs.join("pg_isready"))
                    .args(["--quiet", "--host=127.0.0.1", "--username=postgres", "--dbname=postgres"])
                    .arg(format!("--port={port}")),
            )
        })
        .map_err(|reason| format!("PostgreSQL did not start: {reason}. {}", last_line(&log)))?;
    Ok(Postgres { url: format!("postgres://postgres@127.0.0.1:{port}/postgres"), _service: service })
}

/// Returns the folder of the newest PostgreSQL server on this machine.
fn programs() -> Option<PathBuf> {
    let version = |folder: &Path| folder.file_name()?.to_str()?.parse::<u32>().ok();
    fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| folder.join("bin/postgres").is_file())
        .max_by_key(|folder| version(folder))
        .map(|folder| folder.join("bin"))
        .or_else(|| tools::find("postgres"))
}

/// Returns the last line of a server's log.
fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or("It wrote nothing into its log.").to_owned()
}
