//! `tidemark serve` and `tidemark restore` for operators: processes, ports, signals and exit statuses.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Output,
};

use crate::{
    database::alter,
    process::{Server, tidemark},
};

fn run(arguments: &[&str], data: &Path) -> Output {
    tidemark(arguments).arg("--data-dir").arg(data).output().unwrap()
}

fn failure(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

fn get(stream: &mut TcpStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A body that the server rejects.
const LOGIN: &[u8] = br#"{"email":"nobody"}"#;

/// Sends the head of a request. Returns once the server waits for [`LOGIN`], its body.
fn begin_login(server: &Server) -> TcpStream {
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut stream = server.connect();
    write!(
        stream,
        "POST /v0/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        LOGIN.len()
    )
    .unwrap();
    let mut answer = vec![0; CONTINUE.len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, CONTINUE);
    stream
}

#[test]
fn the_log_shows_the_access_settings() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tidemark(&["serve", "--bind", "127.0.0.1:0", "--data-dir"]);
    command.arg(folder.path().join("data")).env("TIDEMARK_ACCESS__SIGN_UP", "invitation");
    let mut server = Server::spawn(&mut command);
    let line = server.find("\"message\":\"access settings\"");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    insta::assert_snapshot!(line["access"].as_str().unwrap());
}

#[test]
fn it_serves_without_configuration_and_stops_on_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for signal in ["TERM", "INT"] {
        let server = Server::start(&data);
        assert!(get(&mut server.connect(), "/").starts_with("HTTP/1.1 200"));
        let mut silent = server.connect();
        let mut idle = server.connect();
        idle.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        idle.read_exact(&mut [0; 12]).unwrap();
        let mut busy = begin_login(&server);
        server.signal(signal);
        // Neither a silent nor an idle connection delays the shutdown: the server closes them first, and still
        // answers the request in flight.
        for connection in [&mut silent, &mut idle] {
            connection.read_to_end(&mut Vec::new()).unwrap();
        }
        busy.write_all(LOGIN).unwrap();
        let mut answer = String::new();
        busy.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        let (status, log) = server.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("\"message\":\"stopped\""), "{log}");
    }
    // A closed database leaves no write-ahead log.
    assert!(data.join("tidemark.db").exists() && !data.join("tidemark.db-wal").exists());
}

#[test]
fn a_request_names_its_host_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    for (version, hosts, status) in [
        ("1.1", "", 400),
        ("1.1", "host: a\r\n", 200),
        ("1.1", "host: a\r\nhost: b\r\n", 400),
        ("1.0", "", 200),
    ] {
        let mut stream = server.connect();
        write!(stream, "GET /v0/server/version HTTP/{version}\r\n{hosts}connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/{version} {status} ")), "{hosts:?}: {answer}");
    }
}

#[test]
fn a_request_in_flight_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut stream = begin_login(&server);
    stream.write_all(&LOGIN[..5]).unwrap();
    server.signal("TERM");
    let address = server.address.clone();
    while TcpStream::connect(&address).is_ok() {
        std::thread::yield_now();
    }
    stream.write_all(&LOGIN[5..]).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(server.wait().0.code(), Some(0));
}

#[test]
fn a_second_signal_stops_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let _busy = begin_login(&server);
    server.signal("TERM");
    server.find("shutting down");
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(1));
}

#[test]
fn an_unavailable_resource_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (data, other) = (folder.path().join("data"), folder.path().join("other"));
    let server = Server::start(&data);
    let taken = failure(&run(&["serve", "--bind", &server.address], &other));
    assert!(taken.contains("server.bind_address") && taken.contains("--bind"), "{taken}");
    let held = failure(&run(&["serve", "--bind", "127.0.0.1:0"], &data));
    assert!(held.contains("Another tidemark is running"), "{held}");
    let held = failure(&run(&["restore", "backup.db"], &data));
    assert!(held.contains("Another tidemark is running"), "{held}");

    let unreachable = failure(&run(
        &[
            "serve",
            "--bind",
            "127.0.0.1:0",
            "--database",
            "postgres://me:hunter2@127.0.0.1:1/x?connect_timeout=1",
        ],
        &other,
    ));
    assert!(
        unreachable.contains("cannot start with postgres://me:************@127.0.0.1:1/x"),
        "{unreachable}"
    );
    let typo = failure(&run(&["serve", "--bind", "6610"], &other));
    assert!(typo.contains("server.bind_address = \"6610\" (from --bind)"), "{typo}");
    assert_eq!(tidemark(&["serve", "--bnid"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn the_settings_are_printed_as_a_file_that_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let printed = tidemark(&["serve", "--print-config"]).output().unwrap();
    assert!(printed.status.success());
    let file = folder.path().join("tidemark.toml");
    fs::write(&file, &printed.stdout).unwrap();
    // The command proceeds to the backup, which does not exist.
    let output = tidemark(&["restore", "missing.db", "--config"])
        .arg(&file)
        .arg("--data-dir")
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(failure(&output).contains("missing.db"));
}

#[test]
fn plain_and_compressed_backups_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&data);
    server.signal("TERM");
    server.wait();
    let bytes = fs::read(data.join("tidemark.db")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut damaged = bytes.clone();
    damaged[4096..4296].fill(0xff);
    let altered = |sql: &'static str| {
        let file = folder.path().join("altered.db");
        fs::write(&file, &bytes).unwrap();
        alter(&file, sql);
        fs::read(file).unwrap()
    };
    let files = [
        ("newer", altered("insert into migration values (9999, 'later', '', '9.8.7')"), false),
        ("unreleased", altered("update migration set checksum = 'x' where number = 2"), false),
        ("plain", bytes.clone(), true),
        ("zstd", zstd::encode_all(bytes.as_slice(), 1).unwrap(), true),
        ("cut", gzip[..gzip.len() / 2].to_vec(), false),
        ("gzip", gzip, true),
        ("damaged", damaged, false),
        ("nonsense", b"nonsense".to_vec(), false),
    ];
    for (name, content, good) in files {
        let (backup, target) = (folder.path().join(name), folder.path().join(format!("to-{name}")));
        fs::write(&backup, content).unwrap();
        let restored = run(&["restore", backup.to_str().unwrap()], &target);
        assert_eq!(restored.status.success(), good, "{name}: {restored:?}");
        if good {
            assert_eq!(fs::read(target.join("tidemark.db")).unwrap(), bytes, "{name}");
        } else {
            assert!(failure(&restored).contains("nothing was changed"));
            assert_eq!(fs::read_dir(&target).unwrap().count(), 2, "only the locks are left");
        }
    }

    let plain = folder.path().join("plain");
    let refused = failure(&run(&["restore", plain.to_str().unwrap()], &data));
    assert!(refused.contains("--force"), "{refused}");
    assert!(run(&["restore", "--force", plain.to_str().unwrap()], &data).status.success());
    assert!(data.join("tidemark.db.before-restore").exists());
    let refused = failure(&run(&["restore", "--force", plain.to_str().unwrap()], &data));
    assert!(refused.contains("move it away"), "{refused}");
    let server = Server::start(&data);
    assert!(get(&mut server.connect(), "/").starts_with("HTTP/1.1 200"));
}
