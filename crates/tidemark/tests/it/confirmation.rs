//! Confirmations from end to end: commits with images in the registry, a runner with a real OCI runtime, an alert, a job that
//! compares two commits, a search for the commit, and one notification. Skipped with a message if this machine cannot run jobs.

use std::process::Stdio;

use serde_json::{Value, json};
use tidemark_test_support::Stub;

use crate::{
    client::Client,
    process::wait_until,
    up::{Site, Up},
};

/// Hashes of three commits: the second one is slower.
const COMMITS: [(&str, &str); 3] = [
    ("1111111111111111111111111111111111111111", "VALUE=1000"),
    ("2222222222222222222222222222222222222222", "VALUE=1500"),
    ("3333333333333333333333333333333333333333", "VALUE=1000"),
];

impl Site {
    /// Measures the image of a commit with a job.
    fn measure(&self, hash: &str, more: &[&str]) {
        let threshold = [
            "--threshold-measure",
            "latency",
            "--threshold-test",
            "static",
            "--threshold-upper-boundary",
            "1200",
            "--hash",
            hash,
        ];
        let output = self.run_image(&format!("lab/bench:{hash}"), &[&threshold[..], more].concat());
        assert!(output.status.success(), "{output:?}");
    }
}

/// Waits until the newest event has this state, and returns the event.
fn newest(client: &mut Client, state: &str) -> Value {
    let mut event = Value::Null;
    wait_until(&format!("no event is {state}"), || {
        event = client.get("/v0/projects/lab/events").unwrap().1[0].take();
        event["confirmation"]["state"] == state
    });
    event
}

#[test]
fn a_slower_commit_is_measured_again_and_notified_once() {
    let settings = "[plus.notices]\nprivate_addresses = true\n";
    let Some((site, server)) = Site::open(settings, None) else { return };
    for (hash, value) in COMMITS {
        site.push_as(hash, &[value]);
    }
    let mut ada = Client::connect_as(&server, &site.token);
    let key = site.runner(&mut ada, "one");
    let _runner = Up(site.up("one", &key, &site.address).stderr(Stdio::null()).spawn().unwrap());
    let receiver = Stub::start(|_| "");
    let detection = json!({ "notifies": "alerts", "confirm": "confirm" });
    assert_eq!(ada.patch("/v0/projects/lab/detection", &detection).unwrap().0, 200);
    let notice = json!({ "name": "hook", "kind": "webhook", "url": receiver.address, "branch": null });
    assert_eq!(ada.post("/v0/projects/lab/notices", &notice).unwrap().0, 201);

    site.measure(COMMITS[0].0, &[]);
    site.measure(COMMITS[1].0, &[]);
    let event = newest(&mut ada, "confirmed");
    let confirmation = &event["confirmation"];
    assert_eq!(
        (&confirmation["base"]["hash"], &confirmation["head"]["hash"]),
        (&json!(COMMITS[0].0), &json!(COMMITS[1].0))
    );
    let compared = &confirmation["comparisons"][0];
    assert_eq!(
        (&compared["base"], &compared["head"], &compared["base_runs"]),
        (&json!(1000.0), &json!(1500.0), &json!(9))
    );
    wait_until("there is no notification", || receiver.request_count() > 0);
    let requests = receiver.take_requests();
    assert_eq!(requests.len(), 1);
    let body = requests[0].json();
    assert_eq!(body["reports"][0]["hash"], json!(COMMITS[1].0));
    assert_eq!(body["reports"][0]["confirmations"][0]["state"], json!("confirmed"));

    let path = format!("/v0/projects/lab/events/{}", event["uuid"].as_str().unwrap());
    assert_eq!(ada.patch(&path, &json!({ "status": "fixed" })).unwrap().0, 200);

    // A slow run of a commit that is not slower is a false alarm, and is not notified.
    site.measure(COMMITS[2].0, &["--env", "VALUE=1600"]);
    let event = newest(&mut ada, "refuted");
    assert_eq!(event["status"], json!("false_alarm"));
    assert_eq!(receiver.request_count(), 0);
}

#[test]
fn one_notification_names_the_commit_that_the_server_found() {
    let settings = "[plus.notices]\nprivate_addresses = true\n";
    let Some((site, server)) = Site::open(settings, None) else { return };
    // The fifth of eight commits after the measured one is slower.
    let hash = |number: u64| format!("{number:040x}");
    for number in 0..9 {
        site.push_as(&hash(number), &[if number < 5 { "VALUE=1000" } else { "VALUE=1500" }]);
    }
    let mut ada = Client::connect_as(&server, &site.token);
    let key = site.runner(&mut ada, "one");
    let _runner = Up(site.up("one", &key, &site.address).stderr(Stdio::null()).spawn().unwrap());
    let receiver = Stub::start(|_| "");
    let detection = json!({ "notifies": "alerts", "confirm": "confirm_and_bisect" });
    assert_eq!(ada.patch("/v0/projects/lab/detection", &detection).unwrap().0, 200);
    let notice = json!({ "name": "hook", "kind": "webhook", "url": receiver.address, "branch": null });
    assert_eq!(ada.post("/v0/projects/lab/notices", &notice).unwrap().0, 201);
    site.measure(&hash(0), &[]);
    // The commits between are known to the server, but the benchmark did not run.
    for number in 1..8 {
        let time = format!("2026-01-01T00:0{number}:00Z");
        let smoke = json!({ "branch": "main", "testbed": "smoke", "hash": hash(number), "start_time": time, "end_time": time,
            "results": [r#"{"smoke":{"latency":{"value":1}}}"#], "settings": { "adapter": "json" } });
        assert_eq!(ada.post("/v0/projects/lab/reports", &smoke).unwrap().0, 201);
    }
    site.measure(&hash(8), &[]);
    let mut event = Value::Null;
    wait_until("no commit is found", || {
        event = ada.get("/v0/projects/lab/events").unwrap().1[0].take();
        event["bisection"].is_object()
    });
    let found = &event["bisection"]["result"];
    assert_eq!((&found["culprit"]["hash"], &found["total"]), (&json!(hash(5)), &json!(8)), "{event:#}");
    assert_eq!(event["confirmation"]["state"], json!("confirmed"));
    wait_until("there is no notification", || receiver.request_count() > 0);
    let requests = receiver.take_requests();
    assert_eq!(requests.len(), 1);
    let body = requests[0].json();
    assert_eq!(body["bisections"][0]["result"]["culprit"]["hash"], json!(hash(5)), "{body:#}");
    assert_eq!(body["reports"][0]["confirmations"][0]["state"], json!("confirmed"));
}
