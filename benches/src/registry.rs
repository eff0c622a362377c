//! Pushes and pulls a large blob through the registry: the speed compared with a minimal server, and the memory use.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    routing::get,
};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{Result, round, server::Server};

/// Size of the blob in MiB, unless `TIDEMARK_BENCH_BLOB` sets it.
const SIZE: u64 = 2048;
/// Number of bytes that are sent at once.
const PIECE: usize = 1024 * 1024;
/// Argument that makes this program the server to compare with.
pub(crate) const PLAIN: &str = "plain-stream";

/// Measures the registry and prints a table.
pub(crate) fn measure(program: &Path) -> Result {
    let mebibytes = match std::env::var("TIDEMARK_BENCH_BLOB") {
        Ok(size) => size.parse()?,
        Err(_) => SIZE,
    };
    eprintln!("benches: a blob of {mebibytes} MiB");
    let mut blob = Blob::make(mebibytes);

    let plain = Plain::start()?;
    let push = blob.push(plain.address, "/", "")?;
    let pull = blob.pull(plain.address, "/", "")?;
    drop(plain);

    let most = (mebibytes * 1024 * 1024).to_string();
    let settings = [("TIDEMARK_PLUS__REGISTRY__MAX_BODY_SIZE", most.as_str())];
    let (server, _) = Server::start_with(program, tempfile::tempdir()?, None, &settings)?;
    let key = server.sign_up()?;
    let idle = server.memory_kib()?;
    let form = format!(
        "grant_type=password&username=ada%40example.org&password={key}&scope=repository:bench:pull,push"
    );
    let (_, body) = server.call("POST", "/v0/auth/oci/token", "", &form)?;
    let token: Value = serde_json::from_str(&body)?;
    let token = token["token"].as_str().ok_or("there is no token in the answer")?;
    let path = format!("/v2/bench/blobs/uploads/?digest={}", blob.digest);
    let own_push = blob.push(server.address, &path, token)?;
    let own_pull = blob.pull(server.address, &format!("/v2/bench/blobs/{}", blob.digest), token)?;
    let peak = server.peak_memory_kib()?;
    server.stop()?;

    let rate = |time: Duration| mebibytes as f64 / time.as_secs_f64();
    println!("| a blob of {mebibytes} MiB | registry | plain stream | ratio | unit |");
    println!("|---|---:|---:|---:|---|");
    for (what, own, plain) in [("push", own_push, push), ("pull", own_pull, pull)] {
        let (own, plain) = (rate(own), rate(plain));
        println!("| {what} | {} | {} | {:.2} | MiB/s |", round(own), round(plain), own / plain);
    }
    println!(
        "| memory before, and at the most | {} | {} | | MiB |",
        round(idle as f64 / 1024.0),
        round(peak as f64 / 1024.0)
    );
    Ok(())
}

/// Bytes that are generated while they are sent: each piece differs from the others.
struct Blob {
    pieces: u64,
    pattern: Vec<u8>,
    digest: String,
}

impl Blob {
    fn make(mebibytes: u64) -> Self {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let pattern = (0..PIECE)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let mut blob = Self { pieces: mebibytes, pattern, digest: String::new() };
        let mut hasher = Sha256::new();
        for number in 0..mebibytes {
            hasher.update(blob.piece(number));
        }
        blob.digest = format!("sha256:{}", hex::encode(hasher.finalize()));
        blob
    }

    fn piece(&mut self, number: u64) -> &[u8] {
        self.pattern[..8].copy_from_slice(&number.to_le_bytes());
        &self.pattern
    }

    /// Pushes the blob and returns the duration until the server has acknowledged it.
    fn push(&mut self, address: SocketAddr, path: &str, token: &str) -> Result<Duration> {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        let length = self.pieces * PIECE as u64;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-length: {length}\r\n\r\n"
        )?;
        for number in 0..self.pieces {
            stream.write_all(self.piece(number))?;
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 20") {
            return Err(format!("the blob was not taken: {answer}").into());
        }
        Ok(begun.elapsed())
    }

    /// Pulls the blob and returns the duration.
    fn pull(&self, address: SocketAddr, path: &str, token: &str) -> Result<Duration> {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        )?;
        let mut buffer = vec![0; PIECE];
        let mut received = 0;
        loop {
            match stream.read(&mut buffer)? {
                0 => break,
                count => received += count as u64,
            }
        }
        if received < self.pieces * PIECE as u64 {
            return Err(format!("only {received} bytes came").into());
        }
        Ok(begun.elapsed())
    }
}

/// The server to compare with, in its own process.
struct Plain {
    process: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Plain {
    fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let process = Command::new(std::env::current_exe()?)
            .args([PLAIN, &address.to_string()])
            .arg(folder.path().join("blob"))
            .stdin(Stdio::null())
            .spawn()?;
        let plain = Self { process, address, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("the plain server did not start".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(plain)
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a minimal server: it streams the body into a file, computes its SHA-256 digest, and streams it out again.
pub(crate) fn serve_plain() -> Result {
    let mut arguments = std::env::args().skip(2);
    let (Some(address), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("an address and a file are missing".into());
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let router = Router::new().route("/", get(send).post(take)).with_state(PathBuf::from(file));
        Ok(axum::serve(listener, router).await?)
    })
}

async fn take(State(path): State<PathBuf>, request: Request) -> std::result::Result<String, String> {
    let stored = async {
        let mut file = tokio::fs::File::create(&path).await?;
        let mut hasher = Sha256::new();
        let mut bytes = request.into_body().into_data_stream();
        while let Some(piece) = bytes.next().await {
            let piece = piece.map_err(std::io::Error::other)?;
            hasher.update(&piece);
            file.write_all(&piece).await?;
        }
        // The file is on disk before the response, as in the registry.
        file.sync_all().await?;
        Ok::<_, std::io::Error>(hex::encode(hasher.finalize()))
    };
    stored.await.map_err(|error| error.to_string())
}

async fn send(State(path): State<PathBuf>) -> std::result::Result<Body, String> {
    let file = tokio::fs::File::open(&path).await.map_err(|error| error.to_string())?;
    let length = fs::metadata(&path).map_err(|error| error.to_string())?.len();
    let bytes = stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok::<_, std::io::Error>(None);
        }
        let mut buffer = vec![0; 64 * 1024];
        let count = file.read(&mut buffer).await?;
        buffer.truncate(count);
        Ok(Some((Bytes::from(buffer), (file, left.saturating_sub(count as u64)))))
    });
    Ok(Body::from_stream(bytes))
}
