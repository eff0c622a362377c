//! Measures: their units and directions.

use serde_json::{Value, json};

use crate::{Answer, Lab, both, report::report_body};

impl Lab {
    /// Sends a report with one benchmark and these measures.
    async fn send_measures(&self, measures: Value, more: Value) -> Answer {
        let results = json!([json!({ "parse": measures }).to_string()]);
        self.post("reports", report_body(results, more)).await.expect(201)
    }

    /// Returns the direction of a measure; null if it is unknown.
    async fn direction(&self, measure: &str) -> Value {
        self.get(&format!("measures/{measure}")).await.expect(200).body["direction"].clone()
    }
}

both! {
    async fn units_are_needed_and_changed(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.post("measures", json!({ "name": "Speed" })).await.expect(400);
        for units in ["", " m", &"x".repeat(65)] {
            lab.post("measures", json!({ "name": "Speed", "units": units })).await.expect(400);
        }
        // A measure that a user creates keeps the given units, even if its name is built in.
        let made = lab.post("measures", json!({ "name": "Latency", "units": "years" })).await.expect(201);
        assert_eq!((made.text("/slug"), made.text("/units")), ("latency".into(), "years".into()));
        lab.server.pass(60);
        let changed = lab.patch("measures/latency", json!({ "units": "days" })).await.expect(200);
        assert_eq!(changed.text("/units"), "days");
        assert!(changed.text("/modified") > made.text("/modified"));
        lab.make("measures", "taken").await;
        lab.patch("measures/latency", json!({ "units": "weeks", "name": "taken" })).await.expect(409);
        assert_eq!(lab.get("measures/latency").await.text("/units"), "days");
    }

    async fn a_direction_is_set_and_removed(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.post("measures", json!({ "name": "Score", "units": "points", "direction": "up" })).await.expect(400);
        let made = lab.post("measures", json!({ "name": "Score", "units": "points" })).await.expect(201);
        assert_eq!(made.body.get("direction"), None);
        lab.server.pass(60);
        let changed = lab.patch("measures/score", json!({ "direction": "higher_is_better" })).await.expect(200);
        assert_eq!(changed.text("/direction"), "higher_is_better");
        assert!(changed.text("/modified") > made.text("/modified"));
        let listed = lab.get("measures").await.expect(200).body;
        assert_eq!(listed[0], changed.body);
        // Other changes keep the direction.
        lab.patch("measures/score", json!({ "units": "goals" })).await.expect(200);
        assert_eq!(lab.direction("score").await, "higher_is_better");
        lab.patch("measures/score", json!({ "direction": 1 })).await.expect(400);
        let removed = lab.patch("measures/score", json!({ "direction": null })).await.expect(200);
        assert_eq!(removed.body.get("direction"), None);
        let new = json!({ "name": "Cost", "units": "coins", "direction": "lower_is_better" });
        assert_eq!(lab.post("measures", new).await.expect(201).text("/direction"), "lower_is_better");
        let null = json!({ "name": "Other", "units": "coins", "direction": null });
        assert_eq!(lab.post("measures", null).await.expect(201).body.get("direction"), None);
    }

    async fn a_built_in_measure_has_its_direction_by_default(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("measures", "Latency").await;
        lab.make("measures", "Throughput").await;
        assert_eq!(lab.direction("latency").await, "lower_is_better");
        assert_eq!(lab.direction("throughput").await, "higher_is_better");
        lab.patch("measures/latency", json!({ "direction": "higher_is_better" })).await.expect(200);
        assert_eq!(lab.direction("latency").await, "higher_is_better");
        lab.patch("measures/latency", json!({ "direction": null })).await.expect(200);
        assert_eq!(lab.direction("latency").await, "lower_is_better");
        lab.patch("measures/latency", json!({ "slug": "mine" })).await.expect(200);
        assert_eq!(lab.direction("mine").await, Value::Null);
    }

    async fn a_report_declares_directions(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("measures", "Known").await;
        let lower = json!({ "value": 1, "direction": "lower_is_better" });
        let higher = json!({ "value": 1, "units": "points", "direction": "higher_is_better" });
        let plain = json!({ "value": 1, "direction": "sideways" });
        let model = json!({ "test": "z_score" });
        let more = json!({ "thresholds": { "models": { "Score": model, "Plain": model } } });
        let measures = json!({ "Known": lower, "Score": higher, "Plain": plain, "latency": lower });
        let sent = lab.send_measures(measures, more).await;
        assert_eq!(sent.body.get("warnings"), None);
        let mut measures = Vec::new();
        for slug in ["known", "score", "plain", "latency"] {
            measures.push(lab.direction(slug).await);
        }
        assert_eq!(json!(measures), json!(["lower_is_better", "higher_is_better", null, "lower_is_better"]));
        // The results define the units of a new measure and the side of its default boundary.
        assert_eq!(lab.get("measures/score").await.text("/units"), "points");
        let thresholds = lab.get("thresholds").await.expect(200).body;
        let boundaries: Vec<_> = thresholds.as_array().unwrap().iter().map(|threshold| {
            let model = &threshold["model"];
            json!([threshold["measure"]["slug"], model["lower_boundary"], model["upper_boundary"]])
        }).collect();
        assert!(boundaries.contains(&json!(["score", 0.95, null])), "{boundaries:?}");
        assert!(boundaries.contains(&json!(["plain", 0.95, 0.95])), "{boundaries:?}");
        // A known direction does not change; the response contains a warning.
        let measures = json!({ "Known": higher, "Score": higher, "Plain": lower, "latency": higher });
        let sent = lab.send_measures(measures, json!({})).await;
        assert_eq!(sent.body["warnings"], json!([
            "The direction of the measure `Known` stays `lower_is_better`; the results declare `higher_is_better`. If this \
             is correct, change the direction of the measure.",
            "The direction of the measure `Latency` stays `lower_is_better`; the results declare `higher_is_better`. If this \
             is correct, change the direction of the measure.",
        ]));
        assert_eq!(lab.direction("known").await, "lower_is_better");
        assert_eq!(lab.direction("plain").await, "lower_is_better");
        let uuid = sent.text("/uuid");
        assert_eq!(lab.get(&format!("reports/{uuid}")).await.expect(200).body.get("warnings"), None);
    }

    async fn a_new_direction_applies_to_changes_and_alerts(server: TestServer) {
        let lab = Lab::open(server).await;
        let limits = json!({ "test": "static", "lower_boundary": 50, "upper_boundary": 110 });
        let thresholds = json!({ "models": { "Score": limits } });
        for number in 0..60 {
            let value = if number < 40 { 100.0 } else { 120.0 } + 0.01 * f64::from(number % 7);
            let time = format!("2026-01-01T00:{number:02}:00Z");
            let more = json!({
                "hash": format!("{number:040x}"), "start_time": time, "end_time": time, "thresholds": thresholds,
            });
            lab.send_measures(json!({ "Score": { "value": value } }), more).await;
        }
        let found = lab.changes("", 1).await.remove(0);
        assert_eq!(found["direction"], "unknown");
        let counts = async || {
            let mut counts = Vec::new();
            for list in ["changes", "events"] {
                for direction in ["regression", "improvement", "unknown"] {
                    let query = format!("{list}?change_direction={direction}");
                    counts.push(lab.get(&query).await.expect(200).total());
                }
            }
            counts
        };
        // The event has a change and alerts; alerts of a measure without a direction are regressions.
        assert_eq!(counts().await, [0, 0, 1, 1, 0, 1]);
        lab.patch("measures/score", json!({ "direction": "higher_is_better" })).await.expect(200);
        assert_eq!(counts().await, [0, 1, 0, 0, 1, 0]);
        lab.patch("measures/score", json!({ "direction": "lower_is_better" })).await.expect(200);
        assert_eq!(counts().await, [1, 0, 0, 1, 0, 0]);
        lab.patch("measures/score", json!({ "direction": null })).await.expect(200);
        assert_eq!(counts().await, [0, 0, 1, 1, 0, 1]);
        // A report can declare the direction later.
        let more = json!({ "start_time": "2026-01-01T01:00:00Z", "end_time": "2026-01-01T01:00:00Z" });
        let declared = json!({ "Score": { "value": 120.0, "direction": "higher_is_better" } });
        lab.send_measures(declared, more).await;
        lab.settled().await;
        assert_eq!(counts().await, [0, 1, 0, 0, 1, 0]);
    }
}
