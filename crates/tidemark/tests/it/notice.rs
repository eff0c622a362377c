//! A server that is killed while it receives reports with alerts: the receiver gets a notification for every report,
//! in order.

use std::{thread, time::Duration};

use axum::http::StatusCode;
use serde_json::{Value, json};
use tidemark_test_support::Stub;

use crate::{
    client::Client,
    process::{Server, tidemark, wait_until},
};

const REPORTS: u32 = 60;
/// Numbers of reports after which the server is killed.
const KILLS: [u32; 2] = [20, 45];

#[test]
fn no_event_is_lost_or_overtaken_when_the_server_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut serve = tidemark(&["serve", "--bind", "127.0.0.1:0", "--data-dir"]);
        serve.arg(folder.path()).env("TIDEMARK_PLUS__NOTICES__PRIVATE_ADDRESSES", "true");
        let mut server = Server::spawn(&mut serve);
        server.drain();
        server
    };
    // Slightly slower than reports arrive.
    let receiver = Stub::start(|_| {
        thread::sleep(Duration::from_millis(20));
        StatusCode::NO_CONTENT
    });

    let mut server = start();
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", folder.path());
    let (status, _) = ada.post("/v0/organizations/ada/projects", &json!({ "name": "Lab" })).unwrap();
    assert_eq!(status, 201);
    let (status, _) = ada.patch("/v0/projects/lab/detection", &json!({ "notifies": "alerts" })).unwrap();
    assert_eq!(status, 200);
    let notice = json!({ "name": "Hook", "kind": "webhook", "url": receiver.address });
    let (status, notice) = ada.post("/v0/projects/lab/notices", &notice).unwrap();
    assert_eq!(status, 201, "{notice}");

    let mut sent = Vec::new();
    for number in 0..REPORTS {
        if KILLS.contains(&number) {
            server.kill();
            server = start();
            ada = Client::connect_as(&server, &ada.token);
        }
        let time = "2026-01-01T00:00:00Z";
        let results = json!({ "bench": { "latency": { "value": number + 1 } } }).to_string();
        let report = json!({
            "branch": "main", "testbed": "metal", "start_time": time, "end_time": time, "results": [results],
            "thresholds": { "models": { "latency": { "test": "static", "upper_boundary": 0 } } },
        });
        let (status, answer) = ada.post("/v0/projects/lab/reports", &report).unwrap();
        assert_eq!(status, 201, "{answer}");
        sent.push(answer["uuid"].as_str().unwrap().to_owned());
    }
    let mut deliveries = Vec::new();
    wait_until("the last report is not delivered", || {
        deliveries.extend(receiver.take_requests().into_iter().map(|request| {
            let report = request.json()["reports"][0]["uuid"].as_str().unwrap().to_owned();
            (request.headers["webhook-id"].clone(), report)
        }));
        deliveries.last().is_some_and(|(_, report)| Some(report) == sent.last())
    });
    // A repeated event is always the last event: it was in flight when the server was killed.
    let mut events = deliveries.clone();
    events.dedup();
    let reports: Vec<_> = events.iter().map(|(_, report)| report.clone()).collect();
    assert_eq!(reports, sent);
    eprintln!("{} requests for {REPORTS} events", deliveries.len());
    let path =
        format!("/v0/projects/lab/notices/{}/deliveries?per_page=100", notice["uuid"].as_str().unwrap());
    let mut log = Value::Null;
    wait_until("the last delivery is not recorded", || {
        log = ada.get(&path).unwrap().1;
        log[0]["status"] == "delivered"
    });
    let log = log.as_array().unwrap();
    assert_eq!(log.len(), sent.len());
    assert!(log.iter().all(|one| one["status"] == "delivered"), "{log:?}");
}
