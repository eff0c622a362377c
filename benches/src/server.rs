//! The server under test: a separate process, with its data in a temporary folder.

use std::{
    env, fmt, fs,
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tidemark_store::{Entropy, Location};
use tokio_postgres::NoTls;

use crate::Result;

/// Timeout of the server's start and of each request.
const PATIENCE: Duration = Duration::from_secs(20);

/// Database engine of a server.
pub(crate) enum Engine {
    Sqlite,
    /// The PostgreSQL server at this URL.
    Postgres(String),
}

impl Engine {
    /// Creates a database; returns `None` if the server creates it itself.
    pub(crate) fn fresh_database(&self) -> Result<Option<String>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Self::Postgres(url) = self else { return Ok(None) };
        let (server, _) = url.rsplit_once('/').ok_or("TIDEMARK_TEST_POSTGRES names no database")?;
        let name = format!("bench_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute(&format!("create database {name} template template0")).await
        })?;
        Ok(Some(format!("{server}/{name}")))
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        })
    }
}

/// Returns the location of the database of a stopped server, to fill it directly.
pub(crate) fn location(data: &Path, database: Option<&str>) -> Location {
    match database {
        Some(url) => Location::Postgres { url: url.to_owned(), connections: 2 },
        None => Location::Sqlite {
            file: data.join("tidemark.db"),
            busy_timeout: Duration::from_secs(5),
            cache_kib: 65_536,
        },
    }
}

/// A deterministic source of bytes that never repeats.
pub(crate) struct Counter;

impl Entropy for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        for chunk in bytes.chunks_mut(8) {
            let next = NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes();
            chunk.copy_from_slice(&next[..chunk.len()]);
        }
    }
}

/// Ticks of CPU time per second on Linux.
const TICKS_PER_SECOND: u64 = 100;

/// A running server.
pub(crate) struct Server {
    process: Child,
    data: Option<TempDir>,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a server, and returns it with the duration until it was ready.
    pub(crate) fn start(program: &Path, data: TempDir, database: Option<String>) -> Result<(Self, Duration)> {
        Self::start_with(program, data, database, &[])
    }

    /// Starts a server with settings as environment variables.
    pub(crate) fn start_with(
        program: &Path,
        data: TempDir,
        database: Option<String>,
        settings: &[(&str, &str)],
    ) -> Result<(Self, Duration)> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let mut command = Command::new(program);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEMARK_")) {
            command.env_remove(name);
        }
        command.envs(settings.iter().copied());
        command.args(["serve", "--bind", &address.to_string(), "--data-dir"]).arg(data.path());
        if let Some(database) = database {
            command.args(["--database", &database]);
        }
        // The server writes its log, which has a cost, but the benchmark discards it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begun = Instant::now();
        let process = command
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", program.display()))?;
        let mut server = Self { process, data: Some(data), address };
        while !server.call("GET", "/readyz", "", "").is_ok_and(|(status, _)| status == 200) {
            if let Some(status) = server.process.try_wait()? {
                return Err(format!("the server stopped at once ({status})").into());
            }
            if begun.elapsed() > PATIENCE {
                return Err("the server did not become ready".into());
            }
            thread::sleep(Duration::from_micros(200));
        }
        Ok((server, begun.elapsed()))
    }

    /// Stops the server and returns its data folder.
    pub(crate) fn stop(mut self) -> Result<TempDir> {
        let id = self.process.id().to_string();
        Command::new("kill").args(["-s", "TERM", &id]).status()?;
        self.process.wait()?;
        self.data.take().ok_or_else(|| "the data is gone".into())
    }

    /// Returns the CPU time of the server.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))
            .map_err(|_| "the CPU time of a server can be measured on Linux only")?;
        // The program name is in parentheses; the 12th and 13th field after it are the ticks of user and system time.
        let rest = stat.rsplit_once(')').ok_or("no program in the status")?.1;
        let mut ticks = 0;
        for field in rest.split_whitespace().skip(11).take(2) {
            ticks += field.parse::<u64>()?;
        }
        Ok(Duration::from_millis(ticks * (1_000 / TICKS_PER_SECOND)))
    }

    /// Returns the resident memory of the server.
    pub(crate) fn memory_kib(&self) -> Result<u64> {
        self.status("VmRSS:")
    }

    /// Returns the peak resident memory of the server.
    pub(crate) fn peak_memory_kib(&self) -> Result<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))
            .map_err(|_| "memory can be measured on Linux only")?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        Ok(line.ok_or_else(|| format!("no {name} in the status"))?.trim().trim_end_matches(" kB").parse()?)
    }

    /// Signs up a user and returns a key. A session would end because the server's address changes with each start.
    pub(crate) fn sign_up(&self) -> Result<String> {
        let signup = json!({ "name": "Ada", "email": "ada@example.org", "i_agree": true });
        self.call("POST", "/v0/auth/signup", "", &signup.to_string())?;
        let outbox = self.data.as_ref().ok_or("the data is gone")?.path().join("outbox");
        let begun = Instant::now();
        let link = loop {
            let mail = fs::read_dir(&outbox)?.flatten().map(|entry| entry.path());
            let mut mail = mail.filter(|file| file.extension().is_some_and(|kind| kind == "eml"));
            if let Some(file) = mail.next() {
                break token(&fs::read_to_string(file)?).ok_or("there is no link in the mail")?;
            }
            if begun.elapsed() > PATIENCE {
                return Err("no mail came".into());
            }
            thread::sleep(Duration::from_millis(5));
        };
        let (_, body) = self.call("POST", "/v0/auth/confirm", "", &json!({ "token": link }).to_string())?;
        let session: Value = serde_json::from_str(&body)?;
        let session = session["token"].as_str().ok_or("there is no session in the answer")?;
        let (_, body) =
            self.call("POST", "/v0/users/ada/keys", session, &json!({ "name": "bench" }).to_string())?;
        let key: Value = serde_json::from_str(&body)?;
        Ok(key["key"].as_str().ok_or("there is no key in the answer")?.to_owned())
    }

    /// Sends one request on its own connection.
    pub(crate) fn call(&self, method: &str, path: &str, token: &str, body: &str) -> Result<(u16, String)> {
        self.call_for(PATIENCE, method, path, token, body)
    }

    /// Sends one request with a longer timeout.
    pub(crate) fn call_for(
        &self,
        patience: Duration,
        method: &str,
        path: &str,
        token: &str,
        body: &str,
    ) -> Result<(u16, String)> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(patience))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("the answer is not HTTP")?;
        let status = head.split(' ').nth(1).ok_or("the answer has no status")?.parse()?;
        Ok((status, body.to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the token of the link in a mail.
fn token(mail: &str) -> Option<String> {
    let mail = mail.replace("=\r\n", "").replace("=3D", "=");
    // The boundary between the parts of the mail is random and may look like the start of a token; the token of a
    // link follows `=`.
    let token = &mail[mail.find("=eyJ")? + 1..];
    let end =
        token.find(|character: char| !character.is_ascii_alphanumeric() && !"._-".contains(character))?;
    Some(token[..end].to_owned())
}
