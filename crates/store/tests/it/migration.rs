//! Migrations: applied once, in order, and never to a database of a newer release.

use std::{collections::BTreeSet, time::Duration};

use tidemark_store::{Db, Error, Location};
use tokio::sync::oneshot;

use crate::{TestDb, both, database::Database};

both! {
    async fn migrations_are_applied_once(db: TestDb) {
        let numbers = |db: Db| async move {
            let sql = "select number from migration order by number";
            db.read::<_, Error, _>(move |tx| tx.fetch_all::<i64>(sql, &[])).await.unwrap()
        };
        let first = numbers(db.db.clone()).await;
        assert_eq!(first, (1..=first.len() as i64).collect::<Vec<_>>());
        db.project().await;
        db.db.close().await;
        let again = Db::open(&db.location).await.unwrap();
        assert_eq!(numbers(again.clone()).await, first);
        let kept = again.read::<i64, Error, _>(|tx| tx.value("select count(*) from project", &[])).await;
        assert_eq!(kept.unwrap(), 1);
        again.close().await;
    }

    async fn a_database_of_a_newer_release_is_rejected(db: TestDb) {
        db.write(|tx| {
            tx.execute(
                "insert into migration (number, name, checksum, release) values (9999, 'future', 'x', '9.8.7')",
                &[],
            )
        })
        .await
        .unwrap();
        db.db.close().await;
        let error = Db::open(&db.location).await.err().unwrap();
        let said = format!("{error:?}");
        assert!(said.contains("Tidemark 9.8.7 wrote the database with schema 9999"), "{said}");
        assert!(said.contains(concat!("this is Tidemark ", env!("CARGO_PKG_VERSION"), " with schema ")), "{said}");
    }

    async fn a_database_of_a_newer_build_of_the_same_version_is_rejected(db: TestDb) {
        db.write(|tx| {
            let sql = "insert into migration (number, name, checksum, release) values (9999, 'future', 'x', $1)";
            tx.execute(sql, &[&env!("CARGO_PKG_VERSION")])
        })
        .await
        .unwrap();
        db.db.close().await;
        let error = Db::open(&db.location).await.err().unwrap();
        let said = format!("{error:?}");
        assert!(said.contains("a newer build of Tidemark") && said.contains("start the newer build"), "{said}");
    }

    async fn a_changed_migration_is_rejected(db: TestDb) {
        db.write(|tx| tx.execute("update migration set checksum = 'x' where number = 3", &[])).await.unwrap();
        db.db.close().await;
        let error = Db::open(&db.location).await.err().unwrap();
        assert!(format!("{error:?}").contains("the checksum of its migration 3 (reports) differs"), "{error:?}");
    }

    async fn a_database_without_releases_can_be_opened(db: TestDb) {
        db.project().await;
        db.write(|tx| tx.execute("alter table migration drop column release", &[])).await.unwrap();
        db.db.close().await;
        let again = Db::open(&db.location).await.unwrap();
        let releases = "select count(release) from migration";
        assert_eq!(again.read::<i64, Error, _>(|tx| tx.value(releases, &[])).await.unwrap(), 0);
        again.close().await;
    }
}

/// Opens a new database several times at once.
async fn open_concurrently(location: Location) {
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let location = location.clone();
            tokio::spawn(async move { Db::open(&location).await })
        })
        .collect();
    for open in opened {
        open.await.unwrap().unwrap().close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_can_be_opened_concurrently() {
    for _ in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        let busy_timeout = Duration::from_secs(600);
        open_concurrently(Location::Sqlite { file, busy_timeout, cache_kib: 1024 }).await;
    }
    let database = Database::create_empty().await;
    open_concurrently(Location::Postgres { url: database.url.clone(), connections: 1 }).await;
}

/// Times at which the transactions that wait for a lock started.
const WAITING: &str = "select distinct cast(xact_start as text) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_retries_while_another_server_uses_its_table() {
    let old = TestDb::postgres().await;
    old.write(|tx| tx.execute("alter table migration drop column release", &[])).await.unwrap();
    let (locked, is_locked) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let db = old.db.clone();
    let user = tokio::spawn(async move {
        db.write::<_, Error, _>(|tx| {
            tx.execute("lock table migration in access share mode", &[])?;
            locked.send(()).unwrap();
            released.blocking_recv().unwrap();
            Ok(())
        })
        .await
    });
    is_locked.await.unwrap();
    let location = old.location.clone();
    let new = tokio::spawn(async move { Db::open(&location).await });
    let mut attempts = BTreeSet::new();
    while attempts.len() < 2 {
        attempts.extend(old.read(|tx| tx.fetch_all::<String>(WAITING, &[])).await.unwrap());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    release.send(()).unwrap();
    user.await.unwrap().unwrap();
    let new = new.await.unwrap().unwrap();
    assert_eq!(
        new.read::<i64, Error, _>(|tx| tx.value("select count(release) from migration", &[])).await.unwrap(),
        0
    );
    new.close().await;
}
