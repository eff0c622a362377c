//! Migrations: applied once, in order, and never to a database of a newer release.

use std::time::Duration;

use tidemark_store::{Db, Error, Location};

use crate::{both, database::Database};

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
                "insert into migration (number, name, checksum) values (9999, 'future', 'x')",
                &[],
            )
        })
        .await
        .unwrap();
        db.db.close().await;
        let error = Db::open(&db.location).await.err().unwrap();
        assert!(format!("{error:?}").contains("a newer release wrote the database"), "{error:?}");
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
