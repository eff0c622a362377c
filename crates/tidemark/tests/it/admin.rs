//! `tidemark admin create`: the first administrator and a key, before and while a server runs.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::Output,
};

use crate::process::{Server, tidemark};

fn create(data: &Path, arguments: &[&str]) -> Output {
    // The address of the server is part of the link and of its signature.
    let address = ["admin", "create", "--bind", "127.0.0.1:0", "--data-dir"];
    tidemark(&address).arg(data).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Sends a request and returns the whole response.
fn send(server: &Server, request: &str, body: &str) -> String {
    let mut stream = server.connect();
    write!(
        stream,
        "{request}\r\nhost: test\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn one_command_creates_an_administrator_who_can_sign_in_and_use_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let output = create(folder.path(), &["--email", "ada@example.org", "--name", "Ada"]);
    assert!(output.status.success(), "{output:?}");
    let (key, messages) = (text(&output.stdout), text(&output.stderr));
    assert!(key.starts_with("svc_user_") && key.lines().count() == 1, "{key}");
    assert!(messages.starts_with("Created the administrator ada@example.org.\n"), "{messages}");

    let server = Server::start(folder.path());
    let whole =
        send(&server, &format!("GET /v0/server/stats HTTP/1.1\r\nauthorization: Bearer {}", key.trim()), "");
    assert!(whole.starts_with("HTTP/1.1 200 "), "{whole}");
    let project = send(
        &server,
        &format!("POST /v0/organizations/ada/projects HTTP/1.1\r\nauthorization: Bearer {}", key.trim()),
        r#"{"name":"Lab"}"#,
    );
    assert!(project.starts_with("HTTP/1.1 201 "), "{project}");
    // The link signs in once.
    let (_, token) = messages.trim().split_once("/auth/confirm?token=").unwrap();
    let body = format!(r#"{{"token":"{token}"}}"#);
    let signed_in = send(&server, "POST /v0/auth/confirm HTTP/1.1", &body);
    assert!(signed_in.starts_with("HTTP/1.1 200 ") && signed_in.contains("\"admin\":true"), "{signed_in}");
    assert!(send(&server, "POST /v0/auth/confirm HTTP/1.1", &body).starts_with("HTTP/1.1 401 "));

    // While the server runs: a second key, which replaces the first one.
    let replaced = create(folder.path(), &["--email", "ada@example.org", "--replace-key"]);
    assert!(replaced.status.success(), "{replaced:?}");
    for (key, status) in [(key.trim(), 401), (text(&replaced.stdout).trim(), 200)] {
        let answer =
            send(&server, &format!("GET /v0/auth/caller HTTP/1.1\r\nauthorization: Bearer {key}"), "");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[test]
fn a_second_call_changes_nothing_or_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let arguments = ["--email", "ada@example.org", "--key-file", file.to_str().unwrap()];
    let first = create(folder.path(), &arguments);
    assert!(first.status.success() && first.stdout.is_empty(), "{first:?}");
    let key = fs::read_to_string(&file).unwrap();
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions()) & 0o777,
        0o600
    );
    let again = create(folder.path(), &arguments);
    assert!(again.status.success(), "{again:?}");
    assert!(
        text(&again.stderr).starts_with("The administrator ada@example.org and the key exist already.\n")
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), key);

    for (email, code, sentence) in [
        (
            "ada@example.org",
            1,
            "error: The account ada@example.org already has a key `admin`, and a key is shown only once; pass \
             --replace-key to revoke it and create a new key, or --key-name for another key.\n",
        ),
        (
            "bob@example.org",
            1,
            "error: The server already has the administrator ada@example.org; pass this address, or sign in as this \
             administrator and invite bob@example.org.\n",
        ),
        ("nonsense", 2, "error: invalid value 'nonsense' for '--email <EMAIL>'"),
    ] {
        let output = create(folder.path(), &["--email", email]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(output.stdout.is_empty() && text(&output.stderr).starts_with(sentence), "{output:?}");
    }
}
