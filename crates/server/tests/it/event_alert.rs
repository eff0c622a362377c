//! Alerts of events: which event they belong to, and how they follow the status of the event.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    Lab, both,
    notice::{PRIVATE, Receiver},
};

impl Lab {
    /// Creates a threshold with a fixed upper limit.
    pub(crate) async fn limit(&self, testbed: &str, upper: f64) -> String {
        let limit = json!({
            "branch": "main", "testbed": testbed, "measure": "latency", "test": "static", "upper_boundary": upper,
        });
        self.post("thresholds", limit).await.expect(201).text("/uuid")
    }

    /// Creates a project with two benchmarks at 100 and a limit of 130.
    async fn with_limit(server: crate::TestServer) -> Self {
        let lab = Self::open(server).await;
        lab.measure(0, &[("a", 100.0), ("b", 100.0)]).await;
        lab.limit("localhost", 130.0).await;
        lab
    }

    /// Returns the events, oldest first: status, the values of the alerts, newest first, and the number of alerts.
    async fn event_lines(&self) -> Vec<String> {
        self.events("?direction=asc").await.iter().map(brief).collect()
    }

    async fn alerts_with(&self, status: &str) -> i64 {
        self.get(&format!("alerts?status={status}")).await.expect(200).total()
    }

    async fn set_status(&self, event: &Value, status: &str) -> Value {
        let path = format!("events/{}", event["uuid"].as_str().unwrap());
        self.patch(&path, json!({ "status": status })).await.expect(200).body
    }
}

fn brief(event: &Value) -> String {
    let alerts = event["alerts"].as_array().unwrap();
    let alerts: Vec<String> = alerts
        .iter()
        .map(|alert| {
            let mark = if alert["status"] == "active" { "" } else { "-" };
            format!("{}{mark}{}", alert["benchmark"]["name"].as_str().unwrap(), alert["value"])
        })
        .collect();
    let (status, total) = (event["status"].as_str().unwrap(), &event["total_alerts"]);
    format!("{status} v{} {} {total}", event["candidates"][0]["number"], alerts.join(" "))
}

