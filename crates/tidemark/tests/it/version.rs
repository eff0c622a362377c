//! The version of the server, as commands check it. The mock server records its requests.

use std::process::{Output, Stdio};

use axum::{Json, http::StatusCode};
use serde_json::json;
use tidemark_test_support::Stub;

use crate::{context::in_folder, desk::Desk, process::has_containers};

/// A server with empty lists that sends this Tidemark version in a header, or only the contract's version in a body.
struct Versioned(Stub);

impl Versioned {
    fn open(version: Option<&'static str>, contract: &'static str) -> Self {
        Self(Stub::start(move |request| {
            let path = request.uri.path();
            // The runner is unknown here, so that `runner up` exits.
            let status = if path.ends_with("/channel") { StatusCode::NOT_FOUND } else { StatusCode::OK };
            let body = if path == "/v0/server/version" { json!({ "version": contract }) } else { json!([]) };
            (status, version.map(|version| [("x-server-version", version)]), Json(body))
        }))
    }

    fn list(&self, arguments: &[&str]) -> Output {
        self.command(&[&["branch", "list", "lab"], arguments].concat())
    }

    fn command(&self, arguments: &[&str]) -> Output {
        let folder = tempfile::tempdir().unwrap();
        let mut command = in_folder(folder.path());
        command.env("HOME", folder.path()).env("TIDEMARK_HOST", &self.0.address).stdin(Stdio::null());
        command.args(arguments).output().unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.0.take_requests().iter().map(|request| request.uri.path().to_owned()).collect()
    }
}

const LIST: &str = "/v0/projects/lab/branches";

#[test]
fn an_older_server_causes_one_warning_and_no_request() {
    let server = Versioned::open(Some("0.0.9"), "0.6.13");
    // Several pages and responses: one warning.
    for arguments in [&["--json"][..], &["--json", "--all"]] {
        let output = server.list(arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(output.stdout, b"[]\n");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            said,
            concat!(
                "warning: The server runs Tidemark 0.0.9, which is older than the version ",
                env!("CARGO_PKG_VERSION"),
                " of this command: commands may fail. Upgrade the server, or use a command of its version.\n"
            )
        );
        assert_eq!(server.asked(), [LIST]);
    }
}

#[test]
fn a_run_warns_about_an_older_server() {
    let server = Versioned::open(Some("0.0.9"), "0.6.13");
    let output = server.command(&[
        "run",
        "--project",
        "lab",
        "--create",
        "--",
        "echo",
        r#"{"sort": {"latency": {"value": 1}}}"#,
    ]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("warning: The server runs Tidemark 0.0.9, which is older").count(), 1, "{said}");
    assert!(server.asked().contains(&"/v0/run".to_owned()), "{said}");
}

#[test]
fn a_runner_warns_about_an_older_server() {
    let folder = tempfile::tempdir().unwrap();
    if !has_containers(folder.path()) {
        return;
    }
    let server = Versioned::open(Some("0.0.9"), "0.6.13");
    let folder = folder.path().join("runner");
    let key = "svc_runner_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ";
    let arguments = ["runner", "up", "--no-tuning", "--runner", "bench", "--runner-key", key, "--data-dir"];
    let output = server.command(&[&arguments[..], &[folder.to_str().unwrap()]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert_eq!(said.matches("The server runs Tidemark 0.0.9, which is older").count(), 1, "{said}");
    assert_eq!(server.asked(), ["/v0/runners/bench/channel"]);
}

#[test]
fn a_server_without_the_header_gets_one_version_request() {
    let server = Versioned::open(None, "0.5.4");
    let output = server.list(&["--json"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"[]\n".as_slice()), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("warning: The server has the API version 0.5.4, which is older"), "{said}");
    assert_eq!(server.asked(), [LIST, "/v0/server/version"]);
    // Only the patch version differs.
    let output = Versioned::open(None, "0.6.1").list(&["--json"]);
    assert_eq!(output.stderr, b"", "{output:?}");
}

#[test]
fn the_same_version_causes_no_warning_and_every_response_has_the_version() {
    let mut desk = Desk::open();
    let output = desk.try_out("server version");
    assert_eq!(output.stderr, b"", "{output:?}");
    let (contract, own) = (tidemark_api::CONTRACT_VERSION, env!("CARGO_PKG_VERSION"));
    let lines = [format!("API version       {contract}"), format!("Tidemark version  {own}")];
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().map(str::trim_end).collect::<Vec<_>>(), lines);
    let stats = desk.run("server stats");
    for line in &lines {
        assert!(stats.lines().any(|shown| shown.trim_end() == line), "{stats}");
    }
    assert_eq!(desk.json("server version"), json!({ "version": contract }));
    let stats = desk.json("server stats");
    assert_eq!(
        (&stats["server"]["version"], &stats["server"]["tidemark_version"]),
        (&contract.into(), &own.into())
    );
}
