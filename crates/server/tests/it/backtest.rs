//! Backtests: which alarms other settings would have raised, compared with the status of the changes.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Lab, both};

impl Lab {
    async fn backtest(&self, body: Value) -> Value {
        self.post("backtest", body).await.expect(200).body
    }
}

/// Returns the numbers of alarms, runs with alarms, found changes, missed changes, false alarms and unknown alarms.
fn score(answer: &Value) -> [u64; 6] {
    ["raised", "runs", "found", "missed", "false_alarms", "unknown"]
        .map(|name| answer[name].as_u64().unwrap())
}

both! {
    async fn a_way_to_watch_is_held_against_what_people_said(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.stay(0..40, 100.0).await;
        lab.stay(40..70, 120.0).await;
        lab.stay(70..100, 100.0).await;
        let changes = lab.changes("?sort=time", 2).await;
        assert_eq!(score(&lab.backtest(json!({})).await), [2, 2, 0, 0, 0, 2]);
        for (change, status) in changes.iter().zip(["false_alarm", "fixed"]) {
            let path = format!("events/{}", change["event"].as_str().unwrap());
            lab.patch(&path, json!({ "status": status })).await.expect(200);
        }
        let usual = lab.backtest(json!({ "sensitivity": 1 })).await;
        assert_eq!(score(&usual), [2, 2, 1, 0, 1, 0]);
        assert_eq!((&usual["series"], &usual["values"]), (&json!(2), &json!(200)));
        let newest = &usual["alarms"][0];
        assert_eq!((&newest["verdict"], &newest["change"]), (&json!("false_alarm"), &changes[0]["uuid"]));
        // A threshold raises an alarm for every value beyond its limit, and only in the worse direction.
        let model = json!({ "test": "percentage", "upper_boundary": 0.1, "max_sample_size": 16 });
        let [raised, runs, found, missed, false_alarms, unknown] = score(&lab.backtest(json!({ "model": model })).await);
        assert!(raised > 5 && runs == raised && unknown > 0, "{raised} {runs} {unknown}");
        assert_eq!((found, missed, false_alarms), (1, 0, 0));
        let strict = json!({ "test": "static", "upper_boundary": 1000.0 });
        assert_eq!(score(&lab.backtest(json!({ "model": strict })).await), [0, 0, 0, 1, 0, 0]);
        // Filters restrict the backtest.
        assert_eq!(score(&lab.backtest(json!({ "benchmark": "still" })).await), [0; 6]);
        assert_eq!(lab.backtest(json!({ "branch": "main", "testbed": "localhost", "measure": "latency" })).await["series"], json!(2));
        lab.post("backtest", json!({ "branch": "nowhere" })).await.expect(404);
    }

    async fn a_budget_raises_the_alarms_of_the_changes_that_the_server_notifies_about(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.stay(0..40, 100.0).await;
        // The server analyzes each report before the next one arrives.
        for number in 40..80 {
            lab.stay(number..number + 1, if number < 60 { 102.0 } else { 140.0 }).await;
            lab.settled().await;
        }
        let changes = lab.changes("?sort=time", 2).await;
        let notified = changes.iter().filter(|change| change["raised"].is_string()).count();
        let mut shown = format!("notified by the server: {notified}\n");
        for budget in [1, 2, 30, 1000] {
            let answer = lab.backtest(json!({ "false_alarms_per_month": budget })).await;
            shown.push_str(&format!("budget {budget}: {:?}\n", score(&answer)));
        }
        assert_snapshot!("backtest_budgets", shown);
    }

    async fn what_cannot_be_watched_is_refused(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.stay(0..3, 100.0).await;
        let mut shown = String::new();
        for body in [
            json!({ "sensitivity": 1, "model": { "test": "static", "upper_boundary": 1 } }),
            json!({ "sensitivity": 1, "false_alarms_per_month": 2 }),
            json!({ "false_alarms_per_month": 0 }),
            json!({ "sensitivity": 0 }),
            json!({ "model": { "test": "percentage", "upper_boundary": -1 } }),
            json!({ "wrong": 1 }),
        ] {
            shown.push_str(&lab.server.show(&lab.post("backtest", body).await.expect(400)));
            shown.push('\n');
        }
        assert_snapshot!("backtest_refused", shown);
    }
}
