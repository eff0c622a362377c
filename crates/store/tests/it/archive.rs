//! Archives: consistent under load, independent of the engine, and rejected if they are damaged.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use tempfile::TempDir;
use tidemark_api::Timestamp;
use tidemark_store::{Db, Error, Location, archive};
use uuid::Uuid;

use crate::{both, database::Database};

async fn archived(db: &Db) -> Vec<u8> {
    db.read(|tx| {
        let mut bytes = Vec::new();
        archive::write(tx, Timestamp::from_micros(0), &mut bytes)?;
        Ok::<_, Error>(bytes)
    })
    .await
    .unwrap()
}

/// Databases without tables, one of each engine.
async fn empty() -> (TempDir, Database, [Location; 2]) {
    let (folder, database) = (tempfile::tempdir().unwrap(), Database::create_empty().await);
    let file = folder.path().join("restored.db");
    let sqlite = Location::Sqlite { file, busy_timeout: Duration::from_secs(60), cache_kib: 1024 };
    let postgres = Location::Postgres { url: database.url.clone(), connections: 1 };
    (folder, database, [sqlite, postgres])
}

async fn restore(location: &Location, bytes: &[u8]) -> Result<Db, Error> {
    let db = Db::open_unchanged(location).await.unwrap();
    let input = bytes.to_vec();
    db.write(move |tx| archive::restore(tx, &*input)).await?;
    Ok(db)
}

fn fingerprint(bytes: &[u8]) -> BTreeMap<String, String> {
    archive::fingerprint(bytes).unwrap()
}

async fn count(db: &Db, sql: &'static str) -> i64 {
    db.read(move |tx| tx.value::<i64>(sql, &[])).await.unwrap()
}

