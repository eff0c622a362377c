//! Mutes: muted series cause no notifications and no failing gates, and their results are marked.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_store::{Tx, mute};

use crate::{
    Lab, both,
    change::chance,
    notice::{PRIVATE, Receiver},
    report::with,
    until,
};

const DAY: i64 = 24 * 60 * 60;

impl Lab {
    /// Mutes benchmarks for 14 days and returns the path of the mute.
    async fn mute(&self, benchmark: &str) -> String {
        let new = json!({ "benchmark": benchmark, "reason": "Flaky since the move", "ttl": 14 * DAY });
        format!("mutes/{}", self.post("mutes", new).await.expect(201).text("/uuid"))
    }
}

both! {
    async fn mutes_are_created_listed_and_deleted(server: TestServer) {
        let lab = Lab::open(server).await;
        let new = json!({
            "benchmark": "parser::*", "branch": "main", "testbed": "ci", "reason": "Flaky", "ttl": 14 * DAY,
        });
        let created = lab.post("mutes", new).await.expect(201);
        assert_snapshot!("created", lab.server.show(&created));
        let forever = lab.post("mutes", json!({ "testbed": "laptop", "reason": "Under repair" })).await.expect(201);
        assert_eq!(forever.body["expires"], Value::Null);
        let path = format!("mutes/{}", created.text("/uuid"));
        assert_eq!(lab.get(&path).await.expect(200).body, created.body);
        assert_eq!(lab.get("mutes").await.expect(200).body, json!([forever.body, created.body]));
        assert_eq!(lab.get("mutes?direction=asc&per_page=1").await.expect(200).body, json!([created.body]));
        lab.server.pass(14 * DAY);
        assert_eq!(lab.get("mutes?expired=true").await.expect(200).body, json!([created.body]));
        assert_eq!(lab.get("mutes?expired=false").await.expect(200).body, json!([forever.body]));
        lab.delete(&path).await.expect(204);
        lab.get(&path).await.expect(404);
        lab.delete(&path).await.expect(404);
        assert_eq!(lab.total("mutes").await, 1);
        let log = lab.server.get("/v0/organizations/ada/audit", &lab.token).await.expect(200).body;
        let actions: Vec<&Value> = log.as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
        assert_eq!(actions[..3], [&json!("mute.delete"), &json!("mute.create"), &json!("mute.create")]);
        assert_eq!(log[0]["detail"]["benchmark"], "parser::*");
    }

    async fn a_mute_needs_a_pattern_and_a_reason(server: TestServer) {
        let lab = Lab::open(server).await;
        for (new, message) in [
            (json!({ "reason": "Flaky" }), "A mute requires `benchmark`, `branch` or `testbed`."),
            (json!({ "benchmark": "a" }), "reason"),
            (json!({ "benchmark": "a", "reason": " " }), "reason"),
            (json!({ "benchmark": "", "reason": "Flaky" }), "benchmark"),
            (json!({ "benchmark": "a", "reason": "Flaky", "ttl": 0 }), "ttl"),
            (json!({ "benchmark": "a", "reason": "Flaky", "until": 1 }), "until"),
        ] {
            let answer = lab.post("mutes", new.clone()).await.expect(400);
            assert!(answer.text("/message").contains(message), "{new}: {}", answer.body);
        }
        let (app, id) = (lab.server.app.clone(), lab.id);
        let fill = move |tx: &mut Tx<'_>| {
            let fresh = app.fresh();
            let new = serde_json::from_value(json!({ "benchmark": "a", "reason": "Flaky", "ttl": 60 })).unwrap();
            let actor = tidemark_api::Actor { kind: tidemark_api::ActorKind::System, uuid: None, name: None };
            (0..mute::MAX_ACTIVE_MUTES).try_for_each(|_| mute::create(tx, &fresh, id, &new, &actor).map(drop))
        };
        lab.server.app.db.write(fill).await.unwrap();
        let answer = lab.post("mutes", json!({ "benchmark": "a", "reason": "Flaky" })).await.expect(409);
        assert!(answer.text("/message").contains("at most 1000 active mutes"), "{}", answer.body);
        // Expired mutes do not count.
        lab.server.pass(60);
        lab.mute("a").await;
    }

    async fn a_muted_series_does_not_change_the_verdict(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..40 {
            lab.six(number, [1.0; 6], json!({})).await;
        }
        let worse = lab.six(40, [1.3, 1.0, 1.0, 1.0, 1.0, 1.0], json!({})).await;
        let verdict = async || lab.get(&format!("reports/{worse}/verdict")).await.expect(200).body;
        let before = verdict().await;
        assert_eq!((&before["answer"], &before["counts"]["regressions"]), (&json!("changed"), &json!(1)));
        assert_eq!(before["comparisons"][0].get("muted"), None);
        let path = lab.mute("a").await;
        let muted = verdict().await;
        assert_eq!(muted["answer"], "unchanged");
        let counts = &muted["counts"];
        let counts = (&counts["regressions"], &counts["unchanged"], &counts["muted"]);
        assert_eq!(counts, (&json!(0), &json!(5), &json!(1)));
        let first = &muted["comparisons"][0];
        assert_eq!((&first["answer"], &first["direction"]), (&json!("changed"), &json!("regression")));
        assert_eq!(first["muted"]["reason"], "Flaky since the move");
        // An expired or deleted mute has no effect.
        lab.server.pass(14 * DAY);
        assert_eq!(verdict().await["counts"], before["counts"]);
        lab.post("mutes", json!({ "branch": "m*", "testbed": "other", "reason": "Other" })).await.expect(201);
        assert_eq!(verdict().await["counts"], before["counts"]);
        lab.post("mutes", json!({ "branch": "m*", "reason": "Frozen" })).await.expect(201);
        assert_eq!(verdict().await["counts"]["muted"], 1);
        lab.delete(&path).await.expect(204);
    }

    async fn muted_alerts_are_recorded_but_not_sent(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        let notice = lab.webhook(&address, json!({})).await;
        lab.calm().await;
        let path = lab.mute("p*").await;
        let report = lab.alarmed().await;
        let received = receiver.wait_for_with_retries(&lab, 1).await.remove(0).json();
        let alerts = received["reports"][0]["alerts"].as_array().unwrap();
        let names: Vec<&Value> = alerts.iter().map(|alert| &alert["benchmark"]).collect();
        assert_eq!(names, ["<fast> & `furious`", "sort"]);
        let found = lab.get(&format!("reports/{report}")).await.expect(200).body;
        assert_eq!(found["counts"]["alerts"], json!({ "total": 3, "active": 3, "muted": 1 }));
        let alerts = found["alerts"].as_array().unwrap();
        let muted: Vec<&Value> = alerts.iter().filter(|alert| alert["muted"].is_object()).collect();
        assert_eq!((muted.len(), &muted[0]["benchmark"]["name"]), (1, &json!("parse")));
        assert_eq!(muted[0]["muted"]["reason"], "Flaky since the move");
        assert_eq!(lab.badge("").await, "benchmarks: 2 alerts");
        assert_eq!(lab.badge("?benchmark=parse").await, "benchmarks: no alerts");
        // No notification if all alerts are muted.
        lab.post("mutes", json!({ "branch": "main", "reason": "Freeze" })).await.expect(201);
        lab.alarmed().await;
        receiver.is_left_alone(&lab).await;
        assert_eq!(lab.total(&format!("{notice}/deliveries")).await, 1);
        // Without the mute, the alerts count again.
        lab.delete(&path).await.expect(204);
        let found = lab.get(&format!("reports/{report}")).await.expect(200).body;
        assert_eq!(found["counts"]["alerts"], json!({ "total": 3, "active": 3 }));
        assert_eq!(lab.badge("?benchmark=parse").await, "benchmarks: 2 alerts");
    }

    async fn a_mute_applies_to_waiting_deliveries(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({ "digest": "daily" })).await;
        lab.alarmed().await;
        lab.mute("*").await;
        lab.server.pass(DAY);
        lab.server.app.background.wake();
        let log = lab.log(&notice).await;
        assert_eq!(log[0]["status"], "dropped");
        assert_eq!(log[0]["error"], "The alerts or changes of the report are muted.");
        receiver.is_left_alone(&lab).await;
    }

    async fn a_muted_change_is_found_but_not_sent(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        let path = lab.mute("moved").await;
        lab.stay(0..40, 100.0).await;
        lab.stay(40..50, 120.0).await;
        let change = lab.changes("", 1).await.remove(0);
        assert_eq!((&change["muted"]["reason"], &change["raised"]), (&json!("Flaky since the move"), &Value::Null));
        receiver.is_left_alone(&lab).await;
        assert_eq!(lab.badge("").await, "benchmarks: no regressions");
        let event = lab.get("events").await.expect(200).body[0].clone();
        assert_eq!(event["muted"], change["muted"]);
        assert_eq!(event["changes"][0], change);
        let uuid = event["uuid"].as_str().unwrap();
        assert_eq!(lab.get(&format!("events/{uuid}")).await.expect(200).body, event);
        for (query, count) in
            [("", 1), ("?muted=true", 1), ("?muted=false", 0), ("?muted=true&status=open", 1), ("?muted=true&status=fixed", 0)]
        {
            assert_eq!(lab.total(&format!("events{query}")).await, count, "{query}");
        }
        // Without the mute, the next report raises the change.
        lab.delete(&path).await.expect(204);
        lab.stay(50..54, 120.0).await;
        receiver.wait_for(&lab, 1).await;
        assert_eq!(lab.badge("").await, "benchmarks: 1 regression");
        assert_eq!((lab.total("events?muted=true").await, lab.total("events?muted=false").await), (0, 1));
        // A mute also hides a change that was raised before.
        lab.mute("moved").await;
        assert_eq!(lab.badge("").await, "benchmarks: no regressions");
    }

    async fn an_event_is_muted_if_all_its_series_are(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..50 {
            let level = |salt: u64| (if number < 40 { 100.0 } else { 130.0 }) * (0.99 + 0.02 * chance(number + 1_000 * salt));
            lab.measure(number, &[("a", level(1)), ("b", level(2)), ("c", 50.0 * (0.99 + 0.02 * chance(number)))]).await;
        }
        lab.changes("", 2).await;
        assert_eq!(lab.total("events").await, 1);
        lab.mute("a").await;
        let event = lab.get("events?muted=false").await.expect(200).body[0].clone();
        assert_eq!(event.get("muted"), None);
        let muted: Vec<bool> =
            event["changes"].as_array().unwrap().iter().map(|change| change["muted"].is_object()).collect();
        assert_eq!(muted.iter().filter(|is_muted| **is_muted).count(), 1);
        lab.mute("b").await;
        assert_eq!((lab.total("events?muted=true").await, lab.total("events?muted=false").await), (1, 0));
        lab.server.pass(14 * DAY);
        assert_eq!((lab.total("events?muted=true").await, lab.total("events?muted=false").await), (0, 1));
    }

    async fn an_alert_is_not_muted_after_the_mute_expires(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        lab.calm().await;
        lab.mute("p*").await;
        let report = lab.alarmed().await;
        let muted = async || {
            let found = lab.get(&format!("reports/{report}")).await.expect(200).body;
            let in_report = found["alerts"].as_array().unwrap().iter().filter(|alert| alert["muted"].is_object()).count();
            let list = lab.get("alerts").await.expect(200).body;
            let in_list = list.as_array().unwrap().iter().filter(|alert| alert["muted"].is_object()).count();
            (in_report, in_list, found["counts"]["alerts"]["muted"].clone())
        };
        assert_eq!(muted().await, (1, 1, json!(1)));
        assert_eq!(lab.badge("?benchmark=parse").await, "benchmarks: no alerts");
        lab.server.pass(14 * DAY);
        assert_eq!(muted().await, (0, 0, Value::Null));
        // The hourly clean-up updates the counts.
        lab.server.app.background.wake();
        until("the alert is still muted", async || {
            (lab.badge("?benchmark=parse").await == "benchmarks: 1 alert").then_some(())
        })
        .await;
        // The mute stays in the list of expired mutes for 30 days.
        assert_eq!(lab.total("mutes?expired=true").await, 1);
        lab.server.pass(30 * DAY);
        lab.server.app.background.wake();
        until("the mute is not deleted", async || {
            let left = lab.server.app.db.read::<_, tidemark_store::Error, _>(|tx| tx.value::<i64>("select count(*) from mute", &[]));
            (left.await.unwrap() == 0).then_some(())
        })
        .await;
    }

    async fn events_are_filtered_by_mutes(server: TestServer) {
        let lab = Lab::open(server).await;
        for testbed in ["localhost", "other"] {
            lab.measure_on(testbed, 0, &[("a", 100.0), ("b", 100.0)]).await;
            lab.limit(testbed, 130.0).await;
        }
        lab.measure(1, &[("a", 150.0)]).await;
        lab.measure_on("other", 2, &[("b", 150.0)]).await;
        lab.measure(3, &[("b", 150.0)]).await;
        let series = |event: &Value| {
            let text = |place: &str| event.pointer(place).unwrap().as_str().unwrap();
            format!("{} {}", text("/alerts/0/benchmark/name"), text("/alerts/0/testbed/name"))
        };
        for (mutes, expected) in [
            (json!([{ "testbed": "other" }]), vec!["b other"]),
            (json!([{ "benchmark": "b", "testbed": "local*" }]), vec!["b localhost"]),
            (json!([{ "benchmark": "a", "branch": "m*" }]), vec!["a localhost"]),
            (json!([{ "branch": "next" }, { "benchmark": "c*" }, { "benchmark": "a", "testbed": "other" }]), vec![]),
            (json!([{ "benchmark": "*" }]), vec!["b localhost", "b other", "a localhost"]),
            (json!([{ "branch": "main" }]), vec!["b localhost", "b other", "a localhost"]),
            (json!([{ "testbed": "o*r" }, { "benchmark": "b", "branch": "main" }]), vec!["b localhost", "b other"]),
        ] {
            let mut paths = Vec::new();
            for mute in mutes.as_array().unwrap() {
                let made = lab.post("mutes", with(json!({ "reason": "Flaky" }), mute.clone())).await.expect(201);
                paths.push(format!("mutes/{}", made.text("/uuid")));
            }
            let muted = lab.events("?muted=true").await;
            assert_eq!(muted.iter().map(series).collect::<Vec<_>>(), expected, "{mutes}");
            assert!(muted.iter().all(|event| event["muted"].is_object()), "{mutes}");
            let others = lab.events("?muted=false").await;
            assert_eq!(others.len() + muted.len(), 3, "{mutes}");
            assert!(others.iter().all(|event| event.get("muted").is_none()), "{mutes}");
            let marked = lab.events("").await;
            assert_eq!(marked.iter().filter(|event| event["muted"].is_object()).count(), muted.len(), "{mutes}");
            for path in paths {
                lab.delete(&path).await.expect(204);
            }
        }
        // The number of statements does not depend on the number of mutes.
        let mut costs = Vec::new();
        for number in 0..20 {
            lab.post("mutes", json!({ "benchmark": format!("{number}*"), "branch": format!("b{number}"), "reason": "Flaky" })).await.expect(201);
            if number % 19 == 0 {
                costs.push(lab.cost(async |_| drop(lab.get("events?muted=false").await.expect(200))).await);
            }
        }
        assert_eq!(costs[0], costs[1]);
    }
}
