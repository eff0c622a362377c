//! Transactions: atomicity, snapshots and locks.

use std::sync::{Arc, mpsc};

use tidemark_api::{Benchmark, Page, Timestamp};
use tidemark_store::{Dimension, Error, Lock, rate_window};

use crate::{both, dimension::ALL, fresh};

both! {
    async fn a_failed_write_leaves_nothing(db: TestDb) {
        let project = db.project().await;
        let failed = db
            .write(move |tx| {
                Benchmark::create(tx, &fresh(), project, &"parse", None, ())?;
                Err::<(), _>(Error::Conflict("stop".into()))
            })
            .await;
        assert!(matches!(failed, Err(Error::Conflict(_))), "{failed:?}");
        // A statement that fails ends the transaction, too, even if the caller ignores the error.
        let ignored = db
            .write(move |tx| {
                Benchmark::create(tx, &fresh(), project, &"parse", None, ())?;
                tx.execute("insert into benchmark (id) values (1)", &[])
            })
            .await;
        assert!(ignored.is_err(), "{ignored:?}");
        let (rows, total) = db
            .read(move |tx| {
                let rows: i64 = tx.value("select count(*) from benchmark", &[])?;
                Ok((rows, Benchmark::list(tx, project, ALL, &Page::default())?.1))
            })
            .await
            .unwrap();
        assert_eq!((rows, total), (0, 0), "neither a row nor a count");
    }

    async fn a_panic_leaves_nothing_and_the_database_usable(db: TestDb) {
        let project = db.project().await;
        let work = {
            let db = db.db.clone();
            tokio::spawn(async move {
                db.write::<(), Error, _>(move |tx| {
                    Benchmark::create(tx, &fresh(), project, &"parse", None, ())?;
                    panic!("a bug")
                })
                .await
            })
        };
        // On one engine the panic reaches the caller, on the other an error does.
        assert!(work.await.map_or(true, |result| result.is_err()));
        let count = db.read(|tx| tx.value::<i64>("select count(*) from benchmark", &[])).await.unwrap();
        assert_eq!(count, 0);
        db.write(move |tx| Benchmark::create(tx, &fresh(), project, &"parse", None, ())).await.unwrap();
    }

    async fn a_read_sees_one_snapshot_and_cannot_write(db: TestDb) {
        let project = db.project().await;
        let (begun, has_begun) = mpsc::sync_channel(1);
        let (resume, resumed) = mpsc::sync_channel::<()>(1);
        let reader = {
            let db = db.db.clone();
            tokio::spawn(async move {
                db.read::<_, Error, _>(move |tx| {
                    let before: i64 = tx.value("select count(*) from benchmark", &[])?;
                    begun.send(()).unwrap();
                    resumed.recv().unwrap();
                    Ok((before, tx.value::<i64>("select count(*) from benchmark", &[])?))
                })
                .await
            })
        };
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        db.write(move |tx| Benchmark::create(tx, &fresh(), project, &"parse", None, ())).await.unwrap();
        resume.send(()).unwrap();
        assert_eq!(reader.await.unwrap().unwrap(), (0, 0));
        assert_eq!(db.read(|tx| tx.value::<i64>("select count(*) from benchmark", &[])).await.unwrap(), 1);
        let written = db.read(|tx| tx.execute("delete from benchmark", &[])).await;
        assert!(written.is_err(), "{written:?}");
    }

    /// Without the lock, two writers would read the same greatest number.
    async fn writers_with_the_same_lock_run_one_after_the_other(db: TestDb) {
        let project = db.project().await;
        let db = Arc::new(db);
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let db = Arc::clone(&db);
                tokio::spawn(async move {
                    db.write(move |tx| {
                        tx.lock(Lock::Project(project.get()))?;
                        let count: i64 = tx.value("select count(*) from benchmark", &[])?;
                        Benchmark::create(tx, &fresh(), project, &format!("number {count}"), None, ())
                    })
                    .await
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap().unwrap();
        }
        let names = db
            .read(|tx| tx.fetch_all::<String>("select name from benchmark order by name", &[]))
            .await
            .unwrap();
        assert_eq!(names, (0..8).map(|number| format!("number {number}")).collect::<Vec<_>>());
    }

    async fn one_of_several_servers_has_a_lease(db: TestDb) {
        let at = |seconds: i64| Timestamp::from_micros(1_000_000 * seconds);
        let claim = |now, until| db.write(move |tx| rate_window::claim(tx, "backup", at(now), at(until)));
        assert!(claim(0, 100).await.unwrap());
        assert!(!claim(99, 200).await.unwrap());
        // The first server was killed.
        assert!(claim(100, 200).await.unwrap());
        assert!(!claim(101, 300).await.unwrap());
        db.write(|tx| rate_window::release(tx, "backup")).await.unwrap();
        assert!(claim(102, 300).await.unwrap());
    }
}
