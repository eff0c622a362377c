//! Alerts: lists and status changes.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    Answer, Lab, both,
    report::{bench, with},
};

impl Lab {
    /// Sets limits for the latency on a branch and a testbed that only zero satisfies.
    pub(crate) async fn watch(&self, branch: &str, testbed: &str) {
        let model = json!({ "test": "static", "lower_boundary": 0, "upper_boundary": 0 });
        let thresholds = json!({ "models": { "latency": model } });
        self.report(json!([]), json!({ "branch": branch, "testbed": testbed, "thresholds": thresholds }))
            .await
            .expect(201);
    }

    /// Sends a report for a day of January with one value per benchmark in each iteration.
    pub(crate) async fn alarm(&self, day: u32, iterations: &[&[&str]], more: Value) -> Answer {
        let iteration = |names: &&[&str]| {
            let results = names.iter().map(|name| ((*name).to_owned(), json!({ "latency": { "value": 1 } })));
            Value::Object(results.collect()).to_string()
        };
        let fields = with(json!({ "start_time": format!("2026-01-{day:02}T00:00:00Z") }), more);
        self.report(iterations.iter().map(iteration).collect(), fields).await.expect(201)
    }

    /// Returns the alerts of a list, each as benchmark, iteration and status.
    async fn alerts(&self, query: &str) -> Vec<String> {
        let list = self.get(&format!("alerts{query}")).await.expect(200);
        let alerts = list.body.as_array().unwrap();
        alerts
            .iter()
            .map(|one| {
                let text = |pointer: &str| one.pointer(pointer).unwrap().as_str().unwrap().to_owned();
                format!("{} {} {}", text("/benchmark/name"), one["iteration"], text("/status"))
            })
            .collect()
    }

    async fn set_alert(&self, alert: &str, status: &str) -> Answer {
        self.patch(&format!("alerts/{alert}"), json!({ "status": status })).await
    }

    /// Returns the number of alerts per status.
    async fn statuses(&self) -> [i64; 3] {
        let mut totals = [0; 3];
        for (total, status) in totals.iter_mut().zip(["active", "dismissed", "silenced"]) {
            *total = self.total(&format!("alerts?status={status}")).await;
        }
        assert_eq!(self.total("alerts").await, totals.iter().sum::<i64>());
        assert_eq!(
            self.alerts("?per_page=255").await.len(),
            usize::try_from(totals.iter().sum::<i64>()).unwrap()
        );
        totals
    }
}

/// Returns the UUID of an alert of a report.
fn alert(report: &Answer, number: usize) -> String {
    report.text(&format!("/alerts/{number}/uuid"))
}

