//! Errors of a connection: each message says what is wrong and what to do on the command line.

use std::process::Output;

use axum::http::StatusCode;
use tidemark_test_support::Stub;

use crate::{desk::Desk, process::Port, proxy::Proxy, run::text};

/// Returns the message of a command that fails with this exit code.
fn said(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let said = text(&output.stderr).to_owned();
    assert!(!said.contains("header") && !said.contains("Bearer"), "{said}");
    said
}

#[test]
fn a_missing_or_invalid_key_is_reported_with_the_remedy() {
    let desk = Desk::with_project();
    let host = desk.host();
    let ask = |line: &str, key: &str| {
        desk.command(line).env("TIDEMARK_HOST", &host).env("TIDEMARK_API_KEY", key).output().unwrap()
    };
    let log_in = format!("`tidemark login --host {host}`, or set TIDEMARK_API_KEY.\n");
    let anonymous = format!("error: Not logged in to {host}: run {log_in}");
    let invalid = format!(
        "error: {host} rejected the key or token: it is unknown, revoked or expired. Create a new key on the page of \
         your account, then run {log_in}"
    );
    let key = format!("svc_user_{}", "x".repeat(30));
    for line in
        ["organization list", "branch create lab --name main", "user key create ada --name x", "server stats"]
    {
        assert_eq!(said(&ask(line, ""), 7), anonymous, "{line}");
        assert_eq!(said(&ask(line, &key), 7), invalid, "{line}");
    }
    assert_eq!(said(&ask("auth accept aa.bb.cc", ""), 7), anonymous);
    assert_eq!(said(&ask("whoami", &key), 7), invalid);
    // An invalid key sees only public projects; the project is not the problem.
    assert_eq!(said(&ask("run --project secret true", &key), 7), invalid);
    assert_eq!(said(&ask("change list secret", &key), 7), invalid);

    let local = said(&desk.command("user list --local").output().unwrap(), 7);
    assert_eq!(
        local,
        "error: Not logged in: on the results on this machine, this operation requires the key of an administrator. \
         Pass it with --key.\n"
    );
}

#[test]
fn a_certificate_that_is_not_trusted_is_reported_with_the_remedy() {
    let desk = Desk::with_project();
    let certificate = desk.folder.path().join("certificate.pem");
    let proxy = Proxy::tls(&desk.server.address, &certificate);
    let ask = |host: &str, flags: &str| {
        let line =
            format!("branch list lab --host https://{host}:{} --attempts 1 {flags}", proxy.address.port());
        desk.command(&line)
    };
    let unknown = said(&ask("localhost", "").output().unwrap(), 8);
    let expected = format!(
        "error: The server https://localhost:{} cannot be reached: its certificate is self-signed or has an unknown CA. \
         Set SSL_CERT_FILE to a PEM file with the certificate of the CA, or with the self-signed certificate. For a \
         test, --insecure-host accepts any certificate.\n",
        proxy.address.port()
    );
    assert_eq!(unknown, expected);
    for command in
        [&mut ask("localhost", "--insecure-host"), ask("localhost", "").env("SSL_CERT_FILE", &certificate)]
    {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let other = said(&ask("127.0.0.1", "").env("SSL_CERT_FILE", &certificate).output().unwrap(), 8);
    assert!(
        other.contains("its certificate is for another host name. Use a host name of the cert"),
        "{other}"
    );

    let line = format!("branch list lab --attempts 1 --host https://{}", desk.server.address);
    let plain = said(&desk.command(&line).output().unwrap(), 8);
    assert!(plain.contains("it does not use TLS on this port. Use http:// instead of https://"), "{plain}");
}

#[test]
fn a_wrong_address_is_reported_with_the_remedy() {
    let desk = Desk::open();
    let ask =
        |host: &str| desk.command(&format!("branch list lab --attempts 1 --host {host}")).output().unwrap();
    let free = Port::reserve();
    let host = format!("http://{}", free.address);
    assert_eq!(
        said(&ask(&host), 8),
        format!(
            "error: The server {host} cannot be reached: connection refused. Check the port in the address, and that \
             the server runs.\n"
        )
    );
    let unknown = said(&ask("http://tidemark.invalid"), 8);
    assert!(
        unknown.contains("the host name cannot be resolved. Check the host name in the address"),
        "{unknown}"
    );

    let check = "Check the address of the server: host name, port and path.\n";
    let page = Stub::start(|_| "<!doctype html><title>Wiki</title>");
    let host = &page.address;
    let wiki =
        format!("error: {host} is not a server of this API: it responded with HTML instead of JSON. {check}");
    assert_eq!(said(&ask(host), 7), wiki);
    let nothing = Stub::start(|_| (StatusCode::NOT_FOUND, "<h1>Not found</h1>"));
    let host = &nothing.address;
    let missing = format!(
        "error: {host} is not a server of this API: it responded with status 404, but not with an error of this API. \
         {check}"
    );
    assert_eq!(said(&ask(host), 7), missing);
    let guarded = Stub::start(|_| (StatusCode::UNAUTHORIZED, "<h1>Log in</h1>"));
    let proxy = said(&ask(&guarded.address), 7);
    assert!(proxy.contains("A proxy before the server must not require a login of its own."), "{proxy}");
}
