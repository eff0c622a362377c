//! Bisections: results of searches for the commit that caused an event, and their notifications.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    Lab, both,
    notice::{PRIVATE, Receiver},
    report::with,
};

/// Returns a result of a search.
pub(crate) fn result() -> Value {
    let hash = |letter: &str| letter.repeat(40);
    json!({
        "status": "found",
        "culprit": { "hash": hash("b"), "subject": "Sort <twice>", "author": "Ada", "date": "2026-11-18" },
        "candidates": [hash("b")],
        "probability": 0.9876,
        "good": hash("a"),
        "bad": hash("c"),
        "benchmark": "moved",
        "measure": "Latency",
        "units": "nanoseconds (ns)",
        "before": 100.0,
        "after": 130.0,
        "difference": { "estimate": 0.3, "lower": 0.28, "upper": 0.32, "relative": true },
        "runs": 14,
        "reused": 2,
        "total": 2,
        "commits": [
            { "hash": hash("a"), "probability": 0.0, "values": [100.0, 101.0], "reused": [99.0], "skipped": null },
            { "hash": hash("b"), "probability": 0.9876, "values": [130.0], "reused": [], "skipped": null },
            { "hash": hash("c"), "probability": 0.0124, "values": [131.0], "reused": [129.0], "skipped": null },
        ],
    })
}

both! {
    async fn a_result_is_stored_with_the_event_and_sent(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.stay(0..40, 100.0).await;
        lab.settled().await;
        lab.stay(40..50, 150.0).await;
        lab.changes("", 1).await;
        let first = receiver.wait_for(&lab, 1).await.remove(0).json();
        assert_eq!(first.get("bisections"), None);
        let event = lab.events("").await.remove(0);
        assert_eq!(event.get("bisection"), None);
        let path = format!("events/{}/bisection", event["uuid"].as_str().unwrap());
        let stored = lab.post(&path, result()).await.expect(201).body;
        assert_eq!(stored["result"], result());
        assert_eq!(lab.event(&event["uuid"]).await["bisection"], stored);
        // The notification was delivered without the culprit.
        let again = receiver.wait_for(&lab, 1).await.remove(0).json();
        assert_eq!(again["reports"], first["reports"]);
        assert_eq!(again["bisections"], json!([{ "event": event["uuid"], "result": result() }]));
        // A search without a culprit replaces the result, and sends nothing.
        let none = json!({ "status": "no_difference", "culprit": null, "candidates": [] });
        lab.post(&path, with(result(), none)).await.expect(201);
        assert_eq!(lab.event(&event["uuid"]).await["bisection"]["result"]["status"], "no_difference");
        receiver.is_left_alone(&lab).await;
    }

    async fn a_result_that_is_not_consistent_is_rejected(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        lab.stay(0..40, 100.0).await;
        lab.settled().await;
        lab.stay(40..50, 150.0).await;
        lab.changes("", 1).await;
        let event = lab.events("").await.remove(0);
        let path = format!("events/{}/bisection", event["uuid"].as_str().unwrap());
        let mut messages = String::new();
        for more in [
            json!({ "probability": 1.5 }),
            json!({ "culprit": null }),
            json!({ "candidates": vec!["a".repeat(40); 1_025] }),
            json!({ "units": "x".repeat(1_025) }),
            json!({ "status": "maybe" }),
            json!({ "more": 1 }),
        ] {
            let answer = lab.post(&path, with(result(), more)).await.expect(400);
            messages.push_str(&answer.text("/message"));
            messages.push('\n');
        }
        assert_snapshot!(messages);
        lab.post("events/0190a000-0000-7000-8000-000000000000/bisection", result()).await.expect(404);
    }
}
