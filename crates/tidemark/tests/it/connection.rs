//! Connections that send nothing or too slowly: their effect on a server with few open files.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
};

use serde_json::json;
use tokio_tungstenite::tungstenite::{Message, client, client::IntoClientRequest};

use crate::{
    client::Client,
    process::{BINARY, PATIENCE, Server, isolated, tidemark, wait_until},
};

/// More connections than the server may have open.
const IDLE: usize = 300;

/// Starts a server with this limit of open files and settings.
fn limited(files: u32, settings: &str, data: &Path) -> Server {
    let mut command = isolated("sh");
    command.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\""), BINARY]);
    spawn(command.arg("serve"), settings, data)
}

fn spawn(command: &mut Command, settings: &str, data: &Path) -> Server {
    let file = data.join("tidemark.toml");
    fs::write(&file, settings).unwrap();
    command.args(["--bind", "127.0.0.1:0", "--data-dir"]).arg(data).arg("--config").arg(&file);
    Server::spawn(command)
}

fn connect(server: &Server) -> TcpStream {
    let stream = server.connect();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the server responds on a new connection.
fn is_alive(server: &Server) -> bool {
    let mut stream = connect(server);
    let mut answer = String::new();
    let asked = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && answer.starts_with("HTTP/1.1 200 ")
}

/// Waits until the server closes a connection, and returns the bytes received before.
fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn idle_connections_leave_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = limited(128, "", folder.path());
    let idle: Vec<_> = (0..IDLE).map(|_| connect(&server)).collect();
    assert!(is_alive(&server));
    let line = server.find("close to the maximum number of connections");
    assert!(line.contains("\"max_connections\":64"), "{line}");
    drop(idle);
    assert!(is_alive(&server));
}

#[test]
fn idle_connections_of_one_address_replace_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        spawn(&mut tidemark(&["serve"]), "[server]\nmax_connections_per_address = 2\n", folder.path());
    let mut idle: Vec<_> = (0..3).map(|_| connect(&server)).collect();
    assert_eq!(rest(&mut idle[0]), "");
    idle[2].write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    assert!(rest(&mut idle[2]).starts_with("HTTP/1.1 200 "));
    assert!(is_alive(&server));
}

#[test]
fn a_server_without_free_files_logs_it_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[server]\nmax_connections = 100000\nmax_connections_per_address = 100000\n";
    let mut server = limited(128, settings, folder.path());
    let idle: Vec<_> = (0..IDLE).map(|_| connect(&server)).collect();
    server.find("cannot accept connections; retrying");
    assert!(is_alive(&server));
    drop(idle);
}

#[test]
fn the_limit_of_open_files_is_raised() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = isolated("sh");
    command.args(["-c", "ulimit -Sn 128 && ulimit -Hn 256 && exec \"$0\" \"$@\"", BINARY, "serve"]);
    command
        .args(["--bind", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .stderr(std::process::Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut log = std::io::BufReader::new(process.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("\"message\":\"listening\"") {
        assert_ne!(std::io::BufRead::read_line(&mut log, &mut text).unwrap(), 0, "{text}");
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let line = text.lines().find(|line| line.contains("raised the limit of open files")).unwrap();
    assert!(line.contains("\"from\":128") && line.contains("\"to\":256"), "{line}");
}

/// Retries until a connection succeeds in time: these tests run with timeouts of one second.
fn until_in_time<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut done = None;
    wait_until("no attempt is in time", || {
        done = attempt();
        done.is_some()
    });
    done.unwrap()
}

/// Sends a request, and returns once the response starts with `answer`.
fn begin(server: &Server, request: &str, answer: &str) -> TcpStream {
    until_in_time(|| {
        let mut stream = connect(server);
        stream.write_all(request.as_bytes()).ok()?;
        let mut begun = vec![0; answer.len()];
        stream.read_exact(&mut begun).ok()?;
        assert_eq!(String::from_utf8_lossy(&begun), answer);
        Some(stream)
    })
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[server]\nheader_timeout_seconds = 1\nkeep_alive_timeout_seconds = 1\n";
    let server = spawn(&mut tidemark(&["serve"]), settings, folder.path());
    let body = r#"{"email":"wrong"}"#;
    let head = format!(
        "POST /v0/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut busy = begin(&server, &head, "HTTP/1.1 100 Continue\r\n\r\n");
    let mut used = begin(&server, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n", "HTTP/1.1 200 ");
    let mut silent = connect(&server);
    let mut partial = connect(&server);
    partial.write_all(b"GET /healthz HTTP/1.1\r\nhost:").unwrap();
    let mut http2 = connect(&server);
    http2.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    assert_eq!(rest(&mut silent), "");
    assert_eq!(rest(&mut partial), "");
    assert!(rest(&mut used).ends_with("\r\n\r\nok\n"));
    http2.read_to_end(&mut Vec::new()).ok();
    // The timeouts have passed. They do not apply to a request in progress.
    busy.write_all(body.as_bytes()).unwrap();
    assert!(rest(&mut busy).starts_with("HTTP/1.1 400 "));
}

#[test]
fn the_channel_of_a_runner_stays_open() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", folder.path());
    let (status, runner) = ada.post("/v0/runners", &json!({ "name": "box" })).unwrap();
    assert_eq!(status, 201, "{runner}");
    drop(server);
    let settings = "[server]\nheader_timeout_seconds = 1\nkeep_alive_timeout_seconds = 1\n";
    let server = spawn(&mut tidemark(&["serve"]), settings, folder.path());
    let key = format!("Bearer {}", runner["key"].as_str().unwrap());
    let mut channel = until_in_time(|| {
        let address = format!("ws://{}/v0/runners/box/channel", server.address);
        let mut request = address.into_client_request().unwrap();
        request.headers_mut().insert("authorization", key.parse().unwrap());
        client(request, connect(&server)).ok().map(|(channel, _)| channel)
    });
    // Two connections that are closed one after the other show that more time than the timeouts has passed.
    assert_eq!(rest(&mut connect(&server)), "");
    assert_eq!(rest(&mut connect(&server)), "");
    channel.send(Message::Ping("x".into())).unwrap();
    assert_eq!(channel.read().unwrap(), Message::Pong("x".into()));
}
