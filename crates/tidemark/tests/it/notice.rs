//! A server that is killed while it receives reports with alerts: the receiver gets a notification for every report,
//! in order.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    client::Client,
    process::{Server, tidemark, wait_until},
};

const REPORTS: u32 = 60;
/// Numbers of reports after which the server is killed.
const KILLS: [u32; 2] = [20, 45];

/// An event and its report.
type Delivery = (String, String);

/// Accepts requests one after the other, slightly slower than reports arrive.
fn receive(listener: &TcpListener, deliveries: &Mutex<Vec<Delivery>>) {
    for stream in listener.incoming() {
        // A killed server leaves a partial request.
        let Some(one) = stream.ok().and_then(|stream| read(&stream)) else { continue };
        deliveries.lock().unwrap().push(one);
        thread::sleep(Duration::from_millis(20));
    }
}

fn read(mut stream: &TcpStream) -> Option<Delivery> {
    let mut reader = BufReader::new(stream);
    let (mut event, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("webhook-id") => event = Some(value.to_owned()),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?;
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    // If the response cannot be sent, the request still counts, and the server sends it again.
    let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    Some((event?, body["reports"][0]["uuid"].as_str()?.to_owned()))
}

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
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let deliveries: Arc<Mutex<Vec<Delivery>>> = Arc::default();
    let heard = Arc::clone(&deliveries);
    thread::spawn(move || receive(&listener, &heard));

    let mut server = start();
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", folder.path());
    let (status, _) = ada.post("/v0/organizations/ada/projects", &json!({ "name": "Lab" })).unwrap();
    assert_eq!(status, 201);
    let (status, _) = ada.patch("/v0/projects/lab/detection", &json!({ "notifies": "alerts" })).unwrap();
    assert_eq!(status, 200);
    let notice = json!({ "name": "Hook", "kind": "webhook", "url": address });
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
    wait_until("the last report is not delivered", || {
        deliveries.lock().unwrap().last().is_some_and(|(_, report)| Some(report) == sent.last())
    });
    let deliveries = deliveries.lock().unwrap().clone();
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
