//! Bisections: results of searches for the commit that caused an event, and their notifications.

use serde_json::{Value, json};
use tidemark_test_support::Request;

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

/// Returns the next request to the webhook, and the next one to Slack.
async fn received(receiver: &Receiver, lab: &Lab) -> [Value; 2] {
    let requests = receiver.wait_for(lab, 2).await;
    ["/webhook", "/slack"]
        .map(|path| requests.iter().find(|request| request.uri.path() == path).map(Request::json).unwrap())
}

both! {
    async fn a_result_is_stored_with_the_event_and_sent(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&format!("{address}/webhook"), json!({})).await;
        lab.notice("slack", &format!("{address}/slack"), json!({})).await.expect(201);
        lab.stay(0..40, 100.0).await;
        lab.settled().await;
        lab.stay(40..50, 150.0).await;
        lab.changes("", 1).await;
        let [first, slack] = received(&receiver, &lab).await;
        assert_eq!(first.get("bisections"), None);
        assert!(!slack.to_string().contains("Culprit"), "{slack:#}");
        let event = lab.events("").await.remove(0);
        assert_eq!(event.get("bisection"), None);
        let path = format!("events/{}/bisection", event["uuid"].as_str().unwrap());
        let stored = lab.post(&path, result()).await.expect(201).body;
        assert_eq!(stored["result"], result());
        assert_eq!(lab.event(&event["uuid"]).await["bisection"], stored);
        // The notification was delivered without the culprit.
        let [again, slack] = received(&receiver, &lab).await;
        assert_eq!(again["reports"], first["reports"]);
        assert_eq!(again["bisections"], json!([{ "event": event["uuid"], "result": result() }]));
        let culprit = "Culprit: bbbbbbbbbb Sort &lt;twice&gt;, by Ada; probability 98.7%";
        assert!(slack["blocks"][0]["text"]["text"].as_str().unwrap().contains(culprit), "{slack:#}");
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
        for (wrong, part) in [
            (json!({ "probability": 1.5 }), "it must be from 0 to 1"),
            (json!({ "culprit": null }), "`culprit` is missing"),
            (json!({ "candidates": vec!["a".repeat(40); 1_025] }), "`candidates` has 1025 entries"),
            (json!({ "units": "x".repeat(1_025) }), "A text has 1025 bytes"),
            (json!({ "status": "maybe" }), "status"),
            (json!({ "more": 1 }), "more"),
        ] {
            let answer = lab.post(&path, with(result(), wrong)).await.expect(400);
            assert!(answer.text("/message").contains(part), "{part}: {}", answer.body);
        }
        lab.post("events/0190a000-0000-7000-8000-000000000000/bisection", result()).await.expect(404);
    }
}
