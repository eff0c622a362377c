//! A server that is killed while many clients send reports: acknowledged reports are complete, and no report is
//! partial.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::Value;

use crate::{
    client::Client,
    database,
    process::{Server, create_database, tidemark},
    report::{PATH, Reports},
};

const CLIENTS: usize = 64;
const REPORTS: usize = 1_000;
/// Number of acknowledged reports before the server is killed.
const BEFORE: usize = 400;
const KIND: Reports = Reports { shared: 4 };

#[test]
fn no_report_is_lost_or_halved_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    crash(folder.path(), None);
}

#[test]
fn no_report_is_lost_or_halved_on_postgres() {
    let folder = tempfile::tempdir().unwrap();
    crash(folder.path(), Some(&create_database()));
}

fn crash(data: &Path, postgres: Option<&str>) {
    let start = || {
        let mut command = tidemark(&["serve", "--bind", "127.0.0.1:0", "--data-dir"]);
        command.arg(data);
        if let Some(url) = postgres {
            command.args(["--database", url]);
        }
        let mut server = Server::spawn(&mut command);
        server.drain();
        server
    };
    let server = start();
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", data);
    let token = ada.token.clone();
    Reports::found_project(&mut ada);

    let storm = Storm::default();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let client = Client::connect_as(&server, &token);
            scope.spawn(|| storm.send(client, || server.signal("KILL")));
        }
    });
    server.wait();
    let acknowledged = storm.acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() < REPORTS, "the server died too late");
    database::check(data, postgres);

    let server = start();
    let found = KIND.check(&mut Client::connect_as(&server, &token));
    assert_told(&acknowledged, &found);
    // Each disconnected client had at most one report in flight.
    assert!(found.len() <= acknowledged.len() + CLIENTS);

    // All clients send unacknowledged reports again, and nothing is recorded twice.
    let storm = Storm { next: AtomicUsize::new(0), acknowledged: Mutex::new(acknowledged) };
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let client = Client::connect_as(&server, &token);
            scope.spawn(|| storm.send(client, || ()));
        }
    });
    let found = KIND.check(&mut Client::connect_as(&server, &token));
    let acknowledged = storm.acknowledged.into_inner().unwrap();
    assert_told(&acknowledged, &found);
    assert_eq!((acknowledged.len(), found.len()), (REPORTS, REPORTS));
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(0));
    database::check(data, postgres);
}

/// Asserts that acknowledged reports are stored as acknowledged. A server that is too busy to read a recorded report
/// acknowledges it without its results.
fn assert_told(acknowledged: &BTreeMap<usize, Value>, found: &BTreeMap<usize, Value>) {
    for (number, answer) in acknowledged {
        let mut whole = found.get(number).cloned().unwrap_or_default();
        if let (None, Some(members)) = (answer.get("results"), whole.as_object_mut()) {
            members.retain(|name, _| name != "results" && name != "alerts");
        }
        assert!(whole == *answer, "report {number} was acknowledged as {answer}, and there is {whole}");
    }
}

/// The reports that many clients send concurrently.
#[derive(Default)]
struct Storm {
    next: AtomicUsize,
    /// Responses of the server, by the number of the report.
    acknowledged: Mutex<BTreeMap<usize, Value>>,
}

impl Storm {
    /// Sends one report after the other until none is left or the server is gone. Calls `at_before` once [`BEFORE`]
    /// reports are acknowledged.
    fn send(&self, mut client: Client, at_before: impl Fn()) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= REPORTS {
                return;
            }
            if self.acknowledged.lock().unwrap().contains_key(&number) {
                continue;
            }
            let Ok((status, answer)) = client.post_with_retries(PATH, &KIND.body(number)) else { return };
            assert_eq!(status, 201, "{answer}");
            let mut acknowledged = self.acknowledged.lock().unwrap();
            acknowledged.insert(number, answer);
            // Under the lock: the other clients must not finish before the server is killed, however slow this thread
            // is.
            if acknowledged.len() == BEFORE {
                at_before();
            }
        }
    }
}