both! {
    async fn an_archive_can_be_restored_on_both_engines(db: TestDb) {
        db.project().await;
        // A value of each type, the second key of which must not be used again.
        db.write(|tx| {
            tx.execute(
                "insert into account (uuid, name, slug, email, admin, locked, created, modified)
                 values ($1, 'Ada', 'ada', 'ada@example.org', true, false, 1, 2)",
                &[&Uuid::from_u128(7)],
            )?;
            tx.execute("insert into former_email (email, changed) values ('\u{e9}@example.org', 1)", &[])?;
            tx.execute(
                "insert into branch (uuid, project_id, name, slug, created, modified)
                 values ($1, 1, 'main', 'main', 1, 1), ($2, 1, 'feature', 'feature', 1, 1)",
                &[&Uuid::from_u128(1), &Uuid::from_u128(2)],
            )?;
            tx.execute("insert into user_key (uuid, account_id, name, hash, created, expires) values ($1, 1, 'k', $2, 1, 2)", &[&Uuid::from_u128(9), &vec![0_u8, 255]])?;
            tx.execute("delete from branch where slug = 'feature'", &[])
        })
        .await
        .unwrap();
        let bytes = archived(&db.db).await;
        let summary = archive::check(&*bytes).unwrap();
        assert_eq!((summary.rows["account"], summary.rows["project"], summary.rows["report"]), (1, 1, 0));
        let (_folder, _database, locations) = empty().await;
        for location in &locations {
            let restored = restore(location, &bytes).await.unwrap();
            assert_eq!(fingerprint(&archived(&restored).await), fingerprint(&bytes));
            restored.close().await;
            let restored = Db::open(location).await.unwrap();
            // Neither a search index nor a key is lost.
            restored
                .write(|tx| {
                    let new = "insert into branch (uuid, project_id, name, slug, created, modified) values ($1, 1, 'new', 'new', 1, 1)";
                    tx.execute(new, &[&Uuid::from_u128(3)])
                })
                .await
                .unwrap();
            assert_eq!(count(&restored, "select id from branch where slug = 'new'").await, 3);
            if !restored.is_shared() {
                let found = "select rowid from branch_search where text match '\"main\"'";
                assert_eq!(count(&restored, found).await, 1);
            }
            // The foreign keys apply.
            let dangling = "insert into member (organization_id, account_id, role, created, modified) values (99, 1, 'leader', 1, 1)";
            assert!(restored.write(move |tx| tx.execute(dangling, &[])).await.is_err());
            // A database with tables is not overwritten.
            let again = restored.write({ let bytes = bytes.clone(); move |tx| archive::restore(tx, &*bytes).map(drop) }).await;
            assert!(format!("{again:?}").contains("the database is not empty"), "{again:?}");
            restored.close().await;
        }
    }

    async fn a_damaged_archive_changes_nothing(db: TestDb) {
        db.project().await;
        let bytes = archived(&db.db).await;
        let (_folder, _database, locations) = empty().await;
        let mut changed = bytes.clone();
        let name = bytes.windows(3).rposition(|text| text == b"lab").unwrap();
        changed[name] = b'L';
        for location in &locations {
            for damaged in [&bytes[..bytes.len() / 2], &bytes[..bytes.len() - 1], &changed] {
                assert!(archive::check(damaged).is_err());
                assert!(restore(location, damaged).await.is_err());
            }
            let db = restore(location, &bytes).await.unwrap();
            assert_eq!(count(&db, "select count(*) from project").await, 1);
            db.close().await;
        }
    }

    async fn time_limits_of_the_database_do_not_apply(db: TestDb) {
        db.project().await;
        let bytes = archived(&db.db).await;
        if !db.db.is_shared() {
            return;
        }
        db.write(|tx| {
            let sql = "do $$ begin execute format('alter database %I set statement_timeout = 3600000', current_database()); end $$";
            tx.execute(sql, &[])
        })
        .await
        .unwrap();
        db.db.close().await;
        let limits = |tx: &mut tidemark_store::Tx<'_>| -> Result<Vec<String>, Error> {
            let names = ["statement_timeout", "idle_in_transaction_session_timeout"];
            names.iter().map(|name| tx.value("select current_setting($1)", &[name])).collect()
        };
        let db = Db::open(&db.location).await.unwrap();
        assert_eq!(db.read(limits).await.unwrap()[0], "1h");
        let during = db
            .read(move |tx| {
                archive::write(tx, Timestamp::from_micros(0), &mut Vec::new())?;
                limits(tx)
            })
            .await
            .unwrap();
        assert_eq!(during, ["0", "0"]);
        // The restore fails, because the database has tables.
        let during = db
            .write(move |tx| {
                assert!(archive::restore(tx, &*bytes).is_err());
                limits(tx)
            })
            .await
            .unwrap();
        assert_eq!(during, ["0", "0"]);
        db.close().await;
    }

    async fn an_archive_under_load_is_one_snapshot(db: TestDb) {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let (db, stopped, acknowledged) = (db.db.clone(), stopped.clone(), Arc::clone(&acknowledged));
                tokio::spawn(async move {
                    while !*stopped.borrow() {
                        let uuid = Uuid::new_v4();
                        // Two tables: a snapshot has both rows or none.
                        db.write(move |tx| {
                            let text = uuid.to_string();
                            let sql = "insert into server_report (server, received, document) values ($1, 0, $2)";
                            tx.execute(sql, &[&uuid, &text])?;
                            tx.execute("insert into former_email (email, changed) values ($1, 0)", &[&text])
                        })
                        .await
                        .unwrap();
                        acknowledged.lock().unwrap().insert(uuid.to_string());
                    }
                })
            })
            .collect();
        while acknowledged.lock().unwrap().len() < 100 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let before = acknowledged.lock().unwrap().clone();
        let bytes = archived(&db.db).await;
        stop.send(true).unwrap();
        for writer in writers {
            writer.await.unwrap();
        }
        let (_folder, _database, locations) = empty().await;
        for location in &locations {
            let restored = restore(location, &bytes).await.unwrap();
            let [reports, emails] = [
                "select document from server_report order by document",
                "select email from former_email order by email",
            ];
            let (reports, emails): (Vec<String>, Vec<String>) = restored
                .read::<_, Error, _>(move |tx| Ok((tx.fetch_all(reports, &[])?, tx.fetch_all(emails, &[])?)))
                .await
                .unwrap();
            assert_eq!(reports, emails);
            let restored_set: BTreeSet<_> = reports.into_iter().collect();
            assert!(before.is_subset(&restored_set));
            assert!(restored_set.is_subset(&acknowledged.lock().unwrap()));
            restored.close().await;
        }
    }
}
