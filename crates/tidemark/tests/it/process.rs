//! A server in its own process, and a PostgreSQL database for it.

use std::{
    env,
    io::{self, BufRead, BufReader, Read},
    mem,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use tokio::net::TcpSocket;
use tokio_postgres::NoTls;

/// Deadline of every wait. It stops a test that hangs; no test may depend on the speed of the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Polls until a condition is true.
pub(crate) fn wait_until(missing: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < PATIENCE, "{missing}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Skips a part of a test that this machine cannot run. With `cargo xtask test`, which installs the runtime, it fails
/// instead.
pub(crate) fn skip_container(reason: &str) {
    assert!(
        env::var_os("TIDEMARK_TEST_CONTAINERS").is_none(),
        "{reason}: set TIDEMARK_TEST_SKIP_CONTAINERS=1 to go without the tests that run a container"
    );
    eprintln!("SKIPPED: {reason}");
}

/// Whether this machine can run jobs; otherwise skips the test.
pub(crate) fn has_containers(folder: &Path) -> bool {
    let mut check = tidemark(&["runner", "check", "--json", "--data-dir"]);
    let check = check.arg(folder.join("check")).output().unwrap();
    let found = String::from_utf8_lossy(&check.stdout);
    eprintln!("{found}");
    if !check.status.success() {
        skip_container(&format!("this machine cannot run containers: {found}"));
    }
    check.status.success()
}

/// A port that the system gives to no other process until this value is dropped. Servers of the test can listen on it, one
/// after the other.
pub(crate) struct Port {
    pub(crate) address: String,
    _socket: Option<TcpSocket>,
}

impl Port {
    /// Binds a port without listening on it.
    pub(crate) fn reserve() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = socket.local_addr().unwrap().to_string();
        // Only Linux lets a second socket listen on the port.
        Self { address, _socket: cfg!(target_os = "linux").then_some(socket) }
    }
}

/// A running server, which stops when dropped.
pub(crate) struct Server {
    process: Child,
    log: Box<dyn BufRead + Send + Sync>,
    pub(crate) address: String,
}

impl Server {
    /// Starts a server with its data in this folder.
    pub(crate) fn start(data: &Path) -> Self {
        Self::spawn(tidemark(&["serve", "--bind", "127.0.0.1:0", "--data-dir"]).arg(data))
    }

    /// Starts a server and waits until it listens.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = Box::new(BufReader::new(process.stderr.take().unwrap()));
        let mut server = Self { process, log, address: String::new() };
        let line = server.find("\"message\":\"listening\"");
        server.address = line.split("\"address\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        server
    }

    /// Returns the next line of the log that contains `part`.
    pub(crate) fn find(&mut self, part: &str) -> String {
        let mut lines = self.log.by_ref().lines().map(Result::unwrap);
        lines.find(|line| line.contains(part)).unwrap()
    }

    /// Discards the log: a server that writes much would block on the pipe.
    pub(crate) fn drain(&mut self) {
        let mut log = mem::replace(&mut self.log, Box::new(io::empty()));
        thread::spawn(move || io::copy(&mut log, &mut io::sink()));
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Kills the process, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Returns a path as the server sees it, which may have mounted a file system there.
    #[cfg(target_os = "linux")]
    pub(crate) fn seen_by(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.process.id()));
        root.join(path.strip_prefix("/").unwrap())
    }

    /// Waits for the exit, and returns the exit status and the rest of the log.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Path of the command.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tidemark");

/// Returns the command without settings from the environment.
pub(crate) fn tidemark(arguments: &[&str]) -> Command {
    let mut command = isolated(BINARY);
    command.args(arguments);
    command
}

/// Returns a program without Tidemark settings from the environment.
pub(crate) fn isolated(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEMARK_")) {
        command.env_remove(name);
    }
    let nowhere = env!("CARGO_TARGET_TMPDIR");
    command.env("HOME", nowhere).env_remove("XDG_CONFIG_HOME");
    command
}

/// Creates a PostgreSQL database on the server in `TIDEMARK_TEST_POSTGRES`, and returns its URL.
pub(crate) fn create_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let url = env::var("TIDEMARK_TEST_POSTGRES")
        .expect("TIDEMARK_TEST_POSTGRES names a PostgreSQL server; `cargo xtask test` starts one");
    let name = format!("process_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("drop database if exists {name}")).await.unwrap();
        client.batch_execute(&format!("create database {name} template template0")).await.unwrap();
    });
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}
