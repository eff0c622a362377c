//! Events: changes with a common start, and the status that applies to all of them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Lab, both, change::chance};

/// Returns the values of five benchmarks: two become slower and one faster with version 30, and one slower with version 50.
fn values(number: u64) -> [(&'static str, f64); 5] {
    let noise = |salt: u64| 0.99 + 0.02 * chance(number + 1_000 * salt);
    let step = |from: u64, factor: f64| if number < from { 1.0 } else { factor };
    [
        ("a", 100.0 * noise(1) * step(30, 1.1)),
        ("b", 100.0 * noise(2) * step(30, 1.5)),
        ("c", 100.0 * noise(3) * step(30, 0.5)),
        ("d", 100.0 * noise(4) * step(50, 1.2)),
        ("e", 100.0 * noise(5)),
    ]
}

fn names(event: &Value) -> Vec<&str> {
    let changes = event["changes"].as_array().unwrap();
    changes.iter().map(|change| change["benchmark"]["name"].as_str().unwrap()).collect()
}

impl Lab {
    /// Returns the events, newest first.
    pub(crate) async fn events(&self, query: &str) -> Vec<Value> {
        self.get(&format!("events{query}")).await.expect(200).body.as_array().unwrap().clone()
    }

    pub(crate) async fn event(&self, uuid: &Value) -> Value {
        self.get(&format!("events/{}", uuid.as_str().unwrap())).await.expect(200).body
    }
}

both! {
    async fn changes_with_a_common_start_are_one_event(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..80 {
            lab.measure(number, &values(number)).await;
            // This testbed is too slow for every version, and measures the change with version 32.
            if number % 4 == 0 {
                lab.measure_on("slow", number, &values(number)[..1]).await;
            }
        }
        lab.changes("", 5).await;
        let list = lab.get("events").await.expect(200);
        assert_eq!(list.total(), 2);
        let received: Vec<String> = list
            .body
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let candidates = one["candidates"].as_array().unwrap();
                let candidates: Vec<u64> = candidates.iter().map(|version| version["number"].as_u64().unwrap()).collect();
                let counts = format!("{}/{}/{}", one["regressions"], one["improvements"], one["total"]);
                format!("{:?} {candidates:?} {counts}", names(one))
            })
            .collect();
        assert_eq!(received, [r#"["d"] [50] 1/0/1"#, r#"["b", "a", "a", "c"] [30] 3/1/4"#]);
        assert_eq!(lab.events("?per_page=1&page=2").await[0], list.body[1]);
        assert_eq!(lab.event(&list.body[1]["uuid"]).await, list.body[1]);
        assert_eq!(names(&lab.events("?sort=size").await[0]), ["b", "a", "a", "c"]);
        for (query, count) in [
            ("?status=open", 2),
            ("?status=fixed", 0),
            ("?change_direction=improvement", 1),
            ("?change_direction=regression&cause=code", 2),
            ("?cause=host", 0),
            ("?benchmark=d", 1),
            ("?testbed=slow&branch=main&measure=latency", 1),
            ("?benchmark=e", 0),
        ] {
            assert_eq!(lab.events(query).await.len(), count, "{query}");
        }
        lab.get("events?branch=nothing").await.expect(404);
        lab.get("events/0190a000-0000-7000-8000-000000000000").await.expect(404);
    }

    async fn a_status_applies_to_changes_and_alerts(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..50 {
            lab.measure(number, &values(number)).await;
        }
        lab.changes("", 3).await;
        // A threshold raises an alert for each further value of `b`, and for another benchmark without a change.
        let limit = json!({
            "branch": "main", "testbed": "localhost", "measure": "latency", "test": "static", "upper_boundary": 130,
        });
        lab.post("thresholds", limit).await.expect(201);
        lab.measure(50, &[("b", 150.0), ("other", 140.0)]).await;
        lab.settled().await;
        let event = lab.events("?benchmark=b").await.remove(0);
        assert_eq!((names(&event), &event["total_alerts"]), (vec!["b", "a", "c"], &json!(1)));
        // The other alert is an event of its own.
        let other = lab.events("?benchmark=other").await.remove(0);
        assert_eq!((names(&other), &other["total_alerts"], &other["alerts"][0]["value"]), (vec![], &json!(1), &json!(140.0)));
        let path = format!("events/{}", event["uuid"].as_str().unwrap());
        let alerts = async |status: &str| lab.get(&format!("alerts?status={status}")).await.expect(200).total();
        assert_eq!((alerts("active").await, alerts("dismissed").await), (2, 0));
        let own = async |status: &str| {
            let query = format!("alerts?status={status}&event={}", event["uuid"].as_str().unwrap());
            let page = lab.get(&query).await.expect(200);
            assert_eq!(page.body.as_array().unwrap().len() as i64, page.total());
            page.total()
        };
        assert_eq!((own("active").await, own("dismissed").await), (1, 0));

        let mut closed = lab.patch(&path, json!({ "status": "expected", "note": "A new allocator" })).await.expect(200);
        let audit = lab.server.get("/v0/organizations/ada/audit?per_page=1", &lab.token).await.expect(200);
        assert_eq!((audit.text("/0/action"), audit.text("/0/target")), ("event.status".to_owned(), closed.text("/uuid")));
        let detail = json!({ "project": "lab", "status": "expected", "note": "A new allocator" });
        assert_eq!(audit.body[0]["detail"], detail);
        assert_eq!((alerts("active").await, alerts("dismissed").await), (1, 1));
        assert_eq!((own("active").await, own("dismissed").await), (0, 1));
        assert_eq!(lab.changes("?status=expected", 3).await.len(), 3);
        assert_eq!(lab.changes("?status=open", 0).await, Vec::<Value>::new());
        // The last digits depend on the machine.
        for change in closed.body["changes"].as_array_mut().unwrap() {
            for name in ["before", "after", "effect", "sigma", "confidence"] {
                change[name] = json!(format!("{:.1}", change[name].as_f64().unwrap()));
            }
        }
        assert_snapshot!("event", lab.server.show(&closed));

        // A change of the same version that detection finds later has the same status.
        for number in 0..60 {
            lab.measure_on("other", number, &values(number)[..2]).await;
        }
        lab.changes("?testbed=other", 2).await;
        let event = lab.event(&event["uuid"]).await;
        assert_eq!((names(&event), &event["status"]), (vec!["b", "b", "a", "a", "c"], &json!("expected")));

        // Reopening reverts everything.
        let opened = lab.patch(&path, json!({ "status": "open", "note": null })).await.expect(200).body;
        assert_eq!((&opened["status"], &opened["note"]), (&json!("open"), &Value::Null));
        let actions = opened["actions"].as_array().unwrap();
        let actions: Vec<_> = actions.iter().map(|action| (action["status"].as_str().unwrap(), &action["actor"]["name"])).collect();
        assert_eq!(actions, [("open", &json!("Ada")), ("expected", &json!("Ada"))]);
        assert_eq!((alerts("active").await, alerts("dismissed").await), (2, 0));

        let refused = lab.patch(&path, json!({ "status": "recovered" })).await;
        assert_snapshot!("event_recovered_by_hand", lab.server.show(&refused));
        lab.patch(&path, json!({ "status": "gone" })).await.expect(400);
        lab.patch(&path, json!({ "stats": "open" })).await.expect(400);
    }

    async fn an_event_recovers_when_its_regressions_do(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.stay(0..40, 100.0).await;
        lab.stay(40..60, 120.0).await;
        lab.changes("?status=open", 1).await;
        lab.stay(60..90, 100.0).await;
        lab.changes("", 2).await;
        let event = lab.events("?status=recovered").await.remove(0);
        assert_eq!((names(&event), &event["actions"][0]["actor"]["kind"]), (vec!["moved"], &json!("system")));
        // The improvement is an event of its own: it only reverts the regression, and needs no review.
        assert_eq!(lab.events("?status=open").await.len(), 0);
        assert_eq!(lab.events("?status=recovered").await.len(), 2);
        // A status of a user stays.
        let path = format!("events/{}", event["uuid"].as_str().unwrap());
        lab.patch(&path, json!({ "status": "fixed" })).await.expect(200);
        lab.stay(90..110, 100.0).await;
        lab.settled().await;
        assert_eq!(lab.event(&event["uuid"]).await["status"], json!("fixed"));
        // A level that is better than that before the regression is an improvement.
        lab.stay(110..130, 70.0).await;
        lab.changes("", 3).await;
        assert_eq!(lab.events("?status=open&change_direction=improvement").await.len(), 1);
    }

    async fn a_slow_machine_is_one_event(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..60 {
            let host = if number < 30 { 1.0 } else { 1.3 };
            let code = if number < 30 { 1.0 } else { 1.4 };
            let mut values: Vec<(String, f64)> = (0..8)
                .map(|salt| (format!("bench-{salt}"), 100.0 * host * (0.99 + 0.02 * chance(number + 1_000 * salt))))
                .collect();
            values[0].1 *= code;
            let values: Vec<(&str, f64)> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            lab.measure(number, &values).await;
        }
        lab.settled().await;
        let events = lab.events("").await;
        let shown: Vec<_> = events.iter().map(|event| (event["cause"].as_str().unwrap(), event["total"].as_u64().unwrap())).collect();
        assert!(shown.contains(&("host", 8)) || shown.contains(&("host", 7)), "{shown:?}");
        assert_eq!(lab.events("?cause=host").await.len(), 1);
    }
}