both! {
    async fn alerts_without_a_change_are_an_event(server: TestServer) {
        let lab = Lab::with_limit(server).await;
        let report = lab.measure(1, &[("a", 150.0), ("b", 140.0)]).await;
        let list = lab.get("events").await.expect(200);
        assert_eq!((list.total(), &list.body[0]["alerts"][0]["report"]), (1, &json!(report)));
        assert_snapshot!("event_alert", lab.server.show(&list));
        assert_eq!(lab.event(&list.body[0]["uuid"]).await, list.body[0]);
        // Later alerts of the same series join the event; those of another series are another event.
        lab.measure(2, &[("a", 151.0), ("b", 100.0)]).await;
        lab.measure(3, &[("a", 152.0), ("c", 300.0)]).await;
        assert_eq!(lab.event_lines().await, [
            "open v1 a152.0 a151.0 b140.0 a150.0 4",
            "open v3 c300.0 1",
        ]);
        for (query, count) in [
            ("?status=open", 2),
            ("?status=recovered", 0),
            ("?change_direction=regression", 2),
            ("?change_direction=improvement", 0),
            ("?change_direction=unknown", 0),
            ("?cause=code", 2),
            ("?cause=host", 0),
            ("?benchmark=a", 1),
            ("?benchmark=b&testbed=localhost&branch=main&measure=latency&status=open", 1),
            ("?benchmark=c", 1),
        ] {
            assert_eq!(lab.events(query).await.len(), count, "{query}");
        }
        let largest = lab.events("?sort=size").await;
        assert_eq!(brief(&largest[0]), "open v3 c300.0 1");
        let badge = lab.get("badge").await.expect(200).body;
        assert!(badge.as_str().unwrap().contains("2 regressions"), "{badge}");
        let own = format!("alerts?event={}", largest[1]["uuid"].as_str().unwrap());
        assert_eq!(lab.get(&own).await.expect(200).total(), 4);
        lab.get("alerts?event=0190a000-0000-7000-8000-000000000000").await.expect(200);
    }

    async fn testbeds_with_the_same_commit_are_one_event(server: TestServer) {
        let lab = Lab::with_limit(server).await;
        lab.measure_on("other", 0, &[("a", 100.0)]).await;
        lab.limit("other", 130.0).await;
        lab.measure(1, &[("a", 150.0)]).await;
        lab.measure_on("other", 1, &[("a", 160.0)]).await;
        // A report of an earlier commit arrives late: the event did not exist then.
        lab.measure_on("other", 0, &[("a", 170.0)]).await;
        assert_eq!(lab.event_lines().await, ["open v0 a170.0 1", "open v1 a160.0 a150.0 2"]);
        assert_eq!(lab.events("?testbed=other").await.len(), 2);
        assert_eq!(lab.events("?testbed=localhost").await.len(), 1);
    }

    async fn an_expected_event_dismisses_later_alerts(server: TestServer) {
        let lab = Lab::with_limit(server).await;
        lab.measure(1, &[("a", 150.0), ("b", 140.0)]).await;
        let event = lab.events("").await.remove(0);
        let closed = lab.set_status(&event, "expected").await;
        assert_eq!(brief(&closed), "expected v1 b-140.0 a-150.0 2");
        assert_eq!((lab.alerts_with("active").await, lab.alerts_with("dismissed").await), (0, 2));
        // Up to 5 % above the expected value, because a fixed limit has no baseline.
        lab.measure(2, &[("a", 157.0), ("b", 140.0)]).await;
        lab.measure(3, &[("a", 157.0)]).await;
        assert_eq!(lab.event_lines().await, ["expected v1 a-157.0 b-140.0 a-157.0 b-140.0 a-150.0 5"]);
        assert_eq!((lab.alerts_with("active").await, lab.alerts_with("dismissed").await), (0, 5));
        // The expected value does not rise with the values that joined.
        lab.measure(4, &[("a", 158.0), ("b", 140.0)]).await;
        assert_eq!(lab.event_lines().await, [
            "expected v1 b-140.0 a-157.0 b-140.0 a-157.0 b-140.0 a-150.0 6",
            "open v4 a158.0 1",
        ]);
        lab.measure(5, &[("a", 200.0)]).await;
        // Back at the expected level.
        lab.measure(6, &[("a", 150.0)]).await;
        assert_eq!(lab.event_lines().await, [
            "expected v1 a-150.0 b-140.0 a-157.0 b-140.0 a-157.0 b-140.0 a-150.0 7",
            "recovered v4 a200.0 a158.0 2",
        ]);
        assert_eq!((lab.alerts_with("active").await, lab.alerts_with("dismissed").await), (2, 7));
    }

    async fn reopening_an_event_activates_its_alerts(server: TestServer) {
        let lab = Lab::with_limit(server).await;
        lab.measure(1, &[("a", 150.0), ("b", 140.0)]).await;
        let event = lab.events("").await.remove(0);
        // A user dismisses one alert before.
        let by_hand = format!("alerts/{}", event["alerts"][0]["uuid"].as_str().unwrap());
        lab.patch(&by_hand, json!({ "status": "dismissed" })).await.expect(200);
        for status in ["expected", "fixed", "false_alarm"] {
            assert_eq!(brief(&lab.set_status(&event, status).await), format!("{status} v1 b-140.0 a-150.0 2"));
            assert_eq!(brief(&lab.set_status(&event, "open").await), "open v1 b-140.0 a150.0 2");
        }
        // Alerts that joined the expected event become active, too, and the next time their values are expected.
        lab.set_status(&event, "expected").await;
        lab.measure(2, &[("a", 157.0)]).await;
        assert_eq!(brief(&lab.set_status(&event, "open").await), "open v1 a157.0 b-140.0 a150.0 3");
        lab.set_status(&event, "expected").await;
        lab.measure(3, &[("a", 164.0)]).await;
        assert_eq!(lab.event_lines().await, ["expected v1 a-164.0 a-157.0 b-140.0 a-150.0 4"]);
        // After another status, an alert is a new event.
        lab.set_status(&event, "fixed").await;
        lab.measure(4, &[("a", 150.0)]).await;
        assert_eq!(lab.event_lines().await, ["fixed v1 a-164.0 a-157.0 b-140.0 a-150.0 4", "open v4 a150.0 1"]);
    }

    async fn an_event_recovers_when_all_its_values_are_within_their_limits(server: TestServer) {
        let lab = Lab::with_limit(server).await;
        lab.measure(1, &[("a", 150.0), ("b", 140.0)]).await;
        lab.measure(2, &[("a", 100.0)]).await;
        assert_eq!(lab.event_lines().await, ["open v1 b140.0 a150.0 2"]);
        // A report of an earlier commit says nothing about the newest value.
        lab.measure(0, &[("b", 100.0)]).await;
        assert_eq!(lab.event_lines().await, ["open v1 b140.0 a150.0 2"]);
        lab.measure(3, &[("b", 100.0)]).await;
        assert_eq!(lab.event_lines().await, ["recovered v1 b140.0 a150.0 2"]);
        let event = lab.events("?status=recovered").await.remove(0);
        assert_eq!((&event["actions"][0]["status"], &event["actions"][0]["actor"]["kind"]), (&json!("recovered"), &json!("system")));
        lab.measure(4, &[("b", 140.0)]).await;
        assert_eq!(lab.event_lines().await, ["recovered v1 b140.0 a150.0 2", "open v4 b140.0 1"]);
        // A status of a user stays.
        let event = lab.events("?status=open").await.remove(0);
        lab.set_status(&event, "expected").await;
        lab.measure(5, &[("b", 100.0)]).await;
        assert_eq!(lab.events("?status=expected").await.len(), 1);
    }

    async fn a_change_joins_the_event_of_its_alerts(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.stay(0..40, 100.0).await;
        lab.limit("localhost", 110.0).await;
        lab.stay(40..42, 120.0).await;
        let event = lab.events("").await.remove(0);
        assert_eq!((&event["total"], &event["total_alerts"], &event["earliest"]), (&json!(0), &json!(2), &Value::Null));
        lab.stay(42..60, 120.0).await;
        let change = lab.changes("", 1).await.remove(0);
        assert_eq!(change["event"], event["uuid"]);
        let events = lab.events("").await;
        let joined = &events[0];
        assert_eq!((events.len(), &joined["uuid"], &joined["total"], &joined["total_alerts"]), (1, &event["uuid"], &json!(1), &json!(20)));
        assert_eq!((&joined["candidates"][0]["number"], &joined["changes"][0]), (&json!(40), &change));
        // The change needs review, even if all alerts are dismissed.
        lab.patch("alerts", json!({ "status": "dismissed" })).await.expect(200);
        assert_eq!(lab.events("?status=open").await.len(), 1);
        // Alerts of the changed series join the expected event; much worse values do not.
        lab.set_status(joined, "expected").await;
        lab.stay(60..62, 120.0).await;
        assert_eq!((lab.alerts_with("active").await, lab.alerts_with("dismissed").await), (0, 22));
        lab.measure(62, &[("moved", 160.0), ("still", 50.0)]).await;
        lab.settled().await;
        assert_eq!(brief(&lab.events("?status=open").await[0]), "open v62 moved160.0 1");
    }

    async fn an_event_survives_the_deletion_of_its_reports(server: TestServer) {
        let lab = Lab::with_limit(server).await;
        let first = lab.measure(1, &[("a", 150.0), ("b", 140.0)]).await;
        let second = lab.measure(2, &[("a", 155.0)]).await;
        let event = lab.events("").await.remove(0);
        let threshold = event["alerts"][0]["threshold"].as_str().unwrap().to_owned();
        lab.delete(&format!("thresholds/{threshold}")).await.expect(409);
        lab.delete(&format!("reports/{first}")).await.expect(204);
        let left = lab.event(&event["uuid"]).await;
        assert_eq!((&left["total_alerts"], &left["alerts"].as_array().unwrap().len()), (&json!(1), &1));
        assert_eq!((lab.events("?benchmark=a").await.len(), lab.events("?benchmark=b").await.len()), (1, 0));
        lab.delete(&format!("reports/{second}")).await.expect(204);
        assert_eq!(lab.events("").await.len(), 0);
        let empty = lab.event(&event["uuid"]).await;
        assert_eq!((&empty["total_alerts"], &empty["alerts"], &empty["status"]), (&json!(0), &json!([]), &json!("open")));
        lab.set_status(&event, "false_alarm").await;
        // The value of the deleted report is no longer expected.
        let bad = lab.measure(3, &[("a", 1_000.0)]).await;
        lab.measure(4, &[("a", 150.0)]).await;
        lab.delete(&format!("reports/{bad}")).await.expect(204);
        let event = lab.events("?status=open").await.remove(0);
        lab.set_status(&event, "expected").await;
        lab.measure(5, &[("a", 200.0)]).await;
        assert_eq!(lab.events("?status=open").await.len(), 1);
    }

    async fn alerts_of_an_expected_event_are_not_notified(server: TestServer = PRIVATE) {
        let lab = Lab::with_limit(server).await;
        lab.patch("detection", json!({ "notifies": "alerts" })).await.expect(200);
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.measure(1, &[("a", 150.0)]).await;
        receiver.wait_for(&lab, 1).await;
        let event = lab.events("").await.remove(0);
        lab.set_status(&event, "expected").await;
        lab.measure(2, &[("a", 150.0)]).await;
        receiver.is_left_alone(&lab).await;
        // Only the alert of another series is sent.
        lab.measure(3, &[("a", 150.0), ("b", 140.0)]).await;
        let received = receiver.wait_for(&lab, 1).await.remove(0).json();
        let alerts = received["reports"][0]["alerts"].as_array().unwrap();
        assert_eq!((alerts.len(), &alerts[0]["benchmark"]), (1, &json!("b")));
    }

    async fn an_event_is_dismissed_with_the_last_of_its_alerts(server: TestServer) {
        let lab = Lab::with_limit(server).await;
        lab.measure(1, &[("a", 150.0), ("b", 140.0)]).await;
        let event = lab.events("").await.remove(0);
        let set = async |place: usize, status: &str| {
            let path = format!("alerts/{}", event["alerts"][place]["uuid"].as_str().unwrap());
            lab.patch(&path, json!({ "status": status })).await.expect(200);
            lab.event_lines().await.remove(0)
        };
        assert_eq!(set(0, "dismissed").await, "open v1 b-140.0 a150.0 2");
        assert_eq!(set(1, "dismissed").await, "dismissed v1 b-140.0 a-150.0 2");
        let dismissed = lab.events("?status=dismissed").await.remove(0);
        assert_snapshot!("event_dismissed", lab.server.show(&lab.get(&format!("events/{}", dismissed["uuid"].as_str().unwrap())).await));
        assert_eq!(set(1, "active").await, "open v1 b-140.0 a150.0 2");
        // All alerts at once; reopening the event activates them.
        lab.patch("alerts", json!({ "status": "dismissed" })).await.expect(200);
        assert_eq!(lab.event_lines().await, ["dismissed v1 b-140.0 a-150.0 2"]);
        assert_eq!(brief(&lab.set_status(&event, "open").await), "open v1 b140.0 a150.0 2");
        // An active alert also reopens an event that a user closed.
        lab.set_status(&event, "expected").await;
        assert_eq!(set(0, "active").await, "open v1 b140.0 a-150.0 2");
        let actions: Vec<Value> = lab.event(&event["uuid"]).await["actions"].as_array().unwrap().iter()
            .map(|action| action["status"].clone()).collect();
        assert_eq!(actions, ["open", "expected", "open", "dismissed", "open", "dismissed"]);
        // The next alert of a dismissed event is a new event.
        set(0, "dismissed").await;
        lab.measure(2, &[("a", 150.0)]).await;
        assert_eq!(lab.event_lines().await, ["dismissed v1 b-140.0 a-150.0 2", "open v2 a150.0 1"]);
        // Only the server sets this status.
        let path = format!("events/{}", event["uuid"].as_str().unwrap());
        lab.patch(&path, json!({ "status": "dismissed" })).await.expect(400);
    }
}
