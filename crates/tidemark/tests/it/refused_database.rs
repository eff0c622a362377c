//! Databases that this release cannot open: the server's error before it exits.

use std::path::Path;

use insta::assert_snapshot;

use crate::{
    database::{alter, alter_postgres},
    process::{Server, create_database, tidemark},
};

const NEWER: &str = "insert into migration values (9999, 'later', '', '9.8.7')";
const UNRELEASED: &str = "update migration set checksum = 'x' where number = 2";

/// Starts a server that creates its database, changes the database, and returns the error of the next server.
fn refusal(folder: &Path, sql: &'static str, postgres: Option<&str>) -> String {
    let data = folder.join("data");
    let serve = || {
        let mut command = tidemark(&["serve", "--bind", "127.0.0.1:0", "--data-dir"]);
        command.arg(&data);
        if let Some(url) = postgres {
            command.args(["--database", url]);
        }
        command
    };
    let server = Server::spawn(&mut serve());
    server.signal("TERM");
    server.wait();
    match postgres {
        Some(url) => alter_postgres(url, sql),
        None => alter(&data.join("tidemark.db"), sql),
    }
    let output = serve().output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8(output.stderr).unwrap();
    let (start, rest) = said.split_once(" with ").unwrap();
    let (_, reason) = rest.split_once(": ").unwrap();
    // The number of migrations grows with each release.
    let reason = reason.replace(env!("CARGO_PKG_VERSION"), "[version]");
    let reason = match reason.split_once("Tidemark [version] with schema ") {
        Some((before, after)) => {
            format!(
                "{before}Tidemark [version] with schema [schema]{}",
                after.trim_start_matches(|c: char| c.is_ascii_digit())
            )
        }
        None => reason,
    };
    format!("{start} with <database>: {reason}")
}

#[test]
fn a_database_of_a_newer_release_is_refused() {
    let [files, others] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let said = refusal(files.path(), NEWER, None);
    assert_snapshot!(said);
    assert_eq!(refusal(others.path(), NEWER, Some(&create_database())), said);
}

#[test]
fn a_database_of_an_unreleased_build_is_refused() {
    let [files, others] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let said = refusal(files.path(), UNRELEASED, None);
    assert_snapshot!(said);
    assert_eq!(refusal(others.path(), UNRELEASED, Some(&create_database())), said);
}