both! {
    async fn alerts_are_listed(server: TestServer) {
        let lab = Lab::open(server).await;
        for branch in ["main", "pr"] {
            lab.watch(branch, "localhost").await;
        }
        lab.alarm(3, &[&["b", "a"]], json!({})).await;
        lab.server.pass(60);
        lab.alarm(1, &[&["d"], &["d"]], json!({})).await;
        let dismissed = lab.alarm(2, &[&["c"]], json!({})).await;
        lab.alarm(5, &[&["e"]], json!({ "branch": "pr" })).await;
        lab.server.pass(60);
        lab.alarm(6, &[], json!({ "branch": "pr", "start_point": { "reset": true } })).await;
        lab.set_alert(&alert(&dismissed, 0), "dismissed").await.expect(200);
        let later = lab.alarm(4, &[&["a"]], json!({})).await;
        assert_eq!(later.body["counts"]["alerts"], json!({ "total": 1, "active": 1 }));

        let modified = ["a 0 active", "d 0 active", "d 1 active", "a 0 active", "b 0 active", "c 0 dismissed", "e 0 silenced"];
        assert_eq!(lab.alerts("").await, modified);
        assert_eq!(lab.alerts("?sort=modified&direction=desc").await, modified);
        let oldest = ["a 0 active", "b 0 active", "d 0 active", "d 1 active", "a 0 active", "c 0 dismissed", "e 0 silenced"];
        assert_eq!(lab.alerts("?sort=modified&direction=asc").await, oldest);
        let created = ["d 0 active", "d 1 active", "a 0 active", "b 0 active", "a 0 active", "c 0 dismissed", "e 0 silenced"];
        assert_eq!(lab.alerts("?sort=created").await, created);
        let latest = ["a 0 active", "a 0 active", "b 0 active", "d 0 active", "d 1 active", "c 0 dismissed", "e 0 silenced"];
        assert_eq!(lab.alerts("?sort=created&direction=desc").await, latest);

        assert_eq!(lab.statuses().await, [5, 1, 1]);
        for status in ["active", "dismissed", "silenced"] {
            let wanted: Vec<_> = modified.iter().copied().filter(|one| one.ends_with(status)).collect();
            assert_eq!(lab.alerts(&format!("?status={status}")).await, wanted);
        }
        assert_eq!(lab.alerts("?per_page=2&page=2").await, modified[2..4]);
        let page = lab.get("alerts?per_page=2&page=9").await.expect(200);
        assert_eq!((page.total(), &page.body), (7, &json!([])));
        let thresholds = lab.get("thresholds").await.expect(200).body;
        let on_branch = |name: &str| thresholds.as_array().unwrap().iter().find(|one| one["branch"]["name"] == json!(name));
        let pr = format!("threshold={}", on_branch("pr").unwrap()["uuid"].as_str().unwrap());
        assert_eq!(lab.alerts(&format!("?{pr}")).await, ["e 0 silenced"]);
        assert_eq!((lab.total(&format!("alerts?{pr}")).await, lab.total(&format!("alerts?status=active&{pr}")).await), (1, 0));
        let mut lines = Vec::new();
        for query in ["threshold=none", "status=open", "sort=name", "archived=maybe", "per_page=256"] {
            lines.push(lab.get(&format!("alerts?{query}")).await.line());
        }
        assert_snapshot!("alert_bad_query", lines.join("\n"));
    }

    async fn alerts_of_archived_dimensions_are_hidden(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.watch("main", "localhost").await;
        lab.watch("pr", "other").await;
        lab.alarm(1, &[&["a"]], json!({})).await;
        lab.alarm(1, &[&["b"]], json!({ "branch": "pr", "testbed": "other" })).await;
        let (here, there) = (vec!["a 0 active"], vec!["b 0 active"]);
        for noun in ["branches/pr", "testbeds/other", "measures/latency", "benchmarks/a"] {
            lab.patch(noun, json!({ "archived": true })).await.expect(200);
            let (shown, hidden) = match noun {
                "measures/latency" => (vec![], vec!["a 0 active", "b 0 active"]),
                "benchmarks/a" => (vec!["a 0 active", "b 0 active"], vec![]),
                _ => (here.clone(), there.clone()),
            };
            for (query, wanted) in [("", shown), ("archived=true", hidden)] {
                assert_eq!(lab.alerts(&format!("?{query}")).await, wanted, "{noun} {query}");
                assert_eq!(lab.total(&format!("alerts?status=active&{query}")).await, i64::try_from(wanted.len()).unwrap());
            }
            lab.patch(noun, json!({ "archived": false })).await.expect(200);
        }
    }

    async fn an_alert_is_changed(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.watch("main", "localhost").await;
        let report = lab.alarm(1, &[&["a"]], json!({ "hash": "a".repeat(40) })).await;
        let path = format!("alerts/{}", alert(&report, 0));
        let shown = lab.get(&path).await.expect(200);
        assert_eq!(shown.body, report.body["alerts"][0]);
        assert_eq!(lab.get("alerts").await.body[0], shown.body);

        // The alert keeps the model and the version that it was raised with.
        let model = json!({ "models": { "latency": { "test": "static", "upper_boundary": 5 } } });
        lab.server.pass(60);
        lab.value(1.0, json!({ "thresholds": model, "start_point": { "reset": true } })).await;
        lab.server.pass(60);
        assert_snapshot!("alert_silenced", lab.server.show(&lab.get(&path).await));
        for (body, status) in [
            (json!({ "status": "active" }), "active"),
            (json!({ "status": "dismissed" }), "dismissed"),
            (json!({ "status": "dismissed" }), "dismissed"),
            (json!({}), "dismissed"),
            (json!({ "status": null }), "dismissed"),
            (json!({ "status": "active" }), "active"),
        ] {
            let before = lab.get(&path).await;
            lab.server.pass(1);
            let after = lab.patch(&path, body.clone()).await.expect(200);
            assert_eq!(after.text("/status"), status, "{body}");
            assert!(after.text("/modified") > before.text("/modified"), "{body}");
            assert_eq!(after.text("/created"), before.text("/created"));
            assert_eq!(lab.get(&path).await.body, after.body);
            let report = lab.get(&format!("reports/{}", report.text("/uuid"))).await;
            let active = i64::from(status == "active");
            assert_eq!(report.body["counts"]["alerts"], json!({ "total": 1, "active": active }));
        }

        lab.server.post("/v0/organizations/ada/projects", &lab.token, json!({ "name": "Elsewhere" })).await.expect(201);
        let foreign = format!("/v0/projects/elsewhere/{path}");
        let nowhere = "alerts/0190a000-0000-7000-8000-000000000000";
        let mut lines = Vec::new();
        for answer in [
            lab.patch(&path, json!({ "status": "silenced" })).await,
            lab.patch(&path, json!({ "status": "open" })).await,
            lab.server.get(&foreign, &lab.token).await,
            lab.server.patch(&foreign, &lab.token, json!({ "status": "dismissed" })).await,
            lab.get(nowhere).await,
            lab.patch(nowhere, json!({})).await,
            lab.get("alerts/first").await,
            lab.server.patch(&format!("/v0/projects/lab/{path}"), "", json!({})).await,
        ] {
            lines.push(answer.line());
        }
        assert_snapshot!("alert_refused", lines.join("\n"));
        assert_eq!(lab.statuses().await, [1, 0, 0]);
    }

    async fn a_new_head_silences_what_is_active(server: TestServer) {
        let lab = Lab::open(server).await;
        for branch in ["main", "pr"] {
            lab.watch(branch, "localhost").await;
            lab.watch(branch, "other").await;
        }
        let report = lab.alarm(1, &[&["a", "b"]], json!({})).await;
        lab.alarm(1, &[&["a"]], json!({ "testbed": "other" })).await;
        lab.alarm(1, &[&["a"]], json!({ "branch": "pr" })).await;
        lab.set_alert(&alert(&report, 0), "dismissed").await.expect(200);
        assert_eq!(lab.statuses().await, [3, 1, 0]);
        lab.patch("branches/main", json!({ "start_point": { "reset": true } })).await.expect(200);
        assert_eq!(lab.statuses().await, [1, 1, 2]);
        // A silenced alert can become active again; it then belongs to a replaced head.
        lab.set_alert(&alert(&report, 1), "active").await.expect(200);
        lab.patch("branches/main", json!({ "start_point": { "reset": true } })).await.expect(200);
        assert_eq!(lab.statuses().await, [2, 1, 1]);
    }

    async fn many_alerts_are_changed_at_once(server: TestServer) {
        let lab = Lab::open(server).await;
        for (branch, testbed) in [("main", "localhost"), ("main", "other"), ("pr", "localhost")] {
            lab.watch(branch, testbed).await;
        }
        let first = lab.alarm(1, &[&["a", "b"], &["a"]], json!({})).await;
        lab.alarm(2, &[&["a"]], json!({ "testbed": "other" })).await;
        lab.alarm(3, &[&["c"]], json!({ "branch": "pr" })).await;
        let report = first.text("/uuid");
        let branch = first.text("/branch/uuid");
        lab.server.pass(60);
        for (filter, updated) in [
            (json!({ "report": report }), 3),
            (json!({ "branch": "main" }), 4),
            (json!({ "branch": branch }), 4),
            (json!({ "testbed": "other" }), 1),
            (json!({ "benchmark": "a" }), 3),
            (json!({ "measure": "latency" }), 5),
            (json!({ "branch": "main", "benchmark": "b" }), 1),
            (json!({ "branch": "pr", "benchmark": "b" }), 0),
            (json!({ "from": "silenced" }), 0),
            (json!({}), 5),
        ] {
            let mut body = filter.clone();
            body["status"] = json!("dismissed");
            let answer = lab.patch("alerts", body).await.expect(200);
            assert_eq!(answer.body, json!({ "updated": updated }), "{filter}");
            assert_eq!(lab.statuses().await, [5 - updated, updated, 0], "{filter}");
            let back = lab.patch("alerts", json!({ "status": "active", "from": "dismissed" })).await.expect(200);
            assert_eq!(back.body["updated"], updated);
        }
        assert_eq!(lab.get("alerts").await.text("/0/modified"), "2026-01-01T00:01:00.000Z");
        let nowhere = "0190a000-0000-7000-8000-000000000000";
        let mut lines = Vec::new();
        for body in [
            json!({}),
            json!({ "status": "silenced" }),
            json!({ "status": "dismissed", "benchmarks": "a" }),
            json!({ "status": "dismissed", "report": nowhere }),
            json!({ "status": "dismissed", "branch": "missing" }),
            json!({ "status": "dismissed", "testbed": nowhere }),
            json!({ "status": "dismissed", "benchmark": "missing" }),
            json!({ "status": "dismissed", "measure": "missing" }),
        ] {
            lines.push(lab.patch("alerts", body).await.line());
        }
        assert_snapshot!("alert_many_refused", lines.join("\n"));
        assert_eq!(lab.statuses().await, [5, 0, 0]);
    }

    async fn counts_hold_when_alerts_come_and_go_at_once(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.watch("main", "localhost").await;
        let come = futures_util::future::join_all((0..12).map(|_| lab.report(json!([bench(1.0)]), json!({}))));
        let go = async {
            for round in 0..12 {
                let (from, status) = if round % 3 == 2 { ("dismissed", "active") } else { ("active", "dismissed") };
                lab.patch("alerts", json!({ "from": from, "status": status })).await.expect(200);
            }
        };
        tokio::join!(come, go);
        assert_eq!(lab.statuses().await.iter().sum::<i64>(), 12);
    }
}
