//! A backup of PostgreSQL on a machine without `pg_dump`.

use std::fs;

use serde_json::json;

use crate::{
    client::Client,
    process::{Server, create_database, tidemark},
};

#[test]
fn a_backup_names_the_program_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::spawn(
        tidemark(&["serve", "--bind", "127.0.0.1:0", "--database", &create_database(), "--data-dir"])
            .arg(folder.path())
            .env("PATH", folder.path()),
    );
    let mut admin = Client::connect(&server);
    admin.sign_up("Ada", folder.path());
    let (status, answer) = admin.post("/v0/server/backup", &json!({})).unwrap();
    assert_eq!(status, 501, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("pg_dump"), "{answer}");
    assert_eq!(fs::read_dir(folder.path().join("backups")).unwrap().count(), 0);
}
