//! Concurrent requests: all concurrent reports are recorded, and readers do not wait for writers.

use std::{collections::BTreeSet, sync::mpsc};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tidemark_store::{
    Db, Error, Lock, Tx,
    threshold::{self, ThresholdCounts},
};
use tokio::{sync::oneshot, time::timeout};
use uuid::Uuid;

use crate::{Engine, Lab, PATIENCE, both, until};

const CLIENTS: usize = 8;
const REPORTS: usize = 12;

/// Inserts a row that a unique constraint allows only once.
fn add_row(tx: &mut Tx<'_>) -> Result<(), Error> {
    let server = Uuid::from_u128(1);
    tx.execute("insert into server_report (server, received, document) values ($1, 0, '')", &[&server])?;
    Ok(())
}

/// Returns the number of transactions in this PostgreSQL database that wait for a lock.
async fn waiters(db: &Db) -> i64 {
    let sql = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    db.read(move |tx: &mut Tx<'_>| tx.value(sql, &[])).await.unwrap()
}

impl Lab {
    /// Sends reports one after the other, each with a shared benchmark and an own benchmark, and returns the
    /// responses.
    async fn send_reports(&self, client: usize) -> Vec<Value> {
        let mut answers = Vec::new();
        for number in 0..REPORTS {
            let value = client * REPORTS + number;
            let result = json!({
                "shared": { "latency": { "value": value } },
                format!("own {value}"): { format!("measure {client}"): { "value": value } },
            });
            let mut answer = self.report(json!([result.to_string()]), json!({})).await.expect(201).body;
            // A server that is too busy to read the results in time acknowledges the report without them.
            if answer.get("results").is_none() {
                answer =
                    self.get(&format!("reports/{}", answer["uuid"].as_str().unwrap())).await.expect(200).body;
            }
            for result in answer["results"][0].as_array().unwrap() {
                assert_eq!(result["measures"][0]["metric"]["value"], json!(value as f64), "{result:#}");
            }
            answers.push(answer);
        }
        answers
    }
}

both! {
    async fn eight_clients_lose_nothing(server: TestServer) {
        let lab = Lab::open(server).await;
        let sent: Vec<Value> = join_all((0..CLIENTS).map(|client| lab.send_reports(client))).await.concat();
        let number = |report: &Value| report["branch"]["head"]["version"]["number"].as_u64().unwrap();
        let versions: BTreeSet<u64> = sent.iter().map(number).collect();
        assert!(versions.into_iter().eq(0..sent.len() as u64));

        let stored = lab.get("reports?expand=true&per_page=255").await.expect(200);
        assert_eq!(stored.total(), 96);
        let mut stored = stored.body.as_array().unwrap().clone();
        let mut sent = sent;
        stored.sort_by_key(number);
        sent.sort_by_key(number);
        assert_eq!(stored, sent);
        // Rows that several reports created concurrently exist once.
        assert_eq!((lab.total("branches").await, lab.total("testbeds").await), (1, 1));
        assert_eq!(lab.total("benchmarks").await, 97);
        assert_eq!(lab.total("measures?search=measure").await, 8);
    }

    async fn a_write_that_was_given_up_does_not_happen(server: TestServer) {
        let db = server.app.db.clone();
        let (begun, has_begun) = oneshot::channel();
        let (end, may_end) = mpsc::sync_channel::<()>(1);
        let running = {
            let db = db.clone();
            tokio::spawn(async move {
                db.write(move |tx: &mut Tx<'_>| {
                    add_row(tx)?;
                    begun.send(()).unwrap();
                    may_end.recv().unwrap();
                    Ok::<_, Error>(())
                })
                .await
            })
        };
        has_begun.await.unwrap();
        // On SQLite, this write waits behind the first; on PostgreSQL, it is blocked by the same lock.
        let waiting = {
            let db = db.clone();
            tokio::spawn(async move { db.write(add_row).await })
        };
        let is_postgres = server.engine == Engine::Postgres;
        until("the second does not wait", async || {
            let is_waiting = if is_postgres { waiters(&db).await == 1 } else { db.load().waiting + db.load().busy >= 2 };
            is_waiting.then_some(())
        })
        .await;
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        if is_postgres {
            // It no longer waits for the lock of the first write, and its connection is free.
            until("its statement is not canceled", async || (waiters(&db).await == 0).then_some(())).await;
            until("its connection is not free", async || (db.load().busy == 1).then_some(())).await;
        }
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        end.send(()).unwrap();
        // The row is unique: the next write succeeds only if both writes were rolled back and the writer works.
        db.write(add_row).await.unwrap();
    }

    async fn a_threshold_that_a_report_is_using_is_not_deleted(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.value(1.0, json!({})).await;
        let new = json!({
            "branch": "main", "testbed": "localhost", "measure": "latency", "test": "t_test", "upper_boundary": 0.99,
        });
        let threshold = lab.post("thresholds", new).await.expect(201).text("/uuid");
        let (begun, has_begun) = oneshot::channel();
        let (end, may_end) = mpsc::sync_channel::<()>(1);
        let (db, project, uuid) = (lab.server.app.db.clone(), lab.id, threshold.parse().unwrap());
        let report = {
            let db = db.clone();
            tokio::spawn(async move {
                db.write(move |tx: &mut Tx<'_>| {
                    tx.lock(Lock::Project(project.get()))?;
                    let found = threshold::find(tx, project, uuid)?;
                    let checked = ThresholdCounts { threshold: found.id, judged: 1, active: 0, dismissed: 0 };
                    threshold::add_counts(tx, &[checked])?;
                    begun.send(()).unwrap();
                    may_end.recv().unwrap();
                    Ok::<_, Error>(())
                })
                .await
            })
        };
        has_begun.await.unwrap();
        let path = format!("thresholds/{threshold}");
        let delete = lab.delete(&path);
        let finish = async {
            if lab.server.engine == Engine::Postgres {
                while waiters(&db).await == 0 {}
            } else {
                while db.load().waiting < 2 {
                    tokio::task::yield_now().await;
                }
            }
            end.send(()).unwrap();
            report.await.unwrap().unwrap();
        };
        let (deleted, ()) = tokio::join!(delete, finish);
        deleted.expect(409);
        lab.get(&path).await.expect(200);
    }

    async fn readers_do_not_wait_for_a_writer(server: TestServer) {
        let lab = Lab::open(server).await;
        let before = lab.value(1.0, json!({})).await;
        let path = format!("reports/{}", before.text("/uuid"));

        // A write that has changed the project and waits for a signal to end.
        let (begun, has_begun) = oneshot::channel();
        let (end, may_end) = mpsc::sync_channel(1);
        let (db, project) = (lab.server.app.db.clone(), lab.id);
        let writer = tokio::spawn(async move {
            db.write(move |tx: &mut Tx<'_>| {
                tx.lock(Lock::Project(project.get()))?;
                tx.execute("update report set end_time = 0", &[])?;
                tx.execute("update testbed set name = 'changed'", &[])?;
                begun.send(()).unwrap();
                may_end.recv().unwrap();
                Ok::<_, Error>(())
            })
            .await
        });
        has_begun.await.unwrap();
        let reads = async {
            assert_eq!(lab.get(&path).await.expect(200).body, before.body);
            for list in ["reports", "reports?expand=true", "branches", "testbeds", "benchmarks", "measures", "alerts"] {
                lab.get(list).await.expect(200);
            }
            assert_eq!(lab.names("testbeds").await, ["localhost"]);
            // More readers than connections.
            join_all((0..40).map(|_| lab.get(&path))).await;
        };
        let report = lab.value(2.0, json!({ "testbed": "other" }));
        tokio::pin!(report);
        // A report waits for the writer; the concurrent readers do not.
        tokio::select! {
            biased;
            _ = &mut report => panic!("two wrote to a project at once"),
            done = timeout(PATIENCE, reads) => done.expect("readers wait for the writer"),
        }
        end.send(()).unwrap();
        writer.await.unwrap().unwrap();
        report.await;
        assert_eq!(lab.total("reports").await, 2);
        assert_eq!(lab.names("testbeds").await, ["changed", "other"]);
    }
}
