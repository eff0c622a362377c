//! Reports: what is sent, what is answered, and the verdict.

use serde_json::{Value, json};

use crate::{Answer, Lab, both};

impl Lab {
    /// Sends a report with these results, on `main` and `localhost`, with more fields or others.
    pub(crate) async fn report(&self, results: Value, more: Value) -> Answer {
        let mut body = json!({
            "branch": "main", "testbed": "localhost", "start_time": "2026-01-01T00:00:00Z",
            "end_time": "2026-01-01T00:01:00Z", "results": results,
        });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        self.post("reports", body).await
    }

    /// Sends the value of one benchmark.
    pub(crate) async fn value(&self, value: f64, more: Value) -> Answer {
        let result = json!({ "bench": { "latency": { "value": value } } }).to_string();
        self.report(json!([result]), more).await.expect(201)
    }
}

/// The only boundary of a report, and how many alerts it has.
pub(crate) fn verdict(report: &Answer) -> (Value, usize) {
    let boundary = report.body.pointer("/results/0/0/measures/0/boundary").unwrap().clone();
    (boundary, report.body["alerts"].as_array().unwrap().len())
}

both! {
    async fn a_report_is_answered_whole(server: TestServer) {
        let lab = Lab::open(server).await;
        let results = json!([
            json!({ "b two": { "latency": { "value": 2, "lower_value": 1.5, "upper_value": 2.5 } },
                    "a one": { "throughput": { "value": 10 }, "latency": { "value": 1 } } }).to_string(),
            json!([{ "name": "fib", "parameters": { "n": 10 }, "measures": { "latency": { "value": 5 } } },
                   { "name": "fib", "parameters": { "n": 2 }, "measures": { "latency": { "value": 4 } } },
                   { "name": "fib", "measures": { "latency": { "value": 3 } } }]).to_string(),
        ]);
        let more = json!({
            "hash": "0123456789abcdef0123456789abcdef01234567",
            "thresholds": { "models": { "latency": { "test": "static", "upper_boundary": 4.5 } } },
            "settings": { "adapter": "json" },
        });
        let report = lab.report(results, more).await.expect(201);
        insta::assert_snapshot!(lab.server.show(&report));
        let path = format!("reports/{}", report.text("/uuid"));
        assert_eq!(lab.get(&path).await.expect(200).body, report.body);
        let list = lab.get("reports").await.expect(200);
        insta::assert_snapshot!(lab.server.show(&list));
        // Among others, in either order, it is the same.
        let other = lab.value(7.0, json!({ "start_time": "2026-01-01T00:00:30Z" })).await;
        let list = lab.get("reports?expand=true").await.expect(200);
        assert_eq!(list.body, json!([other.body, report.body]));
        let list = lab.get("reports?expand=true&direction=asc").await.expect(200);
        assert_eq!(list.body, json!([report.body, other.body]));
    }

    async fn the_worked_example_of_a_percentage(server: TestServer) {
        let lab = Lab::open(server).await;
        let model = json!({ "thresholds": { "models": {
            "latency": { "test": "percentage", "min_sample_size": 2, "upper_boundary": 0.01 } } } });
        let none = json!({ "baseline": null, "lower_limit": null, "upper_limit": null });
        assert_eq!(verdict(&lab.value(100.0, model).await), (none.clone(), 0));
        assert_eq!(verdict(&lab.value(100.0, json!({})).await), (none.clone(), 0));
        let third = lab.value(999_999.0, json!({})).await;
        assert_eq!(verdict(&third), (json!({ "baseline": 100.0, "lower_limit": null, "upper_limit": 101.0 }), 1));
        assert_eq!(third.body["alerts"][0]["status"], "active");
        let (fourth, alerts) = verdict(&lab.value(100.0, json!({})).await);
        assert!((fourth["baseline"].as_f64().unwrap() - 333_399.666_666_666_7).abs() < 1e-6, "{fourth}");
        assert!((fourth["upper_limit"].as_f64().unwrap() - 336_733.663_333_333_4).abs() < 1e-6, "{fourth}");
        assert_eq!(alerts, 0);
        let fifth = lab.value(100.0, json!({ "start_point": { "reset": true } })).await;
        assert_eq!(verdict(&fifth), (none, 0));
        assert_eq!(fifth.body["branch"]["head"]["version"]["number"], 0);
        let alerts = lab.get("alerts").await.expect(200);
        assert_eq!(alerts.each("status"), ["silenced"]);
        assert_eq!((alerts.total(), lab.total("alerts?status=active").await), (1, 0));
    }
}
