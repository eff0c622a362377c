//! Scheduled backups in a folder: which files the schedule counts and deletes, and a folder that cannot be used.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{Engine, TestServer, until};

const HOUR: i64 = 3600;

/// Starts a server that creates a backup per day and keeps two.
async fn start(engine: Engine, folder: &Path) -> TestServer {
    let settings = format!("[backup]\ninterval_hours = 24\nkeep = 2\ndirectory = {folder:?}\n");
    TestServer::start_with(engine, &settings).await
}

/// Returns the names of the files in a folder without unfinished files.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).collect()
}

async fn only_backups_of_the_server_are_deleted(engine: Engine) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut others: BTreeSet<String> = [
        // Of another server, older than all backups of this one.
        "tidemark-20200101T000000000Z-deadbeef-00000001.archive.zst",
        "tidemark-20200102T000000000Z-deadbeef-00000002.archive.zst",
        // Newer than all backups of this one, in the order of their names.
        "tidemark-keep-this-one.archive.zst",
        "tidemark-zzz.archive.zst",
        "notes.txt",
    ]
    .map(str::to_owned)
    .into();
    for name in &others {
        fs::write(folder.join(name), "").unwrap();
    }
    let server = start(engine, folder).await;
    let own =
        |others: &BTreeSet<String>| -> Vec<String> { names(folder).difference(others).cloned().collect() };
    let first = until("the first start creates a backup", async || own(&others).pop()).await;
    // The clock was wrong when this server created this backup.
    let (_, rest) = first.split_once("Z-").unwrap();
    let future = format!("tidemark-29990101T000000000Z-{rest}");
    fs::write(folder.join(&future), "").unwrap();
    others.insert(future);
    let mut newest = first.clone();
    for _ in 0..3 {
        server.pass(25 * HOUR);
        newest = until("there is a backup per day", async || {
            server.app.background.wake();
            own(&others).pop().filter(|name| *name > newest)
        })
        .await;
    }
    let left =
        until("old backups are not deleted", async || Some(own(&others)).filter(|left| left.len() == 2))
            .await;
    assert_eq!(left[1], newest);
    assert!(names(folder).is_superset(&others), "{:?}", names(folder));
}

async fn a_server_starts_if_the_folder_cannot_be_used(engine: Engine) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("backups");
    fs::write(&target, "not a folder").unwrap();
    let server = start(engine, &target).await;
    server.get("/v0/server/version", "").await.expect(200);
    fs::remove_file(&target).unwrap();
    until("the backup is not retried", async || {
        server.pass(16 * 60);
        server.app.background.wake();
        (target.is_dir() && !names(&target).is_empty()).then_some(())
    })
    .await;
}

macro_rules! engines {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::$name(Engine::Postgres).await;
            }
        }
    )*};
}
engines!(only_backups_of_the_server_are_deleted a_server_starts_if_the_folder_cannot_be_used);
